"""Steps of optimizers. The formulas are those of the papers and of MXNet's documentation, written out; that states
change in place, and by how much, is tested in unit/test_optimizer_ops.py."""

from collections.abc import Callable
from typing import Any

import numpy as np
from ops.sampling import FLOATS, Arg, real, refuse, sample

How = dict[str, float]


def gradient(g: Any, how: How, decay: Any = 0.0) -> Any:
    """Rescaled and clipped; `decay` is what is a part of it before it is clipped."""
    bound = how.get("clip_gradient", how.get("clip_grad", -1.0))
    g = g * how.get("rescale_grad", 1.0) + decay
    return np.clip(g, -bound, bound) if bound >= 0 else g


def sgd(w: Any, g: Any, **how: float) -> tuple[Any, ...]:
    return (w - how["lr"] * (gradient(g, how) + how.get("wd", 0) * w),)


def momentum(w: Any, g: Any, mom: Any, **how: float) -> tuple[Any, ...]:
    mom = how.get("momentum", 0) * mom - how["lr"] * (gradient(g, how) + how.get("wd", 0) * w)
    return w + mom, mom


def nesterov(w: Any, g: Any, mom: Any, **how: float) -> tuple[Any, ...]:
    step = how["lr"] * (gradient(g, how) + how.get("wd", 0) * w)
    mom = how["momentum"] * mom - step
    return w + how["momentum"] * mom - step, mom


def signsgd(w: Any, g: Any, **how: float) -> tuple[Any, ...]:
    return (w - how["lr"] * (np.sign(gradient(g, how)) + how.get("wd", 0) * w),)


def signum(w: Any, g: Any, mom: Any, **how: float) -> tuple[Any, ...]:
    rest = 1 - how["momentum"]
    mom = how["momentum"] * mom - rest * (gradient(g, how) + how.get("wd", 0) * w)
    return (1 - how["lr"] * how.get("wd_lh", 0)) * w + how["lr"] * np.sign(mom), mom


def moments(g: Any, mean: Any, var: Any, how: How) -> tuple[Any, Any]:
    b1, b2 = how.get("beta1", 0.9), how.get("beta2", 0.999)
    return b1 * mean + (1 - b1) * g, b2 * var + (1 - b2) * g**2


def adam(w: Any, g: Any, mean: Any, var: Any, **how: float) -> tuple[Any, ...]:
    mean, var = moments(gradient(g, how, how.get("wd", 0) * w), mean, var, how)
    return w - how["lr"] * mean / (np.sqrt(var) + how.get("epsilon", 1e-8)), mean, var


def adamw(w: Any, g: Any, mean: Any, var: Any, rescale: Any, **how: float) -> tuple[Any, ...]:
    mean, var = moments(gradient(g, {**how, "rescale_grad": float(np.ravel(rescale)[0])}), mean, var, how)
    step = how["lr"] * mean / (np.sqrt(var) + how.get("epsilon", 1e-8)) + how.get("wd", 0) * w
    return w - how["eta"] * step, mean, var


def ftml(w: Any, g: Any, d: Any, v: Any, z: Any, **how: float) -> tuple[Any, ...]:
    b1, b2, t = how.get("beta1", 0.6), how.get("beta2", 0.999), how["t"]
    g = gradient(g, how, how.get("wd", 0) * w)
    v = b2 * v + (1 - b2) * g**2
    now = (1 - b1**t) / how["lr"] * (np.sqrt(v / (1 - b2**t)) + how.get("epsilon", 1e-8))
    z = b1 * z + (1 - b1) * g - (now - b1 * d) * w
    return -z / now, now, v, z


def ftrl(w: Any, g: Any, z: Any, n: Any, **how: float) -> tuple[Any, ...]:
    g = gradient(g, how)
    z = z + g - (np.sqrt(n + g**2) - np.sqrt(n)) * w / how["lr"]
    n = n + g**2
    lamda = how.get("lamda1", 0.01)
    slope = (how.get("beta", 1.0) + np.sqrt(n)) / how["lr"] + how.get("wd", 0)
    return np.where(np.abs(z) <= lamda, 0, (np.sign(z) * lamda - z) / slope), z, n


def bounded(w: Any, how: How) -> Any:
    bound = how.get("clip_weights", -1.0)
    return np.clip(w, -bound, bound) if bound >= 0 else w


def rmsprop(w: Any, g: Any, n: Any, **how: float) -> tuple[Any, ...]:
    g = gradient(g, how, how.get("wd", 0) * w)
    keep = how.get("gamma1", 0.95)
    n = keep * n + (1 - keep) * g**2
    return bounded(w - how["lr"] * g / np.sqrt(n + how.get("epsilon", 1e-8)), how), n


def rmspropalex(w: Any, g: Any, n: Any, mean: Any, delta: Any, **how: float) -> tuple[Any, ...]:
    g = gradient(g, how, how.get("wd", 0) * w)
    keep = how.get("gamma1", 0.95)
    n, mean = keep * n + (1 - keep) * g**2, keep * mean + (1 - keep) * g
    delta = how.get("gamma2", 0.9) * delta - how["lr"] * g / np.sqrt(n - mean**2 + how.get("epsilon", 1e-8))
    return bounded(w + delta, how), n, mean, delta


def direction(w: Any, g: Any, mean: Any, var: Any, **how: float) -> tuple[Any, ...]:
    mean, var = moments(gradient(g, how), mean, var, how)
    by1 = 1 - how.get("beta1", 0.9) ** how["t"] if how.get("bias_correction", True) else 1
    by2 = 1 - how.get("beta2", 0.999) ** how["t"] if how.get("bias_correction", True) else 1
    made = mean / by1 / (np.sqrt(var / by2) + how.get("epsilon", 1e-6)) + how.get("wd", 0) * w
    return made, mean, var


def along(w: Any, g: Any, r1: Any, r2: Any, **how: float) -> tuple[Any, ...]:
    low, high = how.get("lower_bound", -1), how.get("upper_bound", -1)
    size, length = float(np.ravel(r1)[0]), float(np.ravel(r2)[0])
    size = max(size, low) if low >= 0 else size
    size = min(size, high) if high >= 0 else size
    ratio = 1.0 if size == 0 or length == 0 else size / length
    return (w - how["lr"] * ratio * g,)


def lamb(w: Any, g: Any, mean: Any, var: Any, **how: float) -> tuple[Any, ...]:
    to, mean, var = direction(w, g, mean, var, **how)
    return along(w, to, np.linalg.norm(w), np.linalg.norm(to), **how)[0], mean, var


def group_adagrad(w: Any, g: Any, history: Any, **how: float) -> tuple[Any, ...]:
    g = gradient(g, how)
    history = history + np.mean(g**2, axis=1, keepdims=True)
    return w - how["lr"] * g / np.sqrt(history + how.get("epsilon", 1e-5)), history


def many(step: Callable[..., tuple[Any, ...]], per: int, *lists: str) -> Callable[..., Any]:
    """The new weights, from arrays that stand weight by weight and then lists."""

    def run(*data: Any, num_weights: int, **how: float) -> Any:
        made = []
        for i in range(num_weights):
            own = {name: float(data[num_weights * per + k][i]) for k, name in enumerate(lists)}
            made.append(step(*data[i * per : (i + 1) * per], **{**how, **own})[0])
        return made[0] if num_weights == 1 else made

    return run


# Of the samples: weight, gradient and states of one shape. Roots want states that are not negative.
STATE = real(2, 3, low=0.2, high=3.0)
LARGE = real(2, 3, low=10.0, high=12.0)  # a mean of squares, beside a mean
SHAPES = ((0,), (1,), (7,), (31, 17), (2, 0, 3))
CLIPPED = {"wd": 0.1, "rescale_grad": 0.7, "clip_gradient": 0.8}


def one(op: str, ref: Callable[..., tuple[Any, ...]], states: int, first: Arg = STATE, **how: Any) -> None:
    """A step of one weight, plain and with everything that changes the gradient."""
    count = states + 2
    no = refuse(op, "grad of shape (2, 4)", "(2, 3)", shapes=((2, 3), (2, 4), *((2, 3),) * states))
    for attrs in ({}, CLIPPED):
        named = {("clip_grad" if op == "ftml_update" and k == "clip_gradient" else k): v for k, v in attrs.items()}
        sample(
            op,
            real(2, 3),
            real(2, 3),
            *((first,) if states else ()),
            *(STATE for _ in range(states - 1)),
            ref=lambda *x, **kw: ref(*x, **kw)[0],
            attrs={**how, **named},
            dtypes=FLOATS,
            edge=[[shape] * count for shape in SHAPES],
            big=((3, 70001),) * count,
            bad=[no],
            rtol=4,
            atol=8,
            special=False,
        )


one("sgd_update", sgd, 0, lr=0.1)
one("sgd_mom_update", momentum, 1, lr=0.1, momentum=0.9)
one("nag_mom_update", nesterov, 1, lr=0.1, momentum=0.9)
one("signsgd_update", signsgd, 0, lr=0.1)
one("signum_update", signum, 1, lr=0.1, momentum=0.8, wd_lh=0.05)
one("adam_update", adam, 2, lr=0.1)
one("ftml_update", ftml, 3, lr=0.1, t=3)
one("ftrl_update", ftrl, 2, lr=0.1, lamda1=0.2)
one("rmsprop_update", rmsprop, 1, lr=0.1, clip_weights=2.0)
one("rmspropalex_update", rmspropalex, 3, LARGE, lr=0.1, gamma1=0.5)
one("lamb_update_phase1", direction, 2, t=2)
one("lamb_update_phase1", direction, 2, t=2, bias_correction=False)

NARROW = ("float16", "bfloat16", "float32")
WIDE = Arg((2, 3), 0.2, 3.0, dtype="float32")


def mixed(op: str, ref: Callable[..., tuple[Any, ...]], states: int, more: tuple[Arg, ...] = (), **how: Any) -> None:
    """A step of a narrow weight, which starts from the copy in float32."""
    sample(
        op,
        real(2, 3),
        real(2, 3),
        *(WIDE for _ in range(states + 1)),
        *more,
        ref=lambda _, g, *rest, **kw: ref(rest[states], g, *rest[:states], *rest[states + 1 :], **kw)[0],
        attrs=how,
        dtypes=NARROW,
        rtol=4,
        atol=8,
        special=False,
        bad=[refuse(op, "float64", "float32", dtypes=("float64", "float64", *("float32",) * (states + 1 + len(more))))],
    )


mixed("mp_sgd_update", sgd, 0, lr=0.1, **CLIPPED)
mixed("mp_sgd_mom_update", momentum, 1, lr=0.1, momentum=0.9, **CLIPPED)
mixed("mp_nag_mom_update", nesterov, 1, lr=0.1, momentum=0.9, **CLIPPED)
mixed("mp_adamw_update", adamw, 2, (Arg((1,), 0.5, 0.9, dtype="float32"),), lr=0.1, eta=0.8, wd=0.1)

sample("adamw_update", real(2, 3), real(2, 3), STATE, STATE, Arg((1,), 0.5, 0.9, dtype="float32"),
       ref=lambda *x, **kw: adamw(*x, **kw)[0], attrs={"lr": 0.1, "eta": 0.8, "wd": 0.1, "clip_gradient": 0.5},
       dtypes=FLOATS, rtol=4, atol=8, special=False,
       bad=[refuse("adamw_update", "rescale_grad must be one number", shapes=((2, 3),) * 4 + ((2,),))])  # fmt: skip
sample("mp_lamb_update_phase1", real(2, 3), real(2, 3), WIDE, WIDE, WIDE,
       ref=lambda _, g, m, v, w, **kw: direction(w, g, m, v, **kw)[0], attrs={"t": 2, **CLIPPED}, dtypes=NARROW,
       result="float32", rtol=4, atol=8, special=False)  # fmt: skip
NORM = Arg((1,), 0.5, 2.0, dtype="float32")
sample("lamb_update_phase2", real(2, 3), real(2, 3), NORM, NORM, ref=lambda *x, **kw: along(*x, **kw)[0],
       attrs={"lr": 0.1, "lower_bound": 0.7, "upper_bound": 1.5}, dtypes=FLOATS, rtol=4, atol=8, special=False,
       bad=[refuse("lamb_update_phase2", "r2 must be one number", shapes=((2, 3), (2, 3), (1,), (2,)))])  # fmt: skip
sample("mp_lamb_update_phase2", real(2, 3), WIDE, NORM, NORM, WIDE,
       ref=lambda _, g, r1, r2, w, **kw: along(w, g, r1, r2, **kw)[0], attrs={"lr": 0.1}, dtypes=NARROW,
       rtol=4, atol=8, special=False)  # fmt: skip
sample("group_adagrad_update", real(2, 3), real(2, 3), real(2, 1, low=0.2),
       ref=lambda *x, **kw: group_adagrad(*x, **kw)[0], attrs={"lr": 0.1, "rescale_grad": 0.7, "clip_gradient": 0.8},
       dtypes=FLOATS, edge=[((0, 3), (0, 3), (0, 1)), ((5, 2100), (5, 2100), (5, 1))],
       big=((700, 301), (700, 301), (700, 1)), rtol=4, atol=8, special=False,
       bad=[refuse("group_adagrad_update", "a history of a column", shapes=((2, 3), (2, 3), (2, 3)))])  # fmt: skip

LIST = Arg((2,), 0.05, 0.3, dtype="float64")
ALIKE = Arg((2,), 0.5, 0.5, dtype="float64")
OTHER, OTHER_STATE, OTHER_WIDE = real(5), real(5, low=0.2), Arg((5,), 0.2, 3.0, dtype="float32")


def several(op: str, ref: Callable[..., Any], states: int, lists: tuple[Arg, ...], dtypes: tuple[str, ...] = FLOATS,
            **how: Any) -> None:  # fmt: skip
    first, second = (real(2, 3), real(2, 3)), (OTHER, OTHER)
    kept = (STATE, OTHER_STATE) if dtypes == FLOATS else (WIDE, OTHER_WIDE)
    sample(op, *first, *(kept[0],) * states, *second, *(kept[1],) * states, *lists, ref=ref,
           attrs={"num_weights": 2, **how}, dtypes=dtypes, result="same same", rtol=4, atol=8, special=False,
           bad=[refuse(op, "3 weights need", num_weights=3)])  # fmt: skip


several("preloaded_multi_sgd_update", many(sgd, 2, "lr", "wd"), 0, (LIST, LIST), clip_gradient=0.8)
several("preloaded_multi_sgd_mom_update", many(momentum, 3, "lr", "wd"), 1, (LIST, LIST), momentum=0.9)
several("_multi_adam_update", many(adam, 4, "lr", "wd"), 2, (LIST, LIST), clip_gradient=0.8)
several("_multi_adamw_update", many(lambda w, g, m, v, rescale_grad=0, **kw: adamw(w, g, m, v, rescale_grad, **kw), 4,
        "lr", "wd", "eta", "rescale_grad"), 2, (LIST, LIST, LIST, ALIKE))  # fmt: skip
several("_multi_lamb_update", many(lamb, 4, "lr", "wd", "t"), 2,
        (LIST, LIST, Arg((2,), 1, 4, dtype="float64", form="whole")), upper_bound=1.5)  # fmt: skip
several("preloaded_multi_mp_sgd_update", many(lambda _, g, w, **kw: sgd(w, g, **kw), 3, "lr", "wd"), 1, (LIST, LIST),
        NARROW)  # fmt: skip
several("preloaded_multi_mp_sgd_mom_update", many(lambda _, g, m, w, **kw: momentum(w, g, m, **kw), 4, "lr", "wd"), 2,
        (LIST, LIST), NARROW, momentum=0.9)  # fmt: skip
several("_multi_mp_adamw_update",
        many(lambda _, g, m, v, w, rescale_grad=0, **kw: adamw(w, g, m, v, rescale_grad, **kw), 5,
             "lr", "wd", "eta", "rescale_grad"), 3, (LIST, LIST, LIST, ALIKE), NARROW)  # fmt: skip
several("_multi_mp_lamb_update", many(lambda _, g, m, v, w, **kw: lamb(w, g, m, v, **kw), 5, "lr", "wd", "t"), 3,
        (LIST, LIST, Arg((2,), 1, 4, dtype="float64", form="whole")), NARROW)  # fmt: skip


def lars(lrs: Any, weights: Any, grads: Any, wds: Any, eta: float, eps: float, rescale_grad: float) -> Any:
    w, g = np.sqrt(weights), np.sqrt(grads) * rescale_grad
    with np.errstate(all="ignore"):
        return np.where((w > 0) & (g > 0), lrs * eta * w / (g + wds * w + eps), lrs)


POSITIVE = real(4, low=0.2)
sample("multi_lars", POSITIVE, POSITIVE, POSITIVE, POSITIVE, ref=lars, dtypes=FLOATS, rtol=4, special=False,
       attrs={"eta": 0.5, "eps": 1e-3, "rescale_grad": 0.7}, edge=[((0,),) * 4],
       bad=[refuse("multi_lars", "wds must be 4 real numbers", shapes=((4,), (4,), (4,), (3,)))])  # fmt: skip
sample("reset_arrays", real(2, 3), real(4), ref=lambda *x, **_: [np.zeros_like(v) for v in x], attrs={"num_arrays": 2},
       dtypes=FLOATS, result="same same", special=False,
       bad=[refuse("reset_arrays", "num_arrays=3, but 2 arrays", num_arrays=3)])  # fmt: skip
