//! Which outputs of a layer the next one does not see: made again from the numbers that the reserve keeps.
use super::net::TICKET;
use crate::dispatch::Elem;
use crate::plain::Value;
use crate::view::{Cx, Out, View};
use crate::walk::Shared;
use gluonish_base::{Cause, Result, Ticket, pool};

/// Values that one thread takes at a time.
const CHUNK: usize = 1 << 14;

/// Writes down a ticket as numbers that every type holds.
pub(super) fn write_ticket<T: Value>(t: Ticket, to: &mut [T]) {
    let words = [t.seed as u128 | (t.counter as u128) << 64, t.stream as u128];
    for (i, v) in to[..TICKET].iter_mut().enumerate() {
        *v = T::from_f64((words[i / 8] >> (16 * (i % 8)) & 0xffff) as f64);
    }
}

/// The ticket that was written down.
///
/// # Safety
/// `from` leads to `TICKET` values.
pub(super) unsafe fn read_ticket<T: Value>(from: *const T) -> Ticket {
    let mut words = [0u128; 2];
    for i in 0..TICKET {
        // SAFETY: the caller's.
        let v = unsafe { *from.add(i) }.to_f64() as u128;
        words[i / 8] |= (v & 0xffff) << (16 * (i % 8));
    }
    Ticket { seed: words[0] as u64, counter: (words[0] >> 64) as u64, stream: words[1] as u32 }
}

/// `to = from * mask` (`from` may be `to`), where `mask` is 0 or `1 / (1 - share)`: the numbers of a layer.
///
/// # Safety
/// Both lead to `n` values; nobody else uses those of `to`.
pub(super) unsafe fn drop_some<T: Value>(
    threads: usize,
    ticket: Ticket,
    layer: usize,
    share: f64,
    n: usize,
    from: *const T,
    to: *mut T,
) {
    let (limit, scale) =
        ((share * (1u64 << 32) as f64) as u64, T::from_f64(if share < 1.0 { 1.0 / (1.0 - share) } else { 0.0 }));
    let (from, to) = (Shared(from.cast_mut()), Shared(to));
    pool::run(n.div_ceil(CHUNK), threads, |chunk| {
        let (start, end) = (chunk * CHUNK, n.min((chunk + 1) * CHUNK));
        for block in start / 4..end.div_ceil(4) {
            let words = ticket.block((layer as u64) << 40 | block as u64);
            for (k, word) in words.iter().enumerate().take_while(|(k, _)| 4 * block + k < end) {
                let i = (4 * block + k) as isize;
                // SAFETY: the caller's; the place belongs to this chunk.
                unsafe { *to.at(i) = if u64::from(*word) < limit { T::default() } else { *from.at(i) * scale } };
            }
        }
    });
}

/// What the outputs of `layer` were multiplied with in the call that left this reserve.
pub fn mask(cx: &Cx, reserve: &View<'_>, layer: usize, share: f64, out: &Out<'_>) -> Result {
    if reserve.size < TICKET {
        return Err(Cause::Shape(format!("a reserve of {} values is none of a network's", reserve.size)).into());
    }
    crate::plain::with_value!(out.view.dtype, T => {
        let from = crate::plain::Plain::<T>::of(cx, reserve)?;
        let mut to = crate::plain::Target::<T>::of(out)?;
        let (n, p) = (out.view.size, to.ptr());
        // SAFETY: the reserve has a ticket; the output has `n` values, which are written first.
        unsafe {
            (0..n).for_each(|i| *p.add(i) = T::from_f64(1.0));
            drop_some::<T>(cx.threads, read_ticket(from.ptr()), layer, share, n, p, p);
        }
        to.finish(cx)
    })
}
