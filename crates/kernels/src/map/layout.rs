//! The iteration space of an elementwise operation: dimensions put in the output's memory order, merged where every
//! operand allows it, and cut into tiles.
use crate::view::View;
use gluonish_base::{Cause, DType, MAX_DIMS, Result};
use smallvec::SmallVec;

/// An operand over the iteration space. Strides are in elements; 0 repeats.
#[derive(Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) ptr: *mut u8,
    pub(crate) dtype: DType,
    pub(crate) strides: [isize; MAX_DIMS],
}

/// Bytes of a cache line.
const LINE: usize = 64;

pub(crate) type Operands = SmallVec<[Operand; 6]>;

/// Dimensions and operands, and the tiles they are walked in.
pub(crate) struct Space {
    pub(crate) ndim: usize,
    pub(crate) dims: [usize; MAX_DIMS],
    /// Extent of a tile in each dimension; at the far edge it may be less.
    pub(crate) tile: [usize; MAX_DIMS],
    pub(crate) operands: Operands,
    /// Whether all outputs are.
    all_contiguous: bool,
}

/// One tile: where it starts, and how far it extends.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) start: [usize; MAX_DIMS],
    pub(crate) extent: [usize; MAX_DIMS],
    pub(crate) values: usize,
}

impl Part {
    /// Values of a row along the last dimension; 0 where there is but one row.
    pub(crate) fn row(&self, ndim: usize) -> usize {
        if ndim > 1 { self.extent[ndim - 1] } else { 0 }
    }
}

impl Space {
    /// The space of outputs `outs` (all of one shape) and the inputs that are broadcast to it, in that order.
    pub(crate) fn new<'v>(outs: impl Iterator<Item = View<'v>>, ins: &[View<'_>]) -> Result<Space> {
        let mut space = Space {
            ndim: 0,
            dims: [0; MAX_DIMS],
            tile: [0; MAX_DIMS],
            operands: Operands::new(),
            all_contiguous: true,
        };
        let mut shape = None;
        for o in outs {
            let first = *shape.get_or_insert(o.shape);
            if first != o.shape {
                return Err(Cause::Shape(format!("outputs of one operation differ: {first} and {}", o.shape)).into());
            }
            space.all_contiguous &= o.contiguous;
            space.push(&o, o.strides);
        }
        let Some(shape) = shape else {
            return Err(Cause::Argument("an elementwise operation needs an output".into()).into());
        };
        for x in ins {
            if x.shape.len() > shape.len() || x.shape.broadcast(shape) != Some(*shape) {
                return Err(Cause::Broadcast { lhs: *x.shape, rhs: *shape }.into());
            }
            space.push(x, &x.shape.broadcast_strides(x.strides, shape));
        }
        if space.is_line(shape.size(), ins) {
            return Ok(space);
        }
        space.ndim = shape.len();
        for (d, &n) in space.dims.iter_mut().zip(shape.iter()) {
            *d = n as usize;
        }
        space.simplify();
        Ok(space)
    }

    /// The common case: every operand is contiguous and as large as the outputs, or a single element. Then the space is one
    /// dimension, and nothing needs sorting.
    fn is_line(&mut self, size: usize, ins: &[View<'_>]) -> bool {
        let outs = self.operands.len() - ins.len();
        let line = self.all_contiguous && ins.iter().all(|x| x.size == 1 || x.contiguous && x.size == size);
        if line {
            (self.ndim, self.dims[0]) = (1, size);
            for (k, o) in self.operands.iter_mut().enumerate() {
                o.strides[0] = (k < outs || ins[k - outs].size != 1) as isize;
            }
        }
        line
    }

    fn push(&mut self, v: &View<'_>, strides: &[isize]) {
        let mut s = [0; MAX_DIMS];
        s[..strides.len()].copy_from_slice(strides);
        self.operands.push(Operand { ptr: v.ptr, dtype: v.dtype, strides: s });
    }

    /// Number of values.
    pub(crate) fn size(&self) -> usize {
        self.dims[..self.ndim].iter().product()
    }

    /// Drops dimensions of size 1, orders the others by the first operand's strides, merges neighbours.
    fn simplify(&mut self) {
        let mut order: SmallVec<[usize; MAX_DIMS]> = (0..self.ndim).filter(|&d| self.dims[d] != 1).collect();
        let lead = self.operands[0].strides;
        order.sort_by_key(|&d| std::cmp::Reverse(lead[d].unsigned_abs()));
        let mut merged: SmallVec<[usize; MAX_DIMS]> = SmallVec::new(); // the innermost dimension of each group
        let mut sizes: SmallVec<[usize; MAX_DIMS]> = SmallVec::new();
        for d in order {
            let n = self.dims[d];
            match merged.last().copied() {
                Some(p) if self.operands.iter().all(|o| o.strides[p] == o.strides[d] * n as isize) => {
                    let k = merged.len() - 1;
                    merged[k] = d;
                    sizes[k] *= n;
                }
                _ => {
                    merged.push(d);
                    sizes.push(n);
                }
            }
        }
        for o in &mut self.operands {
            let old = o.strides;
            for (k, &d) in merged.iter().enumerate() {
                o.strides[k] = old[d];
            }
        }
        self.ndim = merged.len();
        self.dims[..self.ndim].copy_from_slice(&sizes);
    }

    /// Cuts the space into tiles of at most `limit` values: whole inner dimensions as far as they fit. Where an operand is
    /// transposed, a tile has a cache line of it along its memory order and all else along the output's.
    pub(crate) fn cut(&mut self, limit: usize) {
        self.tile = [1; MAX_DIMS];
        if self.ndim == 0 {
            return;
        }
        let mut room = limit;
        let last = self.ndim - 1;
        if let Some((d, size)) = self.transposed() {
            self.move_to(d, last - 1);
            let line = (LINE / size).max(8).min(self.dims[last - 1]);
            self.tile[last] = self.dims[last].min((room / line).max(1));
            room /= self.tile[last];
            self.tile[last - 1] = self.dims[last - 1].min(room);
            room /= self.tile[last - 1].max(1);
            // The side may not be used up by a short dimension.
            let whole = self.tile[last - 1] == self.dims[last - 1] && self.tile[last] == self.dims[last];
            if whole && last >= 2 {
                self.fill(last - 2, room);
            }
        } else {
            self.fill(last, room);
        }
    }

    /// Gives dimensions from `d` outwards whole to the tile while there is room.
    fn fill(&mut self, d: usize, mut room: usize) {
        for d in (0..=d).rev() {
            let n = self.dims[d];
            self.tile[d] = n.min(room).max(1);
            if n > room || n == 0 {
                return;
            }
            room /= n;
        }
    }

    /// A dimension other than the last along which some operand lies in memory order while it jumps along the last one, and
    /// how wide the elements of that operand are.
    pub(crate) fn transposed(&self) -> Option<(usize, usize)> {
        let last = self.ndim.checked_sub(1)?;
        self.operands.iter().find_map(|o| {
            if o.strides[last].unsigned_abs() <= 1 || self.dims[last] < 4 {
                return None;
            }
            let d = (0..last).find(|&d| o.strides[d].unsigned_abs() == 1 && self.dims[d] >= 4)?;
            Some((d, o.dtype.size()))
        })
    }

    /// Moves a dimension inwards, keeping the order of the others.
    fn move_to(&mut self, from: usize, to: usize) {
        self.dims[from..=to].rotate_left(1);
        for o in &mut self.operands {
            o.strides[from..=to].rotate_left(1);
        }
    }

    /// Number of tiles.
    pub(crate) fn tiles(&self) -> usize {
        (0..self.ndim).map(|d| self.dims[d].div_ceil(self.tile[d])).product()
    }

    /// Most values that a tile has.
    pub(crate) fn tile_values(&self) -> usize {
        self.tile[..self.ndim].iter().product()
    }

    /// The tile of a number, counted with the last dimension fastest.
    pub(crate) fn part(&self, index: usize) -> Part {
        let mut p = Part { start: [0; MAX_DIMS], extent: [1; MAX_DIMS], values: 1 };
        let mut rest = index;
        for d in (0..self.ndim).rev() {
            let count = self.dims[d].div_ceil(self.tile[d]);
            let at = rest % count * self.tile[d];
            rest /= count;
            p.start[d] = at;
            p.extent[d] = self.tile[d].min(self.dims[d] - at);
            p.values *= p.extent[d];
        }
        p
    }
}

/// How an operand lies within a tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lie {
    /// Without gaps, in the order of the tile.
    Packed,
    /// One value for the whole tile.
    Single,
    /// In rows along the last dimension that have no gaps in themselves; the tile has no more than two dimensions.
    Rows,
    Scattered,
}

/// Shorter rows are sooner gathered than worked on one by one.
const MIN_ROW: usize = 16;

impl Operand {
    /// The first element of a tile.
    #[inline]
    pub(crate) fn at(&self, ndim: usize, p: &Part) -> *mut u8 {
        let offset: isize = (0..ndim).map(|d| p.start[d] as isize * self.strides[d]).sum();
        self.ptr.wrapping_offset(offset * self.dtype.size() as isize)
    }

    pub(crate) fn lie(&self, ndim: usize, p: &Part) -> Lie {
        let (mut packed, mut single, mut run) = (true, true, 1);
        for d in (0..ndim).rev() {
            if p.extent[d] != 1 {
                packed &= self.strides[d] == run;
                single &= self.strides[d] == 0;
                run *= p.extent[d] as isize;
            }
        }
        if single {
            Lie::Single // also a tile of one value
        } else if packed {
            Lie::Packed
        } else if self.in_rows(ndim, p) {
            Lie::Rows
        } else {
            Lie::Scattered
        }
    }

    /// A repeated row does not count: it is gathered once for many tiles.
    fn in_rows(&self, ndim: usize, p: &Part) -> bool {
        let n = p.row(ndim);
        n >= MIN_ROW && self.strides[ndim - 1] == 1 && n * p.extent[ndim - 2] == p.values && self.strides[ndim - 2] != 0
    }
}
