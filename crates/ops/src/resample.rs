//! Patches of images as columns, images of another size, and layers whose filters differ from place to place.
use crate::attr::Attr;
use crate::conv::{number_for_each, per_axis};
use crate::cost::Cost;
use crate::def::{Body, Call, DATA, Input, InputKind, Meta, Metas, Op, input, optional, parameter, rows};
use crate::infer::require_float;
use crate::rows::{CONCAT, DECONVOLUTION};
use crate::rule::{Rule, V};
use gluonish_base::{Cause, Dims, Error, Result};
use gluonish_kernels::conv::{Extent, How};
use gluonish_kernels::{AttrVal, Attrs, columns, resize};
use smallvec::SmallVec;

const KERNEL: Attr = Attr::ints("kernel", "Size of the patches: (w,), (h, w) or (d, h, w).");
const STRIDE: Attr = Attr::opt_ints("stride", "Distance between two patches; 1 when left out.");
const DILATE: Attr = Attr::opt_ints("dilate", "Distance between two values of a patch; 1 when left out.");
const PAD: Attr = Attr::opt_ints("pad", "Zeros on both sides of each axis; none when left out.");
const SIZE: Attr = Attr::ints("output_size", "Spatial size of the images.");
/// Of the images whose values stay below the range of the arithmetic on places.
const LARGEST: isize = i32::MAX as isize;

fn shape_error(text: String) -> Error {
    Cause::Shape(text).into()
}
fn value(text: String) -> Error {
    Cause::Value(text).into()
}

/// Where patches lie.
struct Patches {
    how: How,
    kernel: Dims,
    /// How many there are along each axis.
    places: Dims,
}

impl Patches {
    /// Of images of this spatial size; `at` is the position of `kernel` among the attributes.
    fn new(attrs: &Attrs, at: usize, size: &Dims) -> Result<Patches> {
        let kernel = attrs.ints(at).copied().unwrap_or(Dims::EMPTY);
        let n = kernel.len();
        if !(1..=3).contains(&n) || kernel.iter().any(|k| !(1..=LARGEST).contains(k)) {
            return Err(value(format!("kernel={kernel} must be one to three numbers from 1 to {LARGEST}")));
        }
        if size.len() != n {
            let hint = number_for_each("kernel", &kernel, size.len());
            let text = format!("kernel={kernel} does not fit images of {} spatial axes{hint}", size.len());
            return Err(shape_error(text));
        }
        let stride = per_axis(attrs, at + 1, "stride", n, 1, 1)?;
        let dilate = per_axis(attrs, at + 2, "dilate", n, 1, 1)?;
        let pad = per_axis(attrs, at + 3, "pad", n, 0, 0)?;
        let how = How::new(n, &stride, &dilate, &pad, 1, false);
        let mut places = Dims::filled(n, -1);
        for i in (0..n).filter(|i| size[*i] != -1) {
            let Some(out) = how.out(3 - n + i, size[i] as usize, kernel[i] as usize) else {
                let text =
                    format!("kernel={kernel} with dilate={dilate} is larger than data of size {size} with pad={pad}");
                return Err(shape_error(text));
            };
            places[i] = out as isize;
        }
        Ok(Patches { how, kernel, places })
    }
    fn count(&self) -> isize {
        product(&self.places)
    }
    fn taps(&self) -> isize {
        product(&self.kernel)
    }
}

/// The product of dimensions; unknown where one is.
fn product(d: &[isize]) -> isize {
    if d.contains(&-1) { -1 } else { d.iter().fold(1isize, |n, d| n.saturating_mul(*d)) }
}
fn three(d: &Dims) -> Extent {
    let mut all = [1; 3];
    for (to, v) in all[3 - d.len()..].iter_mut().zip(d.iter()) {
        *to = *v as usize;
    }
    all
}
fn spatial(shape: &Dims) -> Result<Dims> {
    if (3..=5).contains(&shape.len()) {
        return Ok(Dims::of(&shape[2..]));
    }
    Err(shape_error(format!("data of shape {shape} must have 1 to 3 spatial axes")))
}

fn infer_columns(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "data")?;
    let patches = Patches::new(c.attrs, 0, &spatial(v.shape)?)?;
    let rows = if v.shape[1] == -1 { -1 } else { v.shape[1].saturating_mul(patches.taps()) };
    outs.push(Meta { shape: Dims::of(&[v.shape[0], rows, patches.count()]), dtype: v.dtype });
    Ok(())
}
fn infer_image(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "data")?;
    let size = c.attrs.ints(0).copied().unwrap_or(Dims::EMPTY);
    if size.iter().any(|s| !(0..=LARGEST).contains(s)) {
        return Err(value(format!("output_size={size} must be numbers from 0 to {LARGEST}")));
    }
    let patches = Patches::new(c.attrs, 1, &size)?;
    let (taps, count) = (patches.taps(), patches.count());
    let fits =
        v.shape.len() == 3 && (v.shape[1] == -1 || v.shape[1] % taps == 0) && (v.shape[2] == -1 || v.shape[2] == count);
    if !fits {
        let text = format!(
            "data of shape {} must have a multiple of {taps} rows and {count} columns for images of size {size}",
            v.shape
        );
        return Err(shape_error(text));
    }
    let mut shape = Dims::of(&[v.shape[0], if v.shape[1] == -1 { -1 } else { v.shape[1] / taps }]);
    size.iter().for_each(|s| shape.push(*s));
    outs.push(Meta { shape, dtype: v.dtype });
    Ok(())
}

const SAMPLE_TYPES: &[&str] = &["nearest", "bilinear"];
const NEAREST: u8 = 0;
const INPUT_MODES: &[&str] = &["concat", "sum"];
const SUM: u8 = 1;
const SCALE: usize = 0;
const NUM_FILTER: usize = 1;
const SAMPLE_TYPE: usize = 2;
const INPUT_MODE: usize = 3;
const NUM_ARGS: usize = 4;

fn up_sampling(r: &Rule<'_>, ins: &[V]) -> Result<V> {
    let (a, scale) = (r.attrs(), r.attrs().int(SCALE) as isize);
    if ins.is_empty() {
        return Err(Cause::Argument("at least one array is needed".into()).into());
    }
    if let Some(n) = a.opt_int(NUM_ARGS).filter(|n| *n != ins.len() as i64) {
        return Err(Cause::Argument(format!("num_args={n}, but {} arrays are given", ins.len())).into());
    }
    let first = r.shape(ins[0]);
    for v in ins {
        let shape = r.shape(*v);
        if shape.len() != 4 {
            return Err(shape_error(format!("data of shape {shape} must have 4 axes: batch, channels, height, width")));
        }
    }
    if a.choice(SAMPLE_TYPE) != NEAREST {
        return bilinear_up(r, ins, &first, scale);
    }
    let (height, width) = (first[2].saturating_mul(scale), first[3].saturating_mul(scale));
    let mut parts: SmallVec<[V; 4]> = SmallVec::new();
    for v in ins {
        let s = r.shape(*v);
        let by = if s[2] > 0 { height / s[2] } else { 1 };
        if s[2].saturating_mul(by) != height || s[3].saturating_mul(by) != width {
            let text = format!(
                "data of size ({}, {}) cannot be enlarged to ({height}, {width}) by a whole number",
                s[2], s[3]
            );
            return Err(shape_error(text));
        }
        let wide = r.reshape(*v, Dims::of(&[s[0], s[1], s[2], 1, s[3], 1]));
        let wide = r.broadcast_to(wide, Dims::of(&[s[0], s[1], s[2], by, s[3], by]));
        parts.push(r.reshape(wide, Dims::of(&[s[0], s[1], height, width])));
    }
    if parts.len() == 1 {
        return Ok(parts[0]);
    }
    if a.choice(INPUT_MODE) == SUM {
        return Ok(parts[1..].iter().fold(parts[0], |all, p| r.add(all, *p)));
    }
    Ok(r.call(&CONCAT, &parts, &[AttrVal::Int(1)]))
}

/// By a transposed convolution with the given filters, one for each channel.
fn bilinear_up(r: &Rule<'_>, ins: &[V], data: &Dims, scale: isize) -> Result<V> {
    let filters = r.attrs().int(NUM_FILTER) as isize;
    if ins.len() != 2 {
        return Err(
            Cause::Argument(format!("sample_type='bilinear' takes data and weight, got {} arrays", ins.len())).into()
        );
    }
    if filters != data[1] {
        let text = format!("num_filter={filters} must be the {} channels of data for sample_type='bilinear'", data[1]);
        return Err(value(text));
    }
    let kernel = 2 * scale - scale % 2;
    let both = |n: isize| AttrVal::Ints(Dims::of(&[n, n]));
    Ok(r.call(
        &DECONVOLUTION,
        ins,
        &[
            both(kernel),
            both(scale),
            AttrVal::None,
            both(scale / 2),
            AttrVal::None,
            AttrVal::None,
            AttrVal::Int(filters as i64),
            AttrVal::Int(filters as i64),
            AttrVal::Int(512),
            AttrVal::Bool(true),
            AttrVal::None,
            AttrVal::Bool(false),
            AttrVal::None,
        ],
    ))
}

const MODES: &[&str] = &["size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"];
const HEIGHT: usize = 0;
const SCALE_HEIGHT: usize = 2;
const MODE: usize = 4;
const CORNERS: usize = 5;
/// Of the modes, which asks an array for the size. Those before it know scales.
const LIKE: u8 = 2;

/// The height and width that a call asks for.
fn resized(a: &Attrs, shape: &Dims, like: Option<Dims>) -> Result<Dims> {
    if shape.len() != 4 {
        return Err(shape_error(format!("data of shape {shape} must have 4 axes: batch, channels, height, width")));
    }
    let mode = a.choice(MODE);
    let mut size = Dims::of(&shape[2..]);
    match (mode, like) {
        (LIKE, Some(l)) if l.len() == 4 => return Ok(Dims::of(&l[2..])),
        (LIKE, Some(l)) => return Err(shape_error(format!("like of shape {l} must have 4 axes"))),
        (LIKE, None) => return Err(Cause::Argument("mode='like' needs the input like".into()).into()),
        (_, Some(_)) => {
            return Err(Cause::Argument(format!("like is given, but mode is '{}'", MODES[mode as usize])).into());
        }
        _ => {}
    }
    for (i, name) in ["height", "width"].into_iter().enumerate().filter(|(i, _)| shape[2 + *i] != -1) {
        let (n, scale) = (size[i], a.opt_float(SCALE_HEIGHT + i));
        let scaled = |n: isize, scale: f64| (n as f64 * scale) as isize;
        size[i] = match (mode, scale) {
            (0, None) => a.int(HEIGHT + i) as isize,
            (0, Some(s)) => scaled(n, s),
            (1, None) => return Err(Cause::Argument(format!("mode='odd_scale' needs scale_{name}")).into()),
            (1, Some(s)) => {
                if n % 2 == 0 {
                    scaled(n, s)
                } else {
                    scaled(n - 1, s).saturating_add(1)
                }
            }
            (3, _) => n - n % 2,
            (4, _) => n + n % 2,
            (5, _) => n - (n + 1) % 2,
            _ => n + (n + 1) % 2,
        };
        let by = scale.filter(|_| mode < LIKE);
        if !(1..=LARGEST).contains(&size[i]) || n == 0 || by.is_some_and(f64::is_nan) {
            let how = match by {
                Some(s) => format!("by scale_{name}={s:?}"),
                None => format!("to {name} {}", size[i]),
            };
            let text = format!("data of {name} {n} cannot be resized {how}: a {name} is from 1 to {LARGEST}");
            return Err(shape_error(text));
        }
    }
    Ok(size)
}

fn resize_row(r: &Rule<'_>, ins: &[V]) -> Result<V> {
    let like = ins.get(1).filter(|v| **v != V::Absent).map(|v| r.shape(*v));
    let size = resized(r.attrs(), &r.shape(ins[0]), like)?;
    Ok(r.call(&RESIZE, &ins[..1], &[AttrVal::Ints(size), r.attrs()[CORNERS]]))
}
fn infer_resize(c: &Call<'_>, outs: &mut Metas) -> Result {
    let v = &c.ins[0];
    require_float(v, "data")?;
    let size = c.attrs.ints(0).copied().unwrap_or(Dims::EMPTY);
    let empty = v.shape.iter().skip(2).chain(size.iter()).any(|d| *d < 1 && *d != -1);
    if v.shape.len() != 4 || size.len() != 2 || empty {
        return Err(shape_error(format!("data of shape {} cannot be resized to {size}", v.shape)));
    }
    outs.push(Meta { shape: Dims::of(&[v.shape[0], v.shape[1], size[0], size[1]]), dtype: v.dtype });
    Ok(())
}
const RESIZE_ATTRS: &[Attr] = &[
    Attr::ints("size", "Height and width of the result."),
    Attr::bool("align_corners", true, "Whether the corners' centres lie upon each other, not their edges."),
];
fn back_to_size(r: &Rule<'_>) -> [AttrVal; 2] {
    [AttrVal::Ints(Dims::of(&r.input(0).shape[2..])), r.attrs()[1]]
}

/// `data` with a filter of its own for every place: weight (places, filters, channels * taps), bias (filters, places).
fn local(r: &Rule<'_>, ins: &[V]) -> Result<V> {
    let a = r.attrs();
    let data = r.shape(ins[0]);
    let patches = Patches::new(a, 0, &spatial(&data)?)?;
    let (filters, bias) = (a.int(4) as isize, ins.get(2).copied().unwrap_or(V::Absent));
    match (bias != V::Absent, a.bool(5)) {
        (true, true) => return Err(Cause::Argument("bias is given, but no_bias is True".into()).into()),
        (false, false) => return Err(Cause::Argument("bias is missing; no_bias=True goes without".into()).into()),
        _ => {}
    }
    let count = patches.count();
    let wanted = Dims::of(&[count, filters, data[1].saturating_mul(patches.taps())]);
    if r.shape(ins[1]) != wanted {
        let text = format!("weight must have shape {wanted} for data of shape {data}, got {}", r.shape(ins[1]));
        return Err(shape_error(text));
    }
    let columns = r.call(&IM2COL, &ins[..1], &[a[0], a[1], a[2], a[3]]);
    // Places become the batch of the product: (places, batch, taps) by (places, taps, filters).
    let by_place = r.transpose(columns, Dims::of(&[2, 0, 1]));
    let y = r.transpose(r.matmul(by_place, r.swap_last(ins[1])), Dims::of(&[1, 2, 0]));
    let y = if bias == V::Absent {
        y
    } else {
        let wanted = Dims::of(&[filters, count]);
        if r.shape(bias) != wanted {
            return Err(shape_error(format!("bias must have shape {wanted}, got {}", r.shape(bias))));
        }
        r.add(y, bias)
    };
    let mut shape = Dims::of(&[data[0], filters]);
    patches.places.iter().for_each(|p| shape.push(*p));
    Ok(r.reshape(y, shape))
}
fn fill_local(shapes: &mut [Dims], a: &Attrs) -> Result {
    let patches = Patches::new(a, 0, &spatial(&shapes[0])?)?;
    let (filters, channels) = (a.int(4) as isize, shapes[0][1]);
    let taps = if channels == -1 { -1 } else { channels.saturating_mul(patches.taps()) };
    shapes[1] = Dims::of(&[patches.count(), filters, taps]);
    if let Some(bias) = shapes.get_mut(2) {
        *bias = Dims::of(&[filters, patches.count()]);
    }
    Ok(())
}

const ALL: &[Input] = &[Input { name: "data", kind: InputKind::Variadic }];
const IMAGE_LIKE: &[Input] = &[input("data"), optional("like")];
const LAYER: &[Input] = &[input("data"), parameter("weight"), optional("bias")];

rows! {
    IM2COL = Op::new("im2col", "The patches of images as columns: (batch, channels * taps, places).", DATA, Body::Kernel(|cx, a, out| {
            let p = Patches::new(a.attrs, 0, &spatial(a.ins[0].shape)?)?;
            columns::im2col(cx, &a.ins[0], &p.how, three(&p.kernel), three(&p.places), &out[0])
        }))
        .attrs(&[KERNEL, STRIDE, DILATE, PAD]).infer(infer_columns).cost(Cost::Bytes(4.0)).nd(&["im2col"])
        .grad(&[], |r| r.grad(0, || {
            let (a, size) = (r.attrs(), Dims::of(&r.input(0).shape[2..]));
            r.call(&COL2IM, &[r.dy()], &[AttrVal::Ints(size), a[0], a[1], a[2], a[3]])
        }));
    COL2IM = Op::new("col2im", "Columns added up where their patches lie in images: the gradient of im2col.", DATA, Body::Kernel(|cx, a, out| {
            let p = Patches::new(a.attrs, 1, &spatial(out[0].view.shape)?)?;
            columns::col2im(cx, &a.ins[0], &p.how, three(&p.kernel), three(&p.places), &out[0])
        }))
        .attrs(&[SIZE, KERNEL, STRIDE, DILATE, PAD]).infer(infer_image).cost(Cost::Bytes(4.0)).nd(&["col2im"])
        .grad(&[], |r| r.grad(0, || r.call(&IM2COL, &[r.dy()], &r.attrs()[1..])));
    UP_SAMPLING = Op::new("UpSampling", "Images enlarged by a whole number; several become one, each enlarged to the size of the first.", ALL, Body::Compose(|r, ins| r.ok(up_sampling(r, ins))))
        .attrs(&[
            Attr::int_required("scale", "How much larger the first image becomes.").between(1, 1 << 20),
            Attr::int("num_filter", 0, "Number of channels, for 'bilinear'.").at_least(0),
            Attr::choice_required("sample_type", SAMPLE_TYPES, "Values repeated, or a transposed convolution with given filters."),
            Attr::choice("multi_input_mode", INPUT_MODES, 0, "Whether several images are joined along their channels or added."),
            Attr::opt_int("num_args", "How many arrays are given; nothing else is allowed."),
            Attr::int("workspace", 512, "For MXNet's code: scratch memory is bounded here, whatever this says."),
        ]).nd(&["UpSampling"]).onnx("Upsample");
    BILINEAR_RESIZE = Op::new("BilinearResize2D", "Images of another size, each value a mixture of the four nearest.", IMAGE_LIKE, Body::Compose(|r, ins| r.ok(resize_row(r, ins))))
        .attrs(&[
            Attr::int("height", 1, "Height of the result, for mode 'size' without `scale_height`.").at_least(1),
            Attr::int("width", 1, "Width of the result, for mode 'size' without `scale_width`.").at_least(1),
            Attr::opt_float("scale_height", "Factor of the height, for modes 'size' and 'odd_scale'."),
            Attr::opt_float("scale_width", "Factor of the width, for modes 'size' and 'odd_scale'."),
            Attr::choice("mode", MODES, 0, "Where the size comes from; 'odd_scale' keeps an odd size odd, 'to_even_down' and its kin go to the nearest."),
            Attr::bool("align_corners", true, "Whether the corners' centres lie upon each other, not their edges."),
        ]).nd(&["contrib.BilinearResize2D"]);
    RESIZE = Op::new("_bilinear_resize", "Images of the given size.", DATA, Body::Kernel(|cx, a, out| {
            resize::bilinear(cx, &a.ins[0], a.attrs.bool(1), &out[0])
        })).attrs(RESIZE_ATTRS).infer(infer_resize).cost(Cost::Bytes(8.0)).internal()
        .grad(&[], |r| r.grad(0, || r.call(&RESIZE_GRAD, &[r.dy()], &back_to_size(r))));
    RESIZE_GRAD = Op::new("_bilinear_resize_grad", "The gradient of a resized image, which has the given size.", DATA, Body::Kernel(|cx, a, out| {
            resize::bilinear_grad(cx, &a.ins[0], a.attrs.bool(1), &out[0])
        })).attrs(RESIZE_ATTRS).infer(infer_resize).cost(Cost::Bytes(8.0)).internal()
        .grad(&[], |r| r.grad(0, || r.call(&RESIZE, &[r.dy()], &back_to_size(r))));
    LOCALLY_CONNECTED = Op::new("LocallyConnected", "As a convolution, but with filters of their own for every place: weight (places, filters, channels * taps), bias (filters, places).", LAYER, Body::Compose(|r, ins| r.ok(local(r, ins))))
        .attrs(&[
            KERNEL, STRIDE, DILATE, PAD,
            Attr::int_required("num_filter", "Number of filters, and of channels of the result.").at_least(1),
            Attr::bool("no_bias", false, "Whether there is no bias."),
        ]).fill(fill_local).nd(&["contrib.LocallyConnected"]);
}
