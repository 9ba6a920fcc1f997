//! Sorting against the standard library's stable sort.
mod arrays;
use arrays::*;
use gluonish_base::DType;
use gluonish_kernels::Mode;
use gluonish_kernels::sort::*;
use std::cmp::Ordering;

/// NaN last, whichever the direction.
fn compare(a: f64, b: f64, ascending: bool) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) if ascending => a.total_cmp(&b),
        (false, false) => b.total_cmp(&a),
        (a, b) => a.cmp(&b),
    }
}

/// The places of each row along `axis`, in order.
fn rows(shape: &[isize], axis: usize) -> Vec<Vec<usize>> {
    let n: usize = shape.iter().product::<isize>() as usize;
    let mut rows = Vec::new();
    for i in 0..n {
        let mut c = coords(shape, i);
        if c[axis] == 0 {
            rows.push((0..shape[axis] as usize).map(|k| (c[axis] = k, number(shape, &c)).1).collect());
        }
    }
    rows
}

/// Few different values, and NaN where the type has it.
fn value(d: DType, i: usize) -> f64 {
    match d {
        DType::Bool => (noise(i) > 0.0) as u8 as f64,
        d if d.is_float() && i % 11 == 3 => f64::NAN,
        d if d.is_float() => (noise(i) * 9.0).round() / 2.0 + 0.0,
        d => ((noise(i) * 9.0).round()).max(if d.is_signed() { -9.0 } else { 0.0 }),
    }
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

const SHAPES: [(&[isize], usize); 6] =
    [(&[1], 0), (&[17], 0), (&[3, 40], 1), (&[40, 3], 0), (&[2, 31, 3], 1), (&[2, 3000], 1)];

#[test]
fn all_types_and_layouts() {
    for dtype in DType::ALL {
        for (shape, axis) in SHAPES {
            for layout in LAYOUTS {
                for ascending in [true, false] {
                    let x = Array::laid_out(layout, dtype, shape, |i| value(dtype, i));
                    let mut sorted = Array::laid_out(layout, dtype, shape, |_| 1.0);
                    let mut places = Array::laid_out(layout, DType::I64, shape, |_| 1.0);
                    sort(&cx(1), &x.view(), axis, ascending, &sorted.out(Mode::Write)).unwrap();
                    argsort(&cx(2), &x.view(), axis, ascending, &places.out(Mode::Write)).unwrap();
                    let k = (shape[axis] + 1) / 2;
                    let mut top_shape = shape.to_vec();
                    top_shape[axis] = k;
                    let mut values = Array::laid_out(layout, dtype, &top_shape, |_| 1.0);
                    let mut indices = Array::laid_out(layout, DType::F32, &top_shape, |_| 1.0);
                    topk(
                        &cx(2),
                        &x.view(),
                        axis,
                        ascending,
                        Some(&values.out(Mode::Write)),
                        Some(&indices.out(Mode::Add)),
                    )
                    .unwrap();
                    let mut mask = Array::laid_out(layout, DType::U8, shape, |_| 1.0);
                    topk_mask(&cx(1), &x.view(), axis, k as usize, ascending, &mask.out(Mode::Write)).unwrap();
                    for (row, top) in rows(shape, axis).iter().zip(rows(&top_shape, axis)) {
                        let mut order: Vec<usize> = (0..row.len()).collect();
                        order.sort_by(|&a, &b| compare(x.get(row[a]), x.get(row[b]), ascending));
                        for (j, &o) in order.iter().enumerate() {
                            let what = (dtype, shape, layout, ascending, j);
                            assert!(same(sorted.get(row[j]), x.get(row[o])), "{what:?}");
                            assert_eq!(places.int(row[j]), o as i64, "{what:?}");
                            assert_eq!(mask.int(row[o]), (j < k as usize) as i64, "{what:?}");
                            if j < k as usize {
                                assert!(same(values.get(top[j]), x.get(row[o])), "{what:?}");
                                assert_eq!(indices.int(top[j]), o as i64 + 1, "{what:?}");
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Long enough for threads to share one row.
#[test]
fn long_rows() {
    for dtype in [DType::F32, DType::I64, DType::U16] {
        let n = 300_001;
        let x = Array::new(dtype, &[n], |i| ((noise(i) + 1.0) * 3e4).floor());
        for ascending in [true, false] {
            let mut order: Vec<usize> = (0..n as usize).collect();
            order.sort_by(|&a, &b| compare(x.get(a), x.get(b), ascending));
            for threads in [1, 2] {
                let mut places = Array::new(DType::I64, &[n], |_| 0.0);
                let mut sorted = Array::new(dtype, &[n], |_| 0.0);
                argsort(&cx(threads), &x.view(), 0, ascending, &places.out(Mode::Write)).unwrap();
                sort(&cx(threads), &x.view(), 0, ascending, &sorted.out(Mode::Write)).unwrap();
                for (i, &o) in order.iter().enumerate() {
                    assert_eq!((places.int(i), sorted.get(i)), (o as i64, x.get(o)));
                }
            }
        }
    }
}

#[test]
fn zeros_are_equal_for_positions() {
    let x = Array::new(DType::F32, &[4], |i| [0.0, -0.0, 0.0, -1.0][i]);
    let mut places = Array::new(DType::I64, &[4], |_| 0.0);
    argsort(&cx(1), &x.view(), 0, true, &places.out(Mode::Write)).unwrap();
    assert_eq!(places.values(), [3.0, 0.0, 1.0, 2.0]);
    let wide = Array::new(DType::U64, &[3], |i| [2f64.powi(63), 1.0, 2f64.powi(62)][i]);
    let mut out = Array::new(DType::U64, &[3], |_| 0.0);
    sort(&cx(1), &wide.view(), 0, true, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.values(), [1.0, 2f64.powi(62), 2f64.powi(63)]);
}

#[test]
fn nothing_and_too_much() {
    let x = Array::new(DType::F32, &[0, 3], |_| 0.0);
    let mut out = x.clone();
    sort(&cx(1), &x.view(), 0, true, &out.out(Mode::Write)).unwrap();
    argsort(&cx(1), &x.view(), 1, true, &out.out(Mode::Write)).unwrap();
    let x = Array::new(DType::F32, &[3], |_| 0.0);
    let mut out = Array::new(DType::F32, &[4], |_| 0.0);
    assert!(topk(&cx(1), &x.view(), 0, true, Some(&out.out(Mode::Write)), None).is_err());
    assert!(topk_mask(&cx(1), &x.view(), 0, 4, true, &out.out(Mode::Write)).is_err());
    let mut out = Array::new(DType::F32, &[0], |_| 0.0);
    topk(&cx(1), &x.view(), 0, true, Some(&out.out(Mode::Write)), None).unwrap();
}

/// Wide types are sorted by what their values have above the least.
#[test]
fn near_and_far_values() {
    let far = [i64::MIN as f64, -1.0, 2f64.powi(62)];
    for (dtype, base) in [(DType::I64, 0.0), (DType::I64, -(2f64.powi(52))), (DType::U64, 2f64.powi(52))] {
        for n in [300, 5000] {
            for extra in [&[][..], &far] {
                if dtype == DType::U64 && !extra.is_empty() {
                    continue;
                }
                let value = |i: usize| extra.get(i).copied().unwrap_or(base + (noise(i) * 2e9).round());
                let x = Array::new(dtype, &[n], value);
                for ascending in [true, false] {
                    let mut order: Vec<usize> = (0..n as usize).collect();
                    order.sort_by(|&a, &b| if ascending { x.int(a).cmp(&x.int(b)) } else { x.int(b).cmp(&x.int(a)) });
                    let mut places = Array::new(DType::I64, &[n], |_| 0.0);
                    let mut sorted = Array::new(dtype, &[n], |_| 0.0);
                    argsort(&cx(2), &x.view(), 0, ascending, &places.out(Mode::Write)).unwrap();
                    sort(&cx(2), &x.view(), 0, ascending, &sorted.out(Mode::Write)).unwrap();
                    for (i, &o) in order.iter().enumerate() {
                        assert_eq!((places.int(i), sorted.int(i)), (o as i64, x.int(o)));
                    }
                }
            }
        }
    }
}

/// Each value is better than all before it, or none is.
#[test]
fn the_best_come_last_or_first() {
    for k in [1, 10, 40, 400] {
        for ascending in [true, false] {
            for falls in [true, false] {
                let x = Array::new(DType::F32, &[1000], |i| if falls { 1000 - i } else { i } as f64);
                let mut indices = Array::new(DType::I64, &[k], |_| 0.0);
                topk(&cx(1), &x.view(), 0, ascending, None, Some(&indices.out(Mode::Write))).unwrap();
                let from_end = ascending == falls;
                let want = (0..k as usize).map(|j| if from_end { 999 - j } else { j } as f64);
                assert_eq!(indices.values(), want.collect::<Vec<f64>>());
            }
        }
    }
}
