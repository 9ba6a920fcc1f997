//! The network from its data.
use super::cell::Line;
use super::dropout::{drop_some, write_ticket};
use super::net::{Cell, Net};
use super::split::{Part, Split, there_and_back};
use crate::gemm::{Affine, Mat, MatMut, Product, Simd, Work, dispatch, gemm};
use crate::plain::{Plain, Target, Value, with_value};
use crate::products::Panels;
use crate::room::room;
use crate::view::{Cx, Mode, Out, View};
use crate::walk::Shared;
use gluonish_base::Result;

/// Where a network's results go.
pub struct Results<'a> {
    /// (steps, batch, directions * state)
    pub output: Out<'a>,
    /// (layers * directions, batch, state)
    pub h: Out<'a>,
    /// (layers * directions, batch, hidden), of LSTM.
    pub c: Option<Out<'a>>,
    pub reserve: Out<'a>,
}

/// Runs a network. `lengths` says how many steps of each sequence count: behind them outputs are 0 and states stay.
pub fn forward(
    cx: &Cx,
    net: &Net,
    [data, parameters, h]: [&View<'_>; 3],
    c: Option<&View<'_>>,
    lengths: Option<&[usize]>,
    results: &Results<'_>,
) -> Result {
    with_value!(results.reserve.view.dtype, T => {
        let data = Plain::<T>::of(cx, data)?;
        let parameters = Plain::<T>::of(cx, parameters)?;
        let h = Plain::<T>::of(cx, h)?;
        let c = c.map(|c| Plain::<T>::of(cx, c)).transpose()?;
        let mut reserve = Target::<T>::of(&results.reserve)?;
        let mut output = Target::<T>::of(&results.output)?;
        let mut last_h = Target::<T>::of(&results.h)?;
        let mut last_c = results.c.as_ref().map(Target::<T>::of).transpose()?;
        dispatch(Run {
            cx,
            net,
            data: data.ptr(),
            parameters: parameters.ptr(),
            h: h.ptr(),
            c: c.as_ref().map_or(std::ptr::null(), Plain::ptr),
            lengths,
            reserve: reserve.ptr(),
            output: output.ptr(),
            last_h: last_h.ptr(),
            last_c: last_c.as_mut().map_or(std::ptr::null_mut(), Target::ptr),
        })?;
        reserve.finish(cx)?;
        output.finish(cx)?;
        last_h.finish(cx)?;
        last_c.map_or(Ok(()), |c| c.finish(cx))
    })
}

struct Run<'a, T> {
    cx: &'a Cx,
    net: &'a Net,
    data: *const T,
    parameters: *const T,
    h: *const T,
    c: *const T,
    lengths: Option<&'a [usize]>,
    reserve: *mut T,
    output: *mut T,
    last_h: *mut T,
    last_c: *mut T,
}

impl<T: Value> Work<T> for Run<'_, T> {
    type Out = Result;

    unsafe fn run<S: Simd<T = T>>(self) -> Result {
        let (net, threads) = (self.net, self.cx.threads);
        // SAFETY: the pointers are plain operands of the shapes that the row has checked, the reserve has the length that
        // `Net::reserve` says, and all its places come from `Net`.
        unsafe {
            write_ticket(self.cx.ticket, std::slice::from_raw_parts_mut(self.reserve, super::net::TICKET));
            let size = net.rows() * net.output();
            let mut dropped = Vec::new();
            for layer in 0..net.layers {
                let mut from = self.data;
                if layer > 0 {
                    from = self.reserve.add(net.outputs(layer - 1).start).cast_const();
                    if net.dropout > 0.0 {
                        dropped.resize(size, T::default());
                        let to = dropped.as_mut_ptr();
                        drop_some(threads, self.cx.ticket, layer - 1, net.dropout, size, from, to);
                        from = to.cast_const();
                    }
                }
                for direction in 0..net.directions {
                    self.layer::<S>(layer, direction, from)?;
                }
            }
            let last = self.reserve.add(net.outputs(net.layers - 1).start);
            std::ptr::copy_nonoverlapping(last, self.output, size);
        }
        Ok(())
    }
}

impl<T: Value> Run<'_, T> {
    /// One direction of one layer.
    unsafe fn layer<S: Simd<T = T>>(&self, layer: usize, direction: usize, from: *const T) -> Result {
        let (net, threads) = (self.net, self.cx.threads);
        let Net { cell, batch, hidden, clip, .. } = *net;
        let (gates, kept, state, width) = (net.gates(), cell.kept() * hidden, net.state(), net.width(layer));
        let (weights, at) = (net.weights(layer, direction), net.kept(layer, direction));
        let number = layer * net.directions + direction;
        // SAFETY: as in `run`; threads write disjoint units.
        unsafe {
            let p = |offset: usize| self.parameters.add(offset);
            // The biases of input and state in one, but those that GRU has inside its new state.
            let both = if cell == Cell::Gru { 2 } else { gates } * hidden;
            let bias: Vec<T> = (0..gates * hidden)
                .map(|j| if j < both { *p(weights.bx + j) + *p(weights.bh + j) } else { *p(weights.bx + j) })
                .collect();
            let inner_bias = p(weights.bh + if cell == Cell::Gru { 2 * hidden } else { 0 });
            gemm::<T, _, _, _, _>(
                threads,
                Product {
                    m: net.rows(),
                    n: gates * hidden,
                    k: width,
                    a: Mat::new(from, width as isize, 1),
                    b: Mat::new(p(weights.wx), 1, width as isize),
                    c: MatMut::new(self.reserve.add(at.gates), kept as isize, 1),
                    mode: Mode::Write,
                    e: Affine::<T, false, false, true, false, false>::bias(bias.as_ptr()),
                },
            );
            let bytes = (gates * hidden * state + net.projection.unwrap_or(0) * hidden) * size_of::<T>();
            let split = Split::new(threads, batch, bytes);
            // Where products begin: where a thread takes all units, gates that go side by side share one, so that panels are cut
            // off once. The state's part of GRU's new state stays apart, as the last gate.
            let firsts: Vec<usize> = match (split.takes_all(), cell) {
                (true, Cell::Gru) => vec![0, 2],
                (true, _) => vec![0],
                (false, _) => (0..gates).collect(),
            };
            let panels: Vec<Panels<T>> = firsts
                .iter()
                .zip(firsts.iter().skip(1).chain([&gates]))
                .map(|(first, end)| {
                    let w = Mat::new(p(weights.wh + first * hidden * state), 1, state as isize);
                    Panels::pack::<S>(threads, w, state, (end - first) * hidden)
                })
                .collect::<Result<_>>()?;
            let projection = match net.projection {
                Some(n) => Some(Panels::pack::<S>(threads, Mat::new(p(weights.wr), 1, hidden as isize), hidden, n)?),
                None => None,
            };
            let (first, last) = net.ends(direction);
            let (hs, cs) = (Shared(self.reserve.add(at.h)), Shared(self.reserve.wrapping_add(at.c)));
            let (h_size, c_size) = (batch * state, batch * hidden);
            let (h_at, c_at) = (|s: usize| (s * h_size) as isize, |s: usize| (s * c_size) as isize);
            std::ptr::copy_nonoverlapping(self.h.add(number * h_size), hs.at(h_at(first)), h_size);
            if cell == Cell::Lstm {
                std::ptr::copy_nonoverlapping(self.c.add(number * c_size), cs.at(c_at(first)), c_size);
            }
            // Hidden units before their projection.
            let mut whole = room::<T>(if projection.is_some() { c_size } else { 0 })?;
            let whole = Shared(whole.as_mut_ptr());
            let bias = Shared(inner_bias.cast_mut());
            let (rows, tanhs) = (Shared(self.reserve.add(at.gates)), Shared(self.reserve.wrapping_add(at.tanh_c)));
            let output = Shared(self.reserve.add(net.outputs(layer).start + direction * state));
            let lengths = self.lengths;
            let frozen = |step: usize, r: usize| lengths.is_some_and(|l| step >= l[r]);
            // What becomes of some states of a sequence: the output, or nothing where it has ended.
            let finish = |step: usize, r: usize, from: usize, n: usize| {
                let (before, after) = Net::states(direction, step);
                let old = hs.at(h_at(before) + (r * state + from) as isize);
                let new = hs.at(h_at(after) + (r * state + from) as isize);
                let out = output.at(((step * batch + r) * net.output() + from) as isize);
                if frozen(step, r) {
                    std::ptr::copy_nonoverlapping(old, new, n);
                    (0..n).for_each(|j| *out.add(j) = T::default());
                } else {
                    std::ptr::copy_nonoverlapping(new, out, n);
                }
            };
            let units = |step: usize, Part { sequences, panels: mine }: Part| {
                let (before, after) = Net::states(direction, step);
                let (from, to) = (mine.start * S::NR, hidden.min(mine.end * S::NR));
                let row = sequences.start;
                let a = Mat::new(hs.at(h_at(before) + (row * state) as isize).cast_const(), state as isize, 1);
                let mine = |w: &Panels<T>| if split.takes_all() { 0..w.count::<S>() } else { mine.clone() };
                let products: Vec<(usize, usize)> =
                    panels.iter().enumerate().flat_map(|(i, w)| mine(w).map(move |panel| (i, panel))).collect();
                for i in there_and_back(step, products.len()) {
                    let (i, panel) = products[i];
                    let (to, add) = if cell == Cell::Gru && firsts[i] == 2 { (3, false) } else { (firsts[i], true) };
                    let c = rows.at(((step * batch + row) * kept + to * hidden) as isize);
                    panels[i].multiply::<S>(panel, sequences.len(), a, c, kept, add);
                }
                for r in sequences {
                    let unit = (r * hidden + from) as isize;
                    let step_unit = (step * c_size) as isize + unit;
                    let h = match net.projection {
                        Some(_) => whole.at(unit),
                        None => hs.at(h_at(after) + unit),
                    };
                    let (c, c_before) = (cs.at(c_at(after) + unit), cs.at(c_at(before) + unit).cast_const());
                    T::enter(Line {
                        cell,
                        clip,
                        n: to - from,
                        apart: hidden,
                        gates: rows.at(((step * batch + r) * kept + from) as isize),
                        bias: bias.at(from as isize),
                        h_before: hs.at(h_at(before) + unit),
                        h,
                        c_before,
                        c,
                        tanh_c: tanhs.at(step_unit),
                    });
                    if cell == Cell::Lstm && frozen(step, r) {
                        std::ptr::copy_nonoverlapping(c_before, c, to - from);
                    }
                    if net.projection.is_none() {
                        finish(step, r, from, to - from);
                    }
                }
            };
            let project = |w: &Panels<T>, step: usize, Part { sequences, panels }: Part| {
                let (_, after) = Net::states(direction, step);
                let row = sequences.start;
                let a = Mat::new(whole.at((row * hidden) as isize).cast_const(), hidden as isize, 1);
                let (from, to) = (panels.start * S::NR, state.min(panels.end * S::NR));
                for panel in panels {
                    let c = hs.at(h_at(after) + (row * state) as isize);
                    w.multiply::<S>(panel, sequences.len(), a, c, state, false);
                }
                sequences.for_each(|r| finish(step, r, from, to - from));
            };
            let stages: Vec<usize> =
                [hidden.div_ceil(S::NR)].into_iter().chain(projection.as_ref().map(Panels::count::<S>)).collect();
            split.run(net.order(direction), &stages, |step, stage, part| {
                match projection.as_ref().filter(|_| stage == 1) {
                    Some(w) => project(w, step, part),
                    None => units(step, part),
                }
            });
            std::ptr::copy_nonoverlapping(hs.at(h_at(last)), self.last_h.add(number * h_size), h_size);
            if cell == Cell::Lstm {
                std::ptr::copy_nonoverlapping(cs.at(c_at(last)), self.last_c.add(number * c_size), c_size);
            }
        }
        Ok(())
    }
}
