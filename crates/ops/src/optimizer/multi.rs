//! Steps of many weights at once: their arrays stand weight by weight, and behind them lists with a number for each weight.
use super::{BETA1, BETA2, CLIP, MOMENTUM, NO_GRADIENT, RESCALE, WEIGHTS, check_one, gradient, meta, tensor};
use crate::attr::Attr;
use crate::def::{Body, Call, Grad, Input, InputKind, Metas, Op, input, rows};
use gluonish_base::{Cause, DType, Result, Scalar};
use gluonish_kernels::convert::fill;
use gluonish_kernels::update::{self as k, Formula, Rate};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Mode, Out, View};

pub(super) const DATA: &[Input] = &[Input { name: "data", kind: InputKind::Variadic }];
/// All these rows have the number of weights first.
const COUNT: usize = 0;

pub(super) fn count(attrs: &Attrs) -> usize {
    attrs.int(COUNT).max(0) as usize
}

/// What a weight has among the inputs, with `LISTS` lists behind all.
fn share<const LISTS: usize>(attrs: &Attrs, inputs: usize) -> usize {
    inputs.saturating_sub(LISTS) / count(attrs).max(1)
}

fn outputs<const LISTS: usize>(attrs: &Attrs, inputs: usize) -> usize {
    count(attrs) * share::<LISTS>(attrs, inputs).saturating_sub(1)
}

/// The new weights come first, then what stands behind the gradient of each.
fn over<const LISTS: usize>(attrs: &Attrs, inputs: usize, output: usize) -> Option<usize> {
    let (per, k) = (share::<LISTS>(attrs, inputs), output.checked_sub(count(attrs))?);
    let kept = per.saturating_sub(2).max(1);
    Some(k / kept * per + 2 + k % kept)
}

fn infer<const LISTS: usize>(c: &Call<'_>, outs: &mut Metas, names: &[&str], wide: bool) -> Result {
    let (n, per) = (count(c.attrs), names.len());
    if c.ins.len() != n * per + LISTS {
        let text = format!(
            "{n} weights need {} arrays ({} of each, and {LISTS} lists), got {}",
            n * per + LISTS,
            names.join(", "),
            c.ins.len()
        );
        return Err(Cause::Argument(text).into());
    }
    let (tensors, lists) = c.ins.split_at(n * per);
    if let Some(list) = lists.iter().find(|l| l.size != n) {
        return Err(
            Cause::Shape(format!("a list of shape {} must have a number for each of {n} weights", list.shape)).into()
        );
    }
    for (i, tensor) in tensors.chunks_exact(per).enumerate() {
        check_one(tensor, names, wide, || format!(" of weight {i}"))?;
        outs.push(meta(&tensor[0]));
    }
    for tensor in tensors.chunks_exact(per) {
        outs.extend(tensor[2..].iter().map(meta));
    }
    Ok(())
}

/// The tensors and lists of a call.
pub(super) fn parts<'a, const LISTS: usize>(
    a: &Args<'a>,
    out: &[Out<'a>],
    wide: bool,
) -> Result<(Vec<k::Tensor<'a>>, [Vec<f64>; LISTS])> {
    let n = count(a.attrs);
    let per = share::<LISTS>(a.attrs, a.ins.len());
    let kept = per.saturating_sub(2);
    let tensors = (0..n)
        .map(|i| {
            let from = n + i * kept;
            tensor(&a.ins[i * per..(i + 1) * per], out[i].view, &out[from..from + kept], wide)
        })
        .collect();
    let mut lists = [const { Vec::new() }; LISTS];
    for (list, view) in lists.iter_mut().zip(&a.ins[n * per..]) {
        *list = k::numbers(view)?;
    }
    Ok((tensors, lists))
}

fn run(cx: &Cx, a: &Args<'_>, out: &[Out<'_>], wide: bool, formula: &impl Formula) -> Result {
    let (tensors, [lrs, wds]) = parts::<2>(a, out, wide)?;
    let rates: Vec<Rate> = lrs.iter().zip(&wds).map(|(lr, wd)| Rate::new(*lr, *wd)).collect();
    // Weights of float64 and narrower ones are computed in different types.
    by_type(&tensors, &rates, |tensors, rates| k::update(cx, formula, tensors, rates))
}

pub(super) fn by_type(
    tensors: &[k::Tensor<'_>],
    rates: &[Rate],
    f: impl Fn(&[k::Tensor<'_>], &[Rate]) -> Result,
) -> Result {
    let is_double = |t: &k::Tensor<'_>| t.weight.dtype == DType::F64;
    if tensors.iter().all(is_double) || !tensors.iter().any(is_double) {
        return f(tensors, rates);
    }
    for double in [false, true] {
        let chosen = tensors.iter().zip(rates).filter(|(t, _)| is_double(t) == double);
        let (tensors, rates): (Vec<_>, Vec<_>) = chosen.map(|(t, r)| (*t, *r)).unzip();
        f(&tensors, &rates)?;
    }
    Ok(())
}

fn sgd(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool) -> Result {
    run(cx, a, out, wide, &k::Sgd { gradient: gradient(a.attrs, 1, 2) })
}
fn momentum(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool) -> Result {
    let formula = k::Momentum { gradient: gradient(a.attrs, 2, 3), momentum: a.attrs.float(1), nesterov: false };
    run(cx, a, out, wide, &formula)
}

fn adamw(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool) -> Result {
    let (tensors, [lrs, wds, etas, rescale]) = parts::<4>(a, out, wide)?;
    let rescale = rescale.first().copied().unwrap_or(1.0);
    if !rescale.is_finite() || rescale == 0.0 {
        return tensors.iter().try_for_each(|t| k::keep(cx, t));
    }
    let rates: Vec<Rate> = (0..tensors.len()).map(|i| Rate { eta: etas[i], ..Rate::new(lrs[i], wds[i]) }).collect();
    let attrs = a.attrs;
    let formula = k::AdamW {
        gradient: k::Gradient { rescale, clip: attrs.float(4) },
        beta1: attrs.float(1),
        beta2: attrs.float(2),
        epsilon: attrs.float(3),
    };
    by_type(&tensors, &rates, |tensors, rates| k::update(cx, &formula, tensors, rates))
}

fn lamb(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool) -> Result {
    let (tensors, [lrs, wds, steps]) = parts::<3>(a, out, wide)?;
    let attrs = a.attrs;
    let formula = k::Lamb {
        gradient: gradient(attrs, 4, 5),
        beta1: attrs.float(1),
        beta2: attrs.float(2),
        epsilon: attrs.float(3),
    };
    if let Some((i, step)) = steps.iter().enumerate().find(|(_, step)| !(**step >= 1.0 && step.fract() == 0.0)) {
        let text = format!("step_count[{i}]={step} is not valid: expected an integer of at least 1");
        return Err(Cause::Argument(text).into());
    }
    let rate = |i: usize| {
        let rate = Rate::new(lrs[i], wds[i]);
        if attrs.bool(6) { rate.at(steps[i], formula.beta1, formula.beta2) } else { rate }
    };
    let rates: Vec<Rate> = (0..tensors.len()).map(rate).collect();
    let bounds = (attrs.float(7), attrs.float(8));
    by_type(&tensors, &rates, |tensors, rates| k::lamb(cx, &formula, bounds, tensors, rates))
}

const EPSILON: Attr = Attr::float("epsilon", 1e-8, "Keeps a quotient finite.");
const SGD_ATTRS: &[Attr] = &[WEIGHTS, RESCALE, CLIP];
const MOM_ATTRS: &[Attr] = &[WEIGHTS, MOMENTUM, RESCALE, CLIP];
const ADAMW_ATTRS: &[Attr] = &[WEIGHTS, BETA1, BETA2, EPSILON, CLIP];
const LAMB_ATTRS: &[Attr] = &[
    WEIGHTS,
    BETA1,
    BETA2,
    Attr::float("epsilon", 1e-6, "Keeps a quotient finite."),
    RESCALE,
    CLIP,
    Attr::bool("bias_correction", true, "Whether the means are divided by what the first updates lack."),
    Attr::float("lower_bound", -1.0, "Least norm of a weight that counts; below 0: any."),
    Attr::float("upper_bound", -1.0, "Largest norm of a weight that counts; below 0: any."),
];
const W: &str = "weight";
const G: &str = "grad";
const W32: &str = "weight32";

/// A row with that many lists.
pub(super) const fn many<const LISTS: usize>(op: Op) -> Op {
    op.count(outputs::<LISTS>).visible(|attrs, _| count(attrs)).overlays(over::<LISTS>).in_place().no_grad(NO_GRADIENT)
}

fn vector(v: &View<'_>, name: &str, n: usize) -> Result {
    if v.ndim() == 1 && v.size == n && v.dtype.is_float() {
        return Ok(());
    }
    Err(Cause::Shape(format!("{name} must be {n} real numbers in a row, got {} of shape {}", v.dtype, v.shape)).into())
}

rows! {
    MULTI_SGD = many::<2>(Op::new("preloaded_multi_sgd_update", "`sgd_update` of many weights; the last two arrays are their learning rates and decays.",
            DATA, Body::Kernel(|cx, a, out| sgd(cx, a, out, false))))
        .attrs(SGD_ATTRS).infer(|c, outs| infer::<2>(c, outs, &[W, G], false)).nd(&["preloaded_multi_sgd_update"]);
    MULTI_SGD_MOM = many::<2>(Op::new("preloaded_multi_sgd_mom_update", "`sgd_mom_update` of many weights; the last two arrays are their learning rates and decays.",
            DATA, Body::Kernel(|cx, a, out| momentum(cx, a, out, false))))
        .attrs(MOM_ATTRS).infer(|c, outs| infer::<2>(c, outs, &[W, G, "mom"], false)).nd(&["preloaded_multi_sgd_mom_update"]);
    MULTI_MP_SGD = many::<2>(Op::new("preloaded_multi_mp_sgd_update", "`mp_sgd_update` of many weights; the last two arrays are their learning rates and decays.",
            DATA, Body::Kernel(|cx, a, out| sgd(cx, a, out, true))))
        .attrs(SGD_ATTRS).infer(|c, outs| infer::<2>(c, outs, &[W, G, W32], true)).nd(&["preloaded_multi_mp_sgd_update"]);
    MULTI_MP_SGD_MOM = many::<2>(Op::new("preloaded_multi_mp_sgd_mom_update", "`mp_sgd_mom_update` of many weights; the last two arrays are their learning rates and decays.",
            DATA, Body::Kernel(|cx, a, out| momentum(cx, a, out, true))))
        .attrs(MOM_ATTRS).infer(|c, outs| infer::<2>(c, outs, &[W, G, "mom", W32], true)).nd(&["preloaded_multi_mp_sgd_mom_update"]);
    MULTI_ADAM = many::<2>(Op::new("_multi_adam_update", "`adam_update` of many weights; the last two arrays are their learning rates and decays.",
            DATA, Body::Kernel(|cx, a, out| {
                let attrs = a.attrs;
                let formula = k::Adam {
                    gradient: gradient(attrs, 4, 5),
                    beta1: attrs.float(1),
                    beta2: attrs.float(2),
                    epsilon: attrs.float(3),
                };
                run(cx, a, out, false, &formula)
            })))
        .attrs(&[WEIGHTS, BETA1, BETA2, EPSILON, RESCALE, CLIP])
        .infer(|c, outs| infer::<2>(c, outs, &[W, G, "mean", "var"], false)).internal();
    MULTI_ADAMW = many::<4>(Op::new("_multi_adamw_update", "`adamw_update` of many weights; the last arrays are their learning rates, decays and factors, and that of the gradient as often.",
            DATA, Body::Kernel(|cx, a, out| adamw(cx, a, out, false))))
        .attrs(ADAMW_ATTRS).infer(|c, outs| infer::<4>(c, outs, &[W, G, "mean", "var"], false)).internal();
    MULTI_MP_ADAMW = many::<4>(Op::new("_multi_mp_adamw_update", "`mp_adamw_update` of many weights, with lists as `_multi_adamw_update`.",
            DATA, Body::Kernel(|cx, a, out| adamw(cx, a, out, true))))
        .attrs(ADAMW_ATTRS).infer(|c, outs| infer::<4>(c, outs, &[W, G, "mean", "var", W32], true)).internal();
    MULTI_LAMB = many::<3>(Op::new("_multi_lamb_update", "LAMB over many weights; the last arrays are their learning rates, decays and numbers of the update.",
            DATA, Body::Kernel(|cx, a, out| lamb(cx, a, out, false))))
        .attrs(LAMB_ATTRS).infer(|c, outs| infer::<3>(c, outs, &[W, G, "mean", "var"], false)).internal();
    MULTI_MP_LAMB = many::<3>(Op::new("_multi_mp_lamb_update", "LAMB over many narrow weights that have copies in float32, with lists as `_multi_lamb_update`.",
            DATA, Body::Kernel(|cx, a, out| lamb(cx, a, out, true))))
        .attrs(LAMB_ATTRS).infer(|c, outs| infer::<3>(c, outs, &[W, G, "mean", "var", W32], true)).internal();
    MULTI_LARS = Op::new("multi_lars", "Learning rates of layers, by the norms of their weights and gradients.",
            &[input("lrs"), input("weights_sum_sq"), input("grads_sum_sq"), input("wds")], Body::Kernel(|cx, a, out| {
                let [mut lrs, weights, grads, wds] =
                    [k::numbers(&a.ins[0])?, k::numbers(&a.ins[1])?, k::numbers(&a.ins[2])?, k::numbers(&a.ins[3])?];
                let (eta, eps, rescale) = (a.attrs.float(0), a.attrs.float(1), a.attrs.float(2));
                for (i, lr) in lrs.iter_mut().enumerate() {
                    *lr = k::multi_lars(*lr, weights[i], grads[i], wds[i], eta, eps, rescale);
                }
                k::give(cx, &mut lrs, &out[0])
            }))
        .attrs(&[
            Attr::float("eta", 0.0, "Factor of the quotient of norms.").defaulting(AttrVal::None),
            Attr::float("eps", 0.0, "Keeps a quotient finite.").defaulting(AttrVal::None),
            RESCALE,
        ])
        .infer(|c, outs| {
            let n = c.ins[0].size;
            for (v, name) in c.ins.iter().zip(["lrs", "weights_sum_sq", "grads_sum_sq", "wds"]) {
                vector(v, name, n)?;
            }
            outs.push(meta(&c.ins[0]));
            Ok(())
        })
        .no_grad(Grad::Missing("it chooses learning rates, which are not differentiated")).nd(&["multi_lars"]);
    RESET_ARRAYS = Op::new("reset_arrays", "Makes all arrays 0, and gives them.", DATA, Body::Kernel(|cx, _, out| {
            out.iter().try_for_each(|o| fill(cx, Scalar::Int(0), &Out { mode: Mode::Write, ..*o }))
        }))
        .attrs(&[Attr::int("num_arrays", 1, "Number of arrays.").at_least(0)])
        .count(|_, inputs| inputs).overlays(|_, _, output| Some(output)).in_place()
        .infer(|c, outs| {
            if count(c.attrs) != c.ins.len() {
                return Err(Cause::Argument(format!("num_arrays={}, but {} arrays are given", count(c.attrs), c.ins.len())).into());
            }
            outs.extend(c.ins.iter().map(meta));
            Ok(())
        })
        .no_grad(NO_GRADIENT).nd(&["reset_arrays"]);
}
