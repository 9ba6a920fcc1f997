//! Rotary embedding: pairs of values are turned by angles that grow with their position.
use crate::linalg::in_type;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::{Shared, Walk};
use gluonish_base::{DType, Result, pool};

/// How pairs are turned.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The axis of positions.
    pub axis: usize,
    /// Of the first element along that axis.
    pub offset: i64,
    /// Pair `i` of `n` turns by `position * base ** (-i / n)`.
    pub base: f64,
    /// A pair is two neighbours; else a value of the first half and its counterpart in the second.
    pub interleaved: bool,
    /// The other way round.
    pub back: bool,
}

/// Rows (the last axis) that one thread takes at a time.
const ROWS: usize = 64;

/// The last axis of `x`, of even length, turned.
pub fn rotate(cx: &Cx, x: &View<'_>, how: Turn, out: &Out<'_>) -> Result {
    let kind = if out.view.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    in_type(cx, kind, &[*x], &[*out], |ins, outs| {
        if kind == DType::F64 {
            rows::<f64>(cx, &ins[0], how, &outs[0])
        } else {
            rows::<f32>(cx, &ins[0], how, &outs[0])
        }
        Ok(())
    })
}

fn rows<T: crate::dispatch::Elem>(cx: &Cx, x: &View<'_>, how: Turn, out: &Out<'_>) {
    let last = x.ndim() - 1;
    let (width, steps) = (x.shape[last] as usize, x.shape[how.axis] as usize);
    let pairs = width / 2;
    if x.size == 0 {
        return;
    }
    // The angles of all positions, once.
    let mut turns = Vec::with_capacity(steps * pairs);
    for p in 0..steps {
        for i in 0..pairs {
            let angle = (p as i64).wrapping_add(how.offset) as f64 * how.base.powf(-(i as f64) / pairs as f64);
            turns.push((angle.cos(), if how.back { -angle.sin() } else { angle.sin() }));
        }
    }
    let mut walk = Walk::<2>::new(x.shape, [x.strides, out.view.strides]);
    let (_, [x_step, y_step]) = walk.pop();
    let count = walk.size();
    let (inner, mode) = (walk.shape[how.axis + 1..].iter().product::<isize>() as usize, out.mode);
    let (from, to) = (Shared(x.as_ptr::<T>()), Shared(out.view.as_ptr::<T>()));
    pool::run(count.div_ceil(ROWS), cx.threads, |chunk| {
        for row in chunk * ROWS..count.min((chunk + 1) * ROWS) {
            let [a, b] = walk.offset(row);
            let turns = &turns[row / inner % steps * pairs..][..pairs];
            for (i, (cos, sin)) in turns.iter().enumerate() {
                let (p, q) = if how.interleaved { (2 * i, 2 * i + 1) } else { (i, i + pairs) };
                let (p, q) = (p as isize, q as isize);
                // SAFETY: both places lie in the row, which this task alone writes.
                unsafe {
                    let (u, v) = ((*from.at(a + p * x_step)).to_f64(), (*from.at(a + q * x_step)).to_f64());
                    for (at, value) in [(p, u * cos - v * sin), (q, u * sin + v * cos)] {
                        let place = to.at(b + at * y_step);
                        *place = T::from_f64(if mode == Mode::Write { value } else { (*place).to_f64() + value });
                    }
                }
            }
        }
    });
}
