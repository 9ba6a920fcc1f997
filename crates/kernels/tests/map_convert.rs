//! Casts between all element types, and copies of views.
mod map_naive;
use gluonish_base::isa::{available, detected, limit};
use gluonish_base::{DType, Scalar};
use gluonish_kernels::convert::{copy_view, fill};
use gluonish_kernels::{Cx, Mode};
use map_naive::{Arr, Rng, Val};

fn cx(threads: usize) -> Cx {
    Cx { threads, ..Cx::default() }
}

#[test]
fn every_pair_of_types() {
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.4, -0.6, 1.5, 2.5, 127.5, 128.0, 255.0, 300.0, -129.0, 65504.0, 65520.0, 1e5, 3e9];
    let wild = [
        2147483648.0,
        -2147483649.0,
        9.3e18,
        -9.3e18,
        1.9e19,
        1e30,
        -1e30,
        f64::INFINITY,
        -f64::INFINITY,
        f64::NAN,
        1e-8,
        6e-8,
        1e-42,
    ];
    let ints: [i128; 12] =
        [0, 1, -1, 127, 128, 255, 256, -32769, 2049, 2147483647, -9223372036854775808, 18446744073709551615];
    for isa in available() {
        limit(isa);
        for from in DType::ALL {
            let n = special.len() + wild.len() + ints.len();
            let mut x = Arr::contiguous(&[n as isize], from);
            let floats = special.iter().chain(&wild).map(|&v| Val::F(v));
            for (k, v) in floats.chain(ints.iter().map(|&v| Val::I(v))).enumerate() {
                x.set(k, v);
            }
            for to in DType::ALL {
                let mut y = Arr::contiguous(&[n as isize], to);
                copy_view(&cx(1), &x.view(), &y.out(Mode::Write)).unwrap();
                for k in 0..n {
                    let want = x.get(k).to(to);
                    assert!(y.get(k).same(want), "{from} {:?} to {to}: {:?}, not {want:?}", x.get(k), y.get(k));
                }
            }
        }
    }
    limit(detected());
}

#[test]
fn strided_and_broadcast() {
    let mut rng = Rng(1);
    for round in 0..300 {
        let shape: Vec<isize> = (0..rng.below(5))
            .map(|_| rng.pick(&[0, 1, 2, 3, 8, 31, 40, 64].map(|n: isize| n.max(if round % 9 == 0 { 0 } else { 1 }))))
            .collect();
        if shape.iter().product::<isize>() > 200_000 {
            continue;
        }
        let from = rng.pick(&DType::ALL);
        let to = if rng.below(2) == 0 { from } else { rng.pick(&DType::ALL) };
        let small: Vec<isize> = shape.iter().map(|&n| if rng.below(6) == 0 { 1 } else { n }).collect();
        let x = Arr::random(&mut rng, &small, from).fill(&mut rng);
        let mut y = Arr::random(&mut rng, &shape, to);
        copy_view(&cx(2), &x.view(), &y.out(Mode::Write)).unwrap();
        for k in 0..y.shape.size() {
            let want = x.get_broadcast(k, &y.shape).to(to);
            assert!(y.get(k).same(want), "{} {from} to {} {to} [{k}]", x.strides, y.strides);
        }
    }
}

#[test]
fn transposed() {
    for (dtype, rows, cols) in
        [(DType::F32, 300, 517), (DType::F64, 128, 256), (DType::U8, 100, 333), (DType::F16, 64, 64)]
    {
        let mut rng = Rng(8);
        let mut x = Arr::contiguous(&[rows, cols], dtype).fill(&mut rng);
        let mut y = Arr::contiguous(&[cols, rows], dtype);
        let plain = x.clone();
        (x.shape, x.strides) = (gluonish_base::Dims::of(&[cols, rows]), gluonish_base::Dims::of(&[1, cols]));
        copy_view(&cx(2), &x.view(), &y.out(Mode::Write)).unwrap();
        for r in 0..rows as usize {
            for c in 0..cols as usize {
                assert!(y.get(c * rows as usize + r).same(plain.get(r * cols as usize + c)));
            }
        }
    }
}

#[test]
fn filling_and_adding() {
    let mut rng = Rng(6);
    for dtype in DType::ALL {
        let mut y = Arr::random(&mut rng, &[5, 6, 7], dtype).fill(&mut rng);
        fill(&cx(1), Scalar::Int(3), &y.out(Mode::Write)).unwrap();
        assert!((0..210).all(|k| y.get(k).same(Val::I(3).to(dtype))));
        fill(&cx(1), Scalar::Int(4), &y.out(Mode::Add)).unwrap();
        assert!((0..210).all(|k| y.get(k).same(Val::I(7).to(dtype))));
    }
}
