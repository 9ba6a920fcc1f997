//! Parts of arrays by begin, end and step: what indexing is made of.
use super::{in_order, list, misfit, target, view};
use crate::attr::{Attr, LEFT_OUT, axes, axis};
use crate::def::{Body, Call, DATA, Input, LHS_RHS, Layout, Meta, Op, Viewed, input, rows};
use crate::infer;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Result};
use gluonish_kernels::{AttrVal, Attrs, Cx, Mode, Out, View, convert};

const DATA_LIKE: &[Input] = &[input("data"), input("shape_like")];

/// The part of an index: where it begins, its step and length along each axis, and which axes the result has (-1: a new
/// one of size 1). Made by the array's indexing, which has checked it.
pub struct Slice {
    pub begin: Dims,
    pub step: Dims,
    pub size: Dims,
    pub axes: Dims,
}

impl Slice {
    /// All of an array.
    pub fn whole(shape: &Dims) -> Slice {
        let n = shape.len();
        Slice { begin: Dims::filled(n, 0), step: Dims::filled(n, 1), size: *shape, axes: in_order(n) }
    }

    /// Restricts an axis as Python's `start:stop:step` does.
    pub fn restrict(&mut self, axis: usize, start: Option<isize>, stop: Option<isize>, step: isize) -> Result {
        let (begin, size) = range(start, stop, step, self.size[axis])?;
        // A step that is not taken does not matter, however large.
        (self.begin[axis], self.size[axis], self.step[axis]) = (begin, size, if size > 1 { step } else { 1 });
        Ok(())
    }

    pub fn attrs(&self) -> [AttrVal; 4] {
        [self.begin, self.step, self.size, self.axes].map(AttrVal::Ints)
    }
    fn read(a: &Attrs) -> Slice {
        let get = |i| a.ints(i).copied().unwrap_or_default();
        Slice { begin: get(0), step: get(1), size: get(2), axes: get(3) }
    }
    /// Refuses what is not inside an array of this shape. Indexing makes only what is; rows can be called by name too.
    fn within(self, shape: &Dims) -> Result<Slice> {
        let n = shape.len();
        let lists = [&self.begin, &self.step, &self.size].iter().all(|d| d.len() == n);
        let inside = lists
            && (0..n).all(|d| {
                let (first, count) = (self.begin[d], self.size[d]);
                let last = self.step[d].checked_mul((count - 1).max(0)).and_then(|s| s.checked_add(first));
                count == 0
                    || (count > 0 && (0..shape[d]).contains(&first) && last.is_some_and(|l| (0..shape[d]).contains(&l)))
            });
        let known = |a: &isize| *a == -1 || (0..n as isize).contains(a);
        let kept = |d: usize| self.axes.iter().filter(|a| **a == d as isize).count();
        let axes =
            lists && self.axes.iter().all(known) && (0..n).all(|d| kept(d) == 1 || (kept(d) == 0 && self.size[d] == 1));
        if inside && axes {
            return Ok(self);
        }
        let text = format!(
            "begin {}, step {}, size {}, axes {} do not name a part of shape {shape}",
            self.begin, self.step, self.size, self.axes
        );
        Err(Cause::Shape(text).into())
    }
    /// The layout of the part in an array with these strides.
    pub fn layout(&self, strides: &Dims) -> Layout {
        let offset = self.begin.iter().zip(strides.iter()).map(|(b, s)| b * s).sum();
        let (mut shape, mut st) = (self.axes, self.axes);
        for (i, &ax) in self.axes.iter().enumerate() {
            (shape[i], st[i]) = match ax {
                -1 => (1, 0),
                ax => (self.size[ax as usize], strides[ax as usize] * self.step[ax as usize]),
            };
        }
        Layout { shape, strides: st, offset }
    }
}

fn put_slice(cx: &Cx, src: &View<'_>, a: &Attrs, out: &Out<'_>) -> Result {
    let l = Slice::read(a).within(out.view.shape)?.layout(out.view.strides);
    convert::copy_view(cx, src, &target(out, &l))
}

/// Whether values of shape `part` fill what the slice names in an array of shape `whole`.
fn check_part(c: &Call<'_>, whole: &Dims, part: &Dims) -> Result {
    let target = Slice::read(c.attrs).within(whole)?.layout(whole).shape;
    if part.broadcast(&target) == Some(target) {
        Ok(())
    } else {
        Err(Cause::Broadcast { lhs: *part, rhs: target }.into())
    }
}

/// Python's rules for the bounds of a slice: first index and number of steps.
#[inline]
pub fn range(start: Option<isize>, stop: Option<isize>, step: isize, size: isize) -> Result<(isize, isize)> {
    if step == 0 {
        return Err(Cause::Value("a slice's step cannot be 0".into()).into());
    }
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let fix = |v: isize| (if v < 0 { v.saturating_add(size) } else { v }).clamp(low, high);
    let begin = start.map_or(if step > 0 { low } else { high }, fix);
    let end = stop.map_or(if step > 0 { high } else { low }, fix);
    let span = if step > 0 { end - begin } else { begin - end };
    let count = if span <= 0 { 0 } else { (span - 1) / step.saturating_abs() + 1 };
    Ok((if count == 0 { 0 } else { begin }, count))
}

/// What `slice(begin, end, step)` names: entries may be left out, and lists may be shorter than the shape.
fn bounded(a: &Attrs, shape: &Dims) -> Result<Slice> {
    let lists = [list(a, 0), list(a, 1), list(a, 2)];
    if let Some(long) = lists.iter().find(|l| l.len() > shape.len()) {
        return Err(misfit(format!("the bounds {} are more than the axes of {shape}", crate::attr::show_bounds(long))));
    }
    let at = |l: &Dims, d: usize| l.get(d).copied().filter(|v| *v != LEFT_OUT);
    let mut slice = Slice::whole(shape);
    for d in 0..shape.len() {
        slice.restrict(d, at(&lists[0], d), at(&lists[1], d), at(&lists[2], d).unwrap_or(1))?;
    }
    Ok(slice)
}

/// What `slice_axis(axis, begin, end)` names.
fn along(a: &Attrs, shape: &Dims) -> Result<Slice> {
    let mut slice = Slice::whole(shape);
    let index = |i: usize| a.opt_int(i).map(|v| v as isize);
    slice.restrict(axis(a.int(0), shape)?, index(1), index(2), 1)?;
    Ok(slice)
}

fn slice_like(r: &Rule<'_>, x: &[V]) -> Result<V> {
    let (shape, like) = (r.shape(x[0]), r.shape(x[1]));
    let given = r.attrs().ints(0).filter(|l| !l.is_empty());
    if given.is_none() && shape.len() != like.len() {
        return Err(misfit(format!("{shape} and {like} have not as many axes; say along which axes to cut")));
    }
    axes(given, false, &shape)?;
    let mut slice = Slice::whole(&shape);
    let each = given.copied().unwrap_or_else(|| in_order(shape.len()));
    for &d in each.iter() {
        let (from, to) = (axis(d as i64, &shape)?, axis(d as i64, &like)?);
        if like[to] > shape[from] {
            return Err(misfit(format!("cannot cut {shape} along axis {from} to the {} entries of {like}", like[to])));
        }
        slice.size[from] = like[to];
    }
    Ok(r.call(&SLICE, &[x[0]], &slice.attrs()))
}

/// The gradient of a part: zeros, with `dy` in its place.
fn put_back(r: &Rule<'_>, slice: Result<Slice>) -> V {
    r.ok(slice.map(|s| {
        let [a, b, c, d] = s.attrs();
        r.call(&SLICE_GRAD, &[r.dy()], &[a, b, c, d, AttrVal::Ints(r.input(0).shape)])
    }))
}

const SLICE_ATTRS: [Attr; 4] = [
    Attr::ints("begin", "First index along each axis."),
    Attr::ints("step", "Step along each axis."),
    Attr::ints("size", "Number of indices along each axis."),
    Attr::ints("axes", "Axes of the result; -1 for a new one."),
];
const SLICE_SHAPE: &[Attr] = &{
    let [a, b, c, d] = SLICE_ATTRS;
    [a, b, c, d, Attr::ints("shape", "Shape of the whole array.")]
};

rows! {
    SLICE = view("_slice", "A part of the array by begin, step and size along each axis.", |v, a, _| Ok(Viewed::As(Slice::read(a).within(v.shape)?.layout(v.strides))))
        .attrs(&SLICE_ATTRS).internal()
        .grad(&[], |r| r.grad(0, || {
            let mut attrs = r.attrs().to_vec();
            attrs.push(AttrVal::Ints(r.input(0).shape));
            r.call(&SLICE_GRAD, &[r.dy()], &attrs)
        }));
    SLICE_GRAD = Op::new("_slice_grad", "Zeros with the input in the part that a slice names.", DATA, Body::Kernel(|cx, a, out| {
            if out[0].mode == Mode::Write {
                convert::fill(cx, 0.0.into(), &out[0])?;
            }
            put_slice(cx, &a.ins[0], a.attrs, &out[0])
        }))
        .attrs(SLICE_SHAPE).internal()
        .infer(|c, outs| {
            let shape = c.attrs.ints(4).copied().unwrap_or_default();
            check_part(c, &shape, c.ins[0].shape)?;
            outs.push(Meta { shape, dtype: c.ins[0].dtype });
            Ok(())
        })
        .grad(&[], |r| r.grad(0, || r.call(&SLICE, &[r.dy()], &r.attrs()[..4])));
    SLICE_ASSIGN = Op::new("_slice_assign", "The first array with the part that a slice names replaced by the second.", LHS_RHS, Body::Kernel(|cx, a, out| {
            if out[0].view.ptr != a.ins[0].ptr {
                convert::copy_view(cx, &a.ins[0], &out[0])?;
            }
            put_slice(cx, &a.ins[1], a.attrs, &out[0])
        }))
        .attrs(&SLICE_ATTRS).internal().in_place()
        .infer(|c, outs| {
            check_part(c, c.ins[0].shape, c.ins[1].shape)?;
            infer::same(c, outs)
        })
        .grad(&[], |r| {
            r.grad(1, || r.call(&SLICE, &[r.dy()], r.attrs()));
            r.grad(0, || {
                let zero = r.call(&crate::rows::ZEROS_LIKE, &[r.call(&SLICE, &[r.dy()], r.attrs())], &[]);
                r.call(&SLICE_ASSIGN, &[r.dy(), zero], r.attrs())
            });
        });
    BOUNDED_SLICE = view("slice", "A part of the array: from begin up to end in steps, along each axis; None as in Python's slices.",
            |v, a, _| Ok(Viewed::As(bounded(a, v.shape)?.layout(v.strides))))
        .attrs(&[
            Attr::bounds("begin", "First index along each axis."),
            Attr::bounds("end", "Index along each axis before which to stop."),
            Attr::opt_bounds("step", "Step along each axis; 1 where it is left out."),
        ]).nd(&["slice", "crop"]).methods(&["slice"]).onnx("Slice")
        .grad(&[], |r| r.grad(0, || put_back(r, bounded(r.attrs(), &r.input(0).shape))));
    SLICE_AXIS = view("slice_axis", "A part of the array: from begin up to end along one axis.",
            |v, a, _| Ok(Viewed::As(along(a, v.shape)?.layout(v.strides))))
        .attrs(&[
            Attr::int_required("axis", "Axis to cut."),
            Attr::int_required("begin", "First index."),
            Attr::opt_int("end", "Index before which to stop; the end of the axis when None."),
        ]).nd(&["slice_axis"]).methods(&["slice_axis"])
        .grad(&[], |r| r.grad(0, || put_back(r, along(r.attrs(), &r.input(0).shape))));
    SLICE_LIKE = Op::new("slice_like", "The array cut to the shape of another, along all axes or some.",
            DATA_LIKE, Body::Compose(|r, x| r.ok(slice_like(r, x))))
        .attrs(&[Attr::opt_ints("axes", "Axes to cut; all when None or empty.")])
        .nd(&["slice_like"]).methods(&["slice_like"]);
}
