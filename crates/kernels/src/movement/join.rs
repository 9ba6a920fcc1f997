//! Arrays one after another.
use crate::convert::copy_view;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::Shared;
use gluonish_base::{Cause, Result, pool};

/// Writes the views one after another along `axis`. Types may differ from `out`'s: they are converted.
pub fn concat(cx: &Cx, xs: &[View<'_>], axis: usize, out: &Out<'_>) -> Result {
    if xs.iter().map(|x| x.shape[axis]).sum::<isize>() != out.view.shape[axis] {
        return Err(Cause::Shape(format!("the arrays do not fill axis {axis} of {}", out.view.shape)).into());
    }
    if let Some(rows) = Rows::of(xs, axis, out) {
        rows.copy(cx.threads);
        return Ok(());
    }
    let mut at = 0;
    for x in xs {
        let view = out.view.part(x.shape, out.view.strides, at * out.view.strides[axis]);
        copy_view(cx, x, &Out { view, mode: out.mode })?;
        at += x.shape[axis];
    }
    Ok(())
}

/// Bytes that one task copies.
const CHUNK: usize = 1 << 18;
/// Shorter pieces are sooner copied array by array.
const SHORT: usize = 256;

/// Arrays without gaps: each row of the output is a piece of every array, and is written whole, so that no line of the
/// cache is fetched twice.
struct Rows {
    /// Where the pieces of the first row begin, and their bytes.
    pieces: Vec<(Shared<u8>, usize)>,
    out: Shared<u8>,
    count: usize,
    bytes: usize,
}

impl Rows {
    fn of(xs: &[View<'_>], axis: usize, out: &Out<'_>) -> Option<Rows> {
        let plain = |x: &View<'_>| x.contiguous && x.dtype == out.view.dtype;
        let count = out.view.shape[..axis].iter().product::<isize>() as usize;
        if out.mode != Mode::Write || !plain(&out.view) || !xs.iter().all(plain) || count < 2 {
            return None;
        }
        let row = |x: &View<'_>| x.size / count * x.dtype.size();
        let bytes = row(&out.view);
        let pieces = xs.iter().map(|x| (Shared(x.ptr), row(x))).collect();
        (bytes >= SHORT * xs.len()).then_some(Rows { pieces, out: Shared(out.view.ptr), count, bytes })
    }

    fn copy(&self, threads: usize) {
        let each = (CHUNK / self.bytes).max(1);
        pool::run(self.count.div_ceil(each), threads, |task| {
            for row in task * each..self.count.min((task + 1) * each) {
                let mut to = self.out.at((row * self.bytes) as isize);
                for (piece, bytes) in &self.pieces {
                    // SAFETY: row `row` of an array and its place in the output, which no other task writes; outputs do
                    // not overlap inputs.
                    unsafe { copy(piece.at((row * bytes) as isize), to, *bytes) };
                    to = to.wrapping_add(*bytes);
                }
            }
        });
    }
}

/// Copies bytes by vectors. The C library copies thousands of bytes by a single instruction, which is slow where the two
/// places differ in their distance from a line of the cache, as rows of odd lengths do.
///
/// # Safety
/// `from` and `to` are that long and do not overlap.
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    type Block = [u8; 64];
    let blocks = bytes / size_of::<Block>();
    // SAFETY: the caller's.
    unsafe {
        for i in 0..blocks {
            to.cast::<Block>().add(i).write_unaligned(from.cast::<Block>().add(i).read_unaligned());
        }
        let done = blocks * size_of::<Block>();
        std::ptr::copy_nonoverlapping(from.add(done), to.add(done), bytes - done);
    }
}
