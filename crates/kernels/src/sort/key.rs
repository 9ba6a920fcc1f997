//! Elements as unsigned integers of the same order, alone or together with their position.
use crate::dispatch::Elem;
use gluonish_base::DType;

/// The bits of a key whose elements have at most 32.
const NARROW: u64 = u32::MAX as u64;

/// Whether keys of a type have at most 32 bits.
#[inline(always)]
pub(super) const fn is_narrow(d: DType) -> bool {
    d.size() <= 4
}

/// A number that orders as the elements should: NaN last in both directions. The two zeros are one unless `zeros` is set.
#[inline(always)]
pub(super) fn key<T: Elem>(v: T, ascending: bool, zeros: bool) -> u64 {
    let all = if is_narrow(T::DTYPE) { NARROW } else { u64::MAX };
    let sign = all ^ all >> 1;
    let up = match T::DTYPE {
        DType::F64 => {
            let f = if zeros { v.to_f64() } else { v.to_f64() + 0.0 };
            if f.is_nan() {
                return all;
            }
            ordered(f.to_bits(), sign, all)
        }
        d if d.is_float() => {
            let f = if zeros { v.to_f32() } else { v.to_f32() + 0.0 };
            if f.is_nan() {
                return all;
            }
            ordered(f.to_bits() as u64, sign, all)
        }
        d if d.is_signed() => (v.to_i64() as u64 & all) ^ sign,
        _ => v.to_i64() as u64 & all,
    };
    if ascending { up } else { up ^ all }
}

/// The element that a key was made from; of NaN, some NaN.
#[inline(always)]
pub(super) fn element<T: Elem>(key: u64, ascending: bool) -> T {
    let all = if is_narrow(T::DTYPE) { NARROW } else { u64::MAX };
    let sign = all ^ all >> 1;
    if T::DTYPE.is_float() && key == all {
        return T::from_f64(f64::NAN);
    }
    let up = if ascending { key } else { key ^ all };
    let bits = if up & sign == 0 { up ^ all } else { up ^ sign };
    match T::DTYPE {
        DType::F64 => T::from_f64(f64::from_bits(bits)),
        d if d.is_float() => T::from_f32(f32::from_bits(bits as u32)),
        d if d.is_signed() => T::from_i64((up ^ sign) as i64),
        _ => T::from_i64(up as i64),
    }
}

/// Bits of a floating number in the order of numbers: negative ones turned round, positive ones above them.
#[inline(always)]
fn ordered(bits: u64, sign: u64, all: u64) -> u64 {
    if bits & sign == 0 { bits | sign } else { bits ^ all }
}

/// What is sorted.
pub(super) trait Item: Copy + Ord + Default + Send + Sync {
    /// Bits of the key.
    const BITS: u32;
    fn new(key: u64, position: usize) -> Self;
    fn key(self) -> u64;
    /// 0 if the item is a key alone.
    fn position(self) -> usize;
}

macro_rules! items {
    ($($(#[$doc:meta])* $name:ident($t:ty), $bits:literal, |$k:ident, $p:ident| $new:expr, |$v:ident| $key:expr, |$w:ident| $position:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
        pub(super) struct $name($t);
        impl Item for $name {
            const BITS: u32 = $bits;
            #[inline(always)]
            fn new($k: u64, $p: usize) -> $name { $name($new) }
            #[inline(always)]
            fn key(self) -> u64 { let $v = self.0; $key }
            #[inline(always)]
            fn position(self) -> usize { let $w = self.0; $position }
        }
    )*};
}
items! {
    Key32(u32), 32, |k, _p| k as u32, |v| v as u64, |_v| 0;
    Key64(u64), 64, |k, _p| k, |v| v, |_v| 0;
    /// A position of at most 32 bits.
    Pair32(u64), 32, |k, p| k << 32 | p as u64, |v| v >> 32, |v| (v & NARROW) as usize;
    Pair64(u128), 64, |k, p| (k as u128) << 64 | p as u128, |v| (v >> 64) as u64, |v| v as u64 as usize;
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn keys_order_and_return() {
        let v = [f64::NEG_INFINITY, -2.5, -1e-3, -0.0, 0.0, 1e-3, 7.0, f64::INFINITY, f64::NAN];
        fn check<T: Elem>(v: &[f64]) {
            for ascending in [true, false] {
                let keys: Vec<u64> = v.iter().map(|v| key(T::from_f64(*v), ascending, true)).collect();
                let numbers = &keys[..v.len() - T::DTYPE.is_float() as usize];
                assert!(numbers.is_sorted_by(|a, b| if ascending { a < b } else { a > b }), "{}", T::DTYPE);
                assert!(keys.iter().all(|k| *k <= keys[v.len() - 1]) || !ascending);
                for (k, v) in keys.iter().zip(v) {
                    let back: T = element(*k, ascending);
                    assert!(back.to_f64().to_bits() == T::from_f64(*v).to_f64().to_bits() || v.is_nan());
                }
            }
            assert_eq!(key(T::from_f64(0.0), true, false), key(T::from_f64(-0.0), true, false));
        }
        check::<f16>(&v);
        check::<f32>(&v);
        check::<f64>(&v);
        let ints = [-128.0, -1.0, 0.0, 1.0, 127.0];
        check::<i8>(&ints);
        check::<i32>(&ints);
        check::<i64>(&ints);
        check::<u8>(&ints[2..]);
        check::<u64>(&ints[2..]);
    }
}
