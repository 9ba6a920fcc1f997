//! Ops that move values or look at them differently: views where the layout allows it.
use crate::attr::{Attr, axes, axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, InputKind, LHS_RHS, Layout, Meta, Metas, Op, Viewed, rows};
use crate::infer;
use gluonish_base::{Cause, Dims, Error, Result};
use gluonish_kernels::{AttrVal, Attrs, Cx, Out, View, convert, movement as k};

const ALL: &[Input] = &[Input { name: "data", kind: InputKind::Variadic }];

/// A row whose outputs share the input's memory.
const fn view(name: &'static str, doc: &'static str, f: fn(&View<'_>, &Attrs, usize) -> Result<Viewed>) -> Op {
    Op::new(name, doc, DATA, Body::View(f)).cost(Cost::Free)
}

/// `v` with another shape of the same size: a view where the strides allow it.
fn reshaped(v: &View<'_>, shape: Dims) -> Result<Viewed> {
    if shape.checked_size() != Some(v.size) {
        return Err(Cause::Shape(format!("cannot reshape {} ({} values) to {shape}", v.shape, v.size)).into());
    }
    if v.contiguous {
        return Ok(Viewed::As(Layout { shape, strides: shape.contiguous_strides(), offset: 0 }));
    }
    Ok(match split_strides(v, &shape) {
        Some(strides) => Viewed::As(Layout { shape, strides, offset: 0 }),
        None => Viewed::Copy(shape),
    })
}

/// Strides of the new shape over the old layout: groups of axes of equal size must each lie evenly in memory.
fn split_strides(v: &View<'_>, shape: &Dims) -> Option<Dims> {
    if v.size == 0 {
        return Some(shape.contiguous_strides());
    }
    let old: Vec<(isize, isize)> =
        v.shape.iter().copied().zip(v.strides.iter().copied()).filter(|(d, _)| *d != 1).collect();
    let mut strides = Dims::filled(shape.len(), 0);
    let (mut i, mut j) = (0, 0);
    while i < old.len() {
        let (start, mut have, mut want) = (i, old[i].0, 1);
        let first = j;
        while want != have {
            if want < have {
                want *= *shape.get(j)?;
                j += 1;
            } else {
                i += 1;
                have *= old.get(i)?.0;
            }
        }
        if (start..i).any(|a| old[a].1 != old[a + 1].1 * old[a + 1].0) {
            return None;
        }
        let mut step = old[i].1;
        for a in (first..j).rev() {
            strides[a] = step;
            step *= shape[a];
        }
        i += 1;
    }
    Some(strides)
}

/// NumPy's rule: one -1 stands for what is left.
fn with_unknown(mut shape: Dims, size: usize, from: &Dims) -> Result<Dims> {
    let mut unknown = (0..shape.len()).filter(|i| shape[*i] == -1);
    let rest: isize = shape.iter().filter(|d| **d != -1).product();
    match (unknown.next(), unknown.next()) {
        (None, _) => Ok(shape),
        (Some(i), None) if rest > 0 && size as isize % rest == 0 => {
            shape[i] = size as isize / rest;
            Ok(shape)
        }
        (Some(_), None) => {
            Err(Cause::Shape(format!("cannot reshape {from} ({size} values) to {shape}: -1 has no integer value"))
                .into())
        }
        _ => Err(Cause::Shape(format!("cannot reshape to {shape}: only one dimension may be -1")).into()),
    }
}

/// Gluon's codes: 0 copies a dimension, -1 is what is left, -2 copies the rest, -3 joins two, -4 splits one in two.
fn with_codes(codes: &Dims, from: &Dims, size: usize) -> Result<Dims> {
    if codes.iter().all(|d| *d > 0) {
        return Ok(*codes);
    }
    let bad = |why: &str| Error::new(Cause::Shape(format!("cannot reshape {from} by the codes {codes}: {why}")));
    let mut out = Dims::EMPTY;
    let mut put = |d: isize| if out.try_push(d) { Ok(()) } else { Err(bad("the result has too many dimensions")) };
    let mut src = 0;
    let take = |src: &mut usize| {
        *src += 1;
        from.get(*src - 1).copied().ok_or_else(|| bad("the input has fewer dimensions"))
    };
    let mut i = 0;
    while i < codes.len() {
        match codes[i] {
            0 => put(take(&mut src)?)?,
            -1 => {
                put(-1)?;
                src += 1;
            }
            -2 => {
                while src < from.len() {
                    put(take(&mut src)?)?;
                }
            }
            -3 => put(take(&mut src)? * take(&mut src)?)?,
            -4 => {
                let whole = take(&mut src)?;
                let parts =
                    codes.get(i + 1).zip(codes.get(i + 2)).ok_or_else(|| bad("-4 needs two sizes behind it"))?;
                let (a, b) = match parts {
                    (-1, b) if *b > 0 => (whole / b, *b),
                    (a, -1) if *a > 0 => (*a, whole / a),
                    (a, b) => (*a, *b),
                };
                if a < 0 || b < 0 || a * b != whole {
                    return Err(bad("the two sizes behind -4 do not make up the dimension"));
                }
                put(a)?;
                put(b)?;
                i += 2;
            }
            d if d > 0 => {
                put(d)?;
                src += 1;
            }
            _ => return Err(bad("a code below -4 has no meaning")),
        }
        i += 1;
    }
    with_unknown(out, size, from)
}

/// The shape that a call of `reshape` asks for.
fn coded(a: &Attrs, v: &View<'_>) -> Result<Dims> {
    let codes = shape_attr(a);
    if !a.bool(1) {
        return with_codes(&codes, v.shape, v.size);
    }
    let bad = |why: &str| {
        let text = format!("cannot reshape {} by the codes {codes} with reverse=True: {why}", v.shape);
        Error::new(Cause::Shape(text))
    };
    if codes.contains(&-4) {
        return Err(bad("-4 cannot be read from the right"));
    }
    let flipped = |mut d: Dims| {
        d.reverse();
        d
    };
    let shape = with_codes(&flipped(codes), &flipped(*v.shape), v.size);
    shape.map(flipped).map_err(|_| bad("they do not fit the dimensions from the right"))
}

/// The values repeated over `to`, as a view.
fn spread(v: &View<'_>, to: Dims) -> Result<Viewed> {
    if v.shape.broadcast(&to) != Some(to) || to.checked_size().is_none() {
        return Err(Cause::Shape(format!("cannot broadcast {} to {to}", v.shape)).into());
    }
    Ok(Viewed::As(Layout { shape: to, strides: v.shape.broadcast_strides(v.strides, &to), offset: 0 }))
}

fn shape_attr(a: &Attrs) -> Dims {
    a.ints(0).copied().unwrap_or_default()
}

/// Axes in reverse when none are given; else each once.
fn permutation(a: &Attrs, shape: &Dims) -> Result<Dims> {
    let n = shape.len();
    let Some(given) = a.ints(0).filter(|p| !p.is_empty() || n == 0) else {
        let mut p = Dims::filled(n, 0);
        (0..n).for_each(|i| p[i] = (n - 1 - i) as isize);
        return Ok(p);
    };
    if given.len() != n {
        return Err(Cause::Shape(format!("axes {given} do not fit an array of shape {shape}")).into());
    }
    axes(Some(given), false, shape)?;
    let mut p = *given;
    p.iter_mut().for_each(|d| *d = if *d < 0 { *d + n as isize } else { *d });
    Ok(p)
}

fn permuted(v: &View<'_>, p: &Dims) -> Viewed {
    let (mut shape, mut strides) = (*v.shape, *v.strides);
    for (i, &s) in p.iter().enumerate() {
        shape[i] = v.shape[s as usize];
        strides[i] = v.strides[s as usize];
    }
    Viewed::As(Layout { shape, strides, offset: 0 })
}

fn inverse(p: &Dims) -> Dims {
    let mut q = *p;
    p.iter().enumerate().for_each(|(i, &s)| q[s as usize] = i as isize);
    q
}

/// Part `i` of a split into equal parts along an axis.
fn part(v: &View<'_>, a: &Attrs, i: usize) -> Result<Viewed> {
    let (n, ax) = (a.int(0) as isize, axis(a.int(1), v.shape)?);
    let size = v.shape[ax];
    if n < 1 || size % n != 0 {
        return Err(Cause::Shape(format!("cannot split axis {ax} of shape {} into {n} equal parts", v.shape)).into());
    }
    let (mut shape, mut strides) = (*v.shape, *v.strides);
    shape[ax] = size / n;
    let offset = i as isize * shape[ax] * strides[ax];
    if a.bool(2) {
        if shape[ax] != 1 {
            return Err(Cause::Shape(format!("squeeze_axis needs parts of size 1, got {}", shape[ax])).into());
        }
        shape.remove(ax);
        strides.remove(ax);
    }
    Ok(Viewed::As(Layout { shape, strides, offset }))
}

fn infer_concat(c: &Call<'_>, outs: &mut Metas) -> Result {
    let first = c.ins.first().ok_or_else(|| Cause::Argument("at least one array is needed".into()))?;
    let ax = axis(c.attrs.int(0), first.shape)?;
    let mut shape = *first.shape;
    for v in &c.ins[1..] {
        let fits = v.shape.len() == shape.len() && (0..shape.len()).all(|i| i == ax || v.shape[i] == shape[i]);
        if !fits {
            return Err(Cause::Shape(format!(
                "cannot join {} and {} along axis {ax}: the other axes must agree",
                first.shape, v.shape
            ))
            .into());
        }
        shape[ax] += v.shape[ax];
    }
    outs.push(Meta { shape, dtype: infer::promoted(c.ins) });
    Ok(())
}

/// The part of an index: where it begins, its step and length along each axis, and which axes the result has (-1: a new
/// one of size 1). Made by the array's indexing, which has checked it.
pub struct Slice {
    pub begin: Dims,
    pub step: Dims,
    pub size: Dims,
    pub axes: Dims,
}

impl Slice {
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

/// The part of `out` that a slice names, as a view to write to.
fn target<'a>(out: &Out<'a>, l: &'a Layout) -> Out<'a> {
    let size = l.shape.size();
    let item = out.view.dtype.size() as isize;
    let ptr = if size == 0 { out.view.ptr } else { out.view.ptr.wrapping_offset(l.offset * item) };
    let contiguous = l.shape.is_contiguous(&l.strides);
    Out { view: View { ptr, shape: &l.shape, strides: &l.strides, size, contiguous, ..out.view }, mode: out.mode }
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
    RESHAPE = view("reshape", "The same values in another shape; 0 keeps a dimension, -1 is what is left, -2 keeps the rest, -3 joins two, -4 splits one.",
            |v, a, _| reshaped(v, coded(a, v)?))
        .attrs(&[
            Attr::ints("shape", "The new shape, with codes.").spread(),
            Attr::bool("reverse", false, "Read the codes, and the dimensions that they stand for, from the right."),
        ]).nd(&["reshape", "Reshape"]).methods(&["reshape"]).onnx("Reshape")
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    RESHAPE_AS = view("_np_reshape", "The same values in another shape; -1 is what is left.",
            |v, a, _| reshaped(v, with_unknown(shape_attr(a), v.size, v.shape)?))
        .attrs(&[Attr::ints("shape", "The new shape.").np_name("newshape")]).np(&["reshape"])
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    TRANSPOSE = view("transpose", "The axes in another order; reversed when none is given.", |v, a, _| Ok(permuted(v, &permutation(a, v.shape)?)))
        .attrs(&[Attr::opt_ints("axes", "The order of the axes.").spread()])
        .nd(&["transpose"]).np(&["transpose"]).methods(&["transpose"]).onnx("Transpose")
        .grad(&[], |r| r.grad(0, || {
            let p = permutation(r.attrs(), &r.input(0).shape).unwrap_or_default();
            r.transpose(r.dy(), inverse(&p))
        }));
    SWAPAXES = view("swapaxes", "Two axes exchanged.", |v, a, _| {
            let (i, j) = (axis(a.int(0), v.shape)?, axis(a.int(1), v.shape)?);
            let (mut shape, mut strides) = (*v.shape, *v.strides);
            shape.swap(i, j);
            strides.swap(i, j);
            Ok(Viewed::As(Layout { shape, strides, offset: 0 }))
        })
        .attrs(&[Attr::int("dim1", 0, "The first axis.").np_name("axis1"), Attr::int("dim2", 0, "The second axis.").np_name("axis2")])
        .nd(&["swapaxes", "SwapAxis"]).np(&["swapaxes"]).methods(&["swapaxes"])
        .grad(&[], |r| r.grad(0, || r.call(&SWAPAXES, &[r.dy()], r.attrs())));
    BROADCAST_TO = view("_np_broadcast_to", "The values repeated over a larger shape, without a copy.", |v, a, _| spread(v, shape_attr(a)))
        .attrs(&[Attr::ints("shape", "The shape to reach.")]).np(&["broadcast_to"]).onnx("Expand")
        .grad(&[], |r| r.grad(0, || r.dy()));
    BROADCAST_CODES = view("broadcast_to", "The values repeated over a larger shape, without a copy; 0 keeps a dimension.", |v, a, _| {
            let mut to = shape_attr(a);
            let lead = to.len().saturating_sub(v.shape.len());
            (lead..to.len()).for_each(|i| if to[i] == 0 { to[i] = v.shape[i - lead] });
            spread(v, to)
        })
        .attrs(&[Attr::ints("shape", "The shape to reach.")]).nd(&["broadcast_to"])
        .grad(&[], |r| r.grad(0, || r.dy()));
    EXPAND_DIMS = view("expand_dims", "A new axis of size 1.", |v, a, _| {
            let (mut shape, mut strides) = (*v.shape, *v.strides);
            if !shape.try_push(1) {
                return Err(Cause::Shape(format!("shape {} has no room for another axis", v.shape)).into());
            }
            let at = axis(a.int(0), &shape)?;
            shape = *v.shape;
            shape.insert(at, 1);
            strides.insert(at, 0);
            Ok(Viewed::As(Layout { shape, strides, offset: 0 }))
        })
        .attrs(&[Attr::int_required("axis", "Where the new axis stands.")])
        .nd(&["expand_dims"]).np(&["expand_dims"]).methods(&["expand_dims"]).onnx("Unsqueeze")
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    SQUEEZE = view("squeeze", "Without the axes of size 1, or without those given.", |v, a, _| {
            let set = match a.ints(0) {
                Some(_) => axes(a.ints(0), false, v.shape)?,
                None => (0..v.shape.len()).filter(|i| v.shape[*i] == 1).fold(0, |s, i| s | 1 << i),
            };
            if let Some(i) = (0..v.shape.len()).find(|i| set >> i & 1 == 1 && v.shape[*i] != 1) {
                return Err(Cause::Shape(format!("cannot squeeze axis {i} of shape {}: its size is not 1", v.shape)).into());
            }
            Ok(Viewed::As(Layout { shape: infer::reduced(v.shape, set, false), strides: infer::reduced(v.strides, set, false), offset: 0 }))
        })
        .attrs(&[Attr::opt_ints("axis", "Axes to drop; all of size 1 when None.")])
        .nd(&["squeeze"]).np(&["squeeze"]).methods(&["squeeze"]).onnx("Squeeze")
        .grad(&[], |r| r.grad(0, || r.reshape(r.dy(), r.input(0).shape)));
    SPLIT = view("split", "Equal parts along an axis.", part)
        .attrs(&[
            Attr::int_required("num_outputs", "Number of parts.").between(1, 1 << 16),
            Attr::int("axis", 1, "Axis to split."),
            Attr::bool("squeeze_axis", false, "Drop the axis, where the parts have size 1."),
        ])
        .count(|a, _| a.int(0) as usize).nd(&["split", "SliceChannel"]).methods(&["split"]).onnx("Split")
        .grad(&[], |r| r.grad(0, || {
            let n = r.attrs().int(0) as usize;
            let parts: Vec<_> = (0..n).map(|i| {
                let mut shape = r.input(0).shape;
                let at = axis(r.attrs().int(1), &shape).unwrap_or(0);
                shape[at] /= n as isize;
                r.reshape(r.dy_of(i), shape)
            }).collect();
            r.call(&CONCAT, &parts, &[r.attrs()[1]])
        }));
    CONCAT = Op::new("concat", "Arrays joined along an axis.", ALL, Body::Kernel(|cx, a, out| {
            k::concat(cx, a.ins, axis(a.attrs.int(0), out[0].view.shape)?, &out[0])
        }))
        .attrs(&[Attr::int("dim", 1, "Axis along which they are joined.").np_name("axis").np_default(AttrVal::Int(0))])
        .infer(infer_concat).nd(&["concat", "Concat"]).np(&["concatenate", "concat"]).onnx("Concat")
        .grad(&[], |r| {
            let mut begin = 0;
            for i in 0..r.inputs() {
                let shape = r.input(i).shape;
                let at = axis(r.attrs().int(0), &shape).unwrap_or(0);
                let mut slice = Slice { begin: Dims::filled(shape.len(), 0), step: Dims::filled(shape.len(), 1), size: shape, axes: shape };
                (0..shape.len()).for_each(|d| slice.axes[d] = d as isize);
                slice.begin[at] = begin;
                begin += shape[at];
                r.grad(i, || r.call(&SLICE, &[r.dy()], &slice.attrs()));
            }
        });
    SLICE = view("_slice", "A part of the array by begin, step and size along each axis.", |v, a, _| Ok(Viewed::As(Slice::read(a).within(v.shape)?.layout(v.strides))))
        .attrs(&SLICE_ATTRS).internal()
        .grad(&[], |r| r.grad(0, || {
            let mut attrs = r.attrs().to_vec();
            attrs.push(AttrVal::Ints(r.input(0).shape));
            r.call(&SLICE_GRAD, &[r.dy()], &attrs)
        }));
    SLICE_GRAD = Op::new("_slice_grad", "Zeros with the input in the part that a slice names.", DATA, Body::Kernel(|cx, a, out| {
            if out[0].mode == gluonish_kernels::Mode::Write {
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
    CAST = Op::new("cast", "The values in another type.", DATA, Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .attrs(&[Attr::dtype_required("dtype", "The type to reach.")]).nd(&["cast", "Cast"]).onnx("Cast")
        .infer(|c, outs| {
            outs.push(Meta { shape: *c.ins[0].shape, dtype: c.attrs.dtype(0).unwrap_or(c.ins[0].dtype) });
            Ok(())
        })
        .grad(&[], |r| r.grad(0, || r.cast(r.dy(), r.input(0).dtype)));
    COPY = Op::new("_copy", "A fresh contiguous array with the same values.", DATA, Body::Kernel(|cx, a, out| convert::copy_view(cx, &a.ins[0], &out[0])))
        .nd(&["identity"]).np(&["copy"]).in_place().onnx("Identity")
        .grad(&[], |r| r.grad(0, || r.dy()));
}
