//! What the gates do to a line of units, and back: a register of units at a time, all that belongs to it at once.
use super::net::{Cell, Clip};
use crate::formula::Float;
use crate::map::sweep::Vector;
use crate::plain::Value;
use crate::registers::Body;

/// Pointers to `n` units of one sequence at one step. Gates stand `apart` from each other.
pub(super) struct Line<T> {
    pub cell: Cell,
    pub clip: Option<Clip>,
    pub n: usize,
    pub apart: usize,
    /// What goes into the gates, biases included, but for those of the state's part of GRU's new state; becomes the gates.
    /// That part is a gate of its own, the last.
    pub gates: *mut T,
    /// The biases of GRU's last gate.
    pub bias: *const T,
    pub h_before: *const T,
    /// Where the hidden units go, before any projection.
    pub h: *mut T,
    pub c_before: *const T,
    pub c: *mut T,
    pub tanh_c: *mut T,
}

/// Some units of a line, at most a register.
#[derive(Clone, Copy)]
struct Units<I> {
    i: I,
    from: usize,
    n: usize,
}

impl<I: Float + Vector> Units<I> {
    #[inline(always)]
    fn of(i: I, n: usize) -> impl Iterator<Item = Units<I>> {
        (0..n).step_by(I::LANES).map(move |from| Units { i, from, n: n - from })
    }
    /// # Safety
    /// `p` leads to the values of a line.
    #[inline(always)]
    unsafe fn load(self, p: *const I::T) -> I::V {
        let p = p.wrapping_add(self.from);
        // SAFETY: the caller's.
        unsafe { if self.n >= I::LANES { self.i.load(p) } else { self.i.load_part(p, self.n) } }
    }
    /// Lines `0..N` that stand `apart`.
    ///
    /// # Safety
    /// As of `load`.
    #[inline(always)]
    unsafe fn lines<const N: usize>(self, p: *const I::T, apart: usize) -> [I::V; N] {
        let mut v = [self.i.c(0.0); N];
        for (k, v) in v.iter_mut().enumerate() {
            // SAFETY: the caller's.
            *v = unsafe { self.load(p.wrapping_add(k * apart)) };
        }
        v
    }
    /// # Safety
    /// As of `load`, and they belong to the caller.
    #[inline(always)]
    unsafe fn store(self, p: *mut I::T, v: I::V) {
        // SAFETY: the caller's.
        unsafe { self.i.store_up_to(p.wrapping_add(self.from), v, self.n) }
    }
    /// # Safety
    /// As of `store`.
    #[inline(always)]
    unsafe fn store_lines<const N: usize>(self, p: *mut I::T, apart: usize, v: [I::V; N]) {
        for (k, v) in v.into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { self.store(p.wrapping_add(k * apart), v) };
        }
    }
}

/// The pointers that the cell uses are valid for `n` values, and belong to the caller where they are written.
impl<T: Value> Body<T> for Line<T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        let (gates, apart) = (self.gates, self.apart);
        for u in Units::of(i, self.n) {
            // SAFETY: as the line says.
            unsafe {
                match self.cell {
                    Cell::Relu | Cell::Tanh => {
                        let x = u.load(gates.cast_const());
                        let y = if self.cell == Cell::Relu { i.relu(x) } else { i.tanh(x) };
                        u.store(gates, y);
                        u.store(self.h, y);
                    }
                    Cell::Lstm => {
                        let [a, f, g, o] = u.lines(gates.cast_const(), apart);
                        let [a, f, g, o] = [i.sigmoid(a), i.sigmoid(f), i.tanh(g), i.sigmoid(o)];
                        let c = clipped(i, i.fma(f, u.load(self.c_before), i.mul(a, g)), self.clip);
                        let t = i.tanh(c);
                        u.store_lines(gates, apart, [a, f, g, o]);
                        u.store(self.c, c);
                        u.store(self.tanh_c, t);
                        u.store(self.h, i.mul(o, t));
                    }
                    Cell::Gru => {
                        let [r, z, new, inner] = u.lines(gates.cast_const(), apart);
                        let inner = i.add(inner, u.load(self.bias));
                        let (r, z) = (i.sigmoid(r), i.sigmoid(z));
                        let new = i.tanh(i.fma(r, inner, new));
                        u.store_lines(gates, apart, [r, z, new, inner]);
                        // (1 - z) * new + z * h
                        u.store(self.h, i.fma(z, i.sub(u.load(self.h_before), new), new));
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn clipped<I: Float>(i: I, c: I::V, clip: Option<Clip>) -> I::V {
    let Some(Clip { min, max, nan }) = clip else { return c };
    let (min, max) = (i.c(min), i.c(max));
    let within = i.select(i.lt(c, min), min, i.select(i.lt(max, c), max, c));
    if nan { i.select(i.eq(c, c), within, min) } else { within }
}

/// The same units on the way back.
pub(super) struct Back<T> {
    pub cell: Cell,
    pub clip: Option<Clip>,
    pub n: usize,
    pub apart: usize,
    pub gates: *const T,
    pub h_before: *const T,
    pub c_before: *const T,
    pub c: *const T,
    pub tanh_c: *const T,
    /// The gradient of the hidden units.
    pub dh: *const T,
    /// The gradient of the cells after the step; becomes that of the cells before it.
    pub dc: *mut T,
    /// Gradients of the gates as the input sees them, and as the state does where that differs.
    pub dx: *mut T,
    pub ds: *mut T,
    /// What of the hidden units' gradient goes to the state before without any product.
    pub straight: *mut T,
}

/// As for a line.
impl<T: Value> Body<T> for Back<T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        let (one, zero) = (i.c(1.0), i.c(0.0));
        let (dx, apart) = (self.dx, self.apart);
        for u in Units::of(i, self.n) {
            // SAFETY: as the line says.
            unsafe {
                let dh = u.load(self.dh);
                match self.cell {
                    Cell::Relu => u.store(dx, i.select(i.gt(u.load(self.gates), zero), dh, zero)),
                    Cell::Tanh => u.store(dx, through_tanh(i, dh, u.load(self.gates))),
                    Cell::Lstm => {
                        let [a, f, g, o] = u.lines(self.gates, apart);
                        let (t, c_before) = (u.load(self.tanh_c), u.load(self.c_before));
                        let mut dc = i.fma(i.mul(dh, o), i.sub(one, i.mul(t, t)), u.load(self.dc.cast_const()));
                        if let Some(clip) = self.clip {
                            let c = u.load(self.c);
                            let outside = i.or(i.le(c, i.c(clip.min)), i.le(i.c(clip.max), c));
                            dc = i.select(outside, zero, dc);
                        }
                        let to_in = through_sigmoid(i, i.mul(dc, g), a);
                        let to_forget = through_sigmoid(i, i.mul(dc, c_before), f);
                        let to_new = through_tanh(i, i.mul(dc, a), g);
                        let to_out = through_sigmoid(i, i.mul(dh, t), o);
                        u.store_lines(dx, apart, [to_in, to_forget, to_new, to_out]);
                        u.store(self.dc, i.mul(dc, f));
                    }
                    Cell::Gru => {
                        let [r, z, new, inner] = u.lines(self.gates, apart);
                        let to_new = through_tanh(i, i.mul(dh, i.sub(one, z)), new);
                        let to_reset = through_sigmoid(i, i.mul(to_new, inner), r);
                        let to_update = through_sigmoid(i, i.mul(dh, i.sub(u.load(self.h_before), new)), z);
                        u.store_lines(dx, apart, [to_reset, to_update, to_new]);
                        u.store_lines(self.ds, apart, [to_reset, to_update, i.mul(to_new, r)]);
                        u.store(self.straight, i.mul(dh, z));
                    }
                }
            }
        }
    }
}

/// The gradient `d` through a sigmoid of result `y`.
#[inline(always)]
fn through_sigmoid<I: Float>(i: I, d: I::V, y: I::V) -> I::V {
    i.mul(d, i.mul(y, i.sub(i.c(1.0), y)))
}

/// The gradient `d` through a tanh of result `y`.
#[inline(always)]
fn through_tanh<I: Float>(i: I, d: I::V, y: I::V) -> I::V {
    i.mul(d, i.sub(i.c(1.0), i.mul(y, y)))
}
