//! Arrays one after another.
use crate::convert::copy_view;
use crate::per_isa;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::Shared;
use gluonish_base::{Cause, Result, pool};
use std::slice::{from_raw_parts, from_raw_parts_mut};

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
/// Bytes of a line of the cache.
const LINE: usize = 64;

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
                    let from = piece.at((row * bytes) as isize);
                    // SAFETY: row `row` of an array and its place in the output, which no other task writes; outputs do
                    // not overlap inputs.
                    unsafe { copy(from_raw_parts(from, *bytes), from_raw_parts_mut(to, *bytes)) };
                    to = to.wrapping_add(*bytes);
                }
            }
        });
    }
}

per_isa! {
    /// Copies bytes by whole lines of the cache. The C library copies thousands of bytes by a single instruction, which is
    /// slow where the two places differ in their distance from a line, as rows of odd lengths do.
    fn copy(from: &[u8], to: &mut [u8]) {
        let head = to.as_ptr().align_offset(LINE).min(to.len());
        let (from_head, from) = from.split_at(head);
        let (to_head, to) = to.split_at_mut(head);
        to_head.copy_from_slice(from_head);
        let (from_lines, from_tail) = from.as_chunks::<LINE>();
        let (to_lines, to_tail) = to.as_chunks_mut::<LINE>();
        for (to, from) in to_lines.iter_mut().zip(from_lines) {
            *to = *from;
        }
        to_tail.copy_from_slice(from_tail);
    }
}
