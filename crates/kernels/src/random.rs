//! Random arrays. Value `i` (in row-major order) depends on the ticket of `cx` and on `i` alone, so that any split among
//! threads, and any device, makes the same numbers; every instruction set makes the same bits.
//!
//! The ticket's Philox blocks (four 32-bit words each) are used sixteen at a time:
//! - values of 32 bits (all of `bernoulli`; `uniform` and `normal` but for float64): value `i` takes word `i / 16 % 4` of
//!   block `i / 64 * 16 + i % 16`;
//! - values of 64 bits (`randint`, float64): value `i` takes the words `i / 16 % 2 * 2` (low half) and the next (high half)
//!   of block `i / 32 * 16 + i % 16`.
//!
//! `normal` pairs two values by Box and Muller: the first word of a pair gives the radius, the second the angle; of 32-bit
//! values those 16 places apart with an even and an odd word, of 64-bit values those 16 places apart.
//!
//! Other distributions, and all whose parameters are arrays, take a number of words that is not known before: value `i`
//! then has blocks of its own (`stream`), whose counters have `i` in the first two words, the block's number in the third
//! and 1 in the fourth. They are computed in float64 whatever the type of the result.
mod blocks;
mod choose;
mod count;
mod distribution;
pub mod dropout;
mod gamma;
mod generate;
mod polar;
mod sample;
mod stream;

use crate::dispatch::Elem;
use crate::reduce::{Acc, Sink};
use crate::view::{Cx, Mode, Out};
use crate::walk::Walk;
use blocks::Words;
pub use choose::{categories, counts, permutation};
pub use distribution::*;
use generate::{
    bernoulli_32, exponential_32, exponential_64, normal_32, normal_64, randint_64, uniform_32, uniform_64, words,
};
use gluonish_base::{Cause, DType, Result, pool};
use half::{bf16, f16};
pub use sample::{at_least, repeat, sample};

/// Uniform on `[low, high)`, for floating types: 24 random bits (float64: 53) times the width, added to `low`, and at most
/// the largest value below `high`.
pub fn uniform(cx: &Cx, low: f64, high: f64, out: &Out<'_>) -> Result {
    floating(out)?;
    let top = below(high.max(low), out.view.dtype).max(low);
    if out.view.dtype == DType::F64 {
        fill(cx, out, |words, to| uniform_64(words, low, high - low, top, to));
    } else {
        let width = high - low;
        let (low, span, top) = (low as f32, width as f32, top as f32);
        if span.is_finite() {
            fill(cx, out, |words, to| uniform_32(words, low, span, top, to));
        } else {
            // The width does not fit the type: half of everything, and then twice that.
            let half = (width / 2.0) as f32;
            fill(cx, out, |words, to| {
                uniform_32(words, low / 2.0, half, top / 2.0, to);
                to.iter_mut().for_each(|v| *v *= 2.0);
            });
        }
    }
    Ok(())
}

/// Normal with mean `loc` and standard deviation `scale`, for floating types.
pub fn normal(cx: &Cx, loc: f64, scale: f64, out: &Out<'_>) -> Result {
    floating(out)?;
    if out.view.dtype == DType::F64 {
        fill(cx, out, |words, to| normal_64(words, loc, scale, to));
    } else {
        let (loc, scale) = (loc as f32, scale as f32);
        fill(cx, out, |words, to| normal_32(words, loc, scale, to));
    }
    Ok(())
}

/// Exponential with mean `scale`, for floating types.
pub fn exponential(cx: &Cx, scale: f64, out: &Out<'_>) -> Result {
    floating(out)?;
    if out.view.dtype == DType::F64 {
        fill(cx, out, |words, to| exponential_64(words, scale, to));
    } else {
        let scale = scale as f32;
        fill(cx, out, |words, to| exponential_32(words, scale, to));
    }
    Ok(())
}

/// 1 with probability `p` (to 32 bits), else 0, in any type.
pub fn bernoulli(cx: &Cx, p: f64, out: &Out<'_>) -> Result {
    if !(0.0..=1.0).contains(&p) {
        return Err(Cause::Value(format!("a probability lies between 0 and 1: {p} does not")).into());
    }
    // A word below the threshold is a success; certainty has no threshold of 32 bits.
    let threshold = u32::try_from((p * 4_294_967_296.0) as u64).ok();
    fill(cx, out, |words, to| match threshold {
        Some(t) => bernoulli_32(words, t, to),
        None => to.fill(1.0),
    });
    Ok(())
}

/// Uniform integers of `[low, high)`, in any type that holds them: 64 random bits times the width, divided by 2^64.
pub fn randint(cx: &Cx, low: i64, high: i64, out: &Out<'_>) -> Result {
    if high <= low {
        return Err(Cause::Value(format!("no integer is at least {low} and below {high}")).into());
    }
    let width = high.wrapping_sub(low) as u64;
    fill(cx, out, |words, to| randint_64(words, low, width, to));
    Ok(())
}

fn floating(out: &Out<'_>) -> Result {
    if out.view.dtype.is_float() {
        return Ok(());
    }
    Err(Cause::DType(format!("this distribution makes floating numbers, not {}", out.view.dtype)).into())
}

/// The largest value of a floating type below `v`.
fn below(v: f64, d: DType) -> f64 {
    fn step(bits: u16) -> u16 {
        match bits {
            0 | 0x8000 => 0x8001,
            b if b & 0x8000 == 0 => b - 1,
            b => b + 1,
        }
    }
    let nearest = crate::by_dtype!(d, T => T::from_f64(v).to_f64());
    if nearest < v || !v.is_finite() {
        return nearest;
    }
    match d {
        DType::F16 => f16::from_bits(step(f16::from_f64(v).to_bits())).to_f64(),
        DType::BF16 => bf16::from_bits(step(bf16::from_f64(v).to_bits())).to_f64(),
        DType::F32 => (v as f32).next_down() as f64,
        _ => v.next_down(),
    }
}

/// Values of one task: a whole number of groups of either kind.
const CHUNK: usize = 1 << 14;
/// Groups that are made at once: their words stay in the first cache.
const BATCH: usize = 16;

/// Fills the output with what `make(words, values)` makes from the words of whole groups.
fn fill<A: Acc>(cx: &Cx, out: &Out<'_>, make: impl Fn(&[Words], &mut [A]) + Sync) {
    const { assert!(CHUNK.is_multiple_of(generate::group::<f32>()) && CHUNK.is_multiple_of(generate::group::<f64>())) };
    let (key, group) = (cx.ticket.key(), generate::group::<A>());
    let n = out.view.size;
    let walk = Walk::new(out.view.shape, [out.view.strides; 2]).coalesced();
    let sink = Sink::<A>::new(out, 0);
    let in_place = out.view.contiguous && out.mode == Mode::Write && out.view.dtype == A::DTYPE;
    let make_from = |first: usize, to: &mut [A]| {
        let mut batch = [Words::default(); BATCH];
        for (b, to) in to.chunks_mut(BATCH * group).enumerate() {
            let batch = &mut batch[..to.len() / group];
            words(key, (first / group + b * BATCH) as u64, batch);
            make(batch, to);
        }
    };
    pool::run(n.div_ceil(CHUNK), cx.threads, |task| {
        let (from, to) = (task * CHUNK, n.min((task + 1) * CHUNK));
        let whole = if in_place { (to - from) / group * group } else { 0 };
        if whole > 0 {
            // SAFETY: the output has no gaps and holds this type; each task has its own range of it.
            make_from(from, unsafe { sink.slice::<A>(from, whole) });
        }
        let rest = from + whole;
        if rest < to {
            let mut values = vec![A::default(); (to - rest).next_multiple_of(group)];
            make_from(rest, &mut values);
            // SAFETY: these values are in the output and belong to this task.
            unsafe { sink.put(&walk, rest, &values[..to - rest]) };
        }
    });
}
