//! Float32 results against exact ones: what the tests of accuracy share.
use gluonish_base::{DType, Dims};
use gluonish_kernels::map::{Class, Map, apply};
use gluonish_kernels::{Cx, Mode, Out, View};

/// Applies a map to float32 arrays.
pub(crate) fn eval(m: &Map, ins: &[&[f32]]) -> Vec<f32> {
    let n = ins[0].len();
    let (shape, strides) = (Dims::of(&[n as isize]), Dims::of(&[1]));
    let view = |p: *const f32| View::contiguous(p as *mut u8, DType::F32, &shape, &strides);
    let views: Vec<View> = ins.iter().map(|x| view(x.as_ptr())).collect();
    let mut y = vec![0f32; n];
    let out = Out { view: view(y.as_mut_ptr()), mode: Mode::Write };
    apply(&Cx { threads: 1, ..Cx::default() }, m, Class::F32, &views, &out).unwrap();
    y
}

/// Distance from the exact value in units of the last place of the result's neighbourhood.
pub(crate) fn ulp(got: f32, want: f64) -> f64 {
    if got.is_nan() || want.is_nan() {
        return if got.is_nan() && want.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let near = want as f32;
    if near.is_infinite() || got.is_infinite() {
        // Overflow may come half a unit early or late.
        let edge = got == near
            || want.abs() > 3.4028234e38 && got.abs() == f32::MAX
            || got.is_infinite() && want.abs() > 3.40282e38;
        return if edge && got.signum() as f64 == want.signum() { 0.0 } else { f64::INFINITY };
    }
    let exponent = (near.abs().to_bits() >> 23).max(1) as i32 - 127 - 23;
    (got as f64 - want).abs() / 2f64.powi(exponent)
}
