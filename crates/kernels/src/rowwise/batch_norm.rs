//! Batch normalisation: the values of a channel, over all images, are brought to mean 0 and deviation 1, then scaled and
//! shifted. Statistics come tile by tile, each around its own mean, and are joined in float64: one look at the memory, and
//! no cancellation.
use super::{Real, TILE, Target, fold, real_type, values, with_real};
use crate::dispatch::Elem;
use crate::formula::Float;
use crate::linalg::in_lines;
use crate::map::sweep::Vector;
use crate::per_isa;
use crate::registers::sweeps::{Terms, sweep};
use crate::registers::{Body, Registers};
use crate::view::{Cx, Out, View};
use gluonish_base::{Result, pool};

/// Channels that one task works on where they are the innermost axis: a few lines of the cache.
const COLUMNS: usize = 64;

/// An array seen as images of channels of areas.
#[derive(Clone, Copy, Debug)]
pub struct Images {
    pub count: usize,
    pub channels: usize,
    pub area: usize,
}

impl Images {
    /// Values of a channel.
    fn len(&self) -> usize {
        self.count * self.area
    }
    /// Channels that one task works on.
    fn share(&self) -> usize {
        if self.area == 1 { COLUMNS } else { (2 * TILE / self.len().max(1)).clamp(1, self.channels.max(1)) }
    }
    fn tasks(&self) -> usize {
        self.channels.div_ceil(self.share())
    }
    /// Where the line of channel `c` of image `n` begins.
    #[inline(always)]
    fn at(&self, n: usize, c: usize) -> usize {
        (n * self.channels + c) * self.area
    }
}

/// Rows that are summed before their sum joins a total in float64.
const ROWS: usize = 128;

/// What the forward pass does beside normalising.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub images: Images,
    pub eps: f64,
    pub momentum: f64,
    /// gamma counts as 1.
    pub fix_gamma: bool,
    /// The running statistics are used, not those of the batch.
    pub global: bool,
    /// What is below 0 becomes 0.
    pub relu: bool,
}

/// `ins` are the input, gamma, beta, the running mean and variance; `outs` the result, the mean and one over the deviation
/// that were used, and the new running mean and variance.
pub fn batch_norm(cx: &Cx, ins: &[View<'_>], how: &How, outs: &[Out<'_>]) -> Result {
    let images = how.images;
    with_real!(outs[0].view.dtype, T => {
        in_lines(cx, real_type(outs[0].view.dtype), ins, outs, |ins, outs| {
            // SAFETY: the operands are without gaps and of this type.
            let [x, gamma, beta, mean, var] = std::array::from_fn(|k| unsafe { values::<T>(&ins[k]) });
            let to: [Target<T>; 5] = std::array::from_fn(|k| Target::new(&outs[k]));
            if how.global && images.area > 1 {
                in_order(cx, how, [x, gamma, beta, mean, var], &to);
                return Ok(());
            }
            let share = images.share();
            pool::run(images.tasks(), cx.threads, |task| {
                let (from, n) = (task * share, share.min(images.channels - task * share));
                // SAFETY: each task has channels of its own.
                let [used_mean, used_inverse, new_mean, new_var] = std::array::from_fn(|k| unsafe { to[k + 1].part(from, n) });
                let (mut means, mut vars) = (vec![0.0; n], vec![0.0; n]);
                if how.global || images.len() == 0 {
                    for c in 0..n {
                        (means[c], vars[c]) = (mean[from + c].to_f64(), var[from + c].to_f64());
                    }
                } else {
                    moments(x, images, from, &mut means, &mut vars);
                }
                let momentum = if how.global || images.len() == 0 { 1.0 } else { how.momentum };
                for c in 0..n {
                    used_mean[c] = T::from_f64(means[c]);
                    used_inverse[c] = T::from_f64(1.0 / (vars[c] + how.eps).sqrt());
                    let blend = |old: T, new: f64| T::from_f64(old.to_f64() * momentum + new * (1.0 - momentum));
                    new_mean[c] = blend(mean[from + c], means[c]);
                    new_var[c] = blend(var[from + c], vars[c]);
                }
                let scales: Vec<T> = (0..n).map(|c| if how.fix_gamma { used_inverse[c] } else { used_inverse[c] * gamma[from + c] }).collect();
                let y = &to[0];
                for image in 0..images.count {
                    if images.area == 1 {
                        let at = images.at(image, from);
                        // SAFETY: as above.
                        let y = unsafe { y.part(at, n) };
                        across(&x[at..at + n], used_mean, &scales, &beta[from..from + n], how.relu, y);
                        continue;
                    }
                    for c in 0..n {
                        let at = images.at(image, from + c);
                        // SAFETY: as above.
                        let y = unsafe { y.part(at, images.area) };
                        along(&x[at..at + images.area], used_mean[c], scales[c], beta[from + c], how.relu, y);
                    }
                }
            });
            Ok(())
        })
    })
}

/// With statistics that are known nothing keeps the values of a channel together: they are taken as they lie.
fn in_order<T: Real>(cx: &Cx, how: &How, [x, gamma, beta, mean, var]: [&[T]; 5], to: &[Target<T>; 5]) {
    let Images { count, channels, area } = how.images;
    // SAFETY: nobody else uses them.
    let [used_mean, used_inverse, new_mean, new_var] = std::array::from_fn(|k| unsafe { to[k + 1].part(0, channels) });
    new_mean.copy_from_slice(mean);
    new_var.copy_from_slice(var);
    used_mean.copy_from_slice(mean);
    for (to, var) in used_inverse.iter_mut().zip(var) {
        *to = T::from_f64(1.0 / (var.to_f64() + how.eps).sqrt());
    }
    let scales: Vec<T> =
        (0..channels).map(|c| if how.fix_gamma { used_inverse[c] } else { used_inverse[c] * gamma[c] }).collect();
    let (lines, each) = (count * channels, (4 * TILE / area).max(1));
    pool::run(lines.div_ceil(each), cx.threads, |task| {
        for line in task * each..lines.min((task + 1) * each) {
            let (at, c) = (line * area, line % channels);
            // SAFETY: each task has lines of its own.
            let y = unsafe { to[0].part(at, area) };
            along(&x[at..at + area], mean[c], scales[c], beta[c], how.relu, y);
        }
    });
}

per_isa! {
    fn along[T: Real](x: &[T], mean: T, scale: T, shift: T, relu: bool, y: &mut [T]) {
        let zero = T::default();
        if relu {
            for (y, x) in y.iter_mut().zip(x) {
                let v = (*x - mean) * scale + shift;
                *y = if v < zero { zero } else { v };
            }
            return;
        }
        for (y, x) in y.iter_mut().zip(x) {
            *y = (*x - mean) * scale + shift;
        }
    }
}

per_isa! {
    fn across[T: Real](x: &[T], mean: &[T], scale: &[T], shift: &[T], relu: bool, y: &mut [T]) {
        let n = x.len();
        let (mean, scale, shift, y) = (&mean[..n], &scale[..n], &shift[..n], &mut y[..n]);
        for i in 0..n {
            y[i] = (x[i] - mean[i]) * scale[i] + shift[i];
        }
        if relu {
            y.iter_mut().for_each(|y| *y = if *y < T::default() { T::default() } else { *y });
        }
    }
}

/// A count, a mean and a sum of squared distances from it, joined with those of more values.
#[inline(always)]
fn join(count: f64, mean: &mut f64, square: &mut f64, more: f64, its_mean: f64, its_square: f64) {
    let (all, gap) = (count + more, its_mean - *mean);
    *mean += gap * more / all;
    *square += its_square + gap * gap * count * more / all;
}

per_isa! {
    /// Mean and variance of channels from `first` on.
    fn moments[T: Real](x: &[T], images: Images, first: usize, means: &mut [f64], vars: &mut [f64]) {
        let width = means.len();
        let len = images.len() as f64;
        if images.area == 1 {
            // Some rows at a time: their means, then the distances from those, and what was rounded off the means.
            let rows = (TILE / width).clamp(1, ROWS);
            let [mut sum, mut square, mut off] = [0; 3].map(|_| vec![T::default(); width]);
            let mut start = 0;
            while start < images.count {
                let end = images.count.min(start + rows);
                let more = (end - start) as f64;
                [&mut sum, &mut square, &mut off].into_iter().for_each(|v| v.fill(T::default()));
                for n in start..end {
                    let line = &x[images.at(n, first)..][..width];
                    sum.iter_mut().zip(line).for_each(|(s, x)| *s = *s + *x);
                }
                sum.iter_mut().for_each(|s| *s = T::from_f64(s.to_f64() / more));
                for n in start..end {
                    let line = &x[images.at(n, first)..][..width];
                    for (((x, mean), square), off) in line.iter().zip(&sum).zip(&mut square).zip(&mut off) {
                        let d = *x - *mean;
                        *square = *square + d * d;
                        *off = *off + d;
                    }
                }
                for c in 0..width {
                    let off = off[c].to_f64() / more;
                    let (mean, square) = (sum[c].to_f64() + off, square[c].to_f64() - off * off * more);
                    join(start as f64, &mut means[c], &mut vars[c], more, mean, square.max(0.0));
                }
                start = end;
            }
        } else {
            for c in 0..width {
                let mut count = 0.0;
                for n in 0..images.count {
                    for tile in x[images.at(n, first + c)..][..images.area].chunks(TILE) {
                        let more = tile.len() as f64;
                        let mean = T::from_f64(fold([tile], |[v]| v).to_f64() / more);
                        let square = fold([tile], |[v]| (v - mean) * (v - mean)).to_f64();
                        join(count, &mut means[c], &mut vars[c], more, mean.to_f64(), square);
                        count += more;
                    }
                }
            }
        }
        vars.iter_mut().for_each(|v| *v /= len);
    }
}

/// Gradients of the input, gamma and beta. `ins` are the gradient of the result, the input, gamma, the mean and one over
/// the deviation. Where the statistics were not those of the batch they count as constants.
pub fn batch_norm_grad(
    cx: &Cx,
    ins: &[View<'_>],
    images: Images,
    fix_gamma: bool,
    global: bool,
    outs: &[Out<'_>],
) -> Result {
    with_real!(outs[0].view.dtype, T => {
        in_lines(cx, real_type(outs[0].view.dtype), ins, outs, |ins, outs| {
            // SAFETY: the operands are without gaps and of this type.
            let [dy, x, gamma, mean, inverse] = std::array::from_fn(|k| unsafe { values::<T>(&ins[k]) });
            let to: [Target<T>; 3] = std::array::from_fn(|k| Target::new(&outs[k]));
            let share = images.share();
            pool::run(images.tasks(), cx.threads, |task| {
                let (from, n) = (task * share, share.min(images.channels - task * share));
                // SAFETY: each task has channels of its own.
                let [dgamma, dbeta] = std::array::from_fn(|k| unsafe { to[k + 1].part(from, n) });
                let (mut pulled, mut turned) = (vec![0.0; n], vec![0.0; n]);
                // Where the statistics are constants the gradient of the input is there in the same sweep.
                let at_once = global && images.area > 1;
                if images.area > 1 {
                    for image in 0..images.count {
                        for c in 0..n {
                            let at = images.at(image, from + c);
                            // SAFETY: as above.
                            let dx = unsafe { to[0].part(at, if at_once { images.area } else { 0 }) };
                            let k = from + c;
                            let scale = if fix_gamma { inverse[k] } else { inverse[k] * gamma[k] };
                            let line = at..at + images.area;
                            let both = T::enter(Pull { dy: &dy[line.clone()], x: &x[line], mean: mean[k], scale, dx });
                            pulled[c] += both[0];
                            turned[c] += both[1];
                        }
                    }
                } else if images.area == 1 {
                    pulls(dy, x, images, from, &mean[from..from + n], &mut pulled, &mut turned);
                }
                let len = images.len().max(1) as f64;
                let (mut shift, mut slope, mut scale) = (vec![T::default(); n], vec![T::default(); n], vec![T::default(); n]);
                for c in 0..n {
                    let inv = inverse[from + c].to_f64();
                    dbeta[c] = T::from_f64(pulled[c]);
                    dgamma[c] = if fix_gamma { T::default() } else { T::from_f64(turned[c] * inv) };
                    scale[c] = if fix_gamma { inverse[from + c] } else { inverse[from + c] * gamma[from + c] };
                    if !global {
                        shift[c] = T::from_f64(pulled[c] / len);
                        slope[c] = T::from_f64(turned[c] * inv * inv / len);
                    }
                }
                for image in 0..if at_once { 0 } else { images.count } {
                    if images.area == 1 {
                        let at = images.at(image, from);
                        // SAFETY: as above.
                        let dx = unsafe { to[0].part(at, n) };
                        back_across(&dy[at..at + n], &x[at..at + n], &mean[from..from + n], &shift, &slope, &scale, dx);
                        continue;
                    }
                    for c in 0..n {
                        let at = images.at(image, from + c);
                        // SAFETY: as above.
                        let dx = unsafe { to[0].part(at, images.area) };
                        let line = at..at + images.area;
                        back_along(&dy[line.clone()], &x[line], mean[from + c], shift[c], slope[c], scale[c], dx);
                    }
                }
            });
            Ok(())
        })
    })
}

/// Sums over a line of the gradient, and of the gradient times the distance from the mean; and where `dx` is not empty, the
/// gradient times `scale`.
struct Pull<'a, T> {
    dy: &'a [T],
    x: &'a [T],
    mean: T,
    scale: T,
    dx: &'a mut [T],
}
impl<T: Real> Body<T> for Pull<'_, T> {
    type Out = [f64; 2];
    #[inline(always)]
    fn run<I: Float + Vector<T = T>>(self, i: I) -> [f64; 2] {
        let (lines, n) = ([self.dy.as_ptr(), self.x.as_ptr()], self.dy.len().min(self.x.len()));
        let (mean, scale) = (i.c(self.mean.to_f64()), i.c(self.scale.to_f64()));
        // SAFETY: the lines have as many values, and so has the result where there is one.
        unsafe {
            if self.dx.len() == n {
                return sweep(i, lines, self.dx.as_mut_ptr(), n, Pulled::<I, true> { mean, scale });
            }
            sweep(i, lines, std::ptr::null_mut(), n, Pulled::<I, false> { mean, scale })
        }
    }
}

#[derive(Clone, Copy)]
struct Pulled<I: Vector, const STORES: bool> {
    mean: I::V,
    scale: I::V,
}
impl<I: Float + Vector, const STORES: bool> Terms<I, 2, 2> for Pulled<I, STORES> {
    const STORES: bool = STORES;
    #[inline(always)]
    fn of(self, i: I, [dy, x]: [I::V; 2]) -> ([I::V; 2], I::V) {
        ([dy, i.mul(dy, i.sub(x, self.mean))], i.mul(dy, self.scale))
    }
    #[inline(always)]
    fn blank(self, i: I) -> [I::V; 2] {
        [i.c(0.0); 2]
    }
}

per_isa! {
    /// The same for channels that are the innermost axis.
    fn pulls[T: Real](dy: &[T], x: &[T], images: Images, first: usize, mean: &[T], pulled: &mut [f64], turned: &mut [f64]) {
        let width = mean.len();
        let rows = (TILE / width).clamp(1, ROWS);
        let (mut a, mut b) = (vec![T::default(); width], vec![T::default(); width]);
        let mut start = 0;
        while start < images.count {
            let end = images.count.min(start + rows);
            a.fill(T::default());
            b.fill(T::default());
            for n in start..end {
                let at = images.at(n, first);
                let (dy, x) = (&dy[at..][..width], &x[at..][..width]);
                for ((((a, b), dy), x), mean) in a.iter_mut().zip(&mut b).zip(dy).zip(x).zip(mean) {
                    *a = *a + *dy;
                    *b = *b + *dy * (*x - *mean);
                }
            }
            for c in 0..width {
                pulled[c] += a[c].to_f64();
                turned[c] += b[c].to_f64();
            }
            start = end;
        }
    }
}

per_isa! {
    fn back_along[T: Real](dy: &[T], x: &[T], mean: T, shift: T, slope: T, scale: T, dx: &mut [T]) {
        for ((dx, dy), x) in dx.iter_mut().zip(dy).zip(x) {
            *dx = (*dy - shift - (*x - mean) * slope) * scale;
        }
    }
}

per_isa! {
    fn back_across[T: Real](dy: &[T], x: &[T], mean: &[T], shift: &[T], slope: &[T], scale: &[T], dx: &mut [T]) {
        let n = dx.len();
        let (dy, x, mean, shift, slope, scale) = (&dy[..n], &x[..n], &mean[..n], &shift[..n], &slope[..n], &scale[..n]);
        for i in 0..n {
            dx[i] = (dy[i] - shift[i] - (x[i] - mean[i]) * slope[i]) * scale[i];
        }
    }
}
