//! Joining arrays, element by element.
mod arrays;
use arrays::*;
use gluonish_base::DType;
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
