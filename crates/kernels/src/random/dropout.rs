//! Dropout: some values become 0, the others grow so that their expectation stays. Which ones, the ticket says, so that the
//! gradient makes the same choice again instead of keeping it.
use super::CHUNK;
use super::blocks::Words;
use super::generate::words;
use crate::dispatch::Elem;
use crate::linalg::in_lines;
use crate::map::{self, Class, Map};
use crate::per_isa;
use crate::registers::prefetch;
use crate::rowwise::{Real, Target, real_type, values, with_real};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{Dims, Result, Ticket, pool};

/// A value where its factor is not 0, times the factor: a dropped one is 0 even if it is not a number.
static KEPT: Map = crate::map!(float | i, x, factor | i.select(i.is_zero(factor), i.c(0.0), i.mul(x, factor)));

/// How many groups before its turn the values of a group are asked for.
const AHEAD: usize = 6;
/// Values that share a group of random words.
const GROUP: usize = super::generate::group::<f32>();

/// The words of a group, where one load takes what one store has left.
#[derive(Default)]
#[repr(align(64))]
struct Made([Words; 1]);

/// `x` with values dropped with probability `p` (to a thousandth of it or better), the others divided by `1 - p`. Values that differ only in
/// their places along `axes` are dropped together.
pub fn dropout(cx: &Cx, x: &View<'_>, ticket: Ticket, p: f64, axes: u32, out: &Out<'_>) -> Result {
    let dtype = real_type(out.view.dtype);
    if axes == 0 {
        return with_real!(dtype, T => in_lines(cx, dtype, &[*x], &[*out], |ins, outs| {
            // SAFETY: the operands are without gaps and of this type.
            drop_some::<T>(cx, unsafe { values(&ins[0]) }, ticket, p, &Target::new(&outs[0]));
            Ok(())
        }));
    }
    // One factor for each place in the other axes, seen with the shape of the input.
    let mut shape = *x.shape;
    (0..shape.len()).filter(|d| axes >> d & 1 == 1).for_each(|d| shape[d] = shape[d].min(1));
    let mut strides = shape.contiguous_strides();
    (0..shape.len()).filter(|d| axes >> d & 1 == 1).for_each(|d| strides[d] = 0);
    with_real!(dtype, T => {
        let ones = vec![T::from_f64(1.0); shape.size()];
        let mut factors = ones.clone();
        let flat = Dims::of(&[ones.len() as isize]);
        let step = Dims::of(&[1]);
        let view = View::contiguous(factors.as_mut_ptr().cast(), dtype, &flat, &step);
        drop_some(cx, &ones, ticket, p, &Target::new(&Out { view, mode: Mode::Write }));
        let contiguous = x.shape.is_contiguous(&strides);
        let factors = View { ptr: factors.as_mut_ptr().cast(), shape: x.shape, strides: &strides, dtype, contiguous, size: x.size, scalar: None };
        map::apply(cx, &KEPT, Class::of(dtype), &[*x, factors], out)
    })
}

/// Numbers that a ticket is written as.
pub const TICKET: usize = 3;

/// Writes a ticket down as whole numbers.
pub fn store_ticket(t: Ticket, out: &Out<'_>) {
    let to = out.view.as_ptr::<i64>();
    for (i, v) in [t.seed as i64, t.stream as i64, t.counter as i64].into_iter().enumerate() {
        // SAFETY: the output is one axis of three numbers of this type.
        unsafe { *to.offset(i as isize * out.view.strides[0]) = v };
    }
}

/// Reads what `store_ticket` wrote.
pub fn load_ticket(from: &View<'_>) -> Ticket {
    // SAFETY: the input is one axis of three numbers of this type.
    let [seed, stream, counter] =
        std::array::from_fn(|i| unsafe { *from.as_ptr::<i64>().offset(i as isize * from.strides[0]) });
    Ticket { seed: seed as u64, stream: stream as u32, counter: counter as u64 }
}

/// How much of a random word decides on a value.
#[derive(Clone, Copy)]
enum Threshold {
    /// A word below it drops its value.
    Word(u32),
    /// Half a word does: the lower halves of a group's words decide on as many values, then the upper ones.
    Half(u32),
    /// All values are dropped.
    Always,
}

impl Threshold {
    /// Half words where they say the shares of both, dropped and kept, to a thousandth: they take half the time.
    fn of(p: f64) -> Threshold {
        let half = (p * 65536.0).round();
        if (half / 65536.0 - p).abs() <= p.min(1.0 - p) * 1e-3 && half < 65536.0 {
            return Threshold::Half(half as u32);
        }
        u32::try_from((p * 4_294_967_296.0) as u64).map_or(Threshold::Always, Threshold::Word)
    }
    /// Values that share a group of words.
    fn group(self) -> usize {
        if matches!(self, Threshold::Half(_)) { 2 * GROUP } else { GROUP }
    }
}

fn drop_some<T: Real>(cx: &Cx, x: &[T], ticket: Ticket, p: f64, to: &Target<T>) {
    let key = ticket.key();
    let scale = T::from_f64(1.0 / (1.0 - p));
    let threshold = Threshold::of(p);
    let group = threshold.group();
    pool::run(x.len().div_ceil(CHUNK), cx.threads, |task| {
        let from = task * CHUNK;
        let x = &x[from..x.len().min(from + CHUNK)];
        // SAFETY: each task has a range of its own.
        let y = unsafe { to.part(from, x.len()) };
        if let Threshold::Always = threshold {
            return y.fill(T::default());
        }
        // Group by group, so that values come from memory while words are made.
        let mut made = Made::default();
        for (b, (x, y)) in x.chunks(group).zip(y.chunks_mut(group)).enumerate() {
            prefetch(x.as_ptr().wrapping_add(AHEAD * group), group);
            prefetch(y.as_ptr().wrapping_add(AHEAD * group), group);
            words(key, (from / group + b) as u64, &mut made.0);
            match threshold {
                Threshold::Half(threshold) => choose_by_halves(&made.0[0], threshold, scale, x, y),
                Threshold::Word(threshold) => choose(&made.0[0], threshold, scale, x, y),
                Threshold::Always => {}
            }
        }
    });
}

per_isa! {
    fn choose[T: Real](words: &Words, threshold: u32, scale: T, x: &[T], y: &mut [T]) {
        let words = words.as_flattened();
        for ((y, x), w) in y.iter_mut().zip(x).zip(words) {
            let kept = *x * scale;
            *y = if *w < threshold { T::default() } else { kept };
        }
    }
}

per_isa! {
    fn choose_by_halves[T: Real](words: &Words, threshold: u32, scale: T, x: &[T], y: &mut [T]) {
        match (x.first_chunk::<{ 2 * GROUP }>(), y.first_chunk_mut::<{ 2 * GROUP }>()) {
            (Some(x), Some(y)) => by_halves(words, threshold, scale, x, y),
            _ => by_halves(words, threshold, scale, x, y),
        }
    }
}

/// The values of a group, or fewer.
#[inline(always)]
fn by_halves<T: Real>(words: &Words, threshold: u32, scale: T, x: &[T], y: &mut [T]) {
    let words = words.as_flattened();
    let middle = x.len().min(GROUP);
    let ((x0, x1), (y0, y1)) = (x.split_at(middle), y.split_at_mut(middle));
    for ((y, x), w) in y0.iter_mut().zip(x0).zip(words) {
        *y = if *w & 0xffff < threshold { T::default() } else { *x * scale };
    }
    for ((y, x), w) in y1.iter_mut().zip(x1).zip(words) {
        *y = if *w >> 16 < threshold { T::default() } else { *x * scale };
    }
}
