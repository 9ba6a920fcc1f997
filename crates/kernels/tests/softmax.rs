//! Softmax against the formula in float64.
mod arrays;
use arrays::*;
use gluonish_base::{DType, Result};
use gluonish_kernels::softmax::*;
use gluonish_kernels::{Cx, Mode, Out, View};

/// Applies `f` to every row along `axis` of arrays of one shape.
fn per_row(shape: &[isize], axis: usize, ins: &[Vec<f64>], f: impl Fn(&[Vec<f64>]) -> Vec<f64>) -> Vec<f64> {
    let mut out = ins[0].clone();
    for i in 0..out.len() {
        let mut c = coords(shape, i);
        if c[axis] > 0 {
            continue;
        }
        let places: Vec<_> = (0..shape[axis] as usize).map(|k| (c[axis] = k, number(shape, &c)).1).collect();
        let rows: Vec<Vec<f64>> = ins.iter().map(|x| places.iter().map(|&p| x[p]).collect()).collect();
        for (p, v) in places.iter().zip(f(&rows)) {
            out[*p] = v;
        }
    }
    out
}

fn top(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || a > b { a } else { b })
}
fn naive(x: &[f64], t: f64) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|v| v / t).collect();
    let top = top(&x);
    let e: Vec<f64> = x.iter().map(|v| (v - top).exp()).collect();
    let s: f64 = e.iter().sum();
    e.iter().map(|v| v / s).collect()
}
fn naive_log(x: &[f64], t: f64) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|v| v / t).collect();
    let top = top(&x);
    let s: f64 = x.iter().map(|v| (v - top).exp()).sum();
    x.iter().map(|v| v - top - s.ln()).collect()
}

const SHAPES: [&[isize]; 10] =
    [&[1], &[7], &[3, 10], &[2, 3, 5], &[64, 10], &[40, 33], &[5, 1000], &[2, 9, 70], &[130, 3, 2], &[3, 2000]];

fn forward(f: fn(&Cx, &View<'_>, usize, f64, &Out<'_>) -> Result, want: fn(&[f64], f64) -> Vec<f64>) {
    for dtype in FLOATS {
        for shape in SHAPES {
            for axis in 0..shape.len() {
                for (layout, t, mode) in LAYOUTS
                    .into_iter()
                    .zip([(1.0, Mode::Write), (2.5, Mode::Add), (0.5, Mode::Write), (1.0, Mode::Add)])
                    .map(|(l, (t, m))| (l, t, m))
                {
                    let x = Array::laid_out(layout, dtype, shape, |i| noise(i) * 6.0);
                    let mut out = Array::laid_out(layout, dtype, shape, |_| 0.25);
                    let mut two = out.clone();
                    assert!(f(&cx(1), &x.view(), axis, t, &out.out(mode)).is_ok());
                    assert!(f(&cx(2), &x.view(), axis, t, &two.out(mode)).is_ok());
                    assert_eq!(out.bits(), two.bits());
                    let want = per_row(shape, axis, &[x.values()], |r| want(&r[0], t));
                    for (i, w) in want.iter().enumerate() {
                        let w = w + if mode == Mode::Add { 0.25 } else { 0.0 };
                        assert_close(out.get(i), w, 4.0 * epsilon(dtype), &(dtype, shape, axis, layout, i));
                    }
                }
            }
        }
    }
}

#[test]
fn softmax_of_all_types_and_layouts() {
    forward(softmax, naive);
}

#[test]
fn log_softmax_of_all_types_and_layouts() {
    forward(log_softmax, naive_log);
}

#[test]
fn gradients() {
    for dtype in FLOATS {
        for shape in SHAPES {
            for axis in 0..shape.len() {
                for layout in LAYOUTS {
                    let mode = if layout == Layout::Gapped { Mode::Add } else { Mode::Write };
                    let start = if mode == Mode::Add { 0.5 } else { 0.0 };
                    let t = 2.0;
                    let x: Vec<f64> = (0..shape.iter().product::<isize>() as usize).map(noise).collect();
                    let dy = Array::laid_out(layout, dtype, shape, |i| noise(i + 1000));
                    let y = per_row(shape, axis, std::slice::from_ref(&x), |r| naive(&r[0], t));
                    let y = Array::laid_out(layout, dtype, shape, |i| y[i]);
                    let mut dx = Array::laid_out(layout, dtype, shape, |_| 0.5);
                    softmax_grad(&cx(2), &y.view(), &dy.view(), axis, t, &dx.out(mode)).unwrap();
                    let want = per_row(shape, axis, &[y.values(), dy.values()], |r| {
                        let dot: f64 = r[0].iter().zip(&r[1]).map(|(a, b)| a * b).sum();
                        r[0].iter().zip(&r[1]).map(|(y, dy)| (dy - dot) * y / t).collect()
                    });
                    for (i, w) in want.iter().enumerate() {
                        assert_close(dx.get(i), w + start, 4.0 * epsilon(dtype), &(dtype, shape, axis, layout));
                    }
                    let y = per_row(shape, axis, &[x], |r| naive_log(&r[0], t));
                    let y = Array::laid_out(layout, dtype, shape, |i| y[i]);
                    let mut dx = Array::laid_out(layout, dtype, shape, |_| 0.5);
                    log_softmax_grad(&cx(1), &y.view(), &dy.view(), axis, t, &dx.out(mode)).unwrap();
                    let want = per_row(shape, axis, &[y.values(), dy.values()], |r| {
                        let sum: f64 = r[1].iter().sum();
                        r[0].iter().zip(&r[1]).map(|(y, dy)| (dy - y.exp() * sum) / t).collect()
                    });
                    for (i, w) in want.iter().enumerate() {
                        assert_close(dx.get(i), w + start, 8.0 * epsilon(dtype), &(dtype, shape, axis, layout));
                    }
                }
            }
        }
    }
}

/// Longer than a block: the pieces' maxima and sums are joined.
#[test]
fn long_rows() {
    for dtype in [DType::F32, DType::F64, DType::F16] {
        for (shape, axis) in [(&[2, 100_003][..], 1), (&[70_000, 2], 0)] {
            let x = Array::new(dtype, shape, |i| noise(i) * 9.0);
            let dy = Array::new(dtype, shape, |i| noise(i + 5));
            let values = x.values();
            type Forward = fn(&Cx, &View<'_>, usize, f64, &Out<'_>) -> Result;
            for (f, want) in [(softmax as Forward, naive as fn(&[f64], f64) -> Vec<f64>), (log_softmax, naive_log)] {
                let mut out = Array::new(dtype, shape, |_| 0.0);
                let mut two = out.clone();
                f(&cx(1), &x.view(), axis, 2.0, &out.out(Mode::Write)).unwrap();
                f(&cx(2), &x.view(), axis, 2.0, &two.out(Mode::Write)).unwrap();
                assert_eq!(out.bits(), two.bits());
                for (i, w) in
                    per_row(shape, axis, std::slice::from_ref(&values), |r| want(&r[0], 2.0)).iter().enumerate()
                {
                    assert_close(out.get(i), *w, 8.0 * epsilon(dtype), &(dtype, i));
                }
            }
            let y = Array::new(dtype, shape, |i| noise(i) * 1e-2);
            let mut dx = Array::new(dtype, shape, |_| 0.0);
            let mut two = dx.clone();
            softmax_grad(&cx(1), &y.view(), &dy.view(), axis, 1.0, &dx.out(Mode::Write)).unwrap();
            softmax_grad(&cx(2), &y.view(), &dy.view(), axis, 1.0, &two.out(Mode::Write)).unwrap();
            assert_eq!(dx.bits(), two.bits());
            let want = per_row(shape, axis, &[y.values(), dy.values()], |r| {
                let dot: f64 = r[0].iter().zip(&r[1]).map(|(a, b)| a * b).sum();
                r[0].iter().zip(&r[1]).map(|(y, dy)| (dy - dot) * y).collect()
            });
            for (i, w) in want.iter().enumerate() {
                assert_close(dx.get(i), *w, 8.0 * epsilon(dtype), &(dtype, i));
            }
        }
    }
}

#[test]
fn infinities_and_nan() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let rows =
        [[1.0, 2.0, 3.0], [-inf, 1.0, 1.0], [inf, 1.0, 2.0], [-inf, -inf, -inf], [nan, 1.0, 2.0], [1e4, 0.0, -1e4]];
    // As rows of three, and repeated to a length that is not short.
    for repeat in [1, 20] {
        for dtype in [DType::F32, DType::F64] {
            let n = 3 * repeat;
            let x = Array::new(dtype, &[6, n as isize], |i| rows[i / n][i % 3]);
            let mut y = Array::new(dtype, &[6, n as isize], |_| 7.0);
            softmax(&cx(1), &x.view(), 1, 1.0, &y.out(Mode::Write)).unwrap();
            let mut ly = y.clone();
            log_softmax(&cx(1), &x.view(), 1, 1.0, &ly.out(Mode::Write)).unwrap();
            for i in 0..x.len() {
                let row: Vec<f64> = (0..n).map(|k| rows[i / n][k % 3]).collect();
                assert_close(y.get(i), naive(&row, 1.0)[i % n], 1e-6, &row);
                assert_close(ly.get(i), naive_log(&row, 1.0)[i % n], 1e-6, &row);
            }
        }
    }
    // A piece of a long row that is -inf throughout.
    let n = 90_000;
    let x = Array::new(DType::F32, &[n], |i| if i < 20_000 { -inf } else { 0.0 });
    let mut y = Array::new(DType::F32, &[n], |_| 7.0);
    softmax(&cx(1), &x.view(), 0, 1.0, &y.out(Mode::Write)).unwrap();
    assert_close(y.get(5), 0.0, 0.0, &"first");
    assert_close(y.get(80_000) * 70_000.0, 1.0, 1e-6, &"last");
}

#[test]
fn nothing_and_wrong_types() {
    for shape in [[0, 3], [3, 0]] {
        let x = Array::new(DType::F32, &shape, |_| 0.0);
        let mut y = x.clone();
        softmax(&cx(1), &x.view(), 1, 1.0, &y.out(Mode::Write)).unwrap();
    }
    let x = Array::new(DType::I32, &[3], |_| 0.0);
    let mut y = x.clone();
    assert!(softmax(&cx(1), &x.view(), 0, 1.0, &y.out(Mode::Write)).is_err());
}

/// The same memory for input and output.
#[test]
fn in_place() {
    for shape in [[5, 100], [100, 5]] {
        for axis in 0..2 {
            let mut x = Array::new(DType::F32, &shape, noise);
            let want = per_row(&shape, axis, &[x.values()], |r| naive(&r[0], 1.0));
            let out = x.out(Mode::Write);
            softmax(&cx(1), &out.view, axis, 1.0, &out).unwrap();
            for (i, w) in want.iter().enumerate() {
                assert_close(x.get(i), *w, 1e-6, &(shape, axis, i));
            }
        }
    }
}
