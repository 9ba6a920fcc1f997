//! Convolution of images that stay in blocks of channels, `(count, blocks, height, width, lanes)`: rows for compiled
//! networks, which lay images out once. Filters are plain, `(outputs, inputs, height, width)`.
use crate::attr::Attr;
use crate::conv::{axes, filters_cost, images_cost, parts, per_axis, result_cost};
use crate::cost::Cost;
use crate::def::{Body, Call, Grad, Input, Meta, Metas, Op, input, optional, rows};
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::conv::{self as k, How};
use gluonish_kernels::{Attrs, View};

const STRIDE: Attr = Attr::opt_ints("stride", "Distance between two places of the filters; 1 when left out.");
const DILATE: Attr = Attr::opt_ints("dilate", "Distance between two taps of a filter; 1 when left out.");
const PAD: Attr = Attr::opt_ints("pad", "Zeros on both sides of each axis; none when left out.");
const GROUPS: Attr = Attr::int("num_group", 1, "Groups of channels that do not see each other.").at_least(1);
const LAST: Attr = Attr::bool("channels_last", false, "Channels are the last axis of the plain images.");
const SIZE: Attr = Attr::ints("size", "Height and width of the result.");
const RELU: Attr = Attr::bool("relu", false, "Whether negative results become 0.");
const CHANNELS: Attr = Attr::int_required("channels", "Channels of the plain images.").at_least(1);
const FILTERS: Attr = Attr::int_required("num_filter", "Number of filters.").at_least(1);

const RESULT_ATTRS: &[Attr] = &[STRIDE, DILATE, PAD, GROUPS, RELU];
const IMAGES_ATTRS: &[Attr] = &[STRIDE, DILATE, PAD, GROUPS, SIZE];
const FILTERS_ATTRS: &[Attr] = &[STRIDE, DILATE, PAD, GROUPS, SIZE, CHANNELS, FILTERS];

const RESULT: &[Input] =
    &[input("images"), input("filters"), optional("scale"), optional("shift"), optional("residual")];

const NO_GRADIENT: Grad =
    Grad::Missing("it has no gradient of its own: a compiled network calls the rows for gradients");

fn shape_error(text: String) -> gluonish_base::Error {
    Cause::Shape(text).into()
}

/// The rows compute in one type.
fn of_float32(ins: &[View<'_>]) -> Result {
    match ins.iter().find(|v| !v.is_absent() && v.dtype != DType::F32) {
        Some(v) => Err(Cause::DType(format!("blocked images are float32, got {}; cast it", v.dtype)).into()),
        None => Ok(()),
    }
}

/// Images of so many channels in blocks.
fn blocks(count: isize, channels: isize, size: &[isize]) -> Dims {
    let lanes = k::lanes::<f32>() as isize;
    Dims::of(&[count, (channels + lanes - 1) / lanes, size[0], size[1], lanes])
}

fn is_blocked(v: &View<'_>, channels: isize) -> Result {
    let wanted = blocks(0, channels, &[0, 0]);
    if v.ndim() != 5 || v.shape[1] != wanted[1] || v.shape[4] != wanted[4] {
        let (blocks, lanes) = (wanted[1], wanted[4]);
        let text =
            format!("{channels} channels lie in blocks as (count, {blocks}, height, width, {lanes}), got {}", v.shape);
        return Err(shape_error(text));
    }
    Ok(())
}

fn how(attrs: &Attrs) -> Result<How> {
    let list = |at: usize, name: &str, least: isize| per_axis(attrs, at, name, 2, least, least);
    let (stride, dilate, pad) = (list(0, "stride", 1)?, list(1, "dilate", 1)?, list(2, "pad", 0)?);
    Ok(How::new(2, &stride, &dilate, &pad, attrs.int(3) as usize, false))
}

/// Checks that filters, and the channels that they see, can be divided into groups.
fn grouped(filters: &Dims, groups: usize) -> Result {
    if filters.len() != 4 || filters[0] % groups as isize != 0 || filters.iter().any(|d| *d < 1) {
        return Err(shape_error(format!("filters of shape {filters} do not make {groups} groups of flat filters")));
    }
    Ok(())
}

/// Height and width after a convolution.
fn after(how: &How, size: &[isize], kernel: &[isize]) -> Result<[isize; 2]> {
    let mut out = [0; 2];
    for i in 0..2 {
        let fits = how.out(i + 1, size[i] as usize, kernel[i] as usize);
        let larger = || shape_error(format!("filters of size {kernel:?} are larger than images of size {size:?}"));
        out[i] = fits.ok_or_else(larger)? as isize;
    }
    Ok(out)
}

/// Height and width of what is not an operand.
fn size_of(attrs: &Attrs) -> Result<[isize; 2]> {
    match attrs.ints(4).map(|size| &**size) {
        Some(&[h, w]) if h >= 0 && w >= 0 => Ok([h, w]),
        other => Err(Cause::Value(format!("size={other:?} must be a height and a width")).into()),
    }
}

/// Images of a first layer are plain.
fn plain_or_blocked(x: &View<'_>, channels: isize) -> Result<[isize; 2]> {
    if x.ndim() != 4 {
        is_blocked(x, channels)?;
        return Ok([x.shape[2], x.shape[3]]);
    }
    if x.shape[1] != channels {
        return Err(shape_error(format!("plain images of shape {} must have {channels} channels", x.shape)));
    }
    Ok([x.shape[2], x.shape[3]])
}

fn infer_result(c: &Call<'_>, outs: &mut Metas) -> Result {
    of_float32(c.ins)?;
    let (how, filters) = (how(c.attrs)?, c.ins[1].shape);
    grouped(filters, how.groups)?;
    let size = plain_or_blocked(&c.ins[0], filters[1] * how.groups as isize)?;
    if c.ins[0].ndim() == 4 && how.groups != 1 {
        return Err(shape_error(format!("plain images are convolved in one group, not in {}", how.groups)));
    }
    let shape = blocks(c.ins[0].shape[0], filters[0], &after(&how, &size, &filters[2..])?);
    for (i, name) in [(2, "scale"), (3, "shift")] {
        if let Some(v) = given(c.ins, i).filter(|v| **v.shape != [filters[0]]) {
            return Err(shape_error(format!("{name} must have shape ({},), got {}", filters[0], v.shape)));
        }
    }
    if let Some(v) = given(c.ins, 4).filter(|v| *v.shape != shape) {
        return Err(shape_error(format!("residual must have the shape of the result, {shape}, got {}", v.shape)));
    }
    outs.push(Meta { shape, dtype: DType::F32 });
    Ok(())
}

fn infer_images(c: &Call<'_>, outs: &mut Metas) -> Result {
    of_float32(c.ins)?;
    let (how, filters, size) = (how(c.attrs)?, c.ins[1].shape, size_of(c.attrs)?);
    grouped(filters, how.groups)?;
    is_blocked(&c.ins[0], filters[0])?;
    meets(&how, &size, &filters[2..], c.ins[0].shape)?;
    outs.push(Meta { shape: blocks(c.ins[0].shape[0], filters[1] * how.groups as isize, &size), dtype: DType::F32 });
    Ok(())
}

/// Checks that a gradient is as large as the result of the convolution.
fn meets(how: &How, size: &[isize], kernel: &[isize], dy: &Dims) -> Result {
    let [h, w] = after(how, size, kernel)?;
    if [h, w] != [dy[2], dy[3]] {
        return Err(shape_error(format!("the gradient {dy} must have size ({h}, {w})")));
    }
    Ok(())
}

fn infer_filters(c: &Call<'_>, outs: &mut Metas) -> Result {
    of_float32(c.ins)?;
    let (how, kernel) = (how(c.attrs)?, size_of(c.attrs)?);
    let (channels, filters, groups) = (c.attrs.int(5) as isize, c.attrs.int(6) as isize, how.groups as isize);
    let size = plain_or_blocked(&c.ins[0], channels)?;
    is_blocked(&c.ins[1], filters)?;
    meets(&how, &size, &kernel, c.ins[1].shape)?;
    if c.ins[0].shape[0] != c.ins[1].shape[0] || channels % groups != 0 || (c.ins[0].ndim() == 4 && groups != 1) {
        let text = format!("{} and {} do not meet in {groups} groups", c.ins[0].shape, c.ins[1].shape);
        return Err(shape_error(text));
    }
    let shape = Dims::of(&[filters, channels / groups, kernel[0], kernel[1]]);
    grouped(&shape, how.groups)?;
    outs.push(Meta { shape, dtype: DType::F32 });
    Ok(())
}

fn infer_to(c: &Call<'_>, outs: &mut Metas) -> Result {
    of_float32(c.ins)?;
    if c.ins[0].ndim() != 4 {
        return Err(shape_error(format!("images must have 4 axes, got {}", c.ins[0].shape)));
    }
    let (channels, size) = parts(c.ins[0].shape, c.attrs.bool(0));
    outs.push(Meta { shape: blocks(c.ins[0].shape[0], channels, &size), dtype: DType::F32 });
    Ok(())
}

fn infer_from(c: &Call<'_>, outs: &mut Metas) -> Result {
    of_float32(c.ins)?;
    let (channels, x) = (c.attrs.int(1) as isize, c.ins[0].shape);
    is_blocked(&c.ins[0], channels)?;
    let shape = axes(x[0], channels, &Dims::of(&[x[2], x[3]]), c.attrs.bool(0));
    outs.push(Meta { shape, dtype: DType::F32 });
    Ok(())
}

fn given<'a>(ins: &'a [View<'a>], i: usize) -> Option<&'a View<'a>> {
    ins.get(i).filter(|v| !v.is_absent())
}

rows! {
    TO_BLOCKED = Op::new("_conv_to_blocked", "Images in blocks of channels.", &[input("images")], Body::Kernel(|cx, a, out| {
            k::to_blocked_view(cx, &a.ins[0], a.attrs.bool(0), &out[0])
        })).attrs(&[LAST]).infer(infer_to).internal().no_grad(NO_GRADIENT);
    FROM_BLOCKED = Op::new("_conv_from_blocked", "Plain images from their blocks.", &[input("images")], Body::Kernel(|cx, a, out| {
            k::from_blocked_view(cx, &a.ins[0], a.attrs.bool(0), &out[0])
        })).attrs(&[LAST, CHANNELS]).infer(infer_from).internal().no_grad(NO_GRADIENT);
    BLOCKED_RESULT = Op::new("_conv_blocked_result", "`act(conv(images, filters) * scale + shift + residual)` of blocked images, or of plain ones with few channels.", RESULT, Body::Kernel(|cx, a, out| {
            let ending = k::Ending { scale: given(a.ins, 2), shift: given(a.ins, 3), residual: given(a.ins, 4), relu: a.attrs.bool(4) };
            k::blocked_forward(cx, [&a.ins[0], &a.ins[1]], &ending, &how(a.attrs)?, k::wanted(), &out[0])
        })).attrs(RESULT_ATTRS).infer(infer_result).cost(Cost::Of(result_cost)).stamped(1).internal().no_grad(NO_GRADIENT);
    BLOCKED_IMAGES = Op::new("_conv_blocked_images", "The gradient of blocked images.", &[input("dy"), input("filters")], Body::Kernel(|cx, a, out| {
            k::blocked_data_grad(cx, [&a.ins[0], &a.ins[1]], &how(a.attrs)?, k::wanted(), &out[0])
        })).attrs(IMAGES_ATTRS).infer(infer_images).cost(Cost::Of(images_cost)).stamped(1).internal().no_grad(NO_GRADIENT);
    BLOCKED_FILTERS = Op::new("_conv_blocked_filters", "The gradient of filters, from blocked images or plain ones with few channels.", &[input("images"), input("dy")], Body::Kernel(|cx, a, out| {
            k::blocked_weight_grad(cx, [&a.ins[0], &a.ins[1]], &how(a.attrs)?, k::wanted(), &out[0])
        })).attrs(FILTERS_ATTRS).infer(infer_filters).cost(Cost::Of(filters_cost)).internal().no_grad(NO_GRADIENT);
}
