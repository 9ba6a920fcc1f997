//! Reductions of what elements count as: their squares, their sizes, whether they are 0 or finite.
use super::engine::reduce;
use super::fold::{Fold, order_type, sum_type};
use super::plan::{Order, Plan, out_strides};
use crate::convert::copy_view;
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::{DType, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

struct Squares;
/// Squares of what is far too large for its own, and of what is far too small.
struct Lowered;
struct Raised;
struct Sizes;
struct Any;
struct All;
struct Finite;

/// `lifted!(Fold for types: start, |a, b| join, |v| lift)`
macro_rules! lifted {
    ($($name:ident for $($t:ident),+: $start:expr, |$a:ident, $b:ident| $join:expr, |$v:ident| $lift:expr;)*) => {$($(
        impl Fold<$t> for $name {
            const START: $t = $start as $t;
            #[inline(always)]
            fn join($a: $t, $b: $t) -> $t { $join }
            #[inline(always)]
            fn lift($v: $t) -> $t { $lift as $t }
        }
    )+)*};
}
lifted! {
    Squares for f32, f64: 0, |a, b| a + b, |v| v * v;
    Lowered for f64: 0, |a, b| a + b, |v| (v / FAR) * (v / FAR);
    Raised for f64: 0, |a, b| a + b, |v| (v * FAR) * (v * FAR);
    Sizes for f32, f64: 0, |a, b| a + b, |v| v.abs();
    Any for f32, f64, i64, u8: 0, |a, b| if a > b { a } else { b }, |v| (v != 0 as _) as u8;
    All for f32, f64, i64, u8: 1, |a, b| if a < b { a } else { b }, |v| (v != 0 as _) as u8;
    Finite for f32, f64: 1, |a, b| if a < b { a } else { b }, |v| v.is_finite() as u8;
}

fn plan(x: &View<'_>, axes: u32, out: &Out<'_>) -> Plan {
    Plan::new(x, axes, &out_strides(x, axes, out), Order::Any)
}

/// The sum of the squares over the axes of the bit mask `axes`; of nothing: 0.
pub fn sum_squares(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    if out.view.size > 0 {
        match sum_type(out.view.dtype) {
            DType::F64 => reduce::<f64, Squares>(cx, x, &plan(x, axes, out), out, |s| s),
            _ => reduce::<f32, Squares>(cx, x, &plan(x, axes, out), out, |s| s),
        }
    }
    Ok(())
}

/// The Euclidean norm (`ord` 2) or the sum of the absolute values (`ord` 1); of nothing: 0.
pub fn norm(cx: &Cx, x: &View<'_>, axes: u32, ord: i64, out: &Out<'_>) -> Result {
    if out.view.size > 0 {
        match (sum_type(out.view.dtype), ord) {
            (DType::F64, 1) => reduce::<f64, Sizes>(cx, x, &plan(x, axes, out), out, |s| s),
            (_, 1) => reduce::<f32, Sizes>(cx, x, &plan(x, axes, out), out, |s| s),
            (wide, _) => return length(cx, x, axes, wide == DType::F64, out),
        }
    }
    Ok(())
}

/// The root of the sum of squares. Where those overflow or vanish, the work is done again with more room.
fn length(cx: &Cx, x: &View<'_>, axes: u32, wide: bool, out: &Out<'_>) -> Result {
    let plan = plan(x, axes, out);
    let lost = AtomicBool::new(out.mode == Mode::Add); // what was added cannot be taken back
    let seen = |fine: bool| {
        if !fine {
            lost.store(true, Relaxed);
        }
    };
    if !lost.load(Relaxed) {
        match wide {
            true => reduce::<f64, Squares>(cx, x, &plan, out, |s| {
                seen((SMALL..f64::INFINITY).contains(&s));
                s.sqrt()
            }),
            false => reduce::<f32, Squares>(cx, x, &plan, out, |s| {
                seen((SMALL_F32..f32::INFINITY).contains(&s));
                s.sqrt()
            }),
        }
    }
    match (lost.into_inner(), wide) {
        (false, _) => Ok(()),
        (true, true) => scaled_length(cx, x, axes, out),
        // The square of every float32 is a float64 with all its digits.
        (true, false) => {
            reduce::<f64, Squares>(cx, x, &plan, out, f64::sqrt);
            Ok(())
        }
    }
}

/// Sums of squares below these may have lost some that vanished.
const SMALL: f64 = f64::MIN_POSITIVE / f64::EPSILON / f64::EPSILON;
const SMALL_F32: f32 = f32::MIN_POSITIVE / f32::EPSILON / f32::EPSILON;
/// A power of two, 2^540, whose square is about as large as a number can be.
const FAR: f64 = f64::from_bits((1023 + 540) << 52);

/// The root of the sum of squares of float64, from the sum that has the digits: of squares, of those of lowered values or
/// of raised ones.
#[cold]
fn scaled_length(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    let strides = out.view.shape.contiguous_strides();
    let mut sums = [(); 3].map(|()| vec![0f64; out.view.size]);
    let [plain, lowered, raised] = sums.each_mut().map(|sum| {
        let view = View::contiguous(sum.as_mut_ptr().cast(), DType::F64, out.view.shape, &strides);
        Out { view, mode: Mode::Write }
    });
    reduce::<f64, Squares>(cx, x, &plan(x, axes, &plain), &plain, |s| s);
    reduce::<f64, Lowered>(cx, x, &plan(x, axes, &lowered), &lowered, |s| s.sqrt() * FAR);
    reduce::<f64, Raised>(cx, x, &plan(x, axes, &raised), &raised, |s| s.sqrt() / FAR);
    let [mut lengths, lowered, raised] = sums;
    for (i, v) in lengths.iter_mut().enumerate() {
        *v = match *v {
            s if s == f64::INFINITY => lowered[i],
            s if s < SMALL => raised[i],
            s => s.sqrt(),
        };
    }
    let lengths = View::contiguous(lengths.as_mut_ptr().cast(), DType::F64, out.view.shape, &strides);
    copy_view(cx, &lengths, out)
}

/// Elements of one byte as what they are in memory: which of them are 0 can be told without converting.
fn bytes<'a>(x: &View<'a>) -> Option<View<'a>> {
    (x.dtype.size() == 1).then_some(View { dtype: DType::U8, ..*x })
}

/// Whether an element is not 0 (NaN is not); of nothing: no.
pub fn any(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    if out.view.size > 0 {
        if let Some(bytes) = bytes(x) {
            reduce::<u8, Any>(cx, &bytes, &plan(x, axes, out), out, |s| s);
            return Ok(());
        }
        match order_type(x.dtype) {
            DType::F32 => reduce::<f32, Any>(cx, x, &plan(x, axes, out), out, |s| s),
            DType::F64 => reduce::<f64, Any>(cx, x, &plan(x, axes, out), out, |s| s),
            _ => reduce::<i64, Any>(cx, x, &plan(x, axes, out), out, |s| s),
        }
    }
    Ok(())
}

/// Whether no element is 0; of nothing: yes.
pub fn all(cx: &Cx, x: &View<'_>, axes: u32, out: &Out<'_>) -> Result {
    if out.view.size > 0 {
        if let Some(bytes) = bytes(x) {
            reduce::<u8, All>(cx, &bytes, &plan(x, axes, out), out, |s| s);
            return Ok(());
        }
        match order_type(x.dtype) {
            DType::F32 => reduce::<f32, All>(cx, x, &plan(x, axes, out), out, |s| s),
            DType::F64 => reduce::<f64, All>(cx, x, &plan(x, axes, out), out, |s| s),
            _ => reduce::<i64, All>(cx, x, &plan(x, axes, out), out, |s| s),
        }
    }
    Ok(())
}

/// 1 if all elements are finite, else 0.
pub fn all_finite(cx: &Cx, x: &View<'_>, out: &Out<'_>) -> Result {
    let everything = (1u64 << x.ndim()).wrapping_sub(1) as u32;
    let plan = Plan::new(x, everything, &gluonish_base::Dims::filled(x.ndim(), 0), Order::Any);
    match order_type(x.dtype) {
        DType::F64 => reduce::<f64, Finite>(cx, x, &plan, out, |s| s),
        // Integers are: as float32 they stay finite.
        _ => reduce::<f32, Finite>(cx, x, &plan, out, |s| s),
    }
    Ok(())
}
