//! Images in blocks of channels, the layout of the fast kernels.

/// `[count][ceil(channels / B)][height][width][B]`, `B` the lanes of a vector (`S::LANES`: 16 floats with AVX-512, 8 with
/// AVX2 and portable). Lanes behind the last channel are zero: who writes such an image writes those zeros.
#[derive(Clone, Copy)]
pub(crate) struct Blocked<T> {
    pub ptr: *mut T,
    pub count: usize,
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}
// SAFETY: a kernel's operands may be used from any thread while it runs; outputs are written in disjoint parts.
unsafe impl<T: Sync> Sync for Blocked<T> {}

/// What becomes of a sum before it is stored: `act(sum * scale + shift + residual)`; scale and shift by channel, padded
/// with zeros to whole blocks.
#[derive(Clone, Copy)]
pub(crate) struct Finish<T> {
    pub scale: Option<*const T>,
    pub shift: Option<*const T>,
    pub residual: Option<Blocked<T>>,
    pub relu: bool,
    /// Adds to what is in the result instead of replacing it (gradients that accumulate).
    pub add: bool,
}
