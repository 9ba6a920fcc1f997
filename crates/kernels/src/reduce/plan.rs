//! How a reduction is laid out: which dimensions stay, which go, in the order that suits the memory.
use crate::view::{Out, View};
use crate::walk::Walk;
use gluonish_base::Dims;

/// Whether the elements of a row may be visited in any order (sums) or must come as they are numbered (positions).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Any,
    Given,
}

/// The dimensions of a reduction, without those of size 1, neighbours merged.
pub(crate) struct Plan {
    /// What stays; operands are the input and the output.
    pub(crate) kept: Walk<2>,
    /// What goes.
    pub(crate) reduced: Walk<1>,
    /// Where input and output start, in elements from their pointers.
    pub(crate) base: [isize; 2],
}

/// Strides of the output for each dimension of the input, 0 for the reduced ones, whether they were kept as 1 or dropped.
pub(crate) fn out_strides(x: &View<'_>, axes: u32, out: &Out<'_>) -> Dims {
    let kept = out.view.ndim() == x.ndim();
    let mut strides = Dims::filled(x.ndim(), 0);
    let mut next = 0;
    for (d, s) in strides.iter_mut().enumerate() {
        let reduced = axes >> d & 1 == 1;
        if !reduced {
            *s = out.view.strides.get(next).copied().unwrap_or(0);
        }
        next += usize::from(kept || !reduced);
    }
    strides
}

impl Plan {
    pub(crate) fn new(x: &View<'_>, axes: u32, out_strides: &Dims, order: Order) -> Plan {
        let mut plan = Plan { kept: Walk::default(), reduced: Walk::default(), base: [0; 2] };
        let all = u32::MAX >> (32 - x.ndim().clamp(1, 31)) as u32;
        if x.contiguous && axes & all == all && x.size > 1 {
            plan.reduced.push(x.size as isize, [1]);
            return plan;
        }
        let mut dims = [0; gluonish_base::MAX_DIMS];
        let dims = &mut dims[..x.ndim()];
        dims.iter_mut().enumerate().for_each(|(i, d)| *d = i);
        if order == Order::Any {
            dims.sort_by_key(|&d| std::cmp::Reverse(x.strides[d].unsigned_abs()));
        }
        for &d in dims.iter() {
            plan.add(x.shape[d], [x.strides[d], out_strides[d]], axes >> d & 1 == 1, order);
        }
        plan.kept = plan.kept.coalesced();
        plan.reduced = plan.reduced.coalesced();
        plan
    }

    /// Adds one dimension. One that runs backwards is turned round where the order does not matter.
    fn add(&mut self, n: isize, mut stride: [isize; 2], reduced: bool, order: Order) {
        if stride[0] < 0 && (order == Order::Any || !reduced) {
            for (b, s) in self.base.iter_mut().zip(&mut stride) {
                *b += *s * (n - 1);
                *s = -*s;
            }
        }
        if reduced {
            self.reduced.push(n, [stride[0]]);
        } else {
            self.kept.push(n, stride);
        }
    }

    /// Whether to reduce along memory, one output at a time, rather than row by row into a block of columns.
    pub(crate) fn along_rows(&self) -> bool {
        const SHORT: usize = 32;
        let (Some(&kept), Some(&reduced)) = (self.kept.shape.last(), self.reduced.shape.last()) else {
            return self.kept.shape.is_empty();
        };
        let stride = |s: &Dims| s.last().map_or(0, |s| s.unsigned_abs());
        let rows_inside = stride(&self.reduced.strides[0]) <= stride(&self.kept.strides[0]);
        if rows_inside {
            reduced as usize >= SHORT || (kept as usize) < SHORT
        } else {
            (kept as usize) < SHORT / 2 && reduced as usize >= SHORT
        }
    }
}
