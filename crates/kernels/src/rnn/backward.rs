//! The gradients of a network, from what its forward left in the reserve.
use super::cell::Back;
use super::dropout::{drop_some, read_ticket};
use super::net::{Cell, Net};
use super::split::{Part, Split, there_and_back};
use crate::gemm::{Identity, Mat, MatMut, Product, Simd, Work, dispatch, gemm};
use crate::plain::{Plain, Target, Value, apply, with_value};
use crate::products::Panels;
use crate::room::{Room, room, stale};
use crate::view::{Cx, Mode, Out, View};
use crate::walk::Shared;
use gluonish_base::{Result, pool};

static ADD: crate::map::Map = crate::map!(float | i, x, y | i.add(x, y));

/// Where gradients go: of the data, the parameters, the states before, the cells before.
pub struct Grads<'a> {
    pub data: Out<'a>,
    pub parameters: Out<'a>,
    pub h: Out<'a>,
    pub c: Option<Out<'a>>,
}

/// Operands: data, parameters, the reserve, and the gradients of the output and the last states.
pub fn backward(
    cx: &Cx,
    net: &Net,
    [data, parameters, reserve, dy, dh]: [&View<'_>; 5],
    dc: Option<&View<'_>>,
    lengths: Option<&[usize]>,
    grads: &Grads<'_>,
) -> Result {
    with_value!(reserve.dtype, T => {
        let plain = |v: &View<'_>| Plain::<T>::of(cx, v);
        let (data, parameters, reserve) = (plain(data)?, plain(parameters)?, plain(reserve)?);
        let (dy, dh, dc) = (plain(dy)?, plain(dh)?, dc.map(plain).transpose()?);
        let mut to_data = Target::<T>::of(&grads.data)?;
        let mut to_parameters = Target::<T>::of(&grads.parameters)?;
        let mut to_h = Target::<T>::of(&grads.h)?;
        let mut to_c = grads.c.as_ref().map(Target::<T>::of).transpose()?;
        dispatch(Run {
            cx,
            net,
            data: data.ptr(),
            parameters: parameters.ptr(),
            reserve: reserve.ptr(),
            dy: dy.ptr(),
            dh: dh.ptr(),
            dc: dc.as_ref().map_or(std::ptr::null(), Plain::ptr),
            lengths,
            to_data: to_data.ptr(),
            to_parameters: to_parameters.ptr(),
            to_h: to_h.ptr(),
            to_c: to_c.as_mut().map_or(std::ptr::null_mut(), Target::ptr),
        })?;
        to_data.finish(cx)?;
        to_parameters.finish(cx)?;
        to_h.finish(cx)?;
        to_c.map_or(Ok(()), |c| c.finish(cx))
    })
}

struct Run<'a, T> {
    cx: &'a Cx,
    net: &'a Net,
    data: *const T,
    parameters: *const T,
    reserve: *const T,
    dy: *const T,
    dh: *const T,
    dc: *const T,
    lengths: Option<&'a [usize]>,
    to_data: *mut T,
    to_parameters: *mut T,
    to_h: *mut T,
    to_c: *mut T,
}

impl<T: Value> Work<T> for Run<'_, T> {
    type Out = Result;

    unsafe fn run<S: Simd<T = T>>(self) -> Result {
        let (net, threads) = (self.net, self.cx.threads);
        let size = net.rows() * net.output();
        // The gradient of a layer's output, and of its input.
        let mut above = room::<T>(if net.layers > 1 { size } else { 0 })?;
        let mut below = room::<T>(if net.layers > 1 { size } else { 0 })?;
        let mut dropped = room::<T>(if net.layers > 1 && net.dropout > 0.0 { size } else { 0 })?;
        let counted = self.lengths.map(|lengths| self.counted(lengths)).transpose()?;
        let data = counted.as_ref().map_or(self.data, |held| held.as_ptr());
        // SAFETY: as in the forward.
        unsafe {
            let ticket = read_ticket(self.reserve);
            for layer in (0..net.layers).rev() {
                let dy = if layer + 1 == net.layers { self.dy } else { above.as_ptr() };
                let mut from = data;
                if layer > 0 {
                    from = self.reserve.add(net.outputs(layer - 1).start);
                    if net.dropout > 0.0 {
                        drop_some(threads, ticket, layer - 1, net.dropout, size, from, dropped.as_mut_ptr());
                        from = dropped.as_ptr();
                    }
                }
                let to = if layer == 0 { self.to_data } else { below.as_mut_ptr() };
                for direction in 0..net.directions {
                    self.layer::<S>(layer, direction, from, dy, to)?;
                }
                if layer > 0 && net.dropout > 0.0 {
                    let p = below.as_mut_ptr();
                    drop_some(threads, ticket, layer - 1, net.dropout, size, p.cast_const(), p);
                }
                std::mem::swap(&mut above, &mut below);
            }
        }
        Ok(())
    }
}

impl<T: Value> Run<'_, T> {
    /// The data with zeros behind the end of each sequence: what stands there may be anything, and products of its
    /// gradient, which is 0, with what is not a number would not be 0.
    fn counted(&self, lengths: &[usize]) -> Result<Room<T>> {
        let Net { batch, input, .. } = *self.net;
        let mut held = room::<T>(self.net.rows() * input)?;
        for (i, row) in held.chunks_exact_mut(input.max(1)).enumerate() {
            if i / batch < lengths[i % batch] {
                // SAFETY: the data has a row for each step of each sequence.
                unsafe { std::ptr::copy_nonoverlapping(self.data.add(i * input), row.as_mut_ptr(), input) };
            }
        }
        Ok(held)
    }

    /// One direction of one layer: the gradient of its input goes to `to`, where the second direction adds.
    unsafe fn layer<S: Simd<T = T>>(
        &self,
        layer: usize,
        direction: usize,
        from: *const T,
        dy: *const T,
        to: *mut T,
    ) -> Result {
        let (net, threads) = (self.net, self.cx.threads);
        let Net { cell, batch, hidden, clip, .. } = *net;
        let (gates, kept, state, width) = (net.gates(), cell.kept() * hidden, net.state(), net.width(layer));
        let all = gates * hidden;
        let (weights, at) = (net.weights(layer, direction), net.kept(layer, direction));
        let number = layer * net.directions + direction;
        let (h_size, c_size, rows) = (batch * state, batch * hidden, net.rows());
        let mut dx = stale::<T>(rows * all)?;
        // GRU's new state sees the recurrent part through a gate.
        let mut ds = stale::<T>(if cell == Cell::Gru { rows * all } else { 0 })?;
        let dx = Shared(dx.as_mut_ptr());
        let ds = if cell == Cell::Gru { Shared(ds.as_mut_ptr()) } else { dx };
        // What reaches a state beside the product with the gates' gradients; the gradient of the state; of the cells; of
        // hidden units behind their projection.
        let mut straight = room::<T>(h_size)?;
        let mut dh = room::<T>(h_size)?;
        let mut dc = room::<T>(c_size)?;
        let projected = net.projection.is_some();
        let mut dh_rows = room::<T>(if projected { rows * state } else { 0 })?;
        let mut whole = room::<T>(if projected { c_size } else { 0 })?;
        // SAFETY: as in the forward; threads write disjoint units.
        unsafe {
            let p = |offset: usize| self.parameters.add(offset);
            std::ptr::copy_nonoverlapping(self.dh.add(number * h_size), straight.as_mut_ptr(), h_size);
            if cell == Cell::Lstm {
                std::ptr::copy_nonoverlapping(self.dc.add(number * c_size), dc.as_mut_ptr(), c_size);
            }
            let (straight, dh, dc) = (Shared(straight.as_mut_ptr()), Shared(dh.as_mut_ptr()), Shared(dc.as_mut_ptr()));
            let (dh_rows, whole) = (Shared(dh_rows.as_mut_ptr()), Shared(whole.as_mut_ptr()));
            let w = Panels::pack::<S>(threads, Mat::new(p(weights.wh), state as isize, 1), all, state)?;
            let back = match net.projection {
                Some(n) => Some(Panels::pack::<S>(threads, Mat::new(p(weights.wr), hidden as isize, 1), n, hidden)?),
                None => None,
            };
            let kept_at = |offset: usize| Shared(self.reserve.wrapping_add(offset).cast_mut());
            let (rows_at, hs, cs, tanhs) = (kept_at(at.gates), kept_at(at.h), kept_at(at.c), kept_at(at.tanh_c));
            let dy = Shared(dy.add(direction * state).cast_mut());
            let lengths = self.lengths;
            let frozen = |step: usize, r: usize| lengths.is_some_and(|l| step >= l[r]);
            // The step whose gradient comes before that of another one, if there is any.
            let later = |step: usize| match direction {
                0 => Some(step + 1).filter(|s| *s < net.steps),
                _ => step.checked_sub(1),
            };
            // The gradient of some units of a state: what goes straight there, the product, and from outside.
            let arrive = |later: Option<usize>, Part { sequences, panels }: Part, step: Option<usize>| {
                let (from, n) = (panels.start * S::NR, state.min(panels.end * S::NR) - panels.start * S::NR);
                for r in sequences.clone() {
                    let unit = (r * state + from) as isize;
                    match step.filter(|s| !frozen(*s, r)) {
                        Some(s) => {
                            let outside = dy.at(((s * batch + r) * net.output() + from) as isize).cast_const();
                            apply(&ADD, n, dh.at(unit), [straight.at(unit).cast_const(), outside]);
                        }
                        None => std::ptr::copy_nonoverlapping(straight.at(unit), dh.at(unit), n),
                    }
                }
                if let Some(l) = later {
                    let from = ds.at(((l * batch + sequences.start) * all) as isize).cast_const();
                    let a = Mat::new(from, all as isize, 1);
                    let c = dh.at((sequences.start * state) as isize);
                    for i in there_and_back(l, panels.len()) {
                        w.multiply::<S>(panels.start + i, sequences.len(), a, c, state, true);
                    }
                }
            };
            // From the gradient of hidden units (at `dh`) to that of the gates.
            let gates_of = |step: usize, r: usize, from: usize, n: usize, dh: *const T| {
                let (before, after) = Net::states(direction, step);
                let unit = (r * hidden + from) as isize;
                let row = ((step * batch + r) * all + from) as isize;
                let straight = if projected { std::ptr::null_mut() } else { straight.at(unit) };
                if frozen(step, r) {
                    for k in 0..gates {
                        for j in 0..n {
                            *dx.at(row + (k * hidden + j) as isize) = T::default();
                            *ds.at(row + (k * hidden + j) as isize) = T::default();
                        }
                    }
                    return;
                }
                if !projected && cell != Cell::Gru {
                    (0..n).for_each(|j| *straight.add(j) = T::default());
                }
                T::enter(Back {
                    cell,
                    clip,
                    n,
                    apart: hidden,
                    gates: rows_at.at(((step * batch + r) * kept + from) as isize).cast_const(),
                    h_before: hs.at((before * c_size) as isize + unit),
                    c_before: cs.at((before * c_size) as isize + unit),
                    c: cs.at((after * c_size) as isize + unit),
                    tanh_c: tanhs.at((step * c_size) as isize + unit),
                    dh,
                    dc: dc.at(unit),
                    dx: dx.at(row),
                    ds: ds.at(row),
                    straight,
                });
            };
            let states = |step: usize, part: Part| {
                let (from, to) = (part.panels.start * S::NR, state.min(part.panels.end * S::NR));
                let n = to - from;
                arrive(later(step), part.clone(), Some(step));
                for r in part.sequences {
                    let unit = (r * state + from) as isize;
                    if projected {
                        let kept = dh_rows.at(((step * batch + r) * state + from) as isize);
                        if frozen(step, r) {
                            std::ptr::copy_nonoverlapping(dh.at(unit), straight.at(unit), n);
                            (0..n).for_each(|j| *kept.add(j) = T::default());
                        } else {
                            std::ptr::copy_nonoverlapping(dh.at(unit), kept, n);
                            (0..n).for_each(|j| *straight.at(unit).add(j) = T::default());
                        }
                        continue;
                    }
                    if frozen(step, r) {
                        std::ptr::copy_nonoverlapping(dh.at(unit), straight.at(unit), n);
                    }
                    gates_of(step, r, from, n, dh.at(unit).cast_const());
                }
            };
            let units = |w: &Panels<T>, step: usize, Part { sequences, panels }: Part| {
                let dh = dh_rows.at(((step * batch + sequences.start) * state) as isize).cast_const();
                let a = Mat::new(dh, state as isize, 1);
                let (from, to) = (panels.start * S::NR, hidden.min(panels.end * S::NR));
                for panel in panels {
                    let c = whole.at((sequences.start * hidden) as isize);
                    w.multiply::<S>(panel, sequences.len(), a, c, hidden, false);
                }
                for r in sequences {
                    gates_of(step, r, from, to - from, whole.at((r * hidden + from) as isize).cast_const());
                }
            };
            let stages: Vec<usize> = [&w].into_iter().chain(&back).map(Panels::count::<S>).collect();
            let bytes = (all * state + net.projection.unwrap_or(0) * hidden) * size_of::<T>();
            let split = Split::new(threads, batch, bytes);
            split.run(net.order(direction).rev(), &stages, |step, stage, part| {
                match back.as_ref().filter(|_| stage == 1) {
                    Some(w) => units(w, step, part),
                    None => states(step, part),
                }
            });
            // To the states that the network began with.
            let begin = net.order(direction).next();
            split.run(0..1, &stages[..1], |_, _, part| arrive(begin, part, None));
            std::ptr::copy_nonoverlapping(dh.at(0), self.to_h.add(number * h_size), h_size);
            if cell == Cell::Lstm {
                std::ptr::copy_nonoverlapping(dc.at(0), self.to_c.add(number * c_size), c_size);
            }
            let g = |s: Shared<T>| Mat::new(s.at(0).cast_const(), all as isize, 1);
            let mode = if direction == 0 { Mode::Write } else { Mode::Add };
            let wx = Mat::new(p(weights.wx), width as isize, 1);
            let place = |p: *mut T, n: usize| MatMut::new(p, n as isize, 1);
            let times = |m: usize, n: usize, k: usize, a: Mat<T>, b: Mat<T>, c: MatMut<T>, mode: Mode| {
                gemm::<T, _, _, _, _>(threads, Product { m, n, k, a, b, c, mode, e: Identity });
            };
            let grads = |offset: usize| self.to_parameters.add(offset);
            times(rows, width, all, g(dx), wx, place(to, width), mode);
            let input = Mat::new(from, width as isize, 1);
            times(all, width, rows, g(dx).t(), input, place(grads(weights.wx), width), Mode::Write);
            let (first, _) = Net::states(direction, 0);
            let states = Mat::new(hs.at((first * h_size) as isize).cast_const(), state as isize, 1);
            times(all, state, rows, g(ds).t(), states, place(grads(weights.wh), state), Mode::Write);
            if projected {
                // The hidden units once more: what goes out times the bounded cells. Behind the end of a sequence they may be
                // anything, and count as zeros.
                let mut units = room::<T>(rows * hidden)?;
                for i in (0..rows).filter(|i| !frozen(i / batch, i % batch)) {
                    let o = rows_at.at((i * kept + 3 * hidden) as isize).cast_const();
                    let t = tanhs.at((i * hidden) as isize).cast_const();
                    apply(&MUL, hidden, units.as_mut_ptr().add(i * hidden), [o, t]);
                }
                let d = Mat::new(dh_rows.at(0).cast_const(), state as isize, 1);
                let units = Mat::new(units.as_ptr(), hidden as isize, 1);
                times(state, hidden, rows, d.t(), units, place(grads(weights.wr), hidden), Mode::Write);
            }
            sum_rows(threads, rows, all, dx, Shared(grads(weights.bx)));
            match cell {
                Cell::Gru => sum_rows(threads, rows, all, ds, Shared(grads(weights.bh))),
                _ => std::ptr::copy_nonoverlapping(grads(weights.bx).cast_const(), grads(weights.bh), all),
            }
        }
        Ok(())
    }
}

static MUL: crate::map::Map = crate::map!(float | i, x, y | i.mul(x, y));

/// The sum of `n` rows.
///
/// # Safety
/// `from` leads to so many rows, `to` to one.
unsafe fn sum_rows<T: Value>(threads: usize, n: usize, width: usize, from: Shared<T>, to: Shared<T>) {
    /// Columns that one thread takes at a time.
    const COLUMNS: usize = 256;
    pool::run(width.div_ceil(COLUMNS), threads, |chunk| {
        let (start, len) = (chunk * COLUMNS, COLUMNS.min(width - chunk * COLUMNS));
        let sum = to.at(start as isize);
        // SAFETY: the caller's; threads have different columns.
        unsafe {
            (0..len).for_each(|j| *sum.add(j) = T::default());
            for i in 0..n {
                apply(&ADD, len, sum, [sum.cast_const(), from.at((i * width + start) as isize).cast_const()]);
            }
        }
    });
}
