//! Between coordinates and numbers in row-major order.
use super::Bounds;
use super::positions::{Positions, STRIP, in_order};
use crate::view::{Cx, Mode, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{Dims, Result, pool};

const CHUNK: usize = 16 * STRIP;

/// Indices for neighbouring axes, which broadcast, joined to one number: `out` is int64. `named` are the axes that errors
/// name.
pub fn join(cx: &Cx, parts: &[View<'_>], sizes: &Dims, named: &Dims, bounds: Bounds, out: &Out<'_>) -> Result {
    let parts: Vec<Positions> = parts
        .iter()
        .zip(sizes.iter().zip(named.iter()))
        .map(|(v, (size, axis))| Positions::over(v, out.view.shape, *axis as usize, *size as usize, bounds))
        .collect();
    let (write, size) = (Writer::new(out), out.view.size);
    in_order(size.div_ceil(CHUNK), cx.threads, |task| {
        let (mut joined, mut strip) = ([0; STRIP], [0; STRIP]);
        let to = size.min((task + 1) * CHUNK);
        for from in (task * CHUNK..to).step_by(STRIP) {
            let n = STRIP.min(to - from);
            joined[..n].fill(0);
            for (p, size) in parts.iter().zip(sizes.iter()) {
                p.read(from, &mut strip[..n])?;
                joined.iter_mut().zip(&strip[..n]).for_each(|(j, s)| *j = *j * *size as usize + s);
            }
            write.strip(from, &joined[..n]);
        }
        Ok(())
    })
}

/// The coordinates of numbers in an array of this shape: `out[d, i..]` is coordinate `d` of number `indices[i..]`, int64.
pub fn split(cx: &Cx, indices: &View<'_>, shape: &Dims, out: &Out<'_>) -> Result {
    let numbers = Positions::new(indices, 0, shape.size(), Bounds::Strict);
    let (one, strides) = (Dims::of(&out.view.shape[1..]), Dims::of(&out.view.strides[1..]));
    let size = out.view.dtype.size() as isize;
    let writers: Vec<Writer> = (0..shape.len())
        .map(|d| {
            let ptr = out.view.ptr.wrapping_offset(d as isize * out.view.strides[0] * size);
            Writer::over(ptr, &one, &strides, out.mode)
        })
        .collect();
    let count = indices.size;
    in_order(count.div_ceil(CHUNK), cx.threads, |task| {
        let (mut rest, mut strip) = ([0; STRIP], [0; STRIP]);
        let to = count.min((task + 1) * CHUNK);
        for from in (task * CHUNK..to).step_by(STRIP) {
            let n = STRIP.min(to - from);
            numbers.read(from, &mut rest[..n])?;
            for (d, write) in writers.iter().enumerate().skip(1).rev() {
                let size = shape[d] as usize;
                rest[..n].iter_mut().zip(&mut strip).for_each(|(r, s)| (*s, *r) = (*r % size, *r / size));
                write.strip(from, &strip[..n]);
            }
            // What is left is the first coordinate.
            if let Some(write) = writers.first() {
                write.strip(from, &rest[..n]);
            }
        }
        Ok(())
    })
}

/// `out[i.., k]` is coordinate `axes[k]` of element `i..`: int64.
pub fn grid(cx: &Cx, axes: &[usize], out: &Out<'_>) -> Result {
    let n = out.view.ndim() - 1;
    let (shape, strides) = (Dims::of(&out.view.shape[..n]), Dims::of(&out.view.strides[..n]));
    let (place, last) = (Shared(out.view.as_ptr::<i64>()), out.view.strides[n]);
    let (total, fresh) = (shape.size(), out.mode == Mode::Write);
    pool::run(total.div_ceil(CHUNK), cx.threads, |task| {
        let mut i = task * CHUNK;
        let steps = shape.contiguous_strides();
        Walk::new(&shape, [&strides]).for_each(i, total.min(i + CHUNK), |[at]| {
            for (k, a) in axes.iter().enumerate() {
                // SAFETY: a place of the output's own dimensions, which only this task writes.
                let to = unsafe { &mut *place.at(at + k as isize * last) };
                *to = (i as isize / steps[*a] % shape[*a]) as i64 + if fresh { 0 } else { *to };
            }
            i += 1;
        });
    });
    Ok(())
}

/// Where int64 results go, strip by strip.
struct Writer {
    place: Shared<i64>,
    walk: Walk<1>,
    mode: Mode,
}

impl Writer {
    fn new(out: &Out<'_>) -> Writer {
        Writer::over(out.view.ptr, out.view.shape, out.view.strides, out.mode)
    }
    fn over(ptr: *mut u8, shape: &Dims, strides: &Dims, mode: Mode) -> Writer {
        Writer { place: Shared(ptr.cast()), walk: Walk::new(shape, [strides]).coalesced(), mode }
    }
    fn strip(&self, from: usize, values: &[usize]) {
        if self.mode == Mode::Write && self.walk.shape.len() == 1 && self.walk.strides[0][0] == 1 {
            // SAFETY: as below; numbers of elements are below 2^63.
            return unsafe {
                std::ptr::copy_nonoverlapping(values.as_ptr().cast(), self.place.at(from as isize), values.len());
            };
        }
        let mut values = values.iter();
        self.walk.for_each(from, from + values.len(), |[at]| {
            if let Some(v) = values.next() {
                // SAFETY: a place of the output's own dimensions; strips do not overlap.
                let to = unsafe { &mut *self.place.at(at) };
                *to = *v as i64 + if self.mode == Mode::Write { 0 } else { *to };
            }
        });
    }
}
