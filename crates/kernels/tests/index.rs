//! Indexing against loops over coordinates.
mod arrays;
use arrays::*;
use gluonish_base::isa;
use gluonish_base::{Cause, DType, Dims};
use gluonish_kernels::Mode;
use gluonish_kernels::index::*;

fn dims(d: &[isize]) -> Dims {
    Dims::of(d)
}

const MODES: [Mode; 2] = [Mode::Write, Mode::Add];

/// What is in the output after `v` went into an element that held 1.
fn after(mode: Mode, d: DType, v: f64) -> f64 {
    match mode {
        Mode::Write => v,
        Mode::Add if d == DType::Bool => 1.0,
        Mode::Add => v + 1.0,
    }
}

#[test]
fn take_along_every_axis() {
    let shape = [3, 4, 5];
    let list = [2, 3];
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            for axis in 0..3 {
                let x = Array::laid_out(layout, dtype, &shape, |i| (i % 50) as f64);
                let indices = Array::laid_out(layout, DType::I32, &list, |i| (i as f64 * 1.7).floor() % 3.0);
                let mut out_shape = shape.to_vec();
                out_shape.splice(axis..axis + 1, list);
                for mode in MODES {
                    let mut out = Array::laid_out(layout, dtype, &out_shape, |_| 1.0);
                    take(&cx(2), &x.view(), &indices.view(), axis, Bounds::Raise, &out.out(mode)).unwrap();
                    for i in 0..out.len() {
                        let c = coords(&out_shape, i);
                        let mut s = c.clone();
                        s.splice(axis..axis + 2, [indices.int(number(&list, &c[axis..axis + 2])) as usize]);
                        assert_eq!(
                            out.get(i),
                            after(mode, dtype, x.get(number(&shape, &s))),
                            "{dtype} {layout:?} {axis}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn bounds() {
    let x = Array::new(DType::F32, &[4], |i| i as f64);
    for d in [DType::I8, DType::I16, DType::I32, DType::I64, DType::F16, DType::F32, DType::F64] {
        let indices = Array::new(d, &[7], |i| [0.0, 3.0, 4.0, 9.0, -1.0, -4.0, -6.0][i]);
        let mut out = Array::new(DType::F32, &[7], |_| 0.0);
        take(&cx(1), &x.view(), &indices.view(), 0, Bounds::Clip, &out.out(Mode::Write)).unwrap();
        assert_eq!(out.values(), [0.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0]);
        take(&cx(1), &x.view(), &indices.view(), 0, Bounds::Wrap, &out.out(Mode::Write)).unwrap();
        assert_eq!(out.values(), [0.0, 3.0, 0.0, 1.0, 3.0, 0.0, 2.0]);
        let e = take(&cx(1), &x.view(), &indices.view(), 0, Bounds::Raise, &out.out(Mode::Write)).unwrap_err();
        assert_eq!(*e.cause(), Cause::Index { index: 4, axis: 0, size: 4 });
        let good = Array::new(d, &[7], |i| [0.0, 3.0, -1.0, -4.0, 1.0, 2.0, -2.0][i]);
        take(&cx(1), &x.view(), &good.view(), 0, Bounds::Raise, &out.out(Mode::Write)).unwrap();
        assert_eq!(out.values(), [0.0, 3.0, 3.0, 0.0, 1.0, 2.0, 2.0]);
    }
}

#[test]
fn hostile_indices() {
    let x = Array::new(DType::F32, &[4], |i| i as f64);
    let mut out = Array::new(DType::F32, &[1], |_| 0.0);
    for (d, v) in
        [(DType::F32, f64::NAN), (DType::F32, 0.5), (DType::F64, f64::INFINITY), (DType::F32, f64::NEG_INFINITY)]
    {
        let index = Array::new(d, &[1], |_| v);
        let bounds = if v.is_finite() { Bounds::Raise } else { Bounds::Clip };
        let result = take(&cx(1), &x.view(), &index.view(), 0, bounds, &out.out(Mode::Write));
        assert!(matches!(result.unwrap_err().cause(), Cause::Value(_)), "{v}");
    }
    for (d, v) in [
        (DType::U64, 2f64.powi(63) * 1.5),
        (DType::I64, i64::MIN as f64),
        (DType::I64, i64::MAX as f64),
        (DType::F32, 1e30),
        (DType::F64, -1e300),
    ] {
        let index = Array::new(d, &[1], |_| v);
        let e = take(&cx(1), &x.view(), &index.view(), 0, Bounds::Raise, &out.out(Mode::Write)).unwrap_err();
        assert!(matches!(e.cause(), Cause::Index { size: 4, .. }), "{v}");
        for bounds in [Bounds::Clip, Bounds::Wrap] {
            take(&cx(1), &x.view(), &index.view(), 0, bounds, &out.out(Mode::Write)).unwrap();
        }
    }
    // Nothing to take from: every index is outside, and no index is fine.
    let empty = Array::new(DType::F32, &[0, 3], |_| 0.0);
    let mut out = Array::new(DType::F32, &[1, 3], |_| 0.0);
    let index = Array::new(DType::I64, &[1], |_| 0.0);
    for bounds in [Bounds::Clip, Bounds::Wrap, Bounds::Raise] {
        assert!(take(&cx(1), &empty.view(), &index.view(), 0, bounds, &out.out(Mode::Write)).is_err());
    }
    let none = Array::new(DType::I64, &[0], |_| 0.0);
    let mut out = Array::new(DType::F32, &[0, 3], |_| 0.0);
    take(&cx(1), &empty.view(), &none.view(), 0, Bounds::Raise, &out.out(Mode::Write)).unwrap();
}

#[test]
fn take_gradient_adds_what_comes_twice() {
    let shape = [3, 4, 5];
    let list = [2, 6];
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            for axis in 0..3 {
                let mut dy_shape = shape.to_vec();
                dy_shape.splice(axis..axis + 1, list);
                let dy = Array::laid_out(layout, dtype, &dy_shape, |i| (i % 4) as f64);
                let indices = Array::laid_out(layout, DType::F32, &list, |i| (i % 3) as f64);
                for mode in MODES {
                    let mut dx = Array::laid_out(layout, dtype, &shape, |_| 1.0);
                    take_grad(&cx(2), &dy.view(), &indices.view(), axis, Bounds::Raise, &dx.out(mode)).unwrap();
                    let mut want = vec![if mode == Mode::Add { 1.0 } else { 0.0 }; 60];
                    for i in 0..dy.len() {
                        let c = coords(&dy_shape, i);
                        let mut s = c.clone();
                        s.splice(axis..axis + 2, [indices.int(number(&list, &c[axis..axis + 2])) as usize]);
                        want[number(&shape, &s)] += dy.get(i);
                    }
                    for (i, w) in want.iter().enumerate() {
                        let w = if dtype == DType::Bool { (*w != 0.0) as u8 as f64 } else { *w };
                        assert_eq!(dx.get(i), w, "{dtype} {layout:?} {axis} {mode:?}");
                    }
                }
            }
        }
    }
}

/// Large enough for several owners of rows; half types are summed in float32.
#[test]
fn embedding_gradient() {
    for dtype in FLOATS {
        let (rows, width, n) = (50, 64, 3000);
        let dy = Array::new(dtype, &[n, width], noise);
        let indices = Array::new(DType::I64, &[n], |i| ((noise(i + 9) + 1.0) * 25.0).floor());
        let mut one = Array::new(dtype, &[rows, width], |_| 0.0);
        let mut two = one.clone();
        take_grad(&cx(1), &dy.view(), &indices.view(), 0, Bounds::Raise, &one.out(Mode::Write)).unwrap();
        take_grad(&cx(2), &dy.view(), &indices.view(), 0, Bounds::Raise, &two.out(Mode::Write)).unwrap();
        assert_eq!(one.bits(), two.bits());
        let mut want = vec![0.0; (rows * width) as usize];
        for i in 0..dy.len() {
            want[indices.int(i / 64) as usize * 64 + i % 64] += dy.get(i);
        }
        for (i, w) in want.iter().enumerate() {
            assert_close(one.get(i), *w, epsilon(dtype) * 64.0, &dtype);
        }
    }
}

#[test]
fn pick_and_its_gradient() {
    let shape = [3, 4, 5];
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            for axis in 0..3 {
                for keep in [false, true] {
                    let mut kept = shape.to_vec();
                    kept[axis] = 1;
                    let full = kept.clone();
                    if !keep {
                        kept.remove(axis);
                    }
                    let x = Array::laid_out(layout, dtype, &shape, |i| (i % 50) as f64);
                    let indices = Array::laid_out(layout, DType::F32, &kept, |i| (i % 6) as f64 - 1.0);
                    for mode in MODES {
                        let mut out = Array::laid_out(layout, dtype, &kept, |_| 1.0);
                        let mut dx = Array::laid_out(layout, dtype, &shape, |_| 1.0);
                        pick(&cx(1), &x.view(), &indices.view(), axis, Bounds::Clip, &out.out(mode)).unwrap();
                        let dy = Array::laid_out(layout, dtype, &kept, |i| (i % 4 + 1) as f64);
                        pick_grad(&cx(2), &dy.view(), &indices.view(), axis, Bounds::Clip, &dx.out(mode)).unwrap();
                        let mut want = vec![if mode == Mode::Add { 1.0 } else { 0.0 }; 60];
                        for i in 0..out.len() {
                            let mut c = coords(&full, i);
                            c[axis] = indices.int(i).clamp(0, shape[axis] as i64 - 1) as usize;
                            let at = number(&shape, &c);
                            assert_eq!(out.get(i), after(mode, dtype, x.get(at)), "{dtype} {layout:?} {axis}");
                            want[at] = if dtype == DType::Bool { 1.0 } else { want[at] + dy.get(i) };
                        }
                        assert_eq!(dx.values(), want, "{dtype} {layout:?} {axis}");
                    }
                }
            }
        }
    }
    let x = Array::new(DType::F32, &[2, 3], |_| 0.0);
    let index = Array::new(DType::I64, &[2], |i| i as f64 * 3.0);
    let mut out = Array::new(DType::F32, &[2], |_| 0.0);
    let e = pick(&cx(1), &x.view(), &index.view(), 1, Bounds::Raise, &out.out(Mode::Write)).unwrap_err();
    assert_eq!(*e.cause(), Cause::Index { index: 3, axis: 1, size: 3 });
}

#[test]
fn one_hot_rows() {
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            let indices = Array::laid_out(layout, DType::F32, &[2, 3], |i| [0.0, 3.0, 4.0, -1.0, 2.0, 2.0][i]);
            for mode in MODES {
                let mut out = Array::laid_out(layout, dtype, &[2, 3, 4], |_| 1.0);
                one_hot(&cx(1), &indices.view(), 3.0, 0.0, &out.out(mode)).unwrap();
                for i in 0..24 {
                    let v = if indices.int(i / 4) == i as i64 % 4 { 3.0 } else { 0.0 };
                    let v = if dtype == DType::Bool { f64::min(v, 1.0) } else { v };
                    assert_eq!(out.get(i), after(mode, dtype, v), "{dtype} {layout:?}");
                }
            }
        }
    }
    // Fractions are cut off; what is no number has no place.
    let mut out = Array::new(DType::F32, &[1, 4], |_| 0.0);
    let fraction = Array::new(DType::F32, &[1], |_| 1.75);
    one_hot(&cx(1), &fraction.view(), 1.0, 0.0, &out.out(Mode::Write)).unwrap();
    assert_eq!([0, 1, 2, 3].map(|i| out.get(i)), [0.0, 1.0, 0.0, 0.0]);
    let nothing = Array::new(DType::F32, &[1], |_| f64::NAN);
    assert!(one_hot(&cx(1), &nothing.view(), 1.0, 0.0, &out.out(Mode::Write)).is_err());
}

#[test]
fn masks() {
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            let mask = Array::laid_out(layout, dtype, &[6], |i| (i % 3 != 1) as u8 as f64);
            assert_eq!(count(&cx(2), &mask.view()), 4);
            let x = Array::laid_out(layout, DType::F32, &[6, 2], |i| i as f64);
            let mut out = Array::laid_out(layout, DType::F32, &[4, 2], |_| 0.0);
            compress(&cx(1), &x.view(), &mask.view(), 0, &out.out(Mode::Write)).unwrap();
            assert_eq!(out.values(), [0.0, 1.0, 4.0, 5.0, 6.0, 7.0, 10.0, 11.0]);
            let mut dx = Array::laid_out(layout, DType::F32, &[6, 2], |_| 1.0);
            expand(&cx(1), &out.view(), &mask.view(), 0, &dx.out(Mode::Add)).unwrap();
            let want: Vec<f64> = (0..12).map(|i| if i / 2 % 3 == 1 { 1.0 } else { 1.0 + i as f64 }).collect();
            assert_eq!(dx.values(), want);
            let mut wrong = Array::new(DType::F32, &[5, 2], |_| 0.0);
            assert!(compress(&cx(1), &x.view(), &mask.view(), 0, &wrong.out(Mode::Write)).is_err());
        }
    }
    let nan = Array::new(DType::F32, &[2], |i| [f64::NAN, -0.0][i]);
    assert_eq!(count(&cx(1), &nan.view()), 1);
}

/// Large enough for many strips and several chunks; the mask stands for two axes.
#[test]
fn large_masks() {
    let shape = [3, 130, 401];
    for (layout, level) in LAYOUTS.into_iter().flat_map(|layout| isa::available().map(move |level| (layout, level))) {
        isa::limit(level);
        let mask = Array::laid_out(layout, DType::Bool, &shape[1..], |i| (noise(i) > 0.3) as u8 as f64);
        let x = Array::laid_out(layout, DType::F32, &shape, |i| i as f64);
        let set: Vec<usize> = (0..mask.len()).filter(|i| mask.get(*i) != 0.0).collect();
        let n = set.len() as isize;
        let mut flat = Array::laid_out(layout, DType::I64, &[n], |_| 0.0);
        flat_nonzero(&cx(2), &mask.view(), &flat.out(Mode::Write)).unwrap();
        assert!((0..set.len()).all(|i| flat.int(i) as usize == set[i]));
        let mut out = Array::laid_out(layout, DType::F32, &[3, n], |_| 0.0);
        compress(&cx(2), &x.view(), &mask.view(), 1, &out.out(Mode::Write)).unwrap();
        for g in 0..3 {
            assert!((0..set.len()).all(|i| out.get(g * set.len() + i) == (g * mask.len() + set[i]) as f64));
        }
        let mut whole = Array::laid_out(layout, DType::F32, &shape, |_| -1.0);
        assign(&cx(2), &out.view(), &mask.view(), 1, &whole.out(Mode::Write).view).unwrap();
        for i in 0..whole.len() {
            let want = if mask.get(i % mask.len()) != 0.0 { i as f64 } else { -1.0 };
            assert_eq!(whole.get(i), want, "{layout:?}");
        }
    }
    isa::limit(isa::detected());
}

fn span(axis: usize, axes: usize) -> Span {
    Span { axis, axes, named: axis, bounds: Bounds::Raise }
}

#[test]
fn several_dimensions_at_once() {
    let shape = [3, 4, 5];
    for layout in LAYOUTS {
        for (axis, axes) in [(0, 1), (0, 2), (0, 3), (1, 2), (2, 1), (1, 0)] {
            let x = Array::laid_out(layout, DType::F32, &shape, |i| i as f64);
            let size: isize = shape[axis..axis + axes].iter().product();
            let indices = Array::laid_out(layout, DType::I64, &[2, 3], |i| ((i * 7 + i / 4) as isize % size) as f64);
            let mut out_shape = shape.to_vec();
            out_shape.splice(axis..axis + axes, [2, 3]);
            let mut out = Array::laid_out(layout, DType::F32, &out_shape, |_| 0.0);
            select(&cx(1), &x.view(), &indices.view(), span(axis, axes), &out.out(Mode::Write)).unwrap();
            let dy = Array::laid_out(layout, DType::F32, &out_shape, |i| i as f64);
            let (mut sums, mut last) = (vec![0.0; 60], vec![9.0; 60]);
            for i in 0..out.len() {
                let c = coords(&out_shape, i);
                let mut at = c.clone();
                let numbered = indices.int(c[axis] * 3 + c[axis + 1]) as usize;
                at.splice(axis..axis + 2, coords(&shape[axis..axis + axes], numbered));
                let at = number(&shape, &at);
                assert_eq!(out.get(i), x.get(at), "{layout:?} {axis} {axes}");
                sums[at] += dy.get(i);
                last[at] = dy.get(i);
            }
            let mut dx = Array::laid_out(layout, DType::F32, &shape, |_| 9.0);
            scatter_add(&cx(1), &dy.view(), &indices.view(), span(axis, axes), &dx.out(Mode::Write)).unwrap();
            assert_eq!(dx.values(), sums, "{layout:?} {axis} {axes}");
            let mut to = Array::laid_out(layout, DType::F32, &shape, |_| 9.0);
            put(&cx(2), &dy.view(), &indices.view(), span(axis, axes), &to.out(Mode::Write).view).unwrap();
            assert_eq!(to.values(), last, "{layout:?} {axis} {axes}");
        }
    }
}

/// What is not written by an index out of range: anything.
#[test]
fn nothing_is_put_before_all_is_known() {
    let value = Array::new(DType::F32, &[3], |_| 5.0);
    let indices = Array::new(DType::I64, &[3], |i| [0.0, 1.0, 7.0][i]);
    let mut to = Array::new(DType::F32, &[4], |_| 1.0);
    let e = put(&cx(1), &value.view(), &indices.view(), span(0, 1), &to.out(Mode::Write).view).unwrap_err();
    assert_eq!(*e.cause(), Cause::Index { index: 7, axis: 0, size: 4 });
    assert_eq!(to.values(), [1.0; 4]);
}

/// Several owners of rows keep the order of what comes twice.
#[test]
fn the_last_one_stays() {
    let n = 200_000;
    let value = Array::new(DType::I64, &[n], |i| i as f64);
    let indices = Array::new(DType::I32, &[n], |i| ((noise(i) + 1.0) * 500.0).floor());
    let mut want = vec![-1.0; 1001];
    (0..value.len()).for_each(|i| want[indices.int(i) as usize] = i as f64);
    for threads in [1, 2, 7] {
        let mut to = Array::new(DType::I64, &[1001], |_| -1.0);
        put(&cx(threads), &value.view(), &indices.view(), span(0, 1), &to.out(Mode::Write).view).unwrap();
        assert_eq!(to.values(), want);
    }
    let mut keeps = Array::new(DType::Bool, &[n], |_| 0.0);
    last(&indices.view(), 1001, Bounds::Raise, &keeps.out(Mode::Write).view).unwrap();
    assert!((0..value.len()).all(|i| (keeps.get(i) != 0.0) == (want[indices.int(i) as usize] == i as f64)));
}

#[test]
fn coordinates_and_back() {
    let sizes = dims(&[3, 4, 5]);
    for layout in LAYOUTS {
        let rows = Array::laid_out(layout, DType::I32, &[3, 1], |i| i as f64 - 3.0);
        let columns = Array::laid_out(layout, DType::F32, &[4], |i| i as f64);
        let mut joined = Array::laid_out(layout, DType::I64, &[3, 4], |_| 0.0);
        let parts = [rows.view(), columns.view()];
        let two = dims(&[3, 4]);
        coordinates::join(&cx(2), &parts, &two, &dims(&[0, 1]), Bounds::Raise, &joined.out(Mode::Write)).unwrap();
        assert_eq!(joined.values(), (0..12).map(f64::from).collect::<Vec<_>>());
        let strict = coordinates::join(&cx(1), &parts, &two, &dims(&[5, 6]), Bounds::Strict, &joined.out(Mode::Write));
        assert_eq!(*strict.unwrap_err().cause(), Cause::Index { index: -3, axis: 5, size: 3 });
        let numbers = Array::laid_out(layout, DType::F64, &[6, 10], |i| i as f64);
        let mut split = Array::laid_out(layout, DType::I64, &[3, 6, 10], |_| 0.0);
        coordinates::split(&cx(2), &numbers.view(), &sizes, &split.out(Mode::Write)).unwrap();
        let mut grid = Array::laid_out(layout, DType::I64, &[3, 4, 5, 2], |_| 0.0);
        coordinates::grid(&cx(2), &[2, 0], &grid.out(Mode::Write)).unwrap();
        for i in 0..60 {
            let c = coords(&[3, 4, 5], i);
            assert!((0..3).all(|d| split.int(d * 60 + i) as usize == c[d]));
            assert_eq!([grid.int(2 * i) as usize, grid.int(2 * i + 1) as usize], [c[2], c[0]]);
        }
    }
}
