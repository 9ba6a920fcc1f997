//! Whole arrays whose axes are exchanged: along one axis the source lies in memory order, along another the target.
use super::transpose::{Crossed, transpose};
use crate::map::CHUNK;
use crate::map::layout::{Operand, Space};
use crate::view::Cx;
use gluonish_base::{MAX_DIMS, pool};

/// Bytes of a side of a block. The rows of a block lie in as many pages, of the source and of the target, as the
/// processor knows by heart, and each gives it several lines of the cache.
const SIDE: usize = 1024;
/// Planes of fewer values are not worth finding.
const LEAST: usize = 1024;

/// The plane of a transposed copy: the target lies in memory order along `rows`, the source along `cols`.
struct Planes<'a> {
    space: &'a Space,
    rows: usize,
    cols: usize,
    /// Elements of a block's side.
    side: usize,
}
// SAFETY: threads write disjoint blocks of the output and only read the input; both outlive the call.
unsafe impl Sync for Planes<'_> {}

impl<'a> Planes<'a> {
    fn find(space: &'a Space) -> Option<Planes<'a>> {
        let [dst, src] = &space.operands[..] else { return None };
        let ordered = |o: &Operand| (0..space.ndim).find(|&d| space.dims[d] >= 4 && o.strides[d] == 1);
        let (rows, cols) = (ordered(dst)?, ordered(src)?);
        let apart = rows != cols && src.strides[rows] != 0 && dst.strides[cols] != 0;
        let fits = apart && src.dtype == dst.dtype && space.dims[rows] * space.dims[cols] >= LEAST;
        fits.then(|| Planes { space, rows, cols, side: SIDE / dst.dtype.size() })
    }

    fn blocks(&self) -> (usize, usize) {
        (self.space.dims[self.rows].div_ceil(self.side), self.space.dims[self.cols].div_ceil(self.side))
    }

    /// Number of blocks of all planes.
    fn tasks(&self) -> usize {
        let (down, across) = self.blocks();
        let others = (0..self.space.ndim).filter(|d| *d != self.rows && *d != self.cols);
        others.map(|d| self.space.dims[d]).product::<usize>() * down * across
    }

    /// Copies block number `task`.
    fn copy(&self, task: usize) {
        let (space, (down, across)) = (self.space, self.blocks());
        let mut at = [0; MAX_DIMS];
        let (mut plane, block) = (task / (down * across), task % (down * across));
        for d in (0..space.ndim).rev().filter(|d| *d != self.rows && *d != self.cols) {
            at[d] = plane % space.dims[d];
            plane /= space.dims[d];
        }
        at[self.rows] = block % down * self.side;
        at[self.cols] = block / down * self.side;
        let (dst, src) = (&space.operands[0], &space.operands[1]);
        let size = dst.dtype.size();
        let place = |o: &Operand| {
            let offset: isize = (0..space.ndim).map(|d| at[d] as isize * o.strides[d]).sum();
            o.ptr.wrapping_offset(offset * size as isize)
        };
        let extent = |d: usize| self.side.min(space.dims[d] - at[d]);
        let block = Crossed {
            rows: extent(self.rows),
            cols: extent(self.cols),
            src: place(src),
            src_stride: src.strides[self.rows],
            dst: place(dst),
            dst_stride: dst.strides[self.cols],
        };
        // SAFETY: the block lies within both views, which are valid and do not overlap.
        unsafe { transpose(size, block) }
    }
}

/// Copies a space of a target and a source of one type if it is a transposed one; else false, with nothing done.
pub(super) fn copy_crossed(cx: &Cx, space: &Space) -> bool {
    let Some(planes) = Planes::find(space) else { return false };
    let (tasks, values) =
        (planes.tasks(), planes.side.min(space.dims[planes.rows]) * planes.side.min(space.dims[planes.cols]));
    let per = (CHUNK / values).max(1);
    pool::run(tasks.div_ceil(per), cx.threads, |c| {
        (c * per..tasks.min((c + 1) * per)).for_each(|task| planes.copy(task));
    });
    true
}
