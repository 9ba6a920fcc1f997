//! Winograd and depthwise convolutions on blocked images, each by itself: for tests and measurements, which choose for
//! themselves and want no layout changes.
use super::blocked::{Blocked, Finish};
pub use super::choose::Algorithm;
use super::geometry::{Extent, How, Planes};
use super::{depthwise, winograd};
use crate::gemm::{Real, Simd, Work, dispatch};

/// An image that owns its memory, in blocks of channels.
pub struct Image<T> {
    data: Vec<T>,
    /// Elements before the first, which is aligned to a cache line.
    skip: usize,
    /// Count, channels, height, width.
    pub shape: [usize; 4],
    lanes: usize,
}

struct Lanes;
impl<T: Real> Work<T> for Lanes {
    type Out = usize;
    unsafe fn run<S: Simd<T = T>>(self) -> usize {
        S::LANES
    }
}

impl<T: Real> Image<T> {
    pub fn zeros(shape: [usize; 4]) -> Image<T> {
        let lanes = dispatch::<T, _>(Lanes);
        let [n, c, h, w] = shape;
        let line = 64 / size_of::<T>();
        let data = vec![T::default(); n * c.next_multiple_of(lanes) * h * w + line];
        let skip = data.as_ptr().align_offset(64).min(line);
        Image { data, skip, shape, lanes }
    }

    /// From `[count][channels][height][width]`.
    pub fn new(shape: [usize; 4], plain: &[T]) -> Image<T> {
        let mut image = Image::zeros(shape);
        for (i, v) in plain.iter().enumerate() {
            let at = image.place(i);
            image.data[at] = *v;
        }
        image
    }

    pub fn plain(&self) -> Vec<T> {
        (0..self.shape.iter().product()).map(|i| self.data[self.place(i)]).collect()
    }

    /// Whether the lanes behind the last channel hold what they should.
    pub fn tail_is_zero(&self) -> bool {
        let [n, c, h, w] = self.shape;
        let all = [n, c.next_multiple_of(self.lanes), h, w];
        (0..all.iter().product())
            .all(|i| i / (h * w) % all[1] < c || self.data[place(all, self.lanes, i) + self.skip] == T::default())
    }

    fn place(&self, i: usize) -> usize {
        self.skip + place(self.shape, self.lanes, i)
    }

    fn blocked(&self) -> Blocked<T> {
        let [count, channels, height, width] = self.shape;
        Blocked { ptr: self.data[self.skip..].as_ptr().cast_mut(), count, channels, height, width }
    }
}

/// Where element `i` in plain order lies.
fn place([_, c, h, w]: [usize; 4], lanes: usize, i: usize) -> usize {
    let (pixel, plane) = (i % (h * w), i / (h * w));
    let (channel, n) = (plane % c, plane / c);
    ((n * c.div_ceil(lanes) + channel / lanes) * h * w + pixel) * lanes + channel % lanes
}

/// Filters `[outputs][inputs][height][width]`, or `[outputs][height][width][inputs]`.
fn filters<T>(shape: [usize; 4], last: bool, ptr: *const T) -> Planes<T> {
    let [count, channels, h, w] = shape;
    let (by_channel, by) = if last { (1, [w * channels, channels]) } else { (h * w, [w, 1]) };
    let by = [0, by[0] as isize, by[1] as isize];
    let by_count = (channels * h * w) as isize;
    Planes { ptr: ptr.cast_mut(), count, channels, size: [1, h, w], by_count, by_channel: by_channel as isize, by }
}

/// What happens to results.
#[derive(Default)]
pub struct End<'a, T> {
    pub scale: Option<&'a [T]>,
    pub shift: Option<&'a [T]>,
    pub residual: Option<&'a Image<T>>,
    pub relu: bool,
    pub add: bool,
}

/// A convolution to be computed. `how.channels_last` speaks of the filters: images are blocked.
#[derive(Clone, Copy)]
pub struct Call {
    pub algorithm: Algorithm,
    pub threads: usize,
    /// Of the filters: outputs, inputs, height, width.
    pub filters: [usize; 4],
    pub how: How,
}

impl Call {
    fn kernel(&self) -> Extent {
        [1, self.filters[2], self.filters[3]]
    }

    fn planes<T>(&self, ptr: *const T) -> Planes<T> {
        filters(self.filters, self.how.channels_last, ptr)
    }

    pub fn suits(&self) -> bool {
        match self.algorithm {
            Algorithm::Winograd => winograd::suits(self.kernel(), &self.how),
            Algorithm::Depthwise => depthwise::suits(self.kernel(), self.filters[0], self.filters[1], &self.how),
            _ => false,
        }
    }

    /// Size of the results of images of this size.
    fn fits(&self, x: [usize; 4], y: [usize; 4]) -> bool {
        let [o, i, kh, kw] = self.filters;
        let size = [self.how.out(1, x[2], kh), self.how.out(2, x[3], kw)];
        self.suits() && x[0] == y[0] && x[1] == i * self.how.groups && y[1] == o && size == [Some(y[2]), Some(y[3])]
    }

    pub fn forward<T: Passes>(&self, x: &Image<T>, w: &[T], y: &mut Image<T>, end: &End<'_, T>) {
        T::forward(self, x, w, y, end);
    }
    pub fn data_grad<T: Passes>(&self, dy: &Image<T>, w: &[T], dx: &mut Image<T>, add: bool) {
        T::data_grad(self, dy, w, dx, add);
    }
    pub fn weight_grad<T: Passes>(&self, x: &Image<T>, dy: &Image<T>, dw: &mut [T], add: bool) {
        T::weight_grad(self, x, dy, dw, add);
    }

    fn forward_of<T: Real>(&self, x: &Image<T>, w: &[T], y: &mut Image<T>, end: &End<'_, T>) {
        assert!(self.fits(x.shape, y.shape) && w.len() == self.filters.iter().product());
        let padded = |list: Option<&[T]>| {
            list.map(|list| {
                let mut all = list.to_vec();
                all.resize(y.shape[1].next_multiple_of(y.lanes), T::default());
                all
            })
        };
        let (scale, shift) = (padded(end.scale), padded(end.shift));
        let finish = Finish {
            scale: scale.as_ref().map(|l| l.as_ptr()),
            shift: shift.as_ref().map(|l| l.as_ptr()),
            residual: end.residual.map(Image::blocked),
            relu: end.relu,
            add: end.add,
        };
        let (x, w, y) = (x.blocked(), self.planes(w.as_ptr()), y.blocked());
        // SAFETY: the shapes fit, and the images own their memory.
        unsafe {
            match self.algorithm {
                Algorithm::Winograd => winograd::forward(self.threads, &x, &w, &y, &self.how, &finish, None),
                _ => depthwise::forward(self.threads, &x, &w, &y, &self.how, &finish),
            }
        }
    }

    fn data_grad_of<T: Real>(&self, dy: &Image<T>, w: &[T], dx: &mut Image<T>, add: bool) {
        assert!(self.fits(dx.shape, dy.shape) && w.len() == self.filters.iter().product());
        let (dy, w, dx) = (dy.blocked(), self.planes(w.as_ptr()), dx.blocked());
        // SAFETY: as in `forward_of`.
        unsafe {
            match self.algorithm {
                Algorithm::Winograd => winograd::data_grad(self.threads, &dy, &w, &dx, &self.how, add, None),
                _ => depthwise::data_grad(self.threads, &dy, &w, &dx, &self.how, add),
            }
        }
    }

    fn weight_grad_of<T: Real>(&self, x: &Image<T>, dy: &Image<T>, dw: &mut [T], add: bool) {
        assert!(self.fits(x.shape, dy.shape) && dw.len() == self.filters.iter().product());
        let (x, dy, dw) = (x.blocked(), dy.blocked(), self.planes(dw.as_ptr()));
        // SAFETY: as in `forward_of`.
        unsafe {
            match self.algorithm {
                Algorithm::Winograd => winograd::weight_grad(self.threads, &x, &dy, &dw, &self.how, add),
                _ => depthwise::weight_grad(self.threads, &x, &dy, &dw, &self.how, add),
            }
        }
    }
}

/// The passes in a type, compiled here: whoever calls them does not compile the kernels once more.
pub trait Passes: Real {
    fn forward(call: &Call, x: &Image<Self>, w: &[Self], y: &mut Image<Self>, end: &End<'_, Self>);
    fn data_grad(call: &Call, dy: &Image<Self>, w: &[Self], dx: &mut Image<Self>, add: bool);
    fn weight_grad(call: &Call, x: &Image<Self>, dy: &Image<Self>, dw: &mut [Self], add: bool);
}

macro_rules! passes {
    ($t:ident) => {
        impl Passes for $t {
            fn forward(call: &Call, x: &Image<$t>, w: &[$t], y: &mut Image<$t>, end: &End<'_, $t>) {
                call.forward_of(x, w, y, end);
            }
            fn data_grad(call: &Call, dy: &Image<$t>, w: &[$t], dx: &mut Image<$t>, add: bool) {
                call.data_grad_of(dy, w, dx, add);
            }
            fn weight_grad(call: &Call, x: &Image<$t>, dy: &Image<$t>, dw: &mut [$t], add: bool) {
                call.weight_grad_of(x, dy, dw, add);
            }
        }
    };
}
passes!(f32);
passes!(f64);
