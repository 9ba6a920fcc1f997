//! Which algorithm computes a convolution: a pure function of its shape.
use super::geometry::{Extent, How};
use super::{depthwise, winograd};
use gluonish_base::settings::{NO_WINOGRAD, settings};

/// How a convolution can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Products of matrices whose operands are gathered while they are packed: every shape, every type.
    Implicit,
    /// Tiles of results over blocked images.
    Direct,
    /// The same over plain images with few channels.
    First,
    /// Filters of 3x3 in fewer multiplications, and with larger errors.
    Winograd,
    /// A filter for each channel.
    Depthwise,
}

impl Algorithm {
    const ALL: [Algorithm; 5] =
        [Algorithm::Implicit, Algorithm::Direct, Algorithm::First, Algorithm::Winograd, Algorithm::Depthwise];

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

    /// Taps do not look far beyond the images: what they look at, zeros included, is laid out in rows by every thread.
    fn is_near(&self) -> bool {
        let how = &self.how;
        let around = |i: usize| {
            let taps = self.kernel[i].saturating_sub(1).saturating_mul(how.dilate[i]);
            taps.max(how.pad[i].saturating_mul(2))
        };
        let reach = |i: usize| self.size[i].saturating_add(around(i));
        let channels = self.inputs.max(self.outputs) / how.groups.max(1);
        let elements = |height: usize, width: usize| channels.saturating_mul(height).saturating_mul(width);
        elements(reach(1), reach(2)) <= elements(self.size[1], self.size[2]).saturating_mul(2).saturating_add(BESIDE)
    }
}

/// Multiplications below which laying images out in blocks costs more than it saves.
const SMALL: usize = 1 << 18;
/// Elements that taps may look at in an image that is copied, beyond twice those that it has. With dilations that make it
/// more, copies take longer than the general way, and there is no end to their memory.
const BESIDE: usize = 6 << 20;
/// Channels of a first layer, at most.
const FEW: usize = 4;
/// Tiles of 4x4 results from which Winograd's algorithm wins.
const TILES: usize = 8;

/// The algorithm for plain images, of the type that the fast ones are made for; `wanted` is one to prefer where it can
/// compute this at all.
pub fn choose(shape: &Shape, pass: Pass, wanted: Option<Algorithm>) -> Algorithm {
    // Where there are no images, fast algorithms have nothing to make results of.
    if let Some(wanted) = wanted.filter(|w| shape.count > 0 && w.suits(shape, pass)) {
        return wanted;
    }
    if shape.work() < SMALL {
        return Algorithm::Implicit;
    }
    if Algorithm::First.suits(shape, pass) && 2 * shape.outputs > shape.lanes {
        return Algorithm::First;
    }
    if Algorithm::Depthwise.suits(shape, pass) {
        return Algorithm::Depthwise;
    }
    // Lanes behind the last channel are computed too.
    let whole = |channels: usize| channels.next_multiple_of(shape.lanes);
    let (computed, needed) = (whole(shape.inputs) * whole(shape.outputs), shape.inputs * shape.outputs);
    // The general algorithm multiplies by the zeros between and around results, too, where it makes gradients of images.
    let worth = if pass == Pass::Images { 3 } else { 2 };
    if worth * needed > computed { choose_blocked(shape, pass, None) } else { Algorithm::Implicit }
}

/// The algorithm for blocked images: the general one, with plain images in between, where no fast one can compute this.
pub fn choose_blocked(shape: &Shape, pass: Pass, wanted: Option<Algorithm>) -> Algorithm {
    let wanted = wanted.filter(|w| *w != Algorithm::First && w.suits(shape, pass));
    let suits = |by: &Algorithm| by.suits(shape, pass);
    let fewer = (!few_tiles(shape)).then_some(Algorithm::Winograd);
    let fast = fewer.into_iter().chain([Algorithm::Depthwise, Algorithm::Direct]).find(suits);
    wanted.or(fast).unwrap_or(Algorithm::Implicit)
}

/// Whether transformed filters, four times as large as those given, would be read for the sake of too few tiles.
fn few_tiles(shape: &Shape) -> bool {
    shape.count * shape.size[1].div_ceil(4) * shape.size[2].div_ceil(4) < TILES
}

impl Algorithm {
    /// Whether it can compute this.
    pub(super) fn suits(self, shape: &Shape, pass: Pass) -> bool {
        let how = &shape.how;
        let groups = how.groups.max(1);
        let whole = |channels: usize| (channels / groups).is_multiple_of(shape.lanes);
        match self {
            Algorithm::Implicit => true,
            Algorithm::Direct => {
                shape.is_flat() && shape.is_near() && (groups == 1 || (whole(shape.inputs) && whole(shape.outputs)))
            }
            Algorithm::First => {
                shape.is_flat() && shape.is_near() && groups == 1 && shape.inputs <= FEW && pass != Pass::Images
            }
            Algorithm::Winograd => {
                settings().conv != NO_WINOGRAD && shape.is_flat() && winograd::suits(shape.kernel, how)
            }
            Algorithm::Depthwise => {
                shape.is_flat() && depthwise::suits(shape.kernel, shape.outputs, shape.inputs / groups, how)
            }
        }
    }
}

/// What `GLUONISH_CONV` asks for.
pub fn wanted() -> Option<Algorithm> {
    let name = settings().conv.as_str();
    Algorithm::ALL.into_iter().find(|a| a.name() == name)
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
            (shape(20, 50, 12, 5, 1), Pass::Result, Implicit),
            (shape(20, 50, 12, 5, 1), Pass::Images, Direct),
            (shape(33, 64, 56, 3, 1), Pass::Result, Winograd),
            (shape(512, 512, 7, 3, 1), Pass::Result, Direct),
            (shape(33, 64, 56, 5, 1), Pass::Result, Direct),
            (shape(64, 64, 56, 3, 64), Pass::Result, Depthwise),
            (shape(64, 64, 56, 3, 4), Pass::Result, Direct),
            (shape(64, 64, 56, 3, 8), Pass::Result, Implicit),
            (shape(64, 64, 1, 1, 1), Pass::Result, Implicit),
        ] {
            assert_eq!(choose(&shape, pass, None), chosen, "{shape:?} {pass:?}");
            assert_eq!(choose(&shape, pass, Some(Implicit)), Implicit);
            assert_eq!(choose(&Shape { count: 0, ..shape }, pass, Some(Direct)), Implicit);
        }
        // (inputs, outputs, size, dilation and padding, whether images are copied)
        for (inputs, outputs, size, far, direct) in [
            (512, 256, 33, 36, true),
            (2048, 256, 33, 12, true),
            (2048, 256, 33, 36, false),
            (64, 64, 128, 64, true),
            (16, 64, 256, 128, false),
            (64, 64, 1, 100, true),
            (64, 64, 1, 1000, false),
            (3, 64, 24, 40, true),
            (3, 64, 24, 1 << 20, false),
            (3, 64, 24, usize::MAX, false),
        ] {
            let near = shape(inputs, outputs, size, 3, 1);
            let how = near.how;
            let dilated = How { dilate: [1, far, far], pad: [0, far, far], ..how };
            let padded = How { stride: [1, far, far], pad: [0, far, far], ..how };
            let by = if inputs < 4 { First } else { Direct };
            for (how, pass) in [(dilated, Pass::Result), (padded, Pass::Result), (dilated, Pass::Filters)] {
                let far = Shape { how, ..near };
                let chosen = if direct { by } else { Implicit };
                assert_eq!(choose(&far, pass, Some(by)), chosen, "{far:?}");
                assert_eq!(choose_blocked(&far, pass, Some(Direct)) == Direct, direct, "{far:?}");
            }
        }
        let volume = Shape { size: [4, 56, 56], ..shape(64, 64, 56, 1, 1) };
        assert_eq!(choose(&volume, Pass::Result, Some(Direct)), Implicit);
        assert_eq!(choose_blocked(&shape(64, 64, 1, 1, 1), Pass::Result, None), Direct);
        assert_eq!(choose_blocked(&shape(64, 64, 56, 3, 8), Pass::Images, None), Implicit);
    }
}
