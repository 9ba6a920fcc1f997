//! What the gates do to a line of units, and back.
use super::net::{Cell, Clip};
use crate::map::Map;
use crate::plain::{Value, apply};

static SIGMOID: Map = crate::map!(float | i, x, y | i.sigmoid(i.add(x, y)));
static TANH: Map = crate::map!(float | i, x, y | i.tanh(i.add(x, y)));
static TANH_ONE: Map = crate::map!(float | i, x | i.tanh(x));
static RELU: Map = crate::map!(float | i, x, y | i.relu(i.add(x, y)));
static ADD: Map = crate::map!(float | i, x, y | i.add(x, y));
static MUL: Map = crate::map!(float | i, x, y | i.mul(x, y));
/// `f * c + i * g`
static REMEMBER: Map = crate::map!(float | i, f, c, a, g | i.fma(f, c, i.mul(a, g)));
/// `tanh(x + r * h)`
static NEW: Map = crate::map!(float | i, x, r, h | i.tanh(i.fma(r, h, x)));
/// `(1 - z) * n + z * h`
static BLEND: Map = crate::map!(float | i, z, n, h | i.fma(z, i.sub(h, n), n));

/// `d * y * (1 - y) * w`, the gradient through a sigmoid of result `y`.
static SIGMOID_BACK: Map = crate::map!(float | i, d, w, y | i.mul(i.mul(d, w), i.mul(y, i.sub(i.c(1.0), y))));
/// `d * w * (1 - y * y)`, the gradient through a tanh of result `y`.
static TANH_BACK: Map = crate::map!(float | i, d, w, y | i.mul(i.mul(d, w), i.sub(i.c(1.0), i.mul(y, y))));
static TANH_BACK_ONE: Map = crate::map!(float | i, d, y | i.mul(d, i.sub(i.c(1.0), i.mul(y, y))));
static RELU_BACK: Map = crate::map!(float | i, d, y | i.select(i.gt(y, i.c(0.0)), d, i.c(0.0)));
/// `dc + dh * o * (1 - t * t)`
static CELL_BACK: Map = crate::map!(float | i, dc, dh, o, t | i.fma(i.mul(dh, o), i.sub(i.c(1.0), i.mul(t, t)), dc));
/// `dh * (h - n) * z * (1 - z)`
static UPDATE_BACK: Map =
    crate::map!(float | i, dh, h, n, z | i.mul(i.mul(dh, i.sub(h, n)), i.mul(z, i.sub(i.c(1.0), z))));
/// `dh * (1 - z) * (1 - n * n)`
static NEW_BACK: Map =
    crate::map!(float | i, dh, z, n | i.mul(i.mul(dh, i.sub(i.c(1.0), z)), i.sub(i.c(1.0), i.mul(n, n))));

/// Pointers to `n` units of one sequence at one step. Gates stand `apart` from each other.
pub(super) struct Line<T> {
    pub n: usize,
    pub apart: usize,
    /// The input's part of the gates, biases included; becomes the gates.
    pub gates: *mut T,
    /// The state's part of them, the gates as far apart.
    pub state: *const T,
    /// The biases that go with the state's part: GRU's new state has them inside.
    pub bias: *const T,
    pub h_before: *const T,
    /// Where the hidden units go, before any projection.
    pub h: *mut T,
    pub c_before: *const T,
    pub c: *mut T,
    pub tanh_c: *mut T,
}

impl<T: Value> Line<T> {
    /// # Safety
    /// The pointers that the cell uses are valid for `n` values, and belong to the caller where they are written.
    pub(super) unsafe fn forward(&self, cell: Cell, clip: Option<Clip>) {
        let n = self.n;
        let gate = |k: usize| self.gates.wrapping_add(k * self.apart);
        let from = |k: usize| self.state.wrapping_add(k * self.apart);
        // SAFETY: the caller's.
        unsafe {
            let sigmoid = |k: usize| apply(&SIGMOID, n, gate(k), [gate(k).cast_const(), from(k)]);
            match cell {
                Cell::Relu => {
                    apply(&RELU, n, gate(0), [gate(0).cast_const(), from(0)]);
                    std::ptr::copy_nonoverlapping(gate(0), self.h, n);
                }
                Cell::Tanh => {
                    apply(&TANH, n, gate(0), [gate(0).cast_const(), from(0)]);
                    std::ptr::copy_nonoverlapping(gate(0), self.h, n);
                }
                Cell::Lstm => {
                    sigmoid(0);
                    sigmoid(1);
                    apply(&TANH, n, gate(2), [gate(2).cast_const(), from(2)]);
                    sigmoid(3);
                    let [i, f, g, o] = std::array::from_fn(|k| gate(k).cast_const());
                    apply(&REMEMBER, n, self.c, [f, self.c_before, i, g]);
                    if let Some(clip) = clip {
                        (0..n).for_each(|j| *self.c.add(j) = clipped(*self.c.add(j), clip));
                    }
                    apply(&TANH_ONE, n, self.tanh_c, [self.c.cast_const()]);
                    apply(&MUL, n, self.h, [o, self.tanh_c.cast_const()]);
                }
                Cell::Gru => {
                    sigmoid(0);
                    sigmoid(1);
                    apply(&ADD, n, gate(3), [from(2), self.bias]);
                    let [r, z, new, inner] = std::array::from_fn(|k| gate(k).cast_const());
                    apply(&NEW, n, gate(2), [new, r, inner]);
                    apply(&BLEND, n, self.h, [z, new, self.h_before]);
                }
            }
        }
    }
}

fn clipped<T: Value>(x: T, clip: Clip) -> T {
    let v = x.to_f64();
    if v.is_nan() {
        return if clip.nan { T::from_f64(clip.min) } else { x };
    }
    T::from_f64(v.clamp(clip.min, clip.max))
}

/// The same units on the way back.
pub(super) struct Back<T> {
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

impl<T: Value> Back<T> {
    /// # Safety
    /// As of `Line::forward`.
    pub(super) unsafe fn run(&self, cell: Cell, clip: Option<Clip>) {
        let n = self.n;
        let gate = |k: usize| self.gates.wrapping_add(k * self.apart);
        let dx = |k: usize| self.dx.wrapping_add(k * self.apart);
        let dh = self.dh;
        // SAFETY: the caller's.
        unsafe {
            match cell {
                Cell::Relu => apply(&RELU_BACK, n, dx(0), [dh, gate(0)]),
                Cell::Tanh => apply(&TANH_BACK_ONE, n, dx(0), [dh, gate(0)]),
                Cell::Lstm => {
                    let [i, f, g, o] = std::array::from_fn(gate);
                    let dc = self.dc.cast_const();
                    apply(&SIGMOID_BACK, n, dx(3), [dh, self.tanh_c, o]);
                    apply(&CELL_BACK, n, self.dc, [dc, dh, o, self.tanh_c]);
                    if let Some(clip) = clip {
                        for j in 0..n {
                            let c = (*self.c.add(j)).to_f64();
                            if c <= clip.min || c >= clip.max {
                                *self.dc.add(j) = T::default();
                            }
                        }
                    }
                    apply(&SIGMOID_BACK, n, dx(0), [dc, g, i]);
                    apply(&SIGMOID_BACK, n, dx(1), [dc, self.c_before, f]);
                    apply(&TANH_BACK, n, dx(2), [dc, i, g]);
                    apply(&MUL, n, self.dc, [dc, f]);
                }
                Cell::Gru => {
                    let [r, z, new, inner] = std::array::from_fn(gate);
                    apply(&UPDATE_BACK, n, dx(1), [dh, self.h_before, new, z]);
                    apply(&NEW_BACK, n, dx(2), [dh, z, new]);
                    apply(&SIGMOID_BACK, n, dx(0), [dx(2).cast_const(), inner, r]);
                    for k in 0..2 {
                        std::ptr::copy_nonoverlapping(dx(k), self.ds.wrapping_add(k * self.apart), n);
                    }
                    apply(&MUL, n, self.ds.wrapping_add(2 * self.apart), [dx(2).cast_const(), r]);
                    apply(&MUL, n, self.straight, [dh, z]);
                }
            }
        }
    }
}
