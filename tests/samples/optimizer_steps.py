"""Steps of optimizers over many weights, of which everything is an operand: behind the weights stand learning rate,
decay and update of each, then numbers, then the factor of the gradients. Formulas are those of the papers."""

from collections.abc import Callable
from typing import Any

import numpy as np
from ops.sampling import FLOATS, Arg, real, refuse, sample

from samples.optimizers import (
    NARROW,
    adam,
    direction,
    ftml,
    ftrl,
    gradient,
    lamb,
    moments,
    momentum,
    nesterov,
    rmsprop,
    rmspropalex,
    sgd,
    signsgd,
    signum,
)

How = dict[str, float]
Made = tuple[Any, ...]


def lion(w: Any, g: Any, mom: Any, **how: float) -> Made:
    g = gradient(g, how)
    to = np.sign(how["beta1"] * mom + (1 - how["beta1"]) * g)
    return w - how["lr"] * (to + how["wd"] * w), how["beta2"] * mom + (1 - how["beta2"]) * g


def langevin(w: Any, g: Any, noise: Any, **how: float) -> Made:
    return w - how["lr"] / 2 * (gradient(g, how) + how["wd"] * w) + np.sqrt(how["lr"]) * noise, noise


def dcasgd(w: Any, g: Any, last: Any, mom: Any = 0.0, **how: float) -> Made:
    g = gradient(g, how)
    late = how["lamda"] * g * g * (w - last)
    mom = how.get("momentum", 0) * mom - how["lr"] * (g + how["wd"] * w + late)
    return w + mom, w, mom


def average(w: Any, g: Any, **how: float) -> Made:
    return ((1 - how["lr"]) * w + how["lr"] * g,)


def adagrad(w: Any, g: Any, history: Any, **how: float) -> Made:
    g = gradient(g, how)
    history = history + g**2
    return w - how["lr"] * (g / np.sqrt(history + how["epsilon"]) + how["wd"] * w), history


def adadelta(w: Any, g: Any, squares: Any, steps: Any, **how: float) -> Made:
    g = gradient(g, how)
    squares = how["rho"] * squares + (1 - how["rho"]) * g**2
    delta = np.sqrt(steps + how["epsilon"]) / np.sqrt(squares + how["epsilon"]) * g
    steps = how["rho"] * steps + (1 - how["rho"]) * delta**2
    return w - how["lr"] * (delta + how["wd"] * w), squares, steps


def folded_adam(w: Any, g: Any, mean: Any, var: Any, **how: float) -> Made:
    lr = how["lr"] * np.sqrt(1 - how["beta2"] ** how["t"]) / (1 - how["beta1"] ** how["t"])
    return adam(w, g, mean, var, **{**how, "lr": lr})


def adamax(w: Any, g: Any, mean: Any, most: Any, **how: float) -> Made:
    g = gradient(g, how, how["wd"] * w)
    mean = how["beta1"] * mean + (1 - how["beta1"]) * g
    most = np.maximum(how["beta2"] * most, np.abs(g))
    return w - how["lr"] / (1 - how["beta1"] ** how["t"]) * mean / most, mean, most


def nadam(w: Any, g: Any, mean: Any, var: Any, **how: float) -> Made:
    def share(i: float) -> float:
        return how["beta1"] * (1 - 0.5 * 0.96 ** (i * how["schedule_decay"]))

    t = how["t"]
    mean, var = moments(g := gradient(g, how, how["wd"] * w), mean, var, how)
    so_far = np.prod([share(i) for i in range(1, int(t) + 1)])
    to = (1 - share(t)) * g / (1 - so_far) + share(t + 1) * mean / (1 - so_far * share(t + 1))
    return w - how["lr"] * to / (np.sqrt(var / (1 - how["beta2"] ** t)) + how["epsilon"]), mean, var


def adamw(w: Any, g: Any, mean: Any, var: Any, **how: float) -> Made:
    to, mean, var = direction(w, g, mean, var, **how)
    return w - how["lr"] * to, mean, var


def adabelief(w: Any, g: Any, mean: Any, var: Any, **how: float) -> Made:
    g = gradient(g, how, how["wd"] * w)
    mean = how["beta1"] * mean + (1 - how["beta1"]) * g
    var = how["beta2"] * var + (1 - how["beta2"]) * (g - mean) ** 2 + how["epsilon"]
    by1, by2 = ((1 - how[b] ** how["t"]) if how.get("bias_correction", 1) else 1 for b in ("beta1", "beta2"))
    return w - how["lr"] * mean / by1 / (np.sqrt(var / by2) + how["epsilon"]), mean, var


def norm_within(w: Any, how: How) -> float:
    size = float(np.linalg.norm(w))
    low, high = how.get("lower_bound", -1), how.get("upper_bound", -1)
    size = max(size, low) if low >= 0 else size
    return min(size, high) if high >= 0 else size


def lans(w: Any, g: Any, mean: Any, var: Any, **how: float) -> Made:
    g = g * how["rescale_grad"]
    length = np.linalg.norm(g)
    g = gradient(g / length if length else g, {**how, "rescale_grad": 1.0})
    mean, var = moments(g, mean, var, how)
    by = np.sqrt(var / (1 - how["beta2"] ** how["t"])) + how["epsilon"]
    made, size = w, norm_within(w, how)
    for share, to in ((how["beta1"], mean / (1 - how["beta1"] ** how["t"])), (1 - how["beta1"], g)):
        to = to / by + how["wd"] * w
        length = np.linalg.norm(to)
        made = made - how["lr"] * share * (size / length if size and length else 1.0) * to
    return made, mean, var


BETAS = ("beta1", "beta2")
RULES: dict[str, tuple[Callable[..., Made], int, tuple[str, ...]]] = {
    "_step_sgd": (sgd, 0, ()),
    "_step_momentum": (lambda *x, **kw: (nesterov if kw.pop("nesterov") else momentum)(*x, **kw), 1,
                       ("momentum", "nesterov")),
    "_step_signsgd": (signsgd, 0, ()),
    "_step_signum": (signum, 1, ("momentum", "wd_lh")),
    "_step_lion": (lion, 1, BETAS),
    "_step_langevin": (langevin, 1, ()),
    "_step_dcasgd": (dcasgd, 1, ("lamda",)),
    "_step_dcasgd_momentum": (dcasgd, 2, ("lamda", "momentum")),
    "_step_average": (average, 0, ()),
    "_step_adagrad": (adagrad, 1, ("epsilon",)),
    "_step_adadelta": (adadelta, 2, ("rho", "epsilon")),
    "_step_ftrl": (ftrl, 2, ("lamda1", "beta")),
    "_step_ftml": (ftml, 3, (*BETAS, "epsilon")),
    "_step_rmsprop": (rmsprop, 1, ("gamma1", "epsilon", "clip_weights")),
    "_step_rmsprop_centered": (rmspropalex, 3, ("gamma1", "epsilon", "clip_weights", "gamma2")),
    "_step_adam": (folded_adam, 2, (*BETAS, "epsilon")),
    "_step_adamax": (adamax, 2, BETAS),
    "_step_nadam": (nadam, 2, (*BETAS, "epsilon", "schedule_decay")),
    "_step_adamw": (adamw, 2, (*BETAS, "epsilon", "bias_correction")),
    "_step_adabelief": (adabelief, 2, (*BETAS, "epsilon", "bias_correction")),
    "_step_lamb": (lamb, 2, (*BETAS, "epsilon", "bias_correction", "lower_bound", "upper_bound")),
    "_step_lans": (lans, 2, (*BETAS, "epsilon", "lower_bound", "upper_bound")),
}  # fmt: skip


def whole(op: str) -> Callable[..., Any]:
    """The new weights of a call."""
    formula, states, names = RULES[op]

    def run(*data: Any, num_weights: int, masters: bool = False) -> Any:
        (rates, numbers, factor), per, made = data[-3:], states + 2 + masters, []
        clip, *values = np.ravel(numbers).tolist()
        for i in range(num_weights):
            weight, grad, *kept = data[i * per : (i + 1) * per]
            weight = kept.pop() if masters else weight
            lr, wd, t = np.reshape(rates, (-1, 3))[i].tolist()
            how = {"lr": lr, "wd": wd, "t": t, "clip_gradient": clip, "rescale_grad": float(np.ravel(factor)[0])}
            made.append(formula(weight, grad, *kept, **how, **dict(zip(names, values, strict=True)))[0])
        return made[0] if num_weights == 1 else made

    return run


RATES = Arg((2, 3), 1.0, 1.9, dtype="float64")
FACTOR = Arg((1,), 0.5, 0.9, dtype="float64")


def kept(name: str, shape: tuple[int, ...], states: int, dtype: str | None) -> tuple[Arg, ...]:
    """What stands beside a weight. A mean of squares is larger than the square of a mean; noise is ordered here only so
    that no test repeats its elements, which a row that may write to it refuses."""
    low, high = (10.0, 12.0) if name == "_step_rmsprop_centered" else (0.2, 3.0)
    form = "ordered" if name == "_step_langevin" else ""
    first = Arg(shape, low, high, dtype=dtype, form=form)
    return (first, *(Arg(shape, 0.2, 3.0, dtype=dtype) for _ in range(states - 1)))[:states]


for name, (_, states, numbers) in RULES.items():
    given = (RATES, Arg((1 + len(numbers),), 0.1, 0.9, dtype="float64"), FACTOR)
    first, second = kept(name, (2, 3), states, None), kept(name, (5,), states, None)
    odd = ((2, 3),) * (states + 2) + ((5,),) * (states + 2) + ((2, 3), (1 + len(numbers),), (2,))
    sample(name, real(2, 3), real(2, 3), *first, real(5), real(5), *second, *given, ref=whole(name),
           attrs={"num_weights": 2}, dtypes=FLOATS, result="same same", rtol=8, atol=16, special=False,
           bad=[refuse(name, "3 weights need", num_weights=3),
                refuse(name, "factor must be 1", shapes=odd)])  # fmt: skip
    first = (*kept(name, (2, 3), states, "float32"), Arg((2, 3), 0.2, 3.0, dtype="float32"))
    second = (*kept(name, (5,), states, "float32"), Arg((5,), 0.2, 3.0, dtype="float32"))
    sample(name, real(2, 3), real(2, 3), *first, real(5), real(5), *second, *given, ref=whole(name),
           attrs={"num_weights": 2, "masters": True}, dtypes=NARROW, result="same same", rtol=8, atol=16,
           special=False)  # fmt: skip
