//! Convolution, its transpose and its gradients. The three products of a convolution (result, gradient of the images,
//! gradient of the filters) are each linear in both operands, and their gradients are again these three: so rows for them
//! serve every order.
use crate::attr::Attr;
use crate::cost::{Cost, fma_per_ns};
use crate::def::{Body, Call, Input, Meta, Metas, Op, input, optional, parameter, rows, x};
use crate::infer::promoted;
use crate::rule::{Rule, V};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::conv::{self as k, How};
use gluonish_kernels::convert::copy_view;
use gluonish_kernels::{AttrVal, Attrs, Mode, Out, View};

pub(crate) const LAYOUTS: &[&str] = &["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"];
const FIRST_LAST: u8 = 3;
const IMAGE: &[Input] = &[input("data"), parameter("weight"), optional("bias")];

const KERNEL: Attr = Attr::ints("kernel", "Size of the filters: (w,), (h, w) or (d, h, w).");
const STRIDE: Attr = Attr::opt_ints("stride", "Distance between two places of the filters; 1 when left out.");
const DILATE: Attr = Attr::opt_ints("dilate", "Distance between two taps of a filter; 1 when left out.");
const PAD: Attr = Attr::opt_ints("pad", "Zeros on both sides of each axis; none when left out.");
const FILTERS: Attr = Attr::int_required("num_filter", "Number of filters, and of channels of the result.").at_least(1);
const GROUPS: Attr = Attr::int("num_group", 1, "Groups of channels that do not see each other.").at_least(1);
const LAYOUT: Attr = Attr::opt_choice("layout", LAYOUTS, "Order of the axes; channels second when None.");
const fn workspace(default: i64) -> Attr {
    Attr::int("workspace", default, "For MXNet's code: scratch memory is bounded here, whatever this says.")
}
const TUNE: &[&str] = &["off", "limited_workspace", "fastest"];
const CUDNN_TUNE: Attr = Attr::opt_choice("cudnn_tune", TUNE, "For MXNet's GPU code: changes nothing here.");
const CUDNN_OFF: Attr = Attr::bool("cudnn_off", false, "For MXNet's GPU code: changes nothing here.");

const CONVOLUTION_ATTRS: &[Attr] = &[
    KERNEL,
    STRIDE,
    DILATE,
    PAD,
    FILTERS,
    GROUPS,
    workspace(1024),
    Attr::bool("no_bias", false, "Whether there is no bias."),
    CUDNN_TUNE,
    CUDNN_OFF,
    LAYOUT,
];
const DECONVOLUTION_ATTRS: &[Attr] = &[
    KERNEL,
    STRIDE,
    DILATE,
    PAD,
    Attr::opt_ints("adj", "What is added to the size of the result, less than the stride."),
    Attr::opt_ints("target_shape", "Size of the result, instead of `pad` and `adj`."),
    FILTERS,
    GROUPS,
    workspace(512),
    Attr::bool("no_bias", true, "Whether there is no bias."),
    CUDNN_TUNE,
    CUDNN_OFF,
    LAYOUT,
];
/// Of the rows for the three products. `size` is what the operands do not tell: of the images, or of the filters.
const PRODUCT_ATTRS: &[Attr] = &[
    Attr::ints("size", "Spatial size of the result of a gradient."),
    STRIDE,
    DILATE,
    PAD,
    GROUPS,
    Attr::bool("channels_last", false, "Channels are the last axis."),
];

/// A call of one of the public rows, checked.
struct Plan {
    spatial: usize,
    stride: Dims,
    dilate: Dims,
    pad: Dims,
    groups: isize,
    filters: isize,
    channels_last: bool,
    /// Spatial size of the filters and of the result.
    kernel: Dims,
    out: Dims,
}

impl Plan {
    fn how(&self) -> How {
        How::new(self.spatial, &self.stride, &self.dilate, &self.pad, self.groups as usize, self.channels_last)
    }

    /// The attributes of a row for one of the products.
    fn attrs(&self, size: Dims) -> [AttrVal; 6] {
        [
            AttrVal::Ints(size),
            AttrVal::Ints(self.stride),
            AttrVal::Ints(self.dilate),
            AttrVal::Ints(self.pad),
            AttrVal::Int(self.groups as i64),
            AttrVal::Bool(self.channels_last),
        ]
    }

    fn shape(&self, count: isize, channels: isize, size: &Dims) -> Dims {
        axes(count, channels, size, self.channels_last)
    }
}

/// The axes of images or of filters in their order.
pub(crate) fn axes(count: isize, channels: isize, size: &Dims, channels_last: bool) -> Dims {
    let mut shape = Dims::of(&[count]);
    if !channels_last {
        shape.push(channels);
    }
    size.iter().for_each(|s| shape.push(*s));
    if channels_last {
        shape.push(channels);
    }
    shape
}

/// The number of channels of a shape, and its spatial axes.
pub(crate) fn parts(shape: &Dims, channels_last: bool) -> (isize, Dims) {
    let n = shape.len();
    if channels_last { (shape[n - 1], Dims::of(&shape[1..n - 1])) } else { (shape[1], Dims::of(&shape[2..])) }
}

fn value(text: String) -> gluonish_base::Error {
    Cause::Value(text).into()
}
fn shape_error(text: String) -> gluonish_base::Error {
    Cause::Shape(text).into()
}

/// Larger distances would leave the range of the arithmetic on places.
pub(crate) const LARGEST: isize = i32::MAX as isize;

/// What to write where one number was given for several spatial axes; nothing where that is not what is wrong.
pub(crate) fn number_for_each(name: &str, list: &Dims, spatial: usize) -> String {
    match list[..] {
        [one] if spatial > 1 => {
            let each = Dims::filled(spatial, one);
            format!("; with {spatial} spatial axes it has {spatial} numbers: {name}={each}")
        }
        _ => String::new(),
    }
}

/// A list for each spatial axis: as given, or all `otherwise`.
pub(crate) fn per_axis(
    attrs: &Attrs,
    at: usize,
    name: &str,
    spatial: usize,
    least: isize,
    otherwise: isize,
) -> Result<Dims> {
    let Some(list) = attrs.ints(at).filter(|l| !l.is_empty()) else { return Ok(Dims::filled(spatial, otherwise)) };
    if list.len() != spatial {
        let hint = number_for_each(name, list, spatial);
        return Err(value(format!("{name}={list} does not fit {spatial} spatial axes{hint}")));
    }
    if let Some(bad) = list.iter().find(|v| **v < least) {
        return Err(value(format!("{name}={list}: {bad} is less than {least}")));
    }
    if let Some(bad) = list.iter().find(|v| **v > LARGEST) {
        return Err(value(format!("{name}={list}: {bad} is more than {LARGEST}")));
    }
    Ok(*list)
}

/// Whether channels come last in a layout for so many spatial axes.
pub(crate) fn is_last(layout: Option<u8>, spatial: usize) -> Result<bool> {
    match layout {
        Some(c) if LAYOUTS[c as usize].len() != spatial + 2 => {
            Err(value(format!("layout='{}' does not fit {spatial} spatial axes", LAYOUTS[c as usize])))
        }
        c => Ok(c.is_some_and(|c| c >= FIRST_LAST)),
    }
}

/// What both public rows have in common; `at` are the positions of their attributes from `num_filter` on.
fn plan(attrs: &Attrs, data: &Dims, at: usize) -> Result<Plan> {
    let kernel = attrs.ints(0).copied().unwrap_or(Dims::EMPTY);
    let spatial = kernel.len();
    if !(1..=3).contains(&spatial) || kernel.iter().any(|v| !(1..=LARGEST).contains(v)) {
        return Err(value(format!("kernel={kernel} must be one to three numbers from 1 to {LARGEST}")));
    }
    if data.len() != spatial + 2 {
        let hint = match data.len() {
            n @ 4..=5 => number_for_each("kernel", &kernel, n - 2),
            _ => String::new(),
        };
        return Err(shape_error(format!(
            "data of shape {data} must have {} axes for kernel={kernel}{hint}",
            spatial + 2
        )));
    }
    let channels_last = is_last(attrs.opt_choice(at + 6), spatial)?;
    Ok(Plan {
        spatial,
        stride: per_axis(attrs, 1, "stride", spatial, 1, 1)?,
        dilate: per_axis(attrs, 2, "dilate", spatial, 1, 1)?,
        pad: per_axis(attrs, 3, "pad", spatial, 0, 0)?,
        groups: attrs.int(at + 1) as isize,
        filters: attrs.int(at) as isize,
        channels_last,
        kernel,
        out: Dims::filled(spatial, -1),
    })
}

/// The plan of a convolution of images of this shape.
fn convolution(attrs: &Attrs, data: &Dims) -> Result<Plan> {
    let mut plan = plan(attrs, data, 4)?;
    let (channels, size) = parts(data, plan.channels_last);
    let how = plan.how();
    for i in 0..plan.spatial {
        if size[i] == -1 {
            continue;
        }
        let Some(out) = how.out(3 - plan.spatial + i, size[i] as usize, plan.kernel[i] as usize) else {
            let (kernel, dilate, pad) = (plan.kernel, plan.dilate, plan.pad);
            let text =
                format!("kernel={kernel} with dilate={dilate} is larger than data of size {size} with pad={pad}");
            return Err(shape_error(text));
        };
        plan.out[i] = out as isize;
    }
    grouped(channels, plan.groups, "channels of data")?;
    grouped(plan.filters, plan.groups, "filters of num_filter")?;
    Ok(plan)
}

/// The plan of a transposed convolution, as that of the convolution whose images its results are.
fn deconvolution(attrs: &Attrs, data: &Dims) -> Result<Plan> {
    let mut plan = plan(attrs, data, 6)?;
    let (channels, size) = parts(data, plan.channels_last);
    let adj = per_axis(attrs, 4, "adj", plan.spatial, 0, 0)?;
    let target = attrs.ints(5).filter(|l| l.iter().any(|v| *v != 0));
    if let Some(t) = target {
        per_axis(attrs, 5, "target_shape", plan.spatial, 1, 1)?;
        plan.out = *t;
    }
    for i in 0..plan.spatial {
        let reach = plan.dilate[i].saturating_mul(plan.kernel[i] - 1).saturating_add(1);
        let whole = size[i].saturating_sub(1).saturating_mul(plan.stride[i]).saturating_add(reach);
        if target.is_some() {
            let total = whole - plan.out[i];
            if total < 0 {
                let text =
                    format!("target_shape={} is larger than what a result can have: {whole} along axis {i}", plan.out);
                return Err(value(text));
            }
            if total % 2 != 0 && plan.stride[i] == 1 {
                let text = format!(
                    "target_shape={} cannot be had with stride=1 along axis {i}: a result of {whole} loses as much on both sides",
                    plan.out
                );
                return Err(value(text));
            }
            plan.pad[i] = (total + 1) / 2;
        } else if size[i] != -1 {
            if adj[i] >= plan.stride[i] {
                return Err(value(format!("adj={adj} must be less than stride={}", plan.stride)));
            }
            plan.out[i] = whole - 2 * plan.pad[i] + adj[i];
            if plan.out[i] < 1 {
                return Err(shape_error(format!("data of size {size} with pad={} leaves no result", plan.pad)));
            }
        }
    }
    grouped(channels, plan.groups, "channels of data")?;
    grouped(plan.filters, plan.groups, "filters of num_filter")?;
    Ok(plan)
}

fn grouped(n: isize, groups: isize, what: &str) -> Result {
    if n == -1 || n % groups == 0 {
        return Ok(());
    }
    Err(value(format!("the {n} {what} cannot be divided into num_group={groups} groups")))
}

/// Checks weight and bias, and gives the result's shape and type. `filters` is the weight's shape.
fn finish(c: &Call<'_>, plan: &Plan, filters: Dims, no_bias: bool, outs: &mut Metas) -> Result {
    let fits = |given: &Dims, wanted: &Dims| {
        given.len() == wanted.len() && given.iter().zip(wanted.iter()).all(|(a, b)| a == b || *a == -1 || *b == -1)
    };
    let weight = c.ins[1].shape;
    if !fits(weight, &filters) {
        return Err(shape_error(format!(
            "weight must have shape {filters} for data of shape {}, got {weight}",
            c.ins[0].shape
        )));
    }
    match (has_bias(c.ins), no_bias) {
        (true, true) => return Err(Cause::Argument("bias is given, but no_bias is True".into()).into()),
        (false, false) => return Err(Cause::Argument("bias is missing; no_bias=True goes without".into()).into()),
        (true, false) if !fits(c.ins[2].shape, &Dims::of(&[plan.filters])) => {
            return Err(shape_error(format!("bias must have shape ({},), got {}", plan.filters, c.ins[2].shape)));
        }
        _ => {}
    }
    let dtype = promoted(&c.ins[..2 + has_bias(c.ins) as usize]);
    if !dtype.is_float() {
        return Err(Cause::DType(format!("images of {dtype} cannot be convolved; cast them to a floating type")).into());
    }
    outs.push(Meta { shape: plan.shape(c.ins[0].shape[0], plan.filters, &plan.out), dtype });
    Ok(())
}

/// Whether the optional third input is there.
fn has_bias(ins: &[View<'_>]) -> bool {
    ins.get(2).is_some_and(|v| !v.is_absent())
}

fn infer_convolution(c: &Call<'_>, outs: &mut Metas) -> Result {
    let plan = convolution(c.attrs, c.ins[0].shape)?;
    finish(c, &plan, filters_of(&plan, c.ins[0].shape), c.attrs.bool(7), outs)
}
fn filters_of(plan: &Plan, data: &Dims) -> Dims {
    let channels = parts(data, plan.channels_last).0;
    plan.shape(plan.filters, if channels == -1 { -1 } else { channels / plan.groups }, &plan.kernel)
}
fn fill_convolution(shapes: &mut [Dims], attrs: &Attrs) -> Result {
    let plan = convolution(attrs, &shapes[0])?;
    fill(shapes, filters_of(&plan, &shapes[0]), plan.filters);
    Ok(())
}
fn fill(shapes: &mut [Dims], weight: Dims, filters: isize) {
    shapes[1] = weight;
    if let Some(bias) = shapes.get_mut(2) {
        *bias = Dims::of(&[filters]);
    }
}

fn infer_deconvolution(c: &Call<'_>, outs: &mut Metas) -> Result {
    let plan = deconvolution(c.attrs, c.ins[0].shape)?;
    finish(c, &plan, transposed_filters_of(&plan, c.ins[0].shape), c.attrs.bool(9), outs)
}
fn transposed_filters_of(plan: &Plan, data: &Dims) -> Dims {
    plan.shape(parts(data, plan.channels_last).0, plan.filters / plan.groups, &plan.kernel)
}
fn fill_deconvolution(shapes: &mut [Dims], attrs: &Attrs) -> Result {
    let plan = deconvolution(attrs, &shapes[0])?;
    fill(shapes, transposed_filters_of(&plan, &shapes[0]), plan.filters);
    Ok(())
}

/// All three products of a convolution take as many multiplications: each value of the results meets all taps of a filter.
fn cost(images: &Dims, filters: &Dims, results: &Dims, dtype: DType) -> u64 {
    let size = |shape: &Dims| shape.iter().fold(1u64, |n, d| n.saturating_mul((*d).max(0) as u64));
    let taps = size(filters) / (filters[0].max(1) as u64);
    let moved = size(images) + size(filters) + size(results);
    size(results).saturating_mul(taps) / fma_per_ns(dtype) + moved / 4
}
pub(crate) fn result_cost(c: &Call<'_>, outs: &[Meta]) -> u64 {
    cost(c.ins[0].shape, c.ins[1].shape, &outs[0].shape, outs[0].dtype)
}
pub(crate) fn images_cost(c: &Call<'_>, outs: &[Meta]) -> u64 {
    cost(&outs[0].shape, c.ins[1].shape, c.ins[0].shape, outs[0].dtype)
}
pub(crate) fn filters_cost(c: &Call<'_>, outs: &[Meta]) -> u64 {
    cost(c.ins[0].shape, &outs[0].shape, c.ins[1].shape, outs[0].dtype)
}

/// How a row for one of the products is called, and the spatial size that it is told.
fn product(attrs: &Attrs) -> (How, Dims) {
    let list = |i: usize| attrs.ints(i).copied().unwrap_or(Dims::EMPTY);
    let size = list(0);
    (How::new(size.len(), &list(1), &list(2), &list(3), attrs.int(4) as usize, attrs.bool(5)), size)
}

/// The shapes of the three operands of a product: images, filters, results. Those given are 0 and 1 of `which`.
fn product_shape(c: &Call<'_>, outs: &mut Metas, made: Made) -> Result {
    let spatial = c.attrs.ints(0).map_or(0, |size| size.len());
    let (a, b) = (c.ins[0].shape, c.ins[1].shape);
    if !(1..=3).contains(&spatial) || a.len() != spatial + 2 || b.len() != a.len() {
        return Err(shape_error(format!("{a} and {b} are no operands of a convolution over {spatial} axes")));
    }
    for (at, name, least) in [(1, "stride", 1), (2, "dilate", 1), (3, "pad", 0)] {
        per_axis(c.attrs, at, name, spatial, least, least)?;
    }
    let (how, size) = product(c.attrs);
    let (groups, last) = (how.groups as isize, how.channels_last);
    let (channels, filters) = (parts(a, last).0, parts(b, last).0);
    let meets = match made {
        Made::Result => filters.checked_mul(groups) == Some(channels) && b[0] % groups == 0,
        Made::Images => channels == b[0] && b[0] % groups == 0 && filters.checked_mul(groups).is_some(),
        Made::Filters => a[0] == b[0] && channels % groups == 0 && filters % groups == 0,
    };
    if groups < 1 || !meets || size.iter().any(|s| *s < 0) {
        return Err(shape_error(format!("{a} and {b} do not meet in a convolution of {groups} groups")));
    }
    let shape = match made {
        Made::Result => {
            let (filters, kernel) = (b[0], parts(b, last).1);
            let mut out = Dims::filled(spatial, 0);
            for (i, o) in out.iter_mut().enumerate() {
                let image = parts(a, last).1[i] as usize;
                let fits = how.out(3 - spatial + i, image, kernel[i] as usize);
                *o = fits.ok_or_else(|| shape_error(format!("filters {b} are larger than images {a}")))? as isize;
            }
            axes(a[0], filters, &out, last)
        }
        Made::Images => axes(a[0], parts(b, last).0 * groups, &size, last),
        Made::Filters => axes(parts(b, last).0, parts(a, last).0 / groups.max(1), &size, last),
    };
    outs.push(Meta { shape, dtype: promoted(c.ins) });
    Ok(())
}
enum Made {
    Result,
    Images,
    Filters,
}

/// The gradients of the two operands of a product, by the other two products.
fn bias_grad(r: &Rule<'_>, channels_last: bool) -> V {
    let n = r.shape(r.dy()).len();
    let channel = if channels_last { n - 1 } else { 1 };
    let mut others = Dims::EMPTY;
    (0..n).filter(|i| *i != channel).for_each(|i| others.push(i as isize));
    r.sum(r.dy(), others, false)
}
fn convolution_rule(r: &Rule<'_>) {
    let Ok(plan) = convolution(r.attrs(), &r.input(0).shape) else { return };
    let size = parts(&r.input(0).shape, plan.channels_last).1;
    r.grad(0, || r.call(&CONV_IMAGES, &[r.dy(), r.x(1)], &plan.attrs(size)));
    r.grad(1, || r.call(&CONV_FILTERS, &[r.x(0), r.dy()], &plan.attrs(plan.kernel)));
    r.grad(2, || bias_grad(r, plan.channels_last));
}
fn deconvolution_rule(r: &Rule<'_>) {
    let Ok(plan) = deconvolution(r.attrs(), &r.input(0).shape) else { return };
    r.grad(0, || r.call(&CONV_RESULT, &[r.dy(), r.x(1)], &plan.attrs(plan.kernel)));
    r.grad(1, || r.call(&CONV_FILTERS, &[r.dy(), r.x(0)], &plan.attrs(plan.kernel)));
    r.grad(2, || bias_grad(r, plan.channels_last));
}
/// The attributes of another product of the same convolution.
fn with_size(r: &Rule<'_>, size: Dims) -> [AttrVal; 6] {
    let a = r.attrs();
    [AttrVal::Ints(size), a[1], a[2], a[3], a[4], a[5]]
}
fn spatial_of(r: &Rule<'_>, v: V) -> Dims {
    parts(&r.shape(v), r.attrs().bool(5)).1
}

const fn product_row(name: &'static str, doc: &'static str, inputs: &'static [Input], body: Body) -> Op {
    Op::new(name, doc, inputs, body).attrs(PRODUCT_ATTRS).internal()
}

rows! {
    CONVOLUTION = Op::new("Convolution", "Filters slide over images: `sum(data * weight) + bias` at every place.", IMAGE, Body::Kernel(|cx, a, out| {
            let plan = convolution(a.attrs, a.ins[0].shape)?;
            let bias = has_bias(a.ins).then(|| &a.ins[2]);
            k::forward(cx, [&a.ins[0], &a.ins[1]], bias, &plan.how(), k::wanted(), &out[0])
        })).attrs(CONVOLUTION_ATTRS).infer(infer_convolution).fill(fill_convolution).cost(Cost::Of(result_cost)).stamped(1)
        .nd(&["Convolution", "Convolution_v1"]).onnx("Conv").grad(&[x(1).when(0), x(0).when(1)], convolution_rule);
    DECONVOLUTION = Op::new("Deconvolution", "The transpose of a convolution: each value lays down its filter.", IMAGE, Body::Kernel(|cx, a, out| {
            let plan = deconvolution(a.attrs, a.ins[0].shape)?;
            let mut to = out[0];
            if has_bias(a.ins) {
                let bias = &a.ins[2];
                let mut strides = Dims::filled(to.view.ndim(), 0);
                strides[if plan.channels_last { to.view.ndim() - 1 } else { 1 }] = bias.strides[0];
                let everywhere = View { shape: to.view.shape, strides: &strides, contiguous: false, size: to.view.size, ..*bias };
                copy_view(cx, &everywhere, &to)?;
                to = Out { mode: Mode::Add, ..to };
            }
            k::data_grad(cx, [&a.ins[0], &a.ins[1]], &plan.how(), k::wanted(), &to)
        })).attrs(DECONVOLUTION_ATTRS).infer(infer_deconvolution).fill(fill_deconvolution).cost(Cost::Of(images_cost)).stamped(1)
        .nd(&["Deconvolution"]).onnx("ConvTranspose").grad(&[x(1).when(0), x(0).when(1)], deconvolution_rule);
    CONV_RESULT = product_row("_conv_result", "The product of a convolution, without a bias.", &[input("images"), input("filters")], Body::Kernel(|cx, a, out| {
            k::forward(cx, [&a.ins[0], &a.ins[1]], None, &product(a.attrs).0, k::wanted(), &out[0])
        })).infer(|c, outs| product_shape(c, outs, Made::Result)).cost(Cost::Of(result_cost)).stamped(1)
        .grad(&[x(1).when(0), x(0).when(1)], |r| {
            r.grad(0, || r.call(&CONV_IMAGES, &[r.dy(), r.x(1)], &with_size(r, parts(&r.input(0).shape, r.attrs().bool(5)).1)));
            r.grad(1, || r.call(&CONV_FILTERS, &[r.x(0), r.dy()], &with_size(r, parts(&r.input(1).shape, r.attrs().bool(5)).1)));
        });
    CONV_IMAGES = product_row("_conv_images", "The gradient of a convolution's images.", &[input("dy"), input("filters")], Body::Kernel(|cx, a, out| {
            k::data_grad(cx, [&a.ins[0], &a.ins[1]], &product(a.attrs).0, k::wanted(), &out[0])
        })).infer(|c, outs| product_shape(c, outs, Made::Images)).cost(Cost::Of(images_cost)).stamped(1)
        .grad(&[x(1).when(0), x(0).when(1)], |r| {
            r.grad(0, || r.call(&CONV_RESULT, &[r.dy(), r.x(1)], &with_size(r, spatial_of(r, r.x(1)))));
            r.grad(1, || r.call(&CONV_FILTERS, &[r.dy(), r.x(0)], &with_size(r, parts(&r.input(1).shape, r.attrs().bool(5)).1)));
        });
    CONV_FILTERS = product_row("_conv_filters", "The gradient of a convolution's filters.", &[input("images"), input("dy")], Body::Kernel(|cx, a, out| {
            k::weight_grad(cx, [&a.ins[0], &a.ins[1]], &product(a.attrs).0, k::wanted(), &out[0])
        })).infer(|c, outs| product_shape(c, outs, Made::Filters)).cost(Cost::Of(filters_cost))
        .grad(&[x(1).when(0), x(0).when(1)], |r| {
            r.grad(0, || r.call(&CONV_IMAGES, &[r.x(1), r.dy()], &with_size(r, parts(&r.input(0).shape, r.attrs().bool(5)).1)));
            r.grad(1, || r.call(&CONV_RESULT, &[r.x(0), r.dy()], &with_size(r, spatial_of(r, r.dy()))));
        });
}
