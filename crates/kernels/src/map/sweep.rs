//! The compiled loops: one formula over one class on one instruction set.
use super::{Class, MAX_INPUTS, Map, MapKind};
#[cfg(target_arch = "aarch64")]
use crate::formula::Neon;
use crate::formula::count::{Count, CountDouble};
use crate::formula::text::{TextDouble, TextInt, TextSingle, TextValue};
#[cfg(target_arch = "x86_64")]
use crate::formula::{Avx2, Avx512};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::formula::{Bits, Wide};
use crate::formula::{Float, FloatFormula, Int, IntFormula, Num, NumFormula, Pack};
use gluonish_base::isa::Isa;
use std::array::from_fn;
use std::cell::Cell;

/// Applies a formula to `n` values. Bit `k` of `advance` says that operand `k` is an array; else it is one value, which
/// stands `REPEAT` bytes long in memory. The output may be the same memory as an operand.
///
/// # Safety
/// The processor has the instructions the loop was compiled for; `ins` holds as many pointers as the formula has operands,
/// each readable for `n` lanes (or `REPEAT` bytes), and `out` is writable for `n`.
pub(crate) type Loop = unsafe fn(out: *mut u8, ins: *const *const u8, advance: u32, n: usize);

/// The loops of one class, by instruction set; in place of those of other processors, which nobody asks for, plain ones.
pub(crate) type Loops = [Loop; Isa::COUNT];

/// How long a single value must be repeated: the widest register of any instance.
pub(crate) const REPEAT: usize = 128;

/// Registers that can be filled from memory.
pub(crate) trait Vector: Num {
    type T: Copy;
    const LANES: usize;
    /// # Safety
    /// `LANES` values are readable.
    unsafe fn load(self, p: *const Self::T) -> Self::V;
    /// # Safety
    /// `n` values are readable, less than `LANES`; the other lanes are 0.
    unsafe fn load_part(self, p: *const Self::T, n: usize) -> Self::V;
    /// # Safety
    /// `n` values are readable, at most `LANES`; the other lanes are those of `other`.
    unsafe fn load_or(self, p: *const Self::T, n: usize, other: Self::V) -> Self::V;
    /// # Safety
    /// `LANES` values are writable.
    unsafe fn store(self, p: *mut Self::T, v: Self::V);
    /// # Safety
    /// `n` values are writable, less than `LANES`.
    unsafe fn store_part(self, p: *mut Self::T, v: Self::V, n: usize);
    /// Of the lanes of `a` and then `b`, the even ones and the odd ones.
    fn unzip(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);
    /// The lanes of `a` and `b` by turns: the first half of them and the second.
    fn zip(self, a: Self::V, b: Self::V) -> (Self::V, Self::V);

    /// Stores the first `n` lanes, or all of them where `n` is more than there are.
    ///
    /// # Safety
    /// As many values are writable.
    #[inline(always)]
    unsafe fn store_up_to(self, p: *mut Self::T, v: Self::V, n: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if n >= Self::LANES {
                self.store(p, v);
            } else {
                self.store_part(p, v, n);
            }
        }
    }
}

/// A formula as something that can be evaluated on the instance `I`: one name for the three kinds of formulas.
pub(crate) trait On<I: Num, const N: usize> {
    fn on(i: I, x: [I::V; N]) -> I::V;
}
struct OfNum<F>(F);
struct OfFloat<F>(F);
struct OfInt<F>(F);
impl<F: NumFormula<N>, I: Num, const N: usize> On<I, N> for OfNum<F> {
    #[inline(always)]
    fn on(i: I, x: [I::V; N]) -> I::V {
        F::eval(i, x)
    }
}
impl<F: FloatFormula<N>, I: Float, const N: usize> On<I, N> for OfFloat<F> {
    #[inline(always)]
    fn on(i: I, x: [I::V; N]) -> I::V {
        F::eval(i, x)
    }
}
impl<F: IntFormula<N>, I: Int, const N: usize> On<I, N> for OfInt<F> {
    #[inline(always)]
    fn on(i: I, x: [I::V; N]) -> I::V {
        F::eval(i, x)
    }
}

/// The body of every loop.
///
/// # Safety
/// As for [`Loop`].
#[inline(always)]
unsafe fn sweep<F: On<I, N>, I: Vector, const N: usize>(
    i: I,
    out: *mut u8,
    ins: *const *const u8,
    advance: u32,
    n: usize,
) {
    let out = out.cast::<I::T>();
    // SAFETY: the caller gives `N` pointers, readable as `Loop` says; the offsets stay within what they cover.
    unsafe {
        let p: [*const I::T; N] = from_fn(|k| (*ins.add(k)).cast());
        let step: [usize; N] = from_fn(|k| (advance >> k & 1) as usize);
        let mut at = 0;
        while at + I::LANES <= n {
            let x = from_fn(|k| i.load(p[k].add(at * step[k])));
            i.store(out.add(at), F::on(i, x));
            at += I::LANES;
        }
        if at < n {
            let x = from_fn(|k| i.load_part(p[k].add(at * step[k]), n - at));
            i.store_part(out.add(at), F::on(i, x), n - at);
        }
    }
}

/// The same for a long formula over float32: two registers at a time, as long as there are two.
///
/// # Safety
/// As for [`Loop`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
unsafe fn sweep_wide<F: On<I, N> + On<Wide<I>, N>, I: Vector + Bits, const N: usize>(
    i: I,
    out: *mut u8,
    ins: *const *const u8,
    advance: u32,
    n: usize,
) {
    let to = out.cast::<I::T>();
    let pair = 2 * I::LANES;
    // SAFETY: the caller gives `N` pointers, readable as `Loop` says; the offsets stay within what they cover.
    unsafe {
        let p: [*const I::T; N] = from_fn(|k| (*ins.add(k)).cast());
        let step: [usize; N] = from_fn(|k| (advance >> k & 1) as usize);
        let mut at = 0;
        while at + pair <= n {
            let half = |k: usize, skip: usize| i.load(p[k].add((at + skip) * step[k]));
            let y = F::on(Wide(i), from_fn(|k| (half(k, 0), half(k, I::LANES))));
            i.store(to.add(at), y.0);
            i.store(to.add(at + I::LANES), y.1);
            at += pair;
        }
        if at < n {
            let rest: [*const u8; N] = from_fn(|k| p[k].add(at * step[k]).cast());
            sweep::<F, I, N>(i, to.add(at).cast(), rest.as_ptr(), advance, n - at);
        }
    }
}

/// A loop for one instruction set: the instance it uses and the features it is compiled with.
macro_rules! compiled {
    ($name:ident: $instance:ident $($features:literal)?) => {
        /// # Safety
        /// As for [`Loop`].
        $(#[target_feature(enable = $features)])?
        unsafe fn $name<F: On<$instance<T>, N>, T, const N: usize>(o: *mut u8, x: *const *const u8, advance: u32, n: usize)
        where
            $instance<T>: Vector,
        {
            // SAFETY: the instructions are enabled for this function; the rest is what the caller promises.
            #[allow(unused_unsafe)]
            unsafe {
                sweep::<F, _, N>($instance::new(), o, x, advance, n)
            }
        }
    };
}
compiled!(pack: Pack);
#[cfg(target_arch = "x86_64")]
compiled!(pack_avx2: Pack "avx2,fma,bmi2");
#[cfg(target_arch = "x86_64")]
compiled!(avx2: Avx2 "avx2,fma");
#[cfg(target_arch = "x86_64")]
compiled!(avx512: Avx512 "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma");
#[cfg(target_arch = "aarch64")]
compiled!(neon: Neon);

/// The same for a long formula over float32.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! compiled_wide {
    ($name:ident: $instance:ident $($features:literal)?) => {
        /// # Safety
        /// As for [`Loop`].
        $(#[target_feature(enable = $features)])?
        unsafe fn $name<F, const N: usize>(o: *mut u8, x: *const *const u8, advance: u32, n: usize)
        where
            F: On<$instance<f32>, N> + On<Wide<$instance<f32>>, N>,
        {
            // SAFETY: the instructions are enabled for this function; the rest is what the caller promises.
            unsafe { sweep_wide::<F, _, N>($instance::new(), o, x, advance, n) }
        }
    };
}
#[cfg(target_arch = "x86_64")]
compiled_wide!(avx512_wide: Avx512 "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma");
#[cfg(target_arch = "aarch64")]
compiled_wide!(neon_wide: Neon);

/// float32 loops of formulas over real numbers, which are long: two registers at a time where there are 32 of them.
#[cfg(target_arch = "x86_64")]
const fn long_loops<F, const N: usize>() -> Option<Loops>
where
    F: On<Pack<f32>, N> + On<Avx2<f32>, N> + On<Avx512<f32>, N> + On<Wide<Avx512<f32>>, N>,
{
    Some([pack::<F, f32, N>, pack::<F, f32, N>, avx2::<F, f32, N>, avx512_wide::<F, N>])
}
#[cfg(target_arch = "aarch64")]
const fn long_loops<F, const N: usize>() -> Option<Loops>
where
    F: On<Pack<f32>, N> + On<Neon<f32>, N> + On<Wide<Neon<f32>>, N>,
{
    Some([pack::<F, f32, N>, neon_wide::<F, N>, pack::<F, f32, N>, pack::<F, f32, N>])
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const fn long_loops<F: On<Pack<f32>, N>, const N: usize>() -> Option<Loops> {
    Some([pack::<F, f32, N>; Isa::COUNT])
}
#[cfg(target_arch = "x86_64")]
const fn float_loops<F, T, const N: usize>() -> Option<Loops>
where
    F: On<Pack<T>, N> + On<Avx2<T>, N> + On<Avx512<T>, N>,
    Pack<T>: Vector,
    Avx2<T>: Vector,
    Avx512<T>: Vector,
{
    Some([pack::<F, T, N>, pack::<F, T, N>, avx2::<F, T, N>, avx512::<F, T, N>])
}
#[cfg(target_arch = "aarch64")]
const fn float_loops<F, T, const N: usize>() -> Option<Loops>
where
    F: On<Pack<T>, N> + On<Neon<T>, N>,
    Pack<T>: Vector,
    Neon<T>: Vector,
{
    Some([pack::<F, T, N>, neon::<F, T, N>, pack::<F, T, N>, pack::<F, T, N>])
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const fn float_loops<F: On<Pack<T>, N>, T, const N: usize>() -> Option<Loops>
where
    Pack<T>: Vector,
{
    Some([pack::<F, T, N>; Isa::COUNT])
}
const fn int_loops<F: On<Pack<T>, N>, T, const N: usize>() -> Option<Loops>
where
    Pack<T>: Vector,
{
    #[cfg(target_arch = "x86_64")]
    return Some([pack::<F, T, N>, pack::<F, T, N>, pack_avx2::<F, T, N>, pack_avx2::<F, T, N>]);
    // NEON is what plain code is compiled to.
    #[cfg(not(target_arch = "x86_64"))]
    return Some([pack::<F, T, N>; Isa::COUNT]);
}

impl Map {
    /// The table of a formula over any element type.
    pub const fn num<F: NumFormula<N>, const N: usize>(kind: MapKind) -> Map {
        Map {
            arity: arity::<N>(),
            kind,
            loops: [
                float_loops::<OfNum<F>, f32, N>(),
                float_loops::<OfNum<F>, f64, N>(),
                int_loops::<OfNum<F>, i32, N>(),
                int_loops::<OfNum<F>, i64, N>(),
                int_loops::<OfNum<F>, u64, N>(),
            ],
            count: count::<OfNum<F>, N>,
            text: |class, t, x| match class {
                Class::F32 => text::<OfNum<F>, _, N>(TextSingle(t), x),
                Class::F64 => text::<OfNum<F>, _, N>(TextDouble(t), x),
                _ => text::<OfNum<F>, _, N>(TextInt(t, class), x),
            },
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            record: |i, x| Some(OfNum::<F>::on(i, x.try_into().ok()?)),
        }
    }

    /// The table of a formula over real numbers.
    pub const fn float<F: FloatFormula<N>, const N: usize>(kind: MapKind) -> Map {
        Map {
            arity: arity::<N>(),
            kind,
            loops: [long_loops::<OfFloat<F>, N>(), float_loops::<OfFloat<F>, f64, N>(), None, None, None],
            count: count::<OfFloat<F>, N>,
            text: |class, t, x| match class {
                Class::F32 => text::<OfFloat<F>, _, N>(TextSingle(t), x),
                Class::F64 => text::<OfFloat<F>, _, N>(TextDouble(t), x),
                _ => None,
            },
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            record: |i, x| Some(OfFloat::<F>::on(i, x.try_into().ok()?)),
        }
    }

    /// The table of a formula over integers.
    pub const fn int<F: IntFormula<N>, const N: usize>(kind: MapKind) -> Map {
        Map {
            arity: arity::<N>(),
            kind,
            loops: [
                None,
                None,
                int_loops::<OfInt<F>, i32, N>(),
                int_loops::<OfInt<F>, i64, N>(),
                int_loops::<OfInt<F>, u64, N>(),
            ],
            count: count_int::<OfInt<F>, N>,
            text: |class, t, x| match class {
                Class::F32 | Class::F64 => None,
                _ => text::<OfInt<F>, _, N>(TextInt(t, class), x),
            },
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            record: |_, _| None,
        }
    }

    /// The table of a function that has one formula for real numbers and another for integers.
    pub const fn float_or_int<F: FloatFormula<N>, G: IntFormula<N>, const N: usize>(kind: MapKind) -> Map {
        Map {
            arity: arity::<N>(),
            kind,
            loops: [
                long_loops::<OfFloat<F>, N>(),
                float_loops::<OfFloat<F>, f64, N>(),
                int_loops::<OfInt<G>, i32, N>(),
                int_loops::<OfInt<G>, i64, N>(),
                int_loops::<OfInt<G>, u64, N>(),
            ],
            count: count::<OfFloat<F>, N>,
            text: |class, t, x| match class {
                Class::F32 => text::<OfFloat<F>, _, N>(TextSingle(t), x),
                Class::F64 => text::<OfFloat<F>, _, N>(TextDouble(t), x),
                _ => text::<OfInt<G>, _, N>(TextInt(t, class), x),
            },
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            record: |i, x| Some(OfFloat::<F>::on(i, x.try_into().ok()?)),
        }
    }
}

const fn arity<const N: usize>() -> u8 {
    assert!(N >= 1 && N <= MAX_INPUTS, "a formula has one to four operands");
    N as u8
}

fn count<F, const N: usize>(class: Class) -> u32
where
    F: for<'a> On<Count<'a>, N> + for<'a> On<CountDouble<'a>, N>,
{
    let n = Cell::new(0);
    if class == Class::F64 {
        F::on(CountDouble(&n), [(); N]);
    } else {
        F::on(Count(&n), [(); N]);
    }
    n.get()
}

fn count_int<F: for<'a> On<Count<'a>, N>, const N: usize>(_: Class) -> u32 {
    let n = Cell::new(0);
    F::on(Count(&n), [(); N]);
    n.get()
}

fn text<F: On<I, N>, I: Num<V = TextValue>, const N: usize>(i: I, x: &[TextValue]) -> Option<TextValue> {
    Some(F::on(i, x.try_into().ok()?))
}
