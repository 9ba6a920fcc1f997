//! Winograd and depthwise convolutions on blocked images against plain loops in `f64`: all three passes, odd shapes, what
//! rides behind the sum, instruction sets, threads. The largest error of each is printed (`--nocapture`) and bounded.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
mod machine;

use gluonish_base::pool;
use gluonish_kernels::conv::How;
use gluonish_kernels::conv::apart::{Algorithm, Call, End, Image, Passes};
use machine::{alone, each_isa};

/// Small numbers that look random; the same for the same seed.
struct Rng(u64);
impl Rng {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 40) as f64) / f64::from(1 << 23) - 1.0
    }
    fn vec<T: Float>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| T::of(self.next())).collect()
    }
}

trait Float: Passes {
    fn of(x: f64) -> Self;
    fn get(self) -> f64;
}
impl Float for f32 {
    fn of(x: f64) -> f32 {
        x as f32
    }
    fn get(self) -> f64 {
        self.into()
    }
}
impl Float for f64 {
    fn of(x: f64) -> f64 {
        x
    }
    fn get(self) -> f64 {
        self
    }
}

/// A convolution: count, channels, height, width of the image; outputs; kernel, stride, pad, each by height and width.
#[derive(Clone, Copy, Debug)]
struct Shape {
    x: [usize; 4],
    outputs: usize,
    kernel: [usize; 2],
    stride: [usize; 2],
    pad: [usize; 2],
    depthwise: bool,
}

impl Shape {
    fn winograd(x: [usize; 4], outputs: usize, pad: [usize; 2]) -> Shape {
        Shape { x, outputs, kernel: [3, 3], stride: [1, 1], pad, depthwise: false }
    }
    fn depthwise(x: [usize; 4], kernel: [usize; 2], stride: [usize; 2], pad: [usize; 2]) -> Shape {
        Shape { x, outputs: x[1], kernel, stride, pad, depthwise: true }
    }
    fn how(&self) -> How {
        let ([sy, sx], [py, px]) = (self.stride, self.pad);
        let groups = if self.depthwise { self.x[1] } else { 1 };
        How { stride: [1, sy, sx], dilate: [1; 3], pad: [0, py, px], groups, channels_last: false }
    }
    fn filters(&self) -> [usize; 4] {
        [self.outputs, if self.depthwise { 1 } else { self.x[1] }, self.kernel[0], self.kernel[1]]
    }
    fn y(&self) -> [usize; 4] {
        let how = self.how();
        let [h, w] = [0, 1].map(|i| how.out(1 + i, self.x[2 + i], self.kernel[i]).unwrap());
        [self.x[0], self.outputs, h, w]
    }
    fn call(&self, threads: usize) -> Call {
        let algorithm = if self.depthwise { Algorithm::Depthwise } else { Algorithm::Winograd };
        Call { algorithm, threads, filters: self.filters(), how: self.how() }
    }

    /// Calls `f` with the index of a value of `x`, of the filters and of `y` that meet, for all that do.
    fn each(&self, mut f: impl FnMut(usize, usize, usize)) {
        let ([_, c, h, w], [n, o, oh, ow], [_, inputs, kh, kw]) = (self.x, self.y(), self.filters());
        for y in 0..n * o * oh * ow {
            let (image, out, row, col) = (y / ow / oh / o, y / ow / oh % o, y / ow % oh, y % ow);
            for i in 0..inputs {
                let channel = if self.depthwise { out } else { i };
                for tap in 0..kh * kw {
                    let r = (row * self.stride[0] + tap / kw).wrapping_sub(self.pad[0]);
                    let q = (col * self.stride[1] + tap % kw).wrapping_sub(self.pad[1]);
                    if r < h && q < w {
                        f(((image * c + channel) * h + r) * w + q, (out * inputs + i) * kh * kw + tap, y);
                    }
                }
            }
        }
    }
}

fn len(shape: [usize; 4]) -> usize {
    shape.iter().product()
}

/// The largest difference, relative to the largest of `want` (or 1).
fn error<T: Float>(got: &[T], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let largest = want.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
    got.iter().zip(want).fold(0.0, |m: f64, (g, w)| {
        let e = (g.get() - w).abs() / largest;
        if e.is_nan() { f64::INFINITY } else { m.max(e) }
    })
}

/// Largest errors of the three passes.
#[derive(Default, Debug, Clone, Copy)]
struct Errors([f64; 3]);

/// Filters with their inputs last, or back from there.
fn inputs_last<T: Copy>(w: &[T], [_, inputs, h, k]: [usize; 4], back: bool) -> Vec<T> {
    let (rows, cols) = if back { (h * k, inputs) } else { (inputs, h * k) };
    let of = |i: usize| i / (rows * cols) * rows * cols + i % rows * cols + i / rows % cols;
    (0..w.len()).map(|i| w[of(i)]).collect()
}

/// Computes all three passes with one and with more threads, and compares. Filters lie one way or the other.
fn check<T: Float>(s: Shape, seed: u64, worst: &mut Errors) {
    let mut rng = Rng(seed);
    let (x, w, dy) = (rng.vec::<T>(len(s.x)), rng.vec::<T>(len(s.filters())), rng.vec::<T>(len(s.y())));
    let (mut y, mut dx, mut dw) = (vec![0.0; dy.len()], vec![0.0; x.len()], vec![0.0; w.len()]);
    s.each(|i, f, o| {
        y[o] += x[i].get() * w[f].get();
        dx[i] += dy[o].get() * w[f].get();
        dw[f] += dy[o].get() * x[i].get();
    });
    let [bx, bdy] = [Image::new(s.x, &x), Image::new(s.y(), &dy)];
    let last = seed.is_multiple_of(3);
    let given = if last { inputs_last(&w, s.filters(), false) } else { w.clone() };
    let run = |threads: usize| {
        let mut call = s.call(threads);
        call.how.channels_last = last;
        assert!(call.suits(), "{s:?}");
        let (mut y, mut dx) = (Image::zeros(s.y()), Image::zeros(s.x));
        let mut dw = vec![T::of(7.0); w.len()];
        call.forward(&bx, &given, &mut y, &End::default());
        call.data_grad(&bdy, &given, &mut dx, false);
        call.weight_grad(&bx, &bdy, &mut dw, false);
        let dw = if last { inputs_last(&dw, s.filters(), true) } else { dw };
        assert!(y.tail_is_zero() && dx.tail_is_zero(), "{s:?}");
        [y.plain(), dx.plain(), dw]
    };
    let one = run(1);
    for threads in [2, 3] {
        assert!(run(threads) == one, "{s:?}: other bits with {threads} threads");
    }
    for (i, want) in [y, dx, dw].iter().enumerate() {
        worst.0[i] = worst.0[i].max(error(&one[i], want));
    }
}

/// Checks all shapes with all instruction sets in a type; every pass stays below its bound.
fn check_all<T: Float>(what: &str, shapes: &[Shape], bounds: [f64; 3]) {
    let _alone = alone();
    pool::set_threads(3);
    each_isa(|isa| {
        let mut worst = Errors::default();
        for (i, s) in shapes.iter().enumerate() {
            check::<T>(*s, i as u64 + 1, &mut worst);
            for (pass, e) in worst.0.iter().enumerate() {
                assert!(*e <= bounds[pass], "{what}, {isa:?}, pass {pass}: error {e:.1e} at {s:?}");
            }
        }
        let [y, dx, dw] = worst.0;
        println!("{what}, {isa:?}: largest error forward {y:.1e}, data {dx:.1e}, weight {dw:.1e}");
    });
}

/// Odd numbers of channels, sizes from 1 on, pads of 0 to 2, few and many tiles.
fn tiles_of_four() -> Vec<Shape> {
    let mut all = vec![];
    for (i, c) in [1, 3, 7, 16, 17, 33].into_iter().enumerate() {
        for (j, (h, w)) in [(3, 3), (4, 5), (7, 7), (9, 14), (13, 33)].into_iter().enumerate() {
            let outputs = [33, 17, 16, 7, 3, 1][(i + j) % 6];
            let pad = [[1, 1], [0, 0], [2, 2], [0, 2], [1, 0]][(i + j) % 5];
            all.push(Shape::winograd([1 + (i + j) % 2, c, h, w], outputs, pad));
        }
    }
    all.retain(|s| s.y()[2] > 2 || s.y()[3] > 2);
    // Many tiles of many channels, and many outputs of few tiles.
    all.extend(
        [([3, 70, 24, 24], 40, 1), ([2, 150, 6, 6], 260, 1), ([1, 330, 7, 7], 100, 1), ([9, 20, 30, 30], 20, 1)]
            .map(|(x, o, p)| Shape::winograd(x, o, [p, p])),
    );
    all
}

fn tiles_of_two() -> Vec<Shape> {
    let sizes = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (1, 2, 1)];
    let mut all: Vec<Shape> = vec![];
    for (i, c) in [1, 3, 7, 16, 17, 33].into_iter().enumerate() {
        for (j, (h, w, p)) in sizes.into_iter().enumerate() {
            all.push(Shape::winograd([1 + i % 3, c, h, w], [5, 16, 40][(i + j) % 3], [p, p]));
        }
    }
    // The gradient of images is cut into tiles of their own size.
    all.retain(|s| [s.x, s.y()].iter().all(|x| x[2] <= 2 && x[3] <= 2));
    all
}

#[test]
fn winograd_four() {
    check_all::<f32>("F(4x4, 3x3) f32", &tiles_of_four(), [1.5e-5, 1.5e-5, 1.5e-5]);
    check_all::<f64>("F(4x4, 3x3) f64", &tiles_of_four(), [5e-14; 3]);
}

#[test]
fn winograd_two() {
    check_all::<f32>("F(2x2, 3x3) f32", &tiles_of_two(), [2e-6; 3]);
    check_all::<f64>("F(2x2, 3x3) f64", &tiles_of_two(), [5e-15; 3]);
}

#[test]
fn depthwise() {
    let mut all = vec![];
    let kinds =
        [([3, 3], [1, 1]), ([3, 3], [2, 2]), ([5, 5], [1, 1]), ([5, 5], [2, 2]), ([7, 2], [1, 3]), ([1, 4], [2, 1])];
    for (i, c) in [1, 3, 7, 16, 17, 33].into_iter().enumerate() {
        for (j, (kernel, stride)) in kinds.into_iter().enumerate() {
            for (k, (h, w)) in [(7, 5), (8, 9), (14, 33), (23, 18)].into_iter().enumerate() {
                let pad = [[1, 1], [0, 0], [2, 2], [3, 1], [0, 4]][(i + j + k) % 5];
                all.push(Shape::depthwise([1 + (i + k) % 3, c, h, w], kernel, stride, pad));
            }
        }
    }
    // As few places as there can be, gaps between places, and images of several parts.
    all.push(Shape::depthwise([1, 5, 1, 1], [3, 3], [1, 1], [1, 1]));
    all.push(Shape::depthwise([2, 5, 2, 1], [5, 5], [2, 2], [2, 2]));
    all.push(Shape::depthwise([1, 5, 9, 9], [1, 1], [3, 2], [0, 0]));
    all.push(Shape::depthwise([3, 20, 60, 70], [3, 3], [1, 1], [1, 1]));
    check_all::<f32>("depthwise f32", &all, [1e-6, 1e-6, 2e-6]);
    check_all::<f64>("depthwise f64", &all, [2e-15, 2e-15, 4e-15]);
}

/// `relu(sum * scale + shift + residual)`, added to what is there.
#[test]
fn ends() {
    let _alone = alone();
    let shapes = [
        Shape::winograd([2, 7, 9, 6], 19, [1, 1]),
        Shape::winograd([1, 3, 2, 2], 5, [1, 1]),
        Shape::depthwise([2, 19, 9, 6], [3, 3], [2, 2], [1, 1]),
        Shape::depthwise([1, 3, 5, 7], [4, 3], [1, 1], [1, 1]),
    ];
    each_isa(|isa| {
        for (s, bits) in shapes.into_iter().flat_map(|s| (0..32).map(move |bits| (s, bits))) {
            let on = |bit: u32| bits >> bit & 1 == 1;
            let mut rng = Rng(bits + 9);
            let (x, w, old) = (rng.vec::<f32>(len(s.x)), rng.vec::<f32>(len(s.filters())), rng.vec::<f32>(len(s.y())));
            let (scale, shift) = (rng.vec::<f32>(s.outputs), rng.vec::<f32>(s.outputs));
            let residual = rng.vec::<f32>(old.len());
            let mut want = vec![0.0; old.len()];
            s.each(|i, f, o| want[o] += x[i].get() * w[f].get());
            let [_, channels, h, w_] = s.y();
            for (i, v) in want.iter_mut().enumerate() {
                let c = i / (h * w_) % channels;
                *v = if on(0) { *v * scale[c].get() } else { *v } + if on(1) { shift[c].get() } else { 0.0 };
                *v += if on(2) { residual[i].get() } else { 0.0 };
                *v = if on(3) { v.max(0.0) } else { *v } + if on(4) { old[i].get() } else { 0.0 };
            }
            let residual = Image::new(s.y(), &residual);
            let end = End {
                scale: on(0).then_some(&scale[..]),
                shift: on(1).then_some(&shift[..]),
                residual: on(2).then_some(&residual),
                relu: on(3),
                add: on(4),
            };
            let mut y = Image::new(s.y(), &old);
            s.call(2).forward(&Image::new(s.x, &x), &w, &mut y, &end);
            let e = error(&y.plain(), &want);
            assert!(e < 1e-5 && y.tail_is_zero(), "{isa:?} {s:?} {bits:05b}: {e:.1e}");
        }
    });
}

/// Gradients that are added to what is there.
#[test]
fn adding() {
    let _alone = alone();
    each_isa(|isa| {
        for s in [
            Shape::winograd([2, 7, 9, 6], 19, [1, 1]),
            Shape::winograd([1, 160, 5, 5], 200, [1, 1]),
            Shape::depthwise([2, 19, 9, 6], [3, 3], [2, 2], [1, 1]),
        ] {
            let mut rng = Rng(5);
            let (x, w, dy) = (rng.vec::<f32>(len(s.x)), rng.vec::<f32>(len(s.filters())), rng.vec::<f32>(len(s.y())));
            let [mut dx, mut dw] = [&x, &w].map(|old| old.iter().map(|v| v.get()).collect::<Vec<f64>>());
            s.each(|i, f, o| {
                dx[i] += dy[o].get() * w[f].get();
                dw[f] += dy[o].get() * x[i].get();
            });
            let [bx, bdy] = [Image::new(s.x, &x), Image::new(s.y(), &dy)];
            let (mut got, mut filters) = (Image::new(s.x, &x), w.clone());
            s.call(2).data_grad(&bdy, &w, &mut got, true);
            s.call(2).weight_grad(&bx, &bdy, &mut filters, true);
            let (data, weight) = (error(&got.plain(), &dx), error(&filters, &dw));
            assert!(data < 1.5e-5 && weight < 1.5e-5, "{isa:?} {s:?}: {data:.1e} {weight:.1e}");
        }
    });
}

/// Sums of nothing are zero, and an empty batch is no error.
#[test]
fn empty() {
    let _alone = alone();
    for s in [
        Shape::winograd([0, 3, 5, 5], 4, [1, 1]),
        Shape::winograd([2, 0, 5, 5], 4, [1, 1]),
        Shape::depthwise([0, 3, 5, 5], [3, 3], [1, 1], [1, 1]),
    ] {
        let (x, mut y) = (Image::<f32>::zeros(s.x), Image::new(s.y(), &vec![1.0; len(s.y())]));
        let mut w = vec![1.0; len(s.filters())];
        s.call(2).forward(&x, &w, &mut y, &End::default());
        assert!(y.plain().iter().all(|v| *v == 0.0), "{s:?}");
        let mut dx = Image::<f32>::zeros(s.x);
        s.call(2).data_grad(&y, &w, &mut dx, false);
        s.call(2).weight_grad(&x, &y, &mut w, false);
        assert!(w.iter().all(|v| *v == 0.0), "{s:?}");
    }
}

#[test]
fn what_suits() {
    let winograd = Shape::winograd([1, 3, 5, 5], 4, [1, 1]);
    assert!(winograd.call(1).suits());
    assert!(!Shape { kernel: [3, 1], ..winograd }.call(1).suits());
    assert!(!Shape { stride: [1, 2], ..winograd }.call(1).suits());
    assert!(!Shape { pad: [3, 1], ..winograd }.call(1).suits());
    let mut call = winograd.call(1);
    call.how.dilate[2] = 2;
    assert!(!call.suits());
    let depthwise = Shape::depthwise([1, 3, 5, 5], [4, 2], [3, 1], [5, 0]);
    assert!(depthwise.call(1).suits());
    let mut call = depthwise.call(1);
    call.filters[0] = 6;
    assert!(!call.suits());
}
