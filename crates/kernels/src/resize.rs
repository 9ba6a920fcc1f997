//! Images of another size, each value a mixture of the four nearest; and the way back.
use crate::conv::Planes;
use crate::dispatch::Elem;
use crate::linalg::in_type;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Result, pool};
use std::ops::{Add, Mul};

trait Value: Elem + Add<Output = Self> + Mul<Output = Self> {}
impl Value for f32 {}
impl Value for f64 {}

/// For a place of the result: the two neighbours it lies between, and the part that the second has in it.
#[derive(Clone, Copy)]
struct Between<T> {
    first: usize,
    second: usize,
    part: T,
}

/// For each of `to` places along an axis of `from` values. With `corners` the first and last values of both lie upon each
/// other, else the outer edges of both do.
fn places<T: Value>(from: usize, to: usize, corners: bool) -> Vec<Between<T>> {
    let scale = match (corners, to) {
        (true, 0 | 1) => 0.0,
        (true, _) => (from - 1) as f64 / (to - 1) as f64,
        (false, _) => from as f64 / to as f64,
    };
    let place = |i: usize| {
        let x = if corners { i as f64 * scale } else { ((i as f64 + 0.5) * scale - 0.5).max(0.0) };
        let first = (x as usize).min(from - 1);
        Between { first, second: (first + 1).min(from - 1), part: T::from_f64(x - first as f64) }
    };
    (0..to).map(place).collect()
}

/// `x` (batch, channels, height, width) at the size of the output.
pub fn bilinear(cx: &Cx, x: &View<'_>, corners: bool, out: &Out<'_>) -> Result {
    run(cx, x, out, corners, false)
}

/// The gradient of `bilinear`: each value of `dy` goes, in parts, to the values that it was mixed of.
pub fn bilinear_grad(cx: &Cx, dy: &View<'_>, corners: bool, out: &Out<'_>) -> Result {
    run(cx, dy, out, corners, true)
}

fn run(cx: &Cx, x: &View<'_>, out: &Out<'_>, corners: bool, back: bool) -> Result {
    let kind = if out.view.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    in_type(cx, kind, &[*x], &[*out], |ins, outs| {
        let (to, mode) = (&outs[0].view, outs[0].mode);
        if kind == DType::F64 {
            planes::<f64>(cx, Planes::new(&ins[0], false)?, Planes::new(to, false)?, corners, back, mode);
        } else {
            planes::<f32>(cx, Planes::new(&ins[0], false)?, Planes::new(to, false)?, corners, back, mode);
        }
        Ok(())
    })
}

fn planes<T: Value>(cx: &Cx, x: Planes<T>, y: Planes<T>, corners: bool, back: bool, mode: Mode) {
    let (small, large) = if back { (&y, &x) } else { (&x, &y) };
    if small.size[1] == 0 || small.size[2] == 0 {
        return;
    }
    let rows = places::<T>(small.size[1], large.size[1], corners);
    let cols = places::<T>(small.size[2], large.size[2], corners);
    let (one, none) = (T::from_f64(1.0), T::default());
    let (x, y) = (&x, &y);
    pool::run(y.count * y.channels, cx.threads, |plane| {
        let (n, c) = (plane / y.channels, plane % y.channels);
        let (from, to) = (x.plane(n, c), y.plane(n, c));
        let at =
            |p: *mut T, by: &[isize; 3], i: usize, j: usize| p.wrapping_offset(i as isize * by[1] + j as isize * by[2]);
        if back && mode == Mode::Write {
            // SAFETY: places of this task's plane.
            (0..y.size[1]).for_each(|i| (0..y.size[2]).for_each(|j| unsafe { *at(to, &y.by, i, j) = none }));
        }
        for (i, row) in rows.iter().enumerate() {
            for (j, col) in cols.iter().enumerate() {
                let minus = T::from_f64(-1.0);
                let (up, left) = (one + minus * row.part, one + minus * col.part);
                let corner = [
                    (row.first, col.first, up * left),
                    (row.first, col.second, up * col.part),
                    (row.second, col.first, row.part * left),
                    (row.second, col.second, row.part * col.part),
                ];
                // SAFETY: neighbours and places are inside their planes; what is written belongs to this task.
                unsafe {
                    if back {
                        let g = *at(from, &x.by, i, j);
                        for (a, b, part) in corner {
                            let p = at(to, &y.by, a, b);
                            *p = *p + part * g;
                        }
                    } else {
                        let v = corner.iter().fold(none, |v, (a, b, part)| v + *part * *at(from, &x.by, *a, *b));
                        let p = at(to, &y.by, i, j);
                        *p = if mode == Mode::Write { v } else { *p + v };
                    }
                }
            }
        }
    });
}
