//! Copies of tiles and of whole views.
use super::cast::{Cast, cast_fn};
use super::cross::copy_crossed;
use super::transpose::{Crossed, transpose};
use crate::map::layout::{Operand, Space};
use crate::map::{CHUNK, scratch};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, MAX_DIMS, Result, Scalar, pool};

/// One side of a copy of a tile: its first element and how it lies.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) ptr: *mut u8,
    pub(crate) dtype: DType,
    pub(crate) strides: &'a [isize; MAX_DIMS],
}

/// Strides of a tile without gaps.
pub(crate) fn packed(ndim: usize, extent: &[usize; MAX_DIMS]) -> [isize; MAX_DIMS] {
    let mut s = [0; MAX_DIMS];
    let mut run = 1;
    for d in (0..ndim).rev() {
        s[d] = run;
        run *= extent[d] as isize;
    }
    s
}

/// Copies and converts `extent` elements from one side to the other.
///
/// # Safety
/// Both sides are valid for the extent; they do not overlap unless they are the same elements of equally wide types.
pub(crate) unsafe fn copy_tile(ndim: usize, extent: &[usize; MAX_DIMS], dst: Side<'_>, src: Side<'_>) {
    let crossed =
        if src.dtype == dst.dtype && src.dtype != DType::Bool { crossing(ndim, extent, &dst, &src) } else { None };
    if let Some((row, col)) = crossed {
        return each(ndim, extent, &dst, &src, &[row, col], |to, from| {
            let block = Crossed {
                rows: extent[row],
                cols: extent[col],
                src: from,
                src_stride: src.strides[row],
                dst: to,
                dst_stride: dst.strides[col],
            };
            // SAFETY: the offsets stay within the extent of both sides, which the caller says are valid.
            unsafe { transpose(src.dtype.size(), block) }
        });
    }
    let cast = cast_fn(src.dtype, dst.dtype);
    if ndim == 0 {
        // SAFETY: one element on each side.
        return unsafe { cast(dst.ptr, 1, src.ptr, 1, 1) };
    }
    let inner = inner_dim(ndim, extent, &dst, &src);
    each(ndim, extent, &dst, &src, &[inner], |to, from| {
        // SAFETY: the offsets stay within the extent of both sides, which the caller says are valid.
        unsafe { cast(to, dst.strides[inner], from, src.strides[inner], extent[inner]) }
    });
}

/// Calls `f` with the places of both sides for every index of the dimensions other than `inner`.
fn each(
    ndim: usize,
    extent: &[usize; MAX_DIMS],
    dst: &Side<'_>,
    src: &Side<'_>,
    inner: &[usize],
    mut f: impl FnMut(*mut u8, *const u8),
) {
    let (ds, ss) = (dst.dtype.size() as isize, src.dtype.size() as isize);
    let mut at = [0; MAX_DIMS];
    let (mut to, mut from) = (dst.ptr, src.ptr.cast_const());
    'rows: loop {
        f(to, from);
        // Count up, the last dimension first.
        for d in (0..ndim).rev().filter(|d| !inner.contains(d)) {
            let (step_to, step_from) = (dst.strides[d] * ds, src.strides[d] * ss);
            at[d] += 1;
            if at[d] < extent[d] {
                to = to.wrapping_offset(step_to);
                from = from.wrapping_offset(step_from);
                continue 'rows;
            }
            let back = 1 - extent[d] as isize;
            to = to.wrapping_offset(step_to * back);
            from = from.wrapping_offset(step_from * back);
            at[d] = 0;
        }
        return;
    }
}

/// The two dimensions of a transposed copy: along the second the source lies in memory order, along the first the target.
fn crossing(ndim: usize, extent: &[usize; MAX_DIMS], dst: &Side<'_>, src: &Side<'_>) -> Option<(usize, usize)> {
    let ordered = |s: &Side<'_>| (0..ndim).find(|&d| extent[d] >= 4 && s.strides[d] == 1);
    let (row, col) = (ordered(dst)?, ordered(src)?);
    (row != col && src.strides[row] != 0).then_some((row, col))
}

/// Fewer elements are not worth a loop of their own.
const FEW: usize = 8;

/// The dimension to walk innermost: the source's memory order where it has one in the tile, for a tile's own buffer is in
/// the nearest cache and may jump; else the last one that is not trivial.
fn inner_dim(ndim: usize, extent: &[usize; MAX_DIMS], dst: &Side<'_>, src: &Side<'_>) -> usize {
    let last = (0..ndim).rev().find(|&d| extent[d] > 1).unwrap_or(ndim - 1);
    if extent[last] < FEW
        && let Some(longer) = (0..last).rev().find(|&d| extent[d] >= 4 * FEW && src.strides[d].unsigned_abs() <= 1)
    {
        return longer; // as where each value is written several times
    }
    if src.strides[last].unsigned_abs() <= 1 && dst.strides[last].unsigned_abs() <= 1 {
        return last;
    }
    let ordered = |s: &Side<'_>| (0..ndim).find(|&d| extent[d] >= 4 && s.strides[d].unsigned_abs() == 1);
    if src.strides[last].unsigned_abs() > 1 { ordered(src) } else { ordered(dst) }.unwrap_or(last)
}

/// A space whose operands threads may share.
struct Shared(Space);
// SAFETY: threads write disjoint tiles of the output and only read the input; both outlive the call.
unsafe impl Sync for Shared {}

/// Copies a view into another of any shape it broadcasts to, converting the elements; adds them if the output says so.
pub fn copy_view(cx: &Cx, src: &View<'_>, dst: &Out<'_>) -> Result {
    if dst.mode == Mode::Add {
        return crate::map::apply(cx, &IDENTITY, crate::map::Class::of(dst.view.dtype), &[*src], dst);
    }
    if dst.view.contiguous && src.contiguous && src.shape == dst.view.shape {
        flat(cx, src, dst);
        return Ok(());
    }
    let mut space = Space::new([dst.view].into_iter(), std::slice::from_ref(src))?;
    if space.size() == 0 {
        return Ok(());
    }
    if copy_crossed(cx, &space) {
        return Ok(());
    }
    // Long lines that both sides go along need no tiles.
    let turned = space.transposed().is_some();
    let lines = !turned && space.dims[..space.ndim].last().is_some_and(|n| *n >= LONG);
    space.cut(if lines { CHUNK } else { TILE });
    let (tiles, per) = (space.tiles(), (CHUNK / space.tile_values()).max(1));
    let space = Shared(space);
    pool::run(tiles.div_ceil(per), cx.threads, |c| {
        let space = &space;
        scratch::with(TILE * 8, |buffer| {
            for t in c * per..tiles.min((c + 1) * per) {
                // SAFETY: the views are valid, the tiles disjoint, the buffer holds a tile.
                unsafe { copy_part(&space.0, t, turned.then_some(buffer)) };
            }
        });
    });
    Ok(())
}

static IDENTITY: crate::map::Map = crate::map!(
    num | i,
    x | {
        let _ = i;
        x
    }
);

/// Values of a tile of a copy.
const TILE: usize = 1024;
/// Values of a line that is copied as it is.
const LONG: usize = 128;

/// # Safety
/// The operands of the space are valid; a `buffer`, for sides that go different ways, holds a tile of the widest type.
unsafe fn copy_part(space: &Space, tile: usize, buffer: Option<*mut u8>) {
    let p = space.part(tile);
    let side = |o: &'_ Operand| (o.at(space.ndim, &p), o.dtype);
    let (o, x) = (&space.operands[0], &space.operands[1]);
    let ((dp, dd), (sp, sd)) = (side(o), side(x));
    let (dst, src) =
        (Side { ptr: dp, dtype: dd, strides: &o.strides }, Side { ptr: sp, dtype: sd, strides: &x.strides });
    // SAFETY: both sides cover the part; the buffer is large enough for it.
    unsafe {
        if let Some(buffer) = buffer.filter(|_| sd != dd) {
            // Through the buffer: read in the source's order, write in the target's.
            let s = packed(space.ndim, &p.extent);
            let tile = Side { ptr: buffer, dtype: dd, strides: &s };
            copy_tile(space.ndim, &p.extent, tile, src);
            copy_tile(space.ndim, &p.extent, dst, tile);
        } else {
            copy_tile(space.ndim, &p.extent, dst, src);
        }
    }
}

/// Both sides without gaps.
fn flat(cx: &Cx, src: &View<'_>, dst: &Out<'_>) {
    let (n, from, to) = (dst.view.size, src.dtype, dst.view.dtype);
    let job = Flat { dst: dst.view.ptr, src: src.ptr, cast: (from != to).then(|| cast_fn(from, to)), from, to };
    if n <= CHUNK {
        // SAFETY: both views are contiguous and have `n` elements.
        return unsafe { job.range(0, n) };
    }
    pool::run(n.div_ceil(CHUNK), cx.threads, |c| {
        let job = &job;
        // SAFETY: as above; the ranges are disjoint.
        unsafe { job.range(c * CHUNK, n.min((c + 1) * CHUNK)) }
    });
}

struct Flat {
    dst: *mut u8,
    src: *const u8,
    /// None for equal types: bytes are copied.
    cast: Option<Cast>,
    from: DType,
    to: DType,
}
// SAFETY: threads work on disjoint ranges.
unsafe impl Sync for Flat {}

impl Flat {
    /// # Safety
    /// The range lies within both sides.
    unsafe fn range(&self, a: usize, b: usize) {
        // SAFETY: the range lies within both sides; equal memory is what `copy` allows and `cast` too.
        unsafe {
            let (dst, src) = (self.dst.add(a * self.to.size()), self.src.add(a * self.from.size()));
            match self.cast {
                Some(cast) => cast(dst, 1, src, 1, b - a),
                None => std::ptr::copy(src, dst, (b - a) * self.to.size()),
            }
        }
    }
}

/// Writes one number to every element, or adds it.
pub fn fill(cx: &Cx, value: Scalar, dst: &Out<'_>) -> Result {
    let mut bytes = value.to_bytes(dst.view.dtype);
    let empty = gluonish_base::Dims::EMPTY;
    let one = View {
        ptr: bytes.as_mut_ptr(),
        shape: &empty,
        strides: &empty,
        dtype: dst.view.dtype,
        contiguous: true,
        size: 1,
        scalar: Some(value),
    };
    copy_view(cx, &one, dst)
}
