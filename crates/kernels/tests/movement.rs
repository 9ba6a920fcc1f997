//! Joining arrays and copying parts of them, element by element.
mod arrays;
use arrays::*;
use gluonish_base::isa::{available, detected, limit};
use gluonish_base::{DType, Dims};
use gluonish_kernels::convert::copy_view;
use gluonish_kernels::movement::concat;
use gluonish_kernels::{Mode, View};

#[test]
fn concat_along_every_axis() {
    for dtype in DType::ALL {
        for layout in LAYOUTS {
            for axis in 0..3 {
                let shape = |n: isize| {
                    let mut s = vec![3, 2, 5];
                    s[axis] = n;
                    s
                };
                let parts: Vec<Array> = [2, 0, 1, 4]
                    .iter()
                    .enumerate()
                    .map(|(k, &n)| Array::laid_out(layout, dtype, &shape(n), |i| ((i + 7 * k) % 5) as f64))
                    .collect();
                for mode in [Mode::Write, Mode::Add] {
                    let mut out = Array::laid_out(layout, dtype, &shape(7), |_| 1.0);
                    let views: Vec<View<'_>> = parts.iter().map(Array::view).collect();
                    concat(&cx(2), &views, axis, &out.out(mode)).unwrap();
                    for i in 0..out.len() {
                        let mut c = coords(&shape(7), i);
                        let mut part = 0;
                        while c[axis] >= parts[part].shape[axis] as usize {
                            c[axis] -= parts[part].shape[axis] as usize;
                            part += 1;
                        }
                        let x = parts[part].get(number(&parts[part].shape, &c));
                        let want = match mode {
                            Mode::Write => x,
                            Mode::Add if dtype == DType::Bool => 1.0,
                            Mode::Add => x + 1.0,
                        };
                        assert_eq!(out.get(i), want, "{dtype} {layout:?} {axis} {mode:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn types_are_converted_and_sizes_checked() {
    let (a, b) = (Array::new(DType::I32, &[2], |i| i as f64), Array::new(DType::F64, &[1], |_| 2.5));
    let mut out = Array::new(DType::F32, &[3], |_| 0.0);
    concat(&cx(1), &[a.view(), b.view()], 0, &out.out(Mode::Write)).unwrap();
    assert_eq!(out.values(), [0.0, 1.0, 2.5]);
    assert!(concat(&cx(1), &[a.view()], 0, &out.out(Mode::Write)).is_err());
    assert!(concat(&cx(1), &[a.view(), a.view()], 0, &out.out(Mode::Write)).is_err());
}

#[test]
fn long_rows_are_joined_whole() {
    let widths = [200, 1, 0, 130];
    let parts = widths.map(|n| Array::new(DType::F32, &[700, n], |i| (i as isize + 1000 * n) as f64));
    for threads in [1, 2] {
        let mut out = Array::new(DType::F32, &[700, 331], |_| 0.0);
        concat(&cx(threads), &parts.each_ref().map(Array::view), 1, &out.out(Mode::Write)).unwrap();
        for row in 0..700 {
            let pieces = parts.iter().flat_map(|p| {
                let n = p.shape[1] as usize;
                (0..n).map(move |i| p.get(row * n + i))
            });
            assert!(pieces.enumerate().all(|(i, v)| out.get(row * 331 + i) == v), "{row}");
        }
    }
}

#[test]
fn every_stride_on_every_instruction_set() {
    for isa in available() {
        limit(isa);
        for dtype in [DType::Bool, DType::U8, DType::F16, DType::F32, DType::F64] {
            for step in -3..=5 {
                for n in [0, 1, 2, 15, 16, 17, 33, 127, 129, 300] {
                    // The last row ends with the last value: nothing behind it may be read.
                    let width = (n - 1).max(0) * isize::abs(step) + 1;
                    let x = Array::new(dtype, &[3, width], |i| (i % 2) as f64 * ((i / 2 % 40) as f64 + 1.0));
                    let (shape, strides) = (Dims::of(&[3, n]), Dims::of(&[width, step]));
                    let first = if step < 0 { width - 1 } else { 0 };
                    let mut out = Array::new(dtype, &[3, n], |_| 1.0);
                    copy_view(&cx(2), &x.view().part(&shape, &strides, first), &out.out(Mode::Write)).unwrap();
                    for i in 0..out.len() as isize {
                        let from = i / n * width + first + i % n * step;
                        assert_eq!(out.get(i as usize), x.get(from as usize), "{isa:?} {dtype} {step} {n}");
                    }
                }
            }
        }
    }
    limit(detected());
}
