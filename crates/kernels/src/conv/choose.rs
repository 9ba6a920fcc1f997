//! Which algorithm computes a convolution: a pure function of its shape.
use super::geometry::{Extent, How};
use super::{depthwise, winograd};
use gluonish_base::settings::settings;

/// How a convolution can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Products of matrices whose operands are gathered while they are packed: every shape, every type.
    Implicit,
    /// Tiles of results over blocked images.
    Direct,
    /// The same over plain images with few channels.
    First,
    /// 3x3 filters in fewer multiplications, over blocked images.
    Winograd,
    /// A filter for each channel, over blocked images.
    Depthwise,
}

impl Algorithm {
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Implicit => "implicit",
            Algorithm::Direct => "direct",
            Algorithm::First => "first",
            Algorithm::Winograd => "winograd",
            Algorithm::Depthwise => "depthwise",
        }
    }
}

/// What is computed: the result, or one of the gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Result,
    Images,
    Filters,
}

/// A convolution, as far as a choice needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub count: usize,
    /// Channels of the images and of the results.
    pub inputs: usize,
    pub outputs: usize,
    pub size: Extent,
    pub kernel: Extent,
    pub how: How,
    /// Channels in a block, for the type and the machine.
    pub lanes: usize,
}

impl Shape {
    /// Multiplications of one pass.
    fn work(&self) -> usize {
        let places: usize = (0..3).map(|i| self.how.out(i, self.size[i], self.kernel[i]).unwrap_or(0)).product();
        let taps: usize = self.kernel.iter().product();
        [self.count, places, taps, self.outputs, self.inputs / self.how.groups.max(1)]
            .iter()
            .fold(1, |n, v| n.saturating_mul(*v))
    }

    /// Images are flat, and so are the filters.
    pub(super) fn is_flat(&self) -> bool {
        let how = &self.how;
        (self.size[0], self.kernel[0], how.stride[0], how.dilate[0], how.pad[0]) == (1, 1, 1, 1, 0)
    }
}

/// Multiplications below which laying images out in blocks costs more than it saves.
const SMALL: usize = 1 << 18;
/// Channels of a first layer, at most.
const FEW: usize = 4;

/// The algorithm for plain images, of the type that the fast ones are made for; `wanted` is one to prefer where it can
/// compute this at all.
pub fn choose(shape: &Shape, pass: Pass, wanted: Option<Algorithm>) -> Algorithm {
    let first = first_suits(shape) && pass != Pass::Images;
    match wanted {
        Some(Algorithm::Direct) if direct_suits(shape) => return Algorithm::Direct,
        Some(Algorithm::First) if first => return Algorithm::First,
        Some(Algorithm::Winograd) if winograd_suits(shape) => return Algorithm::Winograd,
        Some(Algorithm::Depthwise) if depthwise_suits(shape) => return Algorithm::Depthwise,
        Some(Algorithm::Implicit) => return Algorithm::Implicit,
        _ => {}
    }
    if shape.work() < SMALL {
        return Algorithm::Implicit;
    }
    if depthwise_suits(shape) && 2 * shape.inputs > shape.lanes {
        return Algorithm::Depthwise;
    }
    if first && 2 * shape.outputs > shape.lanes {
        return Algorithm::First;
    }
    // Lanes behind the last channel are computed too.
    let whole = |channels: usize| channels.next_multiple_of(shape.lanes);
    let (computed, needed) = (whole(shape.inputs) * whole(shape.outputs), shape.inputs * shape.outputs);
    match 2 * needed > computed {
        true if winograd_pays(shape) => Algorithm::Winograd,
        true if direct_suits(shape) => Algorithm::Direct,
        _ => Algorithm::Implicit,
    }
}

/// The algorithm for blocked images: plain ones in between where no fast one can compute this.
pub fn choose_blocked(shape: &Shape, wanted: Option<Algorithm>) -> Algorithm {
    match wanted {
        Some(Algorithm::Implicit) => Algorithm::Implicit,
        Some(Algorithm::Direct) if direct_suits(shape) => Algorithm::Direct,
        _ if depthwise_suits(shape) => Algorithm::Depthwise,
        _ if winograd_pays(shape) => Algorithm::Winograd,
        _ if direct_suits(shape) => Algorithm::Direct,
        _ => Algorithm::Implicit,
    }
}

/// Whether Winograd's tiles can compute it.
fn winograd_suits(shape: &Shape) -> bool {
    shape.is_flat() && winograd::suits(shape.kernel, &shape.how)
}

/// Whether they have enough channels for their transforms to be worth it.
fn winograd_pays(shape: &Shape) -> bool {
    winograd_suits(shape) && shape.inputs.min(shape.outputs) >= 16
}

/// Whether the kernel with a filter for each channel can.
fn depthwise_suits(shape: &Shape) -> bool {
    let of_one = shape.inputs / shape.how.groups.max(1);
    shape.is_flat() && depthwise::suits(shape.kernel, shape.outputs, of_one, &shape.how)
}

/// Whether the direct kernel can compute it: flat images, groups of whole blocks.
fn direct_suits(shape: &Shape) -> bool {
    let whole = |channels: usize| (channels / shape.how.groups.max(1)).is_multiple_of(shape.lanes);
    shape.is_flat() && (shape.how.groups == 1 || (whole(shape.inputs) && whole(shape.outputs)))
}

/// Whether the kernel of first layers can, in the passes that it has.
fn first_suits(shape: &Shape) -> bool {
    shape.is_flat() && shape.how.groups == 1 && shape.inputs <= FEW
}

/// What `GLUONISH_CONV` asks for.
pub fn wanted() -> Option<Algorithm> {
    match settings().conv.as_str() {
        "implicit" => Some(Algorithm::Implicit),
        "direct" => Some(Algorithm::Direct),
        "first" => Some(Algorithm::First),
        "winograd" => Some(Algorithm::Winograd),
        "depthwise" => Some(Algorithm::Depthwise),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(inputs: usize, outputs: usize, size: usize, kernel: usize, groups: usize) -> Shape {
        let how =
            How { stride: [1; 3], dilate: [1; 3], pad: [0, kernel / 2, kernel / 2], groups, channels_last: false };
        Shape { count: 1, inputs, outputs, size: [1, size, size], kernel: [1, kernel, kernel], how, lanes: 16 }
    }

    #[test]
    fn choices() {
        use Algorithm::{Depthwise, Direct, First, Implicit, Winograd};
        for (shape, pass, chosen) in [
            (shape(64, 64, 56, 1, 1), Pass::Result, Direct),
            (shape(64, 64, 56, 1, 1), Pass::Filters, Direct),
            (shape(3, 64, 224, 7, 1), Pass::Result, First),
            (shape(3, 64, 224, 7, 1), Pass::Filters, First),
            (shape(3, 64, 224, 7, 1), Pass::Images, Implicit),
            (shape(64, 3, 56, 3, 1), Pass::Result, Implicit),
            (shape(17, 17, 56, 3, 1), Pass::Result, Implicit),
            (shape(33, 64, 56, 3, 1), Pass::Result, Winograd),
            (shape(33, 64, 56, 5, 1), Pass::Result, Direct),
            (shape(64, 64, 56, 3, 1), Pass::Images, Winograd),
            (shape(64, 64, 56, 5, 64), Pass::Filters, Depthwise),
            (shape(64, 64, 56, 3, 4), Pass::Result, Direct),
            (shape(64, 64, 56, 3, 8), Pass::Result, Implicit),
            (shape(64, 64, 1, 1, 1), Pass::Result, Implicit),
        ] {
            assert_eq!(choose(&shape, pass, None), chosen, "{shape:?} {pass:?}");
            assert_eq!(choose(&shape, pass, Some(Implicit)), Implicit);
        }
        let volume = Shape { size: [4, 56, 56], ..shape(64, 64, 56, 1, 1) };
        assert_eq!(choose(&volume, Pass::Result, Some(Direct)), Implicit);
        assert_eq!(choose_blocked(&shape(64, 64, 1, 1, 1), None), Direct);
        assert_eq!(choose_blocked(&shape(64, 64, 56, 3, 8), None), Implicit);
    }
}
