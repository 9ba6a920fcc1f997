//! Reductions of what elements count as: their squares, their sizes, whether they are 0 or finite.
use super::engine::reduce;
use super::fold::{Fold, order_type, sum_type};
use super::plan::{Order, Plan, out_strides};
use crate::view::{Cx, Out, View};
use gluonish_base::{DType, Result};

struct Squares;
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
        let plan = plan(x, axes, out);
        match (sum_type(out.view.dtype), ord) {
            (DType::F64, 1) => reduce::<f64, Sizes>(cx, x, &plan, out, |s| s),
            (DType::F64, _) => reduce::<f64, Squares>(cx, x, &plan, out, f64::sqrt),
            (_, 1) => reduce::<f32, Sizes>(cx, x, &plan, out, |s| s),
            _ => reduce::<f32, Squares>(cx, x, &plan, out, f32::sqrt),
        }
    }
    Ok(())
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
