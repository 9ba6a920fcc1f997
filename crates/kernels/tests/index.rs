//! Indexing against loops over coordinates.
mod arrays;
use arrays::*;
use gluonish_base::{Cause, DType};
use gluonish_kernels::Mode;
use gluonish_kernels::index::*;

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
        let result = take(&cx(1), &x.view(), &index.view(), 0, Bounds::Clip, &out.out(Mode::Write));
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
    let half = Array::new(DType::F32, &[1], |_| 0.5);
    let mut out = Array::new(DType::F32, &[1, 4], |_| 0.0);
    assert!(one_hot(&cx(1), &half.view(), 1.0, 0.0, &out.out(Mode::Write)).is_err());
}

#[test]
fn masks() {
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            let mask = Array::laid_out(layout, dtype, &[6], |i| (i % 3 != 1) as u8 as f64);
            assert_eq!(count(&mask.view()), 4);
            let x = Array::laid_out(layout, DType::F32, &[6, 2], |i| i as f64);
            let mut out = Array::laid_out(layout, DType::F32, &[4, 2], |_| 0.0);
            compress(&cx(1), &x.view(), &mask.view(), &out.out(Mode::Write)).unwrap();
            assert_eq!(out.values(), [0.0, 1.0, 4.0, 5.0, 6.0, 7.0, 10.0, 11.0]);
            let mut dx = Array::laid_out(layout, DType::F32, &[6, 2], |_| 1.0);
            expand(&cx(1), &out.view(), &mask.view(), &dx.out(Mode::Add)).unwrap();
            let want: Vec<f64> = (0..12).map(|i| if i / 2 % 3 == 1 { 1.0 } else { 1.0 + i as f64 }).collect();
            assert_eq!(dx.values(), want);
            let mut wrong = Array::new(DType::F32, &[5, 2], |_| 0.0);
            assert!(compress(&cx(1), &x.view(), &mask.view(), &wrong.out(Mode::Write)).is_err());
        }
    }
    let nan = Array::new(DType::F32, &[2], |i| [f64::NAN, -0.0][i]);
    assert_eq!(count(&nan.view()), 1);
}

#[test]
fn several_dimensions_at_once() {
    let shape = [3, 4, 5];
    for layout in LAYOUTS {
        for m in 1..=3usize {
            let x = Array::laid_out(layout, DType::F32, &shape, |i| i as f64);
            let indices = Array::laid_out(layout, DType::I64, &[m as isize, 2, 2], |i| {
                [0.0, 2.0, -1.0, 1.0][(i * 7 + i / 4) % 4]
            });
            let mut out_shape = vec![2, 2];
            out_shape.extend(&shape[m..]);
            let mut out = Array::laid_out(layout, DType::F32, &out_shape, |_| 0.0);
            gather_nd(&cx(1), &x.view(), &indices.view(), Bounds::Raise, &out.out(Mode::Write)).unwrap();
            let dy = Array::laid_out(layout, DType::F32, &out_shape, |i| i as f64);
            let mut dx = Array::laid_out(layout, DType::F32, &shape, |_| 9.0);
            scatter_add_nd(&cx(1), &dy.view(), &indices.view(), Bounds::Raise, &dx.out(Mode::Write)).unwrap();
            let mut want = vec![0.0; 60];
            for i in 0..out.len() {
                let c = coords(&out_shape, i);
                let mut at: Vec<usize> =
                    (0..m).map(|k| indices.int(k * 4 + c[0] * 2 + c[1]).rem_euclid(shape[k] as i64) as usize).collect();
                at.extend(&c[2..]);
                let at = number(&shape, &at);
                assert_eq!(out.get(i), x.get(at), "{layout:?} {m}");
                want[at] += dy.get(i);
            }
            assert_eq!(dx.values(), want, "{layout:?} {m}");
        }
    }
    let x = Array::new(DType::F32, &[3], |_| 0.0);
    let deep = Array::new(DType::I64, &[2, 1], |_| 0.0);
    let mut out = Array::new(DType::F32, &[1], |_| 0.0);
    assert!(gather_nd(&cx(1), &x.view(), &deep.view(), Bounds::Clip, &out.out(Mode::Write)).is_err());
}
