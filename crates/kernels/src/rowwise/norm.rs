//! Rows brought to mean 0 and deviation 1, then scaled and shifted: layer, group and instance normalisation; and without
//! the mean, by the root of the mean square.
use super::{Real, Target, real_type, total, values, with_real};
use crate::dispatch::Elem;
use crate::formula::Float;
use crate::linalg::in_lines;
use crate::map::sweep::Vector;
use crate::per_isa;
use crate::registers::sweeps::{Terms, sweep};
use crate::registers::{Body, Registers, prefetch};
use crate::view::{Cx, Out, View};
use gluonish_base::{Result, pool};

/// How the elements of an array are rows, and which parameters belong to them.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Rows that follow each other and have different parameters: the groups of one image.
    pub groups: usize,
    /// Parameters of a row, and elements in a line that share one.
    pub channels: usize,
    pub area: usize,
    /// Whether the mean is taken away.
    pub center: bool,
}

impl Rows {
    fn len(&self) -> usize {
        self.channels * self.area
    }
}

/// Values that one task works on, at least.
const SHARE: usize = 1 << 14;
/// Values of the next row that are asked for while one is worked on.
const AHEAD: usize = 4096;
/// Tasks that sum gradients of parameters apart.
const PARTS: usize = 32;

/// `y = (x - mean) / deviation * gamma + beta`; `outs` are `y`, the mean and the deviation of each row.
pub fn norm(cx: &Cx, ins: &[View<'_>], rows: Rows, eps: f64, outs: &[Out<'_>]) -> Result {
    with_real!(outs[0].view.dtype, T => {
        in_lines(cx, real_type(outs[0].view.dtype), ins, outs, |ins, outs| {
            let n = rows.len();
            if ins[0].size == 0 {
                // The mean of nothing.
                let nothing = T::from_f64(f64::NAN);
                for out in &outs[1..] {
                    let to = Target::<T>::new(out);
                    // SAFETY: the output is without gaps, and nobody else uses it.
                    unsafe { to.part(0, out.view.size) }.fill(nothing);
                }
                return Ok(());
            }
            // SAFETY: the operands are without gaps and of this type.
            let (x, gamma, beta) = unsafe { (values::<T>(&ins[0]), values::<T>(&ins[1]), values::<T>(&ins[2])) };
            let (y, mean, dev) = (Target::<T>::new(&outs[0]), Target::<T>::new(&outs[1]), Target::<T>::new(&outs[2]));
            let count = x.len() / n;
            let each = (SHARE / n).max(1);
            pool::run(count.div_ceil(each), cx.threads, |task| {
                let (from, to) = (task * each, count.min((task + 1) * each));
                // SAFETY: each task has rows of its own.
                let (y, mean, dev) = unsafe { (y.part(from * n, (to - from) * n), mean.part(from, to - from), dev.part(from, to - from)) };
                forward(&x[from * n..to * n], (gamma, beta), rows, from, eps, y, (mean, dev));
            });
            Ok(())
        })
    })
}

per_isa! {
    fn forward[T: Real](x: &[T], given: (&[T], &[T]), rows: Rows, first: usize, eps: f64, y: &mut [T], stats: (&mut [T], &mut [T])) {
        let n = rows.len();
        for (r, (x, y)) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)).enumerate() {
            // Memory would rest while what is in the cache is gone over again.
            prefetch(x.as_ptr().wrapping_add(n), n.min(AHEAD));
            let mean = if rows.center { T::from_f64(total([x], |[v]| v) / n as f64) } else { T::default() };
            let square = total([x], |[v]| (v - mean) * (v - mean)) / n as f64;
            let dev = (square + eps).sqrt();
            let scale = T::from_f64(1.0 / dev);
            (stats.0[r], stats.1[r]) = (mean, T::from_f64(dev));
            let at = (first + r) % rows.groups * rows.channels;
            let (gamma, beta) = given;
            let gamma = &gamma[at..at + rows.channels];
            let beta = if beta.is_empty() { beta } else { &beta[at..at + rows.channels] };
            if rows.area == 1 {
                let (x, y) = (&x[..gamma.len()], &mut y[..gamma.len()]);
                if beta.is_empty() {
                    for i in 0..gamma.len() {
                        y[i] = (x[i] - mean) * scale * gamma[i];
                    }
                } else {
                    let beta = &beta[..gamma.len()];
                    for i in 0..gamma.len() {
                        y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
                    }
                }
                continue;
            }
            for (c, (x, y)) in x.chunks_exact(rows.area).zip(y.chunks_exact_mut(rows.area)).enumerate() {
                let (scale, shift) = (scale * gamma[c], beta.get(c).copied().unwrap_or_default());
                for (y, x) in y.iter_mut().zip(x) {
                    *y = (*x - mean) * scale + shift;
                }
            }
        }
    }
}

/// Gradients of the input and the parameters. `ins` are the gradient of the result, the input, gamma, the means and the
/// deviations; `outs` the gradients of the input, of gamma and of beta.
pub fn norm_grad(cx: &Cx, ins: &[View<'_>], rows: Rows, outs: &[Out<'_>]) -> Result {
    with_real!(outs[0].view.dtype, T => {
        in_lines(cx, real_type(outs[0].view.dtype), ins, outs, |ins, outs| {
            // SAFETY: the operands are without gaps and of this type.
            let [dy, x, gamma, means, devs] = std::array::from_fn(|k| unsafe { values::<T>(&ins[k]) });
            let (dx, dgamma, dbeta) = (Target::<T>::new(&outs[0]), Target::<T>::new(&outs[1]), Target::<T>::new(&outs[2]));
            let (n, width) = (rows.len(), rows.groups * rows.channels);
            let count = x.len().checked_div(n).unwrap_or(0);
            // A task takes whole images, so that its sums have a place for each parameter.
            let images = count / rows.groups;
            let each = images.div_ceil(PARTS).max(SHARE.div_ceil((n * rows.groups).max(1))).max(1);
            let tasks = images.div_ceil(each);
            let mut parts = vec![T::default(); tasks * width * 2];
            let shared = crate::walk::Shared(parts.as_mut_ptr());
            pool::run(tasks, cx.threads, |task| {
                let (from, to) = (task * each * rows.groups, images.min((task + 1) * each) * rows.groups);
                // SAFETY: each task has rows and sums of its own, inside of the output and the vector.
                let (dx, sums) = unsafe {
                    let sums = std::slice::from_raw_parts_mut(shared.at((task * width * 2) as isize), width * 2);
                    (dx.part(from * n, (to - from) * n), sums)
                };
                let rest = (&means[from..to], &devs[from..to]);
                let (dy, x) = (&dy[from * n..to * n], &x[from * n..to * n]);
                T::enter(Back { dy, x, gamma, stats: rest, rows, dx, sums });
            });
            // SAFETY: nobody else uses them.
            let (dgamma, dbeta) = unsafe { (dgamma.part(0, width), dbeta.part(0, width)) };
            dgamma.fill(T::default());
            dbeta.fill(T::default());
            for part in parts.chunks_exact((width * 2).max(1)) {
                dgamma.iter_mut().zip(&part[..width]).for_each(|(to, v)| *to += *v);
                dbeta.iter_mut().zip(&part[width..]).for_each(|(to, v)| *to += *v);
            }
            Ok(())
        })
    })
}

/// Some rows on the way back. `sums` are those of the parameters' gradients: gamma's, then beta's.
struct Back<'a, T> {
    dy: &'a [T],
    x: &'a [T],
    gamma: &'a [T],
    stats: (&'a [T], &'a [T]),
    rows: Rows,
    dx: &'a mut [T],
    sums: &'a mut [T],
}

impl<T: Real> Body<T> for Back<'_, T> {
    type Out = ();
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) {
        let Back { dy, x, gamma, stats, rows, dx, sums } = self;
        let n = rows.len();
        let (dgamma, dbeta) = sums.split_at_mut(rows.groups * rows.channels);
        let nowhere = std::ptr::null_mut();
        for (r, ((dy, x), dx)) in dy.chunks_exact(n).zip(x.chunks_exact(n)).zip(dx.chunks_exact_mut(n)).enumerate() {
            let scale = 1.0 / stats.1[r].to_f64();
            let (mean, scale) = (i.c(stats.0[r].to_f64()), i.c(T::from_f64(scale).to_f64()));
            let at = r % rows.groups * rows.channels;
            let span = at..at + rows.channels;
            let (gamma, dgamma, dbeta) = (&gamma[span.clone()], &mut dgamma[span.clone()], &mut dbeta[span]);
            let share = |sum: f64| i.c(T::from_f64(sum / n as f64).to_f64());
            // SAFETY: the lines are as long as the number of their values says, each parameter's sums as the parameters.
            unsafe {
                if rows.area == 1 {
                    let lines = [dy.as_ptr(), x.as_ptr(), gamma.as_ptr()];
                    let [pulled, turned] = sweep(i, lines, nowhere, n, Pulls::<I> { mean, scale });
                    let pulled = if rows.center { share(pulled) } else { i.c(0.0) };
                    let turn = Turn::<I> { mean, scale, pulled, turned: share(turned) };
                    turn.line(i, lines, n, dx.as_mut_ptr(), dgamma.as_mut_ptr(), dbeta.as_mut_ptr());
                    continue;
                }
                let (mut pulled, mut turned) = (0.0, 0.0);
                for c in 0..rows.channels {
                    let line = c * rows.area;
                    let ends = [dy[line..].as_ptr(), x[line..].as_ptr()];
                    let both = sweep(i, ends, nowhere, rows.area, Pulls::<I> { mean, scale });
                    pulled += both[0] * gamma[c].to_f64();
                    turned += both[1] * gamma[c].to_f64();
                    dbeta[c] = dbeta[c] + T::from_f64(both[0]);
                    dgamma[c] = dgamma[c] + T::from_f64(both[1]);
                }
                let pulled = if rows.center { share(pulled) } else { i.c(0.0) };
                let turned = share(turned);
                for (c, gamma) in gamma.iter().enumerate() {
                    let line = c * rows.area;
                    let ends = [dy[line..].as_ptr(), x[line..].as_ptr()];
                    let turn = ChannelTurn::<I> { mean, scale, pulled, turned, gamma: i.c(gamma.to_f64()) };
                    sweep(i, ends, dx[line..].as_mut_ptr(), rows.area, turn);
                }
            }
        }
    }
}

/// `dy * gamma`, and that times the normalised value, added up.
#[derive(Clone, Copy)]
struct Pulls<I: Vector> {
    mean: I::V,
    scale: I::V,
}
impl<I: Float + Vector> Terms<I, 3, 2> for Pulls<I> {
    const STORES: bool = false;
    #[inline(always)]
    fn of(self, i: I, [dy, x, gamma]: [I::V; 3]) -> ([I::V; 2], I::V) {
        let d = i.mul(dy, gamma);
        ([d, i.mul(d, i.mul(i.sub(x, self.mean), self.scale))], d)
    }
    #[inline(always)]
    fn blank(self, i: I) -> [I::V; 3] {
        [i.c(0.0); 3]
    }
}

/// The same without `gamma`, which a channel has once.
impl<I: Float + Vector> Terms<I, 2, 2> for Pulls<I> {
    const STORES: bool = false;
    #[inline(always)]
    fn of(self, i: I, [dy, x]: [I::V; 2]) -> ([I::V; 2], I::V) {
        ([dy, i.mul(dy, i.mul(i.sub(x, self.mean), self.scale))], dy)
    }
    #[inline(always)]
    fn blank(self, i: I) -> [I::V; 2] {
        [i.c(0.0); 2]
    }
}

/// From the gradient of the result to that of the input, for one channel.
#[derive(Clone, Copy)]
struct ChannelTurn<I: Vector> {
    mean: I::V,
    scale: I::V,
    pulled: I::V,
    turned: I::V,
    gamma: I::V,
}
impl<I: Float + Vector> Terms<I, 2, 0> for ChannelTurn<I> {
    const STORES: bool = true;
    #[inline(always)]
    fn of(self, i: I, [dy, x]: [I::V; 2]) -> ([I::V; 0], I::V) {
        let unit = i.mul(i.sub(x, self.mean), self.scale);
        let pull = i.sub(i.mul(dy, self.gamma), self.pulled);
        ([], i.mul(i.sub(pull, i.mul(unit, self.turned)), self.scale))
    }
    #[inline(always)]
    fn blank(self, i: I) -> [I::V; 2] {
        [i.c(0.0); 2]
    }
}

/// The same for a row whose values have parameters of their own, whose gradients grow by what the row adds.
#[derive(Clone, Copy)]
struct Turn<I: Vector> {
    mean: I::V,
    scale: I::V,
    pulled: I::V,
    turned: I::V,
}
impl<I: Float + Vector> Turn<I> {
    /// # Safety
    /// All lines have `n` values.
    #[inline(always)]
    unsafe fn line(
        self,
        i: I,
        [dy, x, gamma]: [*const I::T; 3],
        n: usize,
        dx: *mut I::T,
        dgamma: *mut I::T,
        dbeta: *mut I::T,
    ) {
        let mut at = 0;
        // SAFETY: registers lie before the end, or only what does of them is read and stored.
        unsafe {
            while at + I::LANES <= n {
                let (d, g) = (i.load(dy.add(at)), i.load(gamma.add(at)));
                let unit = i.mul(i.sub(i.load(x.add(at)), self.mean), self.scale);
                let pull = i.sub(i.mul(d, g), self.pulled);
                i.store(dx.add(at), i.mul(i.sub(pull, i.mul(unit, self.turned)), self.scale));
                i.store(dgamma.add(at), i.add(i.load(dgamma.add(at)), i.mul(d, unit)));
                i.store(dbeta.add(at), i.add(i.load(dbeta.add(at)), d));
                at += I::LANES;
            }
            if at < n {
                let left = n - at;
                let (d, g) = (i.load_part(dy.add(at), left), i.load_part(gamma.add(at), left));
                let unit = i.mul(i.sub(i.load_part(x.add(at), left), self.mean), self.scale);
                let pull = i.sub(i.mul(d, g), self.pulled);
                i.store_part(dx.add(at), i.mul(i.sub(pull, i.mul(unit, self.turned)), self.scale), left);
                i.store_part(dgamma.add(at), i.add(i.load_part(dgamma.add(at), left), i.mul(d, unit)), left);
                i.store_part(dbeta.add(at), i.add(i.load_part(dbeta.add(at), left), d), left);
            }
        }
    }
}

/// `momentum * old + (1 - momentum) * mean` for each column of `x`; without rows the old values.
pub fn blend_means(cx: &Cx, x: &View<'_>, old: &View<'_>, momentum: f64, out: &Out<'_>) -> Result {
    let dtype = real_type(x.dtype);
    with_real!(dtype, T => in_lines(cx, dtype, &[*x, *old], &[*out], |ins, outs| {
        // SAFETY: the operands are without gaps and of this type.
        let (x, old) = unsafe { (values::<T>(&ins[0]), values::<T>(&ins[1])) };
        let to = Target::<T>::new(&outs[0]);
        // SAFETY: nobody else uses it.
        let to = unsafe { to.part(0, old.len()) };
        let width = old.len();
        let mut sums = vec![0.0; width];
        let rows = x.len().checked_div(width).unwrap_or(0);
        for row in x.chunks_exact(width.max(1)) {
            sums.iter_mut().zip(row).for_each(|(s, v)| *s += v.to_f64());
        }
        for c in 0..width {
            let mean = if rows == 0 { old[c].to_f64() } else { sums[c] / rows as f64 };
            to[c] = T::from_f64(momentum * old[c].to_f64() + (1.0 - momentum) * mean);
        }
        Ok(())
    }))
}
