//! Steps of one weight.
use super::{
    BETA1, BETA2, CLIP, LAZY, LR, MOMENTUM, NO_GRADIENT, RESCALE, WD, behind, gradient, infer, meta, require, step,
    tensor,
};
use crate::attr::Attr;
use crate::def::{Body, Call, Input, Metas, Op, Output, hidden, input, output, rows, state};
use crate::infer::require_float;
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::update::{self as k, Formula, Rate};
use gluonish_kernels::{Args, AttrVal, Attrs, Cx, Out, View};

const EPSILON: Attr = Attr::float("epsilon", 1e-8, "Keeps a quotient finite.");
const CLIP_WEIGHTS: Attr = Attr::float("clip_weights", -1.0, "Bound of the weights' size; below 0: none.");
const T: Attr = Attr::int("t", 0, "Number of this update, from 1.").defaulting(AttrVal::None).at_least(1);
const ETA: Attr = Attr::float("eta", 0.0, "Factor of the whole step.").defaulting(AttrVal::None);
const PHASE2_ATTRS: &[Attr] = &[
    LR,
    Attr::float("lower_bound", -1.0, "Least norm of the weight that counts; below 0: any."),
    Attr::float("upper_bound", -1.0, "Largest norm of the weight that counts; below 0: any."),
];

const OUT1: &[Output] = &[output("output")];
const OUT2: &[Output] = &[output("output"), hidden("first")];
const OUT3: &[Output] = &[output("output"), hidden("first"), hidden("second")];
const OUT4: &[Output] = &[output("output"), hidden("first"), hidden("second"), hidden("third")];

const PLAIN: &[Input] = &[input("weight"), input("grad")];
const WIDE: &[Input] = &[input("weight"), input("grad"), state("weight32")];
const MOM: &[Input] = &[input("weight"), input("grad"), state("mom")];
const WIDE_MOM: &[Input] = &[input("weight"), input("grad"), state("mom"), state("weight32")];
const MOMENTS: &[Input] = &[input("weight"), input("grad"), state("mean"), state("var")];
const WIDE_MOMENTS: &[Input] = &[input("weight"), input("grad"), state("mean"), state("var"), input("weight32")];
const ADAMW: &[Input] = &[input("weight"), input("grad"), state("mean"), state("var"), input("rescale_grad")];
const WIDE_ADAMW: &[Input] =
    &[input("weight"), input("grad"), state("mean"), state("var"), state("weight32"), input("rescale_grad")];
const PHASE2: &[Input] = &[input("weight"), input("g"), input("r1"), input("r2")];
const WIDE_PHASE2: &[Input] = &[input("weight"), input("g"), input("r1"), input("r2"), state("weight32")];
const NAMES: &[&str] = &["weight", "grad", "the first state", "the second state", "the third state"];

fn infer_plain(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer(c, outs, NAMES, false)
}
fn infer_wide(c: &Call<'_>, outs: &mut Metas) -> Result {
    infer(c, outs, NAMES, true)
}

fn run(cx: &Cx, a: &Args<'_>, out: &[Out<'_>], wide: bool, formula: &impl Formula, wd: usize) -> Result {
    run_at(cx, a, out, wide, formula, Rate::new(a.attrs.float(0), a.attrs.float(wd)))
}
fn run_at(cx: &Cx, a: &Args<'_>, out: &[Out<'_>], wide: bool, formula: &impl Formula, rate: Rate) -> Result {
    k::update(cx, formula, &[tensor(a.ins, out[0].view, &out[1..], wide)], &[rate])
}

fn sgd(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool) -> Result {
    run(cx, a, out, wide, &k::Sgd { gradient: gradient(a.attrs, 2, 3) }, 1)
}
fn momentum(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool, nesterov: bool) -> Result {
    let formula = k::Momentum { gradient: gradient(a.attrs, 3, 4), momentum: a.attrs.float(1), nesterov };
    run(cx, a, out, wide, &formula, 2)
}
fn rms_prop(attrs: &Attrs, at: usize) -> k::RmsProp {
    k::RmsProp {
        gradient: gradient(attrs, at + 2, at + 3),
        gamma1: attrs.float(1),
        epsilon: attrs.float(at),
        clip_weights: attrs.float(at + 4),
    }
}

/// The one number of an array, or a number.
fn number(v: &View<'_>, name: &str) -> Result<f64> {
    if v.size != 1 {
        return Err(Cause::Shape(format!("{name} must be one number, got shape {}", v.shape)).into());
    }
    Ok(k::numbers(v)?[0])
}

fn require_number(v: &View<'_>, name: &str) -> Result {
    if v.size == 1 { Ok(()) } else { number(v, name).map(drop) }
}

fn infer_adamw(c: &Call<'_>, outs: &mut Metas, wide: bool) -> Result {
    let (rescale, ins) = (&c.ins[c.ins.len() - 1], &c.ins[..c.ins.len() - 1]);
    require_number(rescale, "rescale_grad")?;
    infer(&Call { ins, ..*c }, outs, NAMES, wide)
}

fn adamw(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool) -> Result {
    let rescale = number(&a.ins[a.ins.len() - 1], "rescale_grad")?;
    let tensor = tensor(a.ins, out[0].view, &out[1..], wide);
    let attrs = a.attrs;
    if !rescale.is_finite() || rescale == 0.0 {
        return k::keep(cx, &tensor);
    }
    let formula = k::AdamW {
        gradient: k::Gradient { rescale, clip: attrs.float(6) },
        beta1: attrs.float(2),
        beta2: attrs.float(3),
        epsilon: attrs.float(4),
    };
    let rate = Rate { eta: attrs.float(1), ..Rate::new(attrs.float(0), attrs.float(5)) };
    k::update(cx, &formula, &[tensor], &[rate])
}
const ADAMW_ATTRS: &[Attr] =
    &[LR, ETA, BETA1, BETA2, EPSILON, Attr::float("wd", 0.0, "Decay of the weight, beside the gradient."), CLIP];

fn infer_phase1(c: &Call<'_>, outs: &mut Metas, wide: bool) -> Result {
    super::check_one(c.ins, &["weight", "grad", "mean", "var", "weight32"], wide, String::new)?;
    let dtype = c.ins[2].dtype;
    outs.extend([0, 2, 3].map(|i| crate::def::Meta { dtype, ..meta(&c.ins[i]) }));
    Ok(())
}
fn phase1(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool) -> Result {
    let attrs = a.attrs;
    let formula = k::Lamb {
        gradient: gradient(attrs, 6, 7),
        beta1: attrs.float(0),
        beta2: attrs.float(1),
        epsilon: attrs.float(2),
    };
    let tensor = k::Tensor {
        weight: a.ins[if wide { 4 } else { 0 }],
        out: out[0].view,
        grad: a.ins[1],
        states: [Some(out[1].view), Some(out[2].view), None],
        copy: None,
    };
    let mut rate = Rate::new(0.0, attrs.float(5));
    if attrs.bool(4) {
        rate = rate.at(attrs.int(3) as f64, formula.beta1, formula.beta2);
    }
    k::update(cx, &formula, &[tensor], &[rate])
}
const PHASE1_ATTRS: &[Attr] = &[
    BETA1,
    BETA2,
    Attr::float("epsilon", 1e-6, "Keeps a quotient finite."),
    T,
    Attr::bool("bias_correction", true, "Whether the means are divided by what the first updates lack."),
    WD,
    RESCALE,
    CLIP,
];

fn infer_phase2(c: &Call<'_>, outs: &mut Metas, wide: bool) -> Result {
    let [weight, g, r1, r2] = [0, 1, 2, 3].map(|i| &c.ins[i]);
    require_float(weight, "weights")?;
    require(g, "g", weight, if wide { DType::F32 } else { weight.dtype })?;
    require_number(r1, "r1")?;
    require_number(r2, "r2")?;
    outs.push(meta(weight));
    if wide {
        require(&c.ins[4], "weight32", weight, DType::F32)?;
        outs.push(meta(&c.ins[4]));
    }
    Ok(())
}
fn phase2(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>], wide: bool) -> Result {
    let (attrs, bounds) = (a.attrs, (a.attrs.float(1), a.attrs.float(2)));
    let ratio = k::trust(number(&a.ins[2], "r1")?, number(&a.ins[3], "r2")?, bounds);
    let tensor = tensor(a.ins, out[0].view, &out[1..], wide);
    k::update(cx, &k::Along, &[tensor], &[Rate::new(attrs.float(0) * ratio, 0.0)])
}
/// The second phase writes over the copy in float32, which stands last.
fn behind_norms(_: &Attrs, _: usize, output: usize) -> Option<usize> {
    (output > 0).then_some(4)
}

fn infer_group(c: &Call<'_>, outs: &mut Metas) -> Result {
    let [weight, grad, history] = [0, 1, 2].map(|i| &c.ins[i]);
    require_float(weight, "weights")?;
    require(grad, "grad", weight, weight.dtype)?;
    let rows = weight.shape.first().copied().unwrap_or(0);
    if weight.ndim() != 2 || history.shape[..] != [rows, 1] || history.dtype != weight.dtype {
        let text = format!(
            "a weight of two axes and a history of a column of its type are needed, got {} {} and {} {}",
            weight.dtype, weight.shape, history.dtype, history.shape
        );
        return Err(Cause::Shape(text).into());
    }
    outs.extend([meta(weight), meta(history)]);
    Ok(())
}

rows! {
    SGD = step(Op::new("sgd_update", "`weight - lr * (clip(rescale_grad * grad) + wd * weight)`.", PLAIN,
            Body::Kernel(|cx, a, out| sgd(cx, a, out, false))))
        .attrs(&[LR, WD, RESCALE, CLIP, LAZY]).outputs(OUT1).infer(infer_plain).nd(&["sgd_update"]);
    MP_SGD = step(Op::new("mp_sgd_update", "`sgd_update` of a narrow weight that has a copy in float32.", WIDE,
            Body::Kernel(|cx, a, out| sgd(cx, a, out, true))))
        .attrs(&[LR, WD, RESCALE, CLIP, LAZY]).outputs(OUT2).infer(infer_wide).nd(&["mp_sgd_update"]);
    SGD_MOM = step(Op::new("sgd_mom_update", "`mom = momentum * mom - lr * (clip(rescale_grad * grad) + wd * weight)`, and `weight + mom`.", MOM,
            Body::Kernel(|cx, a, out| momentum(cx, a, out, false, false))))
        .attrs(&[LR, MOMENTUM, WD, RESCALE, CLIP, LAZY]).outputs(OUT2).infer(infer_plain).nd(&["sgd_mom_update"]);
    MP_SGD_MOM = step(Op::new("mp_sgd_mom_update", "`sgd_mom_update` of a narrow weight that has a copy in float32.", WIDE_MOM,
            Body::Kernel(|cx, a, out| momentum(cx, a, out, true, false))))
        .attrs(&[LR, MOMENTUM, WD, RESCALE, CLIP, LAZY]).outputs(OUT3).infer(infer_wide).nd(&["mp_sgd_mom_update"]);
    NAG_MOM = step(Op::new("nag_mom_update", "`sgd_mom_update` with Nesterov's momentum: the gradient's step is made once more ahead.", MOM,
            Body::Kernel(|cx, a, out| momentum(cx, a, out, false, true))))
        .attrs(&[LR, MOMENTUM, WD, RESCALE, CLIP]).outputs(OUT2).infer(infer_plain).nd(&["nag_mom_update"]);
    MP_NAG_MOM = step(Op::new("mp_nag_mom_update", "`nag_mom_update` of a narrow weight that has a copy in float32.", WIDE_MOM,
            Body::Kernel(|cx, a, out| momentum(cx, a, out, true, true))))
        .attrs(&[LR, MOMENTUM, WD, RESCALE, CLIP]).outputs(OUT3).infer(infer_wide).nd(&["mp_nag_mom_update"]);
    SIGNSGD = step(Op::new("signsgd_update", "`(1 - lr * wd) * weight - lr * sign(grad)`.", PLAIN,
            Body::Kernel(|cx, a, out| run(cx, a, out, false, &k::SignSgd { gradient: gradient(a.attrs, 2, 3) }, 1))))
        .attrs(&[LR, WD, RESCALE, CLIP]).outputs(OUT1).infer(infer_plain).nd(&["signsgd_update"]);
    SIGNUM = step(Op::new("signum_update", "A step of length `lr` in the direction of the sign of the momentum.", MOM,
            Body::Kernel(|cx, a, out| {
                let attrs = a.attrs;
                let formula = k::Signum { gradient: gradient(attrs, 3, 4), momentum: attrs.float(1), wd_lh: attrs.float(5) };
                run(cx, a, out, false, &formula, 2)
            })))
        .attrs(&[LR, MOMENTUM, WD, RESCALE, CLIP, Attr::float("wd_lh", 0.0, "Decay of the weight, beside the gradient.")])
        .outputs(OUT2).infer(infer_plain).nd(&["signum_update"]);
    ADAM = step(Op::new("adam_update", "`weight - lr * mean / (sqrt(var) + epsilon)`, with running means of the gradient and its square.", MOMENTS,
            Body::Kernel(|cx, a, out| {
                let attrs = a.attrs;
                let formula = k::Adam {
                    gradient: gradient(attrs, 5, 6),
                    beta1: attrs.float(1),
                    beta2: attrs.float(2),
                    epsilon: attrs.float(3),
                };
                run(cx, a, out, false, &formula, 4)
            })))
        .attrs(&[LR, BETA1, BETA2, EPSILON, WD, RESCALE, CLIP, LAZY]).outputs(OUT3).infer(infer_plain).nd(&["adam_update"]);
    ADAMW_UPDATE = step(Op::new("adamw_update", "`weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)`; nothing where `rescale_grad` is 0, infinite or NaN.",
            ADAMW, Body::Kernel(|cx, a, out| adamw(cx, a, out, false))))
        .attrs(ADAMW_ATTRS).outputs(OUT3).infer(|c, outs| infer_adamw(c, outs, false)).nd(&["contrib.adamw_update"]);
    MP_ADAMW_UPDATE = step(Op::new("mp_adamw_update", "`adamw_update` of a narrow weight that has a copy in float32.",
            WIDE_ADAMW, Body::Kernel(|cx, a, out| adamw(cx, a, out, true))))
        .attrs(ADAMW_ATTRS).outputs(OUT4).infer(|c, outs| infer_adamw(c, outs, true)).nd(&["contrib.mp_adamw_update"]);
    FTML = step(Op::new("ftml_update", "Follow the moving leader.",
            &[input("weight"), input("grad"), state("d"), state("v"), state("z")], Body::Kernel(|cx, a, out| {
                let attrs = a.attrs;
                let formula = k::Ftml {
                    gradient: gradient(attrs, 6, 7),
                    beta1: attrs.float(1),
                    beta2: attrs.float(2),
                    epsilon: attrs.float(3),
                };
                let rate = Rate::new(attrs.float(0), attrs.float(5));
                run_at(cx, a, out, false, &formula, rate.at(attrs.int(4) as f64, formula.beta1, formula.beta2))
            })))
        .attrs(&[
            LR, Attr::float("beta1", 0.6, BETA1.doc), BETA2, EPSILON, T, WD, RESCALE, Attr::float("clip_grad", -1.0, CLIP.doc),
        ])
        .outputs(OUT4).infer(infer_plain).nd(&["ftml_update"]);
    FTRL = step(Op::new("ftrl_update", "Follow the regularised leader, which makes small weights 0.",
            &[input("weight"), input("grad"), state("z"), state("n")], Body::Kernel(|cx, a, out| {
                let attrs = a.attrs;
                let formula = k::Ftrl { gradient: gradient(attrs, 4, 5), lamda1: attrs.float(1), beta: attrs.float(2) };
                run(cx, a, out, false, &formula, 3)
            })))
        .attrs(&[
            LR,
            Attr::float("lamda1", 0.01, "Up to this sum of gradients a weight is 0."),
            Attr::float("beta", 1.0, "Keeps the first steps short."),
            WD, RESCALE, CLIP,
        ])
        .outputs(OUT3).infer(infer_plain).nd(&["ftrl_update"]);
    RMSPROP = step(Op::new("rmsprop_update", "`weight - lr * grad / sqrt(n + epsilon)`, with the running mean `n` of the gradient's square.",
            &[input("weight"), input("grad"), state("n")],
            Body::Kernel(|cx, a, out| run(cx, a, out, false, &rms_prop(a.attrs, 2), 3))))
        .attrs(&[LR, Attr::float("gamma1", 0.95, "How much of the mean is kept."), EPSILON, WD, RESCALE, CLIP, CLIP_WEIGHTS])
        .outputs(OUT2).infer(infer_plain).nd(&["rmsprop_update"]);
    RMSPROP_ALEX = step(Op::new("rmspropalex_update", "`rmsprop_update` by the deviation of the gradient, with momentum.",
            &[input("weight"), input("grad"), state("n"), state("g"), state("delta")], Body::Kernel(|cx, a, out| {
                let formula = k::RmsPropCentered { plain: rms_prop(a.attrs, 3), gamma2: a.attrs.float(2) };
                run(cx, a, out, false, &formula, 4)
            })))
        .attrs(&[
            LR,
            Attr::float("gamma1", 0.95, "How much of the means is kept."),
            Attr::float("gamma2", 0.9, "How much of the last step is kept."),
            EPSILON, WD, RESCALE, CLIP, CLIP_WEIGHTS,
        ])
        .outputs(OUT4).infer(infer_plain).nd(&["rmspropalex_update"]);
    LAMB_PHASE1 = step(Op::new("lamb_update_phase1", "The direction of LAMB: `mean / (sqrt(var) + epsilon) + wd * weight`.", MOMENTS,
            Body::Kernel(|cx, a, out| phase1(cx, a, out, false))))
        .attrs(PHASE1_ATTRS).outputs(OUT3).infer(|c, outs| infer_phase1(c, outs, false)).nd(&["lamb_update_phase1"]);
    MP_LAMB_PHASE1 = step(Op::new("mp_lamb_update_phase1", "`lamb_update_phase1` of a narrow weight that has a copy in float32.",
            WIDE_MOMENTS, Body::Kernel(|cx, a, out| phase1(cx, a, out, true))))
        .attrs(PHASE1_ATTRS).outputs(OUT3).infer(|c, outs| infer_phase1(c, outs, true)).nd(&["mp_lamb_update_phase1"]);
    LAMB_PHASE2 = step(Op::new("lamb_update_phase2", "`weight - lr * r1 / r2 * g`, with the norms of weight and direction.", PHASE2,
            Body::Kernel(|cx, a, out| phase2(cx, a, out, false))))
        .attrs(PHASE2_ATTRS).outputs(OUT1).infer(|c, outs| infer_phase2(c, outs, false))
        .nd(&["lamb_update_phase2"]);
    MP_LAMB_PHASE2 = Op::new("mp_lamb_update_phase2", "`lamb_update_phase2` of a narrow weight that has a copy in float32.", WIDE_PHASE2,
            Body::Kernel(|cx, a, out| phase2(cx, a, out, true)))
        .overlays(behind_norms).in_place().no_grad(NO_GRADIENT)
        .attrs(PHASE2_ATTRS).outputs(OUT2).infer(|c, outs| infer_phase2(c, outs, true))
        .nd(&["mp_lamb_update_phase2"]);
    GROUP_ADAGRAD = Op::new("group_adagrad_update", "`weight - lr * grad / sqrt(history + epsilon)`, with one history of squares for each row.",
            &[input("weight"), input("grad"), state("history")], Body::Kernel(|cx, a, out| {
                let attrs = a.attrs;
                let rule = k::GroupAdagrad { gradient: gradient(attrs, 1, 2), lr: attrs.float(0), epsilon: attrs.float(3) };
                k::group_adagrad(cx, &rule, [&a.ins[0], &a.ins[1], &out[1].view, &out[0].view]);
                Ok(())
            }))
        .overlays(behind).in_place().no_grad(NO_GRADIENT)
        .attrs(&[LR, RESCALE, CLIP, Attr::float("epsilon", 1e-5, "Keeps a quotient finite.")])
        .outputs(OUT2).infer(infer_group).nd(&["contrib.group_adagrad_update"]);
}
