//! Reductions against naive loops in float64.
mod arrays;
use arrays::*;
use gluonish_base::isa;
use gluonish_base::{Cause, DType, Dims, Result};
use gluonish_kernels::reduce::*;
use gluonish_kernels::{Cx, Mode, Out, View};

type Reduction = fn(&Cx, &View<'_>, u32, &Out<'_>) -> Result;

fn reduced_shape(shape: &[isize], axes: u32, keep: bool) -> Vec<isize> {
    let dims = shape.iter().enumerate();
    dims.filter_map(|(d, &n)| if axes >> d & 1 == 0 { Some(n) } else { keep.then_some(1) }).collect()
}

/// For each result, the values that make it, in row-major order.
fn groups(x: &Array, axes: u32) -> Vec<Vec<f64>> {
    let shape: Vec<isize> = x.shape.to_vec();
    let kept = reduced_shape(&shape, axes, true);
    let mut groups = vec![Vec::new(); kept.iter().product::<isize>() as usize];
    for i in 0..x.len() {
        let mut c = coords(&shape, i);
        (0..c.len()).filter(|d| axes >> d & 1 == 1).for_each(|d| c[d] = 0);
        groups[number(&kept, &c)].push(x.get(i));
    }
    groups
}

/// A value that every type holds exactly and whose products stay small.
fn small(d: DType, i: usize) -> f64 {
    match d {
        DType::Bool => (noise(i) > 0.0) as u8 as f64,
        d if d.is_float() => (noise(i) * 64.0).round() / 32.0,
        d => (noise(i) * 5.0).round().max(if d.is_signed() { -5.0 } else { 0.0 }),
    }
}

const SHAPES: [&[isize]; 9] = [&[], &[1], &[7], &[3, 5], &[17, 1, 40], &[2, 3, 4, 5], &[5, 131], &[70, 33], &[3, 1100]];

fn check(name: &str, f: Reduction, naive: fn(&[f64]) -> f64, out_type: fn(DType) -> DType) {
    for dtype in DType::ALL {
        for shape in SHAPES {
            for axes in 0..1u32 << shape.len() {
                for layout in LAYOUTS {
                    let x = Array::laid_out(layout, dtype, shape, |i| small(dtype, i));
                    for (keep, mode, threads) in [(false, Mode::Write, 1), (true, Mode::Add, 2)] {
                        let before = if mode == Mode::Add { 1.0 } else { 77.0 };
                        let od = out_type(dtype);
                        let mut out = Array::laid_out(layout, od, &reduced_shape(shape, axes, keep), |_| before);
                        assert!(f(&cx(threads), &x.view(), axes, &out.out(mode)).is_ok());
                        for (i, g) in groups(&x, axes).iter().enumerate() {
                            let want = naive(g) + if mode == Mode::Add { 1.0 } else { 0.0 };
                            let want = if od == DType::Bool { (want != 0.0) as u8 as f64 } else { want };
                            let tolerance = if od.is_float() { epsilon(od) * (g.len() as f64).sqrt() } else { 0.0 };
                            assert_close(out.get(i), want, tolerance, &(name, dtype, shape, axes, layout, i));
                        }
                    }
                }
            }
        }
    }
}

fn wide(d: DType) -> DType {
    match d {
        DType::Bool => DType::I64,
        d if d.is_float() => d,
        d if d.is_signed() => DType::I64,
        _ => DType::U64,
    }
}

#[test]
fn sums() {
    check("sum", sum, |g| g.iter().sum(), wide);
}

#[test]
fn means() {
    check("mean", mean, |g| g.iter().sum::<f64>() / g.len() as f64, DType::to_float);
}

#[test]
fn extremes() {
    check("max", max, |g| g.iter().copied().fold(f64::NEG_INFINITY, f64::max), |d| d);
    check("min", min, |g| g.iter().copied().fold(f64::INFINITY, f64::min), |d| d);
}

#[test]
fn products() {
    // Powers of two, so that nothing rounds; long products of integers wrap, which the next test looks at.
    for dtype in FLOATS {
        let x = Array::new(dtype, &[6, 700], |i| [1.0, -1.0, 1.0, if i % 1024 == 3 { 2.0 } else { -1.0 }][i % 4]);
        for axes in 0..4 {
            let mut out = Array::new(dtype, &reduced_shape(&[6, 700], axes, false), |_| 3.0);
            prod(&cx(1), &x.view(), axes, &out.out(Mode::Write)).unwrap();
            for (i, g) in groups(&x, axes).iter().enumerate() {
                assert_eq!(out.get(i), g.iter().product::<f64>(), "{dtype} {axes}");
            }
        }
    }
}

#[test]
fn integers_wrap_and_small_ones_do_not_need_to() {
    let x = Array::new(DType::U8, &[1000], |_| 255.0);
    let mut out = Array::new(DType::U64, &[], |_| 0.0);
    sum(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.int(0), 255_000);
    let mut out = Array::new(DType::U8, &[], |_| 0.0);
    sum(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.int(0), 255_000 % 256);
    let x = Array::new(DType::I64, &[64], |_| 3.0);
    let mut out = Array::new(DType::I64, &[], |_| 0.0);
    prod(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.int(0), 3i64.wrapping_pow(64));
    let x = Array::new(DType::U64, &[3], |i| [1.0, 2f64.powi(63), 5.0][i]);
    let mut out = Array::new(DType::U64, &[], |_| 0.0);
    max(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.get(0), 2f64.powi(63));
    argmin(&cx(1), &x.view(), None, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.int(0), 0);
}

#[test]
fn nan_propagates() {
    for dtype in FLOATS {
        for at in [0, 5, 64, 999, 1500] {
            let x = Array::new(dtype, &[1501], |i| if i == at { f64::NAN } else { noise(i) });
            let mut out = Array::new(dtype, &[], |_| 0.0);
            let mut place = Array::new(DType::I64, &[], |_| 0.0);
            for (f, arg) in
                [(max as Reduction, argmax as fn(&Cx, &View<'_>, Option<usize>, &Out<'_>) -> Result), (min, argmin)]
            {
                f(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap();
                assert!(out.get(0).is_nan());
                arg(&cx(1), &x.view(), Some(0), &place.out(Mode::Write)).unwrap();
                assert_eq!(place.int(0), at as i64);
            }
        }
    }
}

/// One NaN among many rows or columns spoils its own result and no other.
#[test]
fn nan_stays_in_its_group() {
    for dtype in FLOATS {
        for (shape, at) in [([40, 131], 17 * 131 + 70), ([40, 1000], 999), ([3, 1500], 4499)] {
            let x = Array::new(dtype, &shape, |i| if i == at { -f64::NAN } else { noise(i) });
            for (axes, hit) in [(1, at % shape[1] as usize), (2, at / shape[1] as usize)] {
                let mut out = Array::new(dtype, &reduced_shape(&shape, axes, false), |_| 0.0);
                for f in [max as Reduction, min] {
                    f(&cx(1), &x.view(), axes, &out.out(Mode::Write)).unwrap();
                    let nans: Vec<usize> = (0..out.len()).filter(|&i| out.get(i).is_nan()).collect();
                    assert_eq!(nans, [hit], "{dtype} {shape:?} {axes}");
                }
            }
        }
    }
}

/// Any byte but 0 is true, also in an array of bools that another library has filled.
#[test]
fn truth() {
    for dtype in [DType::U8, DType::I8, DType::Bool, DType::I32, DType::F32] {
        let x = Array::new(dtype, &[4, 70], |i| [0.0, 2.0, (i == 200) as u8 as f64, (i != 269) as u8 as f64][i / 70]);
        let mut out = Array::new(DType::Bool, &[4], |_| 0.0);
        any(&cx(1), &x.view(), 2, &out.out(Mode::Write)).unwrap();
        assert_eq!(out.values(), [0.0, 1.0, 1.0, 1.0], "{dtype}");
        all(&cx(1), &x.view(), 2, &out.out(Mode::Write)).unwrap();
        assert_eq!(out.values(), [0.0, 1.0, 0.0, 0.0], "{dtype}");
    }
}

#[test]
fn nothing() {
    let x = Array::new(DType::F32, &[0, 3], |_| 0.0);
    let mut out = Array::new(DType::F32, &[3], |_| 7.0);
    sum(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.values(), [0.0; 3]);
    prod(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.values(), [1.0; 3]);
    mean(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap();
    assert!(out.values().iter().all(|v| v.is_nan()));
    for f in [max as Reduction, min] {
        let e = f(&cx(1), &x.view(), 1, &out.out(Mode::Write)).unwrap_err();
        assert!(matches!(e.cause(), Cause::Value(m) if m.contains("(0, 3)")), "{e}");
    }
    assert!(argmax(&cx(1), &x.view(), Some(0), &out.out(Mode::Write)).is_err());
    // No results: nothing to do, also for max.
    let mut out = Array::new(DType::F32, &[0], |_| 0.0);
    max(&cx(1), &x.view(), 2, &out.out(Mode::Write)).unwrap();
    argmax(&cx(1), &x.view(), Some(1), &out.out(Mode::Write)).unwrap();
}

#[test]
fn positions() {
    for dtype in DType::ALL {
        for shape in SHAPES {
            for layout in LAYOUTS {
                // Few different values: the first of equal ones counts.
                let x = Array::laid_out(layout, dtype, shape, |i| small(dtype, i));
                for axis in (0..shape.len()).map(Some).chain([None]) {
                    let axes = axis.map_or((1 << shape.len()) - 1, |a| 1 << a);
                    let mut hi = Array::new(DType::I64, &reduced_shape(shape, axes, false), |_| -1.0);
                    let mut lo = hi.clone();
                    argmax(&cx(1), &x.view(), axis, &hi.out(Mode::Write)).unwrap();
                    argmin(&cx(2), &x.view(), axis, &lo.out(Mode::Write)).unwrap();
                    for (i, g) in groups(&x, axes).iter().enumerate() {
                        let top = g.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        let bottom = g.iter().copied().fold(f64::INFINITY, f64::min);
                        let first = |v| g.iter().position(|x| *x == v).unwrap() as i64;
                        assert_eq!(
                            (hi.int(i), lo.int(i)),
                            (first(top), first(bottom)),
                            "{dtype} {shape:?} {axis:?} {layout:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn infinities_have_positions() {
    let x = Array::new(DType::F32, &[3000], |_| f64::NEG_INFINITY);
    let mut out = Array::new(DType::I64, &[], |_| 9.0);
    argmax(&cx(1), &x.view(), None, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.int(0), 0);
}

/// A sum whose rounding errors are added up too.
fn exact_sum(g: &[f64]) -> f64 {
    let (mut s, mut lost) = (0.0f64, 0.0);
    for &v in g {
        let t = s + v;
        lost += if s.abs() >= v.abs() { (s - t) + v } else { (v - t) + s };
        s = t;
    }
    s + lost
}

/// Large enough to be split: the bits must not depend on the number of threads or the instruction set, and the error must stay small.
#[test]
fn long_ones() {
    for (shape, axes) in
        [(&[300_007][..], 1), (&[3, 200_000], 2), (&[9000, 70], 1), (&[200_000, 3], 1), (&[8, 31, 1500], 5)]
    {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::I32] {
            let x =
                Array::new(
                    dtype,
                    shape,
                    |i| if dtype == DType::I32 { (noise(i) * 1e6).round() } else { noise(i) + 0.5 },
                );
            let out_shape = reduced_shape(shape, axes, false);
            let od = if dtype == DType::F16 { DType::F32 } else { wide(dtype) };
            let mut one = Array::new(od, &out_shape, |_| 0.0);
            let mut two = one.clone();
            sum(&cx(1), &x.view(), axes, &one.out(Mode::Write)).unwrap();
            sum(&cx(2), &x.view(), axes, &two.out(Mode::Write)).unwrap();
            assert_eq!(one.bits(), two.bits());
            for level in isa::available() {
                isa::limit(level);
                sum(&cx(1), &x.view(), axes, &two.out(Mode::Write)).unwrap();
                assert_eq!(one.bits(), two.bits(), "{level:?}");
            }
            for (i, g) in groups(&x, axes).iter().enumerate() {
                let want = exact_sum(g);
                let scale = g.iter().map(|v| v.abs()).sum::<f64>() / want.abs().max(1.0);
                assert_close(one.get(i), want, 4.0 * epsilon(od) * scale, &(dtype, shape, axes));
            }
            let axis = (axes.count_ones() == 1).then(|| axes.trailing_zeros() as usize);
            if let Some(axis) = axis {
                let mut place = Array::new(DType::I64, &out_shape, |_| 0.0);
                argmax(&cx(2), &x.view(), Some(axis), &place.out(Mode::Write)).unwrap();
                for (i, g) in groups(&x, axes).iter().enumerate() {
                    let top = g.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    assert_eq!(place.int(i), g.iter().position(|v| *v == top).unwrap() as i64);
                }
            }
        }
    }
}

#[test]
fn broadcasting_undone() {
    let shape = [4, 3, 5];
    for to in [&[][..], &[5], &[3, 1], &[3, 5], &[1, 5], &[4, 1, 1], &[1, 3, 1], &[4, 3, 5], &[1, 1, 1], &[1]] {
        let to_dims = Dims::of(to);
        for layout in LAYOUTS {
            let x = Array::laid_out(layout, DType::F64, &shape, |i| i as f64);
            let mut out = Array::laid_out(layout, DType::F64, to, |_| 0.5);
            sum_to(&cx(1), &x.view(), &out.out(Mode::Add)).unwrap();
            let mut want = vec![0.5; to_dims.size()];
            for i in 0..60 {
                let c = coords(&shape, i);
                let c: Vec<_> = c[3 - to.len()..].iter().zip(to).map(|(&c, &n)| if n == 1 { 0 } else { c }).collect();
                want[number(to, &c)] += i as f64;
            }
            assert_eq!(out.values(), want, "{to:?}");
        }
    }
}
