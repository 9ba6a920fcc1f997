//! One formula over views, without a program.
use super::body::{Body, Load, OutSpec, Step, Work};
use super::run::{SUM, TILE, execute, lane, repeat};
use super::sweep::{Loop, REPEAT};
use super::{CHUNK, Class, MAX_INPUTS, Map, scratch};
use crate::convert::{Cast, cast_fn};
use crate::view::{Cx, Mode, Out, View};
use gluonish_base::isa::isa;
use gluonish_base::{Cause, DType, Dims, Error, Result, pool};
use std::mem::MaybeUninit;

/// Memory of an operand that is a single value.
type Single = MaybeUninit<[u8; REPEAT]>;

/// Applies a formula, computing in `class`: inputs of any type and stride are converted and broadcast to the output's
/// shape. The output may be the same view as an input.
#[inline]
pub fn apply(cx: &Cx, map: &Map, class: Class, ins: &[View<'_>], out: &Out<'_>) -> Result {
    let (Some(run), true) = (map.get(class, isa()), ins.len() == map.arity()) else {
        return Err(refuse(map, class, ins.len()));
    };
    let v = &out.view;
    if !v.contiguous {
        return general(cx, map, class, ins, out);
    }
    let mut line = Line {
        run,
        class,
        arity: ins.len(),
        advance: 0,
        ins: [Operand::NONE; MAX_INPUTS],
        out: Operand::new(v),
        plain: v.dtype == class.dtype() && out.mode == Mode::Write,
        add: out.mode == Mode::Add,
    };
    let mut singles = [const { Single::uninit() }; MAX_INPUTS];
    for (k, x) in ins.iter().enumerate() {
        if x.scalar.is_none() && x.contiguous && same_shape(x.shape, v.shape) {
            line.ins[k] = Operand::new(x);
            line.plain &= x.dtype == class.dtype();
            line.advance |= 1 << k;
        } else if x.size == 1 && x.ndim() <= v.ndim() {
            // SAFETY: a view of one element, and room for its repetition.
            unsafe { repeat(singles[k].as_mut_ptr().cast(), lane(class, x.ptr, x.dtype, x.scalar), class.size()) };
            line.ins[k] = Operand { ptr: singles[k].as_mut_ptr().cast(), size: 0, dtype: class.dtype() };
        } else {
            return general(cx, map, class, ins, out);
        }
    }
    let n = v.size;
    if n <= CHUNK || cx.threads <= 1 {
        // SAFETY: every operand is contiguous and as large as the output, or repeated; see `View` and `Out`.
        unsafe { line.range(0, n) };
    } else {
        pool::run(n.div_ceil(CHUNK), cx.threads, |c| {
            let line = &line;
            // SAFETY: as above; the ranges are disjoint.
            unsafe { line.range(c * CHUNK, n.min((c + 1) * CHUNK)) }
        });
    }
    Ok(())
}

/// Equality of shapes, inline: most are short.
#[inline(always)]
fn same_shape(a: &Dims, b: &Dims) -> bool {
    a.len() == b.len() && (0..a.len()).all(|d| a[d] == b[d])
}

/// An operand without gaps, or repeated: `size` 0.
#[derive(Clone, Copy)]
struct Operand {
    ptr: *mut u8,
    size: usize,
    dtype: DType,
}

impl Operand {
    const NONE: Operand = Operand { ptr: std::ptr::null_mut(), size: 0, dtype: DType::F32 };

    #[inline(always)]
    fn new(v: &View<'_>) -> Operand {
        Operand { ptr: v.ptr, size: v.dtype.size(), dtype: v.dtype }
    }
    #[inline(always)]
    fn at(&self, k: usize) -> *mut u8 {
        self.ptr.wrapping_add(k * self.size)
    }
}

/// A formula over operands that all lie in one line.
struct Line {
    run: Loop,
    class: Class,
    arity: usize,
    advance: u32,
    ins: [Operand; MAX_INPUTS],
    out: Operand,
    /// Nothing to convert, nothing to add: the loop works on the operands themselves.
    plain: bool,
    add: bool,
}
// SAFETY: threads work on disjoint ranges.
unsafe impl Sync for Line {}

impl Line {
    /// # Safety
    /// The operands are valid for the range, and nobody else writes it.
    #[inline(always)]
    unsafe fn range(&self, a: usize, b: usize) {
        if self.plain {
            let ins: [*const u8; MAX_INPUTS] = std::array::from_fn(|k| self.ins[k].at(a).cast_const());
            // SAFETY: the caller's promise.
            unsafe { (self.run)(self.out.at(a), ins.as_ptr(), self.advance, b - a) }
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.converted(a, b) }
        }
    }

    /// Tile by tile through buffers.
    ///
    /// # Safety
    /// As for `range`.
    #[inline(never)]
    unsafe fn converted(&self, a: usize, b: usize) {
        let lane = self.class.dtype();
        let load: [Option<Cast>; MAX_INPUTS] =
            std::array::from_fn(|k| (self.ins[k].dtype != lane).then(|| cast_fn(self.ins[k].dtype, lane)));
        let buffer_size = TILE * self.class.size();
        let direct = self.out.dtype == lane && !self.add;
        scratch::with((MAX_INPUTS + 2) * buffer_size, |memory| {
            let buffer = |k: usize| memory.wrapping_add(k * buffer_size);
            for at in (a..b).step_by(TILE) {
                let n = TILE.min(b - at);
                let mut p = [std::ptr::null::<u8>(); MAX_INPUTS];
                // SAFETY: operands are valid for the range; a buffer holds a tile.
                unsafe {
                    for k in 0..self.arity {
                        p[k] = self.ins[k].at(at);
                        if let Some(cast) = load[k] {
                            cast(buffer(k), 1, p[k], 1, n);
                            p[k] = buffer(k);
                        }
                    }
                    let out = self.out.at(at);
                    let y = if direct { out } else { buffer(MAX_INPUTS) };
                    (self.run)(y, p.as_ptr(), self.advance, n);
                    if self.add {
                        let old = buffer(MAX_INPUTS + 1);
                        cast_fn(self.out.dtype, lane)(old, 1, out, 1, n);
                        if let Some(sum) = SUM.get(self.class, isa()) {
                            sum(y, [old.cast_const(), y.cast_const()].as_ptr(), 3, n);
                        }
                    }
                    if !direct {
                        cast_fn(lane, self.out.dtype)(out, 1, y, 1, n);
                    }
                }
            }
        });
    }
}

/// Operands that do not lie in one line: as a body of one step.
#[inline(never)]
fn general(cx: &Cx, map: &Map, class: Class, ins: &[View<'_>], out: &Out<'_>) -> Result {
    let Some(loops) = map.loops[class as usize] else {
        return Err(refuse(map, class, ins.len()));
    };
    if map.few(class, ins, out) {
        return Ok(());
    }
    let n = ins.len();
    let loads: [Load; MAX_INPUTS] = std::array::from_fn(|k| Load { input: k as u16, class, last_read: 0 });
    let step = Step { work: Work::Loop(loops), args: [0, 1, 2, 3], arity: n as u8, dst: n as u16 };
    let outs = [OutSpec { place: n as u16, class, made: Some(0) }];
    let body = Body { loads: &loads[..n], consts: &[], steps: &[step], outs: &outs, slots: 1 };
    execute(cx, body, None, ins, std::slice::from_ref(out))
}

#[cold]
fn refuse(map: &Map, class: Class, given: usize) -> Error {
    if given == map.arity() {
        Cause::DType(format!("this operation is not defined for {}", class.dtype())).into()
    } else {
        Cause::Argument(format!("{given} operands for a formula of {}", map.arity())).into()
    }
}
