//! Every algorithm of convolutions against sums in `f64`: odd shapes, strides, dilations, groups, layouts, instruction sets,
//! threads. The errors are printed; `cargo test -- --nocapture` shows them.
mod machine;

use gluonish_base::{DType, Dims, pool};
use gluonish_kernels::conv::{
    Algorithm, Ending, How, blocked_forward, blocked_weight_grad, data_grad, forward, lanes, weight_grad,
};
use gluonish_kernels::{Cx, Mode, Out, View};
use machine::{alone, each_isa};

/// Small numbers that look random; the same for the same seed.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut s = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((s >> 40) as f32) / (1u32 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// A convolution of flat images.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    inputs: usize,
    outputs: usize,
    size: [usize; 2],
    kernel: [usize; 2],
    stride: usize,
    dilate: usize,
    pad: [usize; 2],
    groups: usize,
    last: bool,
}

/// What most convolutions are.
const PLAIN: Case = Case {
    n: 2,
    inputs: 16,
    outputs: 16,
    size: [9, 9],
    kernel: [3, 3],
    stride: 1,
    dilate: 1,
    pad: [1; 2],
    groups: 1,
    last: false,
};

impl Case {
    fn how(&self) -> How {
        let all = |v: usize, otherwise: usize| [otherwise, v, v];
        let [above, left] = self.pad;
        let (stride, dilate) = (all(self.stride, 1), all(self.dilate, 1));
        How { stride, dilate, pad: [0, above, left], groups: self.groups, channels_last: self.last }
    }

    fn out(&self) -> Option<[usize; 2]> {
        let out = |i: usize| self.how().out(i + 1, self.size[i], self.kernel[i]);
        Some([out(0)?, out(1)?])
    }

    /// Axes of images or filters, as they lie, and their strides for axes in the order count, channel, row, column.
    fn axes(&self, count: usize, channels: usize, [h, w]: [usize; 2]) -> (Dims, [usize; 4]) {
        let of = |axes: [usize; 4]| Dims::of(&axes.map(|a| a as isize));
        if self.last {
            (of([count, h, w, channels]), [h * w * channels, 1, w * channels, channels])
        } else {
            (of([count, channels, h, w]), [channels * h * w, h * w, w, 1])
        }
    }
}

/// Operands, and the three products of the convolution in `f64`.
struct Made {
    case: Case,
    x: Vec<f32>,
    w: Vec<f32>,
    dy: Vec<f32>,
    y_: Vec<f64>,
    dx_: Vec<f64>,
    dw_: Vec<f64>,
}

fn view<'a>(data: &'a [f32], shape: &'a Dims, strides: &'a Dims) -> View<'a> {
    View::contiguous(data.as_ptr().cast_mut().cast(), DType::F32, shape, strides)
}

impl Made {
    fn new(case: Case) -> Option<Made> {
        let out = case.out()?;
        let inner = case.inputs / case.groups;
        let x = numbers(case.n * case.inputs * case.size[0] * case.size[1], 1);
        let w = numbers(case.outputs * inner * case.kernel[0] * case.kernel[1], 2);
        let dy = numbers(case.n * case.outputs * out[0] * out[1], 3);
        let (sx, sw) = (case.axes(1, case.inputs, case.size).1, case.axes(1, inner, case.kernel).1);
        let sy = case.axes(1, case.outputs, out).1;
        let (mut y_, mut dx_, mut dw_) = (vec![0.0; dy.len()], vec![0.0; x.len()], vec![0.0; w.len()]);
        let at = |s: [usize; 4], i: [usize; 4]| (0..4).map(|k| s[k] * i[k]).sum::<usize>();
        for n in 0..case.n {
            for o in 0..case.outputs {
                let first = o / (case.outputs / case.groups) * inner;
                for place in 0..out[0] * out[1] {
                    let (i, j) = (place / out[1], place % out[1]);
                    let to = at(sy, [n, o, i, j]);
                    for tap in 0..case.kernel[0] * case.kernel[1] {
                        let (ky, kx) = (tap / case.kernel[1], tap % case.kernel[1]);
                        let r = (i * case.stride + ky * case.dilate).wrapping_sub(case.pad[0]);
                        let c = (j * case.stride + kx * case.dilate).wrapping_sub(case.pad[1]);
                        if r >= case.size[0] || c >= case.size[1] {
                            continue;
                        }
                        for k in 0..inner {
                            let (from, by) = (at(sx, [n, first + k, r, c]), at(sw, [o, k, ky, kx]));
                            y_[to] += f64::from(x[from]) * f64::from(w[by]);
                            dx_[from] += f64::from(dy[to]) * f64::from(w[by]);
                            dw_[by] += f64::from(dy[to]) * f64::from(x[from]);
                        }
                    }
                }
            }
        }
        Some(Made { case, x, w, dy, y_, dx_, dw_ })
    }

    /// The three products by an algorithm; results begin with `begin` and are added to where the mode says so.
    fn compute(&self, threads: usize, by: Algorithm, bias: Option<f32>, mode: Mode, begin: f32) -> [Vec<f32>; 3] {
        let (c, how) = (self.case, self.case.how());
        let inner = c.inputs / c.groups;
        let out = c.out().unwrap_or([0, 0]);
        let cx = Cx { threads, ..Cx::default() };
        let (xs, ws, ys) =
            (c.axes(c.n, c.inputs, c.size).0, c.axes(c.outputs, inner, c.kernel).0, c.axes(c.n, c.outputs, out).0);
        let bs = Dims::of(&[c.outputs as isize]);
        let [xt, wt, yt, bt] = [&xs, &ws, &ys, &bs].map(|shape| shape.contiguous_strides());
        let (x, w, dy) = (view(&self.x, &xs, &xt), view(&self.w, &ws, &wt), view(&self.dy, &ys, &yt));
        let biases = vec![bias.unwrap_or(0.0); c.outputs];
        let bias = bias.map(|_| view(&biases, &bs, &bt));
        let results = [vec![begin; self.dy.len()], vec![begin; self.x.len()], vec![begin; self.w.len()]];
        let done = [
            forward(&cx, [&x, &w], bias.as_ref(), &how, Some(by), &Out { view: view(&results[0], &ys, &yt), mode }),
            data_grad(&cx, [&dy, &w], &how, Some(by), &Out { view: view(&results[1], &xs, &xt), mode }),
            weight_grad(&cx, [&x, &dy], &how, Some(by), &Out { view: view(&results[2], &ws, &wt), mode }),
        ];
        assert!(done.iter().all(Result::is_ok), "{c:?}");
        results
    }

    /// The largest error of each product, relative to its largest value.
    fn errors(&self, got: &[Vec<f32>; 3], offset: [f64; 3]) -> [f64; 3] {
        let wanted = [&self.y_, &self.dx_, &self.dw_];
        std::array::from_fn(|i| {
            let largest = wanted[i].iter().fold(1e-30, |m: f64, v| m.max(v.abs()));
            let error = |(w, g): (&f64, &f32)| (w + offset[i] - f64::from(*g)).abs();
            let worst =
                wanted[i].iter().zip(&got[i]).map(error).fold(0.0, |m: f64, e| if e.is_nan() || e > m { e } else { m });
            worst / largest
        })
    }
}

/// Every odd thing at least once, without all of their products.
fn cases() -> Vec<Case> {
    let mut made = Vec::new();
    let sizes = [[1, 1], [2, 5], [7, 7], [8, 33], [17, 9], [33, 16]];
    let channels = [(1, 3), (3, 7), (7, 17), (17, 33), (33, 1), (64, 40)];
    let filters = [([1, 1], 0), ([3, 3], 1), ([1, 7], 3), ([5, 3], 2), ([2, 2], 0), ([1, 1], 1), ([3, 3], 4)];
    let mut i = 0;
    for (inputs, outputs) in channels {
        for size in sizes {
            for (kernel, pad) in filters.map(|(kernel, pad)| (kernel, [pad; 2])) {
                for (stride, dilate) in [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)] {
                    i += 1;
                    let n = 1 + i % 3;
                    let last = i % 4 == 0;
                    made.push(Case { n, inputs, outputs, size, kernel, stride, dilate, pad, groups: 1, last });
                }
            }
        }
    }
    for (groups, last) in [(2, false), (4, true), (3, false)] {
        let case = Case {
            n: 2,
            inputs: 16 * groups,
            outputs: 32 * groups,
            size: [9, 7],
            kernel: [3, 3],
            stride: 2,
            dilate: 1,
            pad: [1; 2],
            groups,
            last,
        };
        made.extend([case, Case { inputs: 3 * groups, outputs: 5 * groups, ..case }]);
    }
    made
}

const FAST: [Algorithm; 2] = [Algorithm::Direct, Algorithm::First];
/// Of sums of at most some thousand products, relative to the largest.
const BOUND: f64 = 4e-6;
/// The same where an algorithm that cannot compute a shape leaves it to the one that is chosen, which may be Winograd's.
const BOUND_OF_CHOSEN: f64 = 3e-5;

#[test]
fn odd_shapes() {
    let _alone = alone();
    let made: Vec<Made> = cases().into_iter().filter_map(Made::new).collect();
    assert!(made.len() > 500);
    each_isa(|isa| {
        for by in FAST.into_iter().chain([Algorithm::Implicit]) {
            let mut worst = [0.0f64; 3];
            for m in &made {
                let errors = m.errors(&m.compute(2, by, None, Mode::Write, f32::NAN), [0.0; 3]);
                let bound = if by == Algorithm::First { BOUND_OF_CHOSEN } else { BOUND };
                assert!(errors.iter().all(|e| *e < bound), "{isa:?} {by:?} {:?}: {errors:?}", m.case);
                (0..3).for_each(|i| worst[i] = worst[i].max(errors[i]));
            }
            println!(
                "{isa:?} {:8} result {:.1e}, images {:.1e}, filters {:.1e}",
                by.name(),
                worst[0],
                worst[1],
                worst[2]
            );
        }
    });
}

#[test]
fn large_sums() {
    let _alone = alone();
    let case = Case { inputs: 512, outputs: 48, size: [15, 30], ..PLAIN };
    let Some(m) = Made::new(case) else { return };
    each_isa(|isa| {
        for by in [Algorithm::Direct, Algorithm::Implicit] {
            let errors = m.errors(&m.compute(2, by, None, Mode::Write, f32::NAN), [0.0; 3]);
            println!(
                "{isa:?} {:8} result {:.1e}, images {:.1e}, filters {:.1e}",
                by.name(),
                errors[0],
                errors[1],
                errors[2]
            );
            assert!(errors.iter().all(|e| *e < BOUND), "{isa:?} {by:?}: {errors:?}");
        }
    });
}

/// Taps that look far beyond the images, and strides longer than they are: what is laid out or walked stays bounded.
#[test]
fn far_beyond_the_images() {
    let _alone = alone();
    let near = Case { inputs: 16, outputs: 33, size: [6, 5], ..PLAIN };
    for far in [7, 1000, 1 << 20, 1 << 40] {
        let strides = Case { stride: far, pad: [far; 2], ..near };
        for case in [
            Case { dilate: far, pad: [far; 2], ..near },
            strides,
            Case { stride: far, ..near },
            Case { inputs: 3, ..strides },
            Case { inputs: 33, groups: 33, ..strides },
        ] {
            let Some(m) = Made::new(case) else { unreachable!("{case:?}") };
            for by in FAST.into_iter().chain([Algorithm::Implicit, Algorithm::Depthwise]) {
                let errors = m.errors(&m.compute(2, by, None, Mode::Write, f32::NAN), [0.0; 3]);
                assert!(errors.iter().all(|e| *e < BOUND), "{by:?} {case:?}: {errors:?}");
            }
        }
    }
}

/// The same for images of a first layer whose results stay blocked.
#[test]
fn blocked_results_of_far_taps() {
    let _alone = alone();
    let far = 1 << 20;
    let case = Case {
        n: 2,
        inputs: 3,
        outputs: lanes::<f32>(),
        size: [6, 5],
        kernel: [3, 3],
        stride: 1,
        dilate: far,
        pad: [far; 2],
        groups: 1,
        last: false,
    };
    let (Some(m), Some([h, w])) = (Made::new(case), case.out()) else { unreachable!("{case:?}") };
    // One block of channels: they are the last axis of the results.
    let [n, c, h, w] = [case.n, case.outputs, h, w].map(|d| d as isize);
    let blocked = |plain: &[f32]| -> Vec<f32> {
        let (c, area) = (case.outputs, (h * w) as usize);
        (0..plain.len()).map(|i| plain[(i / c / area * c + i % c) * area + i / c % area]).collect()
    };
    let (xs, ws) = (case.axes(case.n, 3, case.size).0, case.axes(case.outputs, 3, case.kernel).0);
    let (ys, bs) = (Dims::of(&[n, 1, h, w, c]), Dims::of(&[c]));
    let [xt, wt, yt, bt] = [&xs, &ws, &ys, &bs].map(|shape| shape.contiguous_strides());
    let (y, dw, dy) = (vec![1.0f32; m.dy.len()], vec![1.0f32; m.w.len()], blocked(&m.dy));
    let shift = vec![0.5f32; case.outputs];
    let ending = Ending { shift: Some(&view(&shift, &bs, &bt)), ..Ending::default() };
    let (x, filters, mode) = (view(&m.x, &xs, &xt), view(&m.w, &ws, &wt), Mode::Add);
    let (cx, how) = (Cx { threads: 2, ..Cx::default() }, case.how());
    let done = [
        blocked_forward(&cx, [&x, &filters], &ending, &how, None, &Out { view: view(&y, &ys, &yt), mode }),
        blocked_weight_grad(&cx, [&x, &view(&dy, &ys, &yt)], &how, None, &Out { view: view(&dw, &ws, &wt), mode }),
    ];
    assert!(done.iter().all(Result::is_ok));
    let wanted: Vec<f32> = m.y_.iter().map(|v| *v as f32 + 1.5).collect();
    let worst = |got: &[f32], wanted: &[f32]| got.iter().zip(wanted).fold(0.0, |m: f32, (g, w)| m.max((g - w).abs()));
    assert!(worst(&y, &blocked(&wanted)) < 1e-5);
    let wanted: Vec<f32> = m.dw_.iter().map(|v| *v as f32 + 1.0).collect();
    assert!(worst(&dw, &wanted) < 1e-4);
}

#[test]
fn bias_and_sums_that_are_added_to() {
    let _alone = alone();
    for case in cases().into_iter().step_by(17) {
        let Some(m) = Made::new(case) else { continue };
        for by in FAST {
            let got = m.compute(2, by, Some(0.5), Mode::Add, 2.0);
            let errors = m.errors(&got, [2.5, 2.0, 2.0]);
            assert!(errors.iter().all(|e| *e < 1e-5), "{by:?} {case:?}: {errors:?}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let _alone = alone();
    let before = pool::set_threads(4);
    let wide = Case { n: 3, inputs: 48, outputs: 80, size: [28, 29], ..PLAIN };
    let list = [
        wide,
        Case { stride: 2, ..wide },
        Case { kernel: [1, 1], pad: [0; 2], ..wide },
        Case { size: [17, 17], kernel: [1, 7], pad: [3; 2], ..wide },
        // Zeros on the left and right alone: rows and columns change places.
        Case { size: [17, 17], kernel: [1, 7], pad: [0, 3], ..wide },
        Case { size: [23, 6], kernel: [3, 5], pad: [0, 2], ..wide },
        Case { n: 1, inputs: 3, size: [61, 60], kernel: [7, 7], stride: 2, pad: [3; 2], ..wide },
        Case { n: 1, inputs: 256, outputs: 256, size: [5, 5], ..wide },
    ];
    for m in list.into_iter().filter_map(Made::new) {
        for by in FAST {
            let bits = |threads: usize| {
                m.compute(threads, by, None, Mode::Write, 0.0)
                    .map(|v| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
            };
            let one = bits(1);
            for threads in [2, 3, 4] {
                assert!(one == bits(threads), "{by:?} with {threads} threads: {:?}", m.case);
            }
        }
    }
    pool::set_threads(before);
}
