//! Steps of many weights at once as optimizers take them. Everything that a schedule, a loss scale or a norm may change is
//! an operand, so that a step neither waits for the device nor differs from the one before it in anything but values.
use super::WEIGHTS;
use super::multi::{DATA, by_type, count, many, parts};
use super::{meta, require};
use crate::attr::Attr;
use crate::def::{Body, Call, Metas, Op, rows};
use crate::infer::require_float;
use gluonish_base::{Cause, DType, Result};
use gluonish_kernels::update::{self as k, Corrected, Rate, Rule};
use gluonish_kernels::{Args, Attrs, Cx, Out, View};

/// Behind the weights: `rates`, `numbers` and `factor`.
const LISTS: usize = 3;
/// Of each weight in `rates`: its learning rate, its decay, and the number of its update, from 1.
const COLUMNS: usize = 3;

const ATTRS: &[Attr] = &[
    WEIGHTS,
    Attr::bool("masters", false, "Whether each weight is narrow and has a copy in float32 behind its states."),
];

fn wide(attrs: &Attrs) -> bool {
    attrs.bool(1)
}

/// A list of real numbers behind the weights.
fn list(v: &View<'_>, name: &str, size: usize, what: impl Fn() -> String) -> Result {
    if v.size == size && v.dtype.is_float() {
        return Ok(());
    }
    let text = format!("{name} must be {size} real numbers ({}), got {} of shape {}", what(), v.dtype, v.shape);
    Err(Cause::Shape(text).into())
}

/// One weight: what is kept has its type, or float32 beside a narrow one. A gradient may have any real type.
fn check(ins: &[View<'_>], wide: bool, which: usize) -> Result {
    let (weight, grad) = (&ins[0], &ins[1]);
    require_float(weight, "weights")?;
    require_float(grad, "gradients")?;
    if wide && weight.dtype == DType::F64 {
        return Err(Cause::DType("a weight of float64 has no use for a copy in float32".into()).into());
    }
    require(grad, &format!("the gradient of weight {which}"), weight, grad.dtype)?;
    let dtype = if wide { DType::F32 } else { weight.dtype };
    ins.iter().enumerate().skip(2).try_for_each(|(i, v)| {
        if v.shape == weight.shape && v.dtype == dtype {
            return Ok(());
        }
        let name = if wide && i + 1 == ins.len() { "weight32".into() } else { format!("state {}", i - 2) };
        require(v, &format!("{name} of weight {which}"), weight, dtype)
    })
}

fn infer<R: Rule>(c: &Call<'_>, outs: &mut Metas) -> Result {
    let (n, wide) = (count(c.attrs), wide(c.attrs));
    let per = 2 + R::STATES + usize::from(wide);
    if c.ins.len() != n * per + LISTS {
        let text = format!(
            "{n} weights need {} arrays (weight, gradient, {} states{} of each; then rates, numbers and factor), got {}",
            n * per + LISTS,
            R::STATES,
            if wide { " and weight32" } else { "" },
            c.ins.len()
        );
        return Err(Cause::Argument(text).into());
    }
    let (tensors, lists) = c.ins.split_at(n * per);
    list(&lists[0], "rates", n * COLUMNS, || "learning rate, decay and update of each weight".into())?;
    list(&lists[1], "numbers", 1 + R::NUMBERS.len(), || format!("clip_gradient {}", R::NUMBERS.join(" ")))?;
    list(&lists[2], "factor", 1, || "of the gradient".into())?;
    for (i, tensor) in tensors.chunks_exact(per).enumerate() {
        check(tensor, wide, i)?;
        outs.push(meta(&tensor[0]));
    }
    for tensor in tensors.chunks_exact(per) {
        outs.extend(tensor[2..].iter().map(meta));
    }
    Ok(())
}

fn run<R: Rule>(cx: &Cx, a: &Args<'_>, out: &mut [Out<'_>]) -> Result {
    let (tensors, [rates, numbers, factor]) = parts::<LISTS>(a, out, wide(a.attrs))?;
    let rescale = factor.first().copied().unwrap_or(1.0);
    if !rescale.is_finite() {
        return tensors.iter().try_for_each(|t| k::keep(cx, t));
    }
    let clip = numbers.first().copied().unwrap_or(-1.0);
    let rule = R::new(k::Gradient { rescale, clip }, numbers.get(1..).unwrap_or(&[]));
    let rates: Vec<Rate> = rates.chunks_exact(COLUMNS).map(|r| rule.rate(r[0], r[1], r[2])).collect();
    by_type(&tensors, &rates, |tensors, rates| rule.step(cx, tensors, rates))
}

const fn fused<R: Rule>(name: &'static str, doc: &'static str) -> Op {
    many::<LISTS>(Op::new(name, doc, DATA, Body::Kernel(run::<R>))).attrs(ATTRS).infer(infer::<R>).internal()
}

rows! {
    STEP_SGD = fused::<k::Sgd>("_step_sgd", "A step of SGD for many weights: of each weight, gradient; then learning rates, decays and update counts as rows, `clip_gradient`, and the factor of the gradients. A factor that is infinite or NaN changes nothing.");
    STEP_MOMENTUM = fused::<k::Momentum>("_step_momentum", "As `_step_sgd`, with a momentum for each weight; numbers: `clip_gradient momentum nesterov`.");
    STEP_SIGNSGD = fused::<k::SignSgd>("_step_signsgd", "As `_step_sgd`, by the sign of the gradient.");
    STEP_SIGNUM = fused::<k::Signum>("_step_signum", "As `_step_sgd`, by the sign of a momentum; numbers: `clip_gradient momentum wd_lh`.");
    STEP_LION = fused::<k::Lion>("_step_lion", "As `_step_sgd`, by Lion; numbers: `clip_gradient beta1 beta2`.");
    STEP_LANGEVIN = fused::<k::Langevin>("_step_langevin", "As `_step_sgd`, by half a step and noise of the variance `lr`; beside each weight stands normal noise, which is not changed.");
    STEP_DCASGD = fused::<k::DelayCompensated<1>>("_step_dcasgd", "As `_step_sgd`, for gradients that come late; beside each weight stands the last one; numbers: `clip_gradient lamda`.");
    STEP_DCASGD_MOMENTUM = fused::<k::DelayCompensated<2>>("_step_dcasgd_momentum", "As `_step_dcasgd`, with a momentum behind the last weight; numbers: `clip_gradient lamda momentum`.");
    STEP_AVERAGE = fused::<k::Average>("_step_average", "Running means: each weight goes the share `lr` of the way to what stands in the place of its gradient.");
    STEP_ADAGRAD = fused::<k::AdaGrad>("_step_adagrad", "As `_step_sgd`, by AdaGrad with a sum of squares; numbers: `clip_gradient epsilon`.");
    STEP_ADADELTA = fused::<k::AdaDelta>("_step_adadelta", "As `_step_sgd`, by AdaDelta with means of the squares of gradients and of steps; numbers: `clip_gradient rho epsilon`.");
    STEP_FTRL = fused::<k::Ftrl>("_step_ftrl", "As `_step_sgd`, by FTRL with states z and n; numbers: `clip_gradient lamda1 beta`.");
    STEP_FTML = fused::<k::Ftml>("_step_ftml", "As `_step_sgd`, by FTML with states d, v and z; numbers: `clip_gradient beta1 beta2 epsilon`.");
    STEP_RMSPROP = fused::<k::RmsProp>("_step_rmsprop", "As `_step_sgd`, by RMSProp with a mean of squares; numbers: `clip_gradient gamma1 epsilon clip_weights`.");
    STEP_RMSPROP_CENTERED = fused::<k::RmsPropCentered>("_step_rmsprop_centered", "As `_step_rmsprop`, around the mean, with momentum: three states; numbers: `clip_gradient gamma1 epsilon clip_weights gamma2`.");
    STEP_ADAM = fused::<k::Adam>("_step_adam", "As `_step_sgd`, by Adam with means of the gradient and of its square; numbers: `clip_gradient beta1 beta2 epsilon`.");
    STEP_ADAMAX = fused::<k::Adamax>("_step_adamax", "As `_step_adam`, by the largest gradient; numbers: `clip_gradient beta1 beta2`.");
    STEP_NADAM = fused::<k::Nadam>("_step_nadam", "As `_step_adam`, with Nesterov's momentum; numbers: `clip_gradient beta1 beta2 epsilon schedule_decay`.");
    STEP_ADAMW = fused::<Corrected<k::Decoupled>>("_step_adamw", "As `_step_adam`, with a decay that is no part of the gradient; numbers: `clip_gradient beta1 beta2 epsilon bias_correction`.");
    STEP_ADABELIEF = fused::<Corrected<k::AdaBelief>>("_step_adabelief", "As `_step_adam`, by squares around the mean; numbers: `clip_gradient beta1 beta2 epsilon bias_correction`.");
    STEP_LAMB = fused::<k::LambSteps>("_step_lamb", "As `_step_adamw`, with steps as long as the weight; numbers: `clip_gradient beta1 beta2 epsilon bias_correction lower_bound upper_bound`.");
    STEP_LANS = fused::<k::Lans>("_step_lans", "As `_step_lamb`, of gradients of length 1 and along these too; numbers: `clip_gradient beta1 beta2 epsilon lower_bound upper_bound`.");
}
