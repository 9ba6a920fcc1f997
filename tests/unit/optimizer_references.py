"""What each optimizer computes, in NumPy and double precision, from its publication. A registered optimizer without an
entry here fails the suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from samples import optimizer_steps as steps
from samples import optimizers as formulas

import gluonish as mx

How = dict[str, float]


class Reference:
    """A weight with what is kept beside it. ``formula`` takes weight, gradient, states and numbers; the new weight and
    states are its answer."""

    def __init__(self, formula: Callable[..., Any], weight: Any, states: list[Any], **how: float) -> None:
        self.formula, self.weight, self.states, self.how = formula, weight, states, how

    def step(self, grad: Any, **how: float) -> None:
        self.weight, *self.states = self.formula(self.weight, grad, *self.states, **{**how, **self.how})


Make = Callable[[Any], Reference]


def plain(formula: Callable[..., Any], states: int, **how: float) -> Make:
    return lambda weight: Reference(formula, weight, [np.zeros_like(weight) for _ in range(states)], **how)


def group_adagrad(w: Any, g: Any, history: Any, **how: float) -> Any:
    return formulas.group_adagrad(w, g, history, **how)


def lars(w: Any, g: Any, mom: Any, eta: float = 0.0, eps: float = 0.0, **how: float) -> Any:
    size, length = np.linalg.norm(w), np.linalg.norm(g * how["rescale_grad"])
    by = eta * size / (length + how["wd"] * size + eps) if size and length else 1.0
    return formulas.momentum(w, g, mom, **{**how, "lr": how["lr"] * by})


class LargeBatch(Reference):
    """Two gradients make a batch; the learning rate rises by a line of four updates."""

    def step(self, grad: Any, **how: float) -> None:
        self.total = grad + getattr(self, "total", 0.0)
        if how["t"] % 2 == 0:
            by = 2.0 if how["t"] >= 4 else 1.0 + how["t"] / 4
            super().step(self.total / 2, **{**how, "lr": how["lr"] * by})
            self.total = 0.0


class Langevin(Reference):
    """The noise is what a seed gives, drawn once more."""

    def step(self, grad: Any, **how: float) -> None:
        mx.random.seed(int(how["t"]))
        dtype = self.weight.dtype.name
        noise = mx.nd.random.normal(0, 1, shape=self.weight.shape, dtype=how.get("dtype", dtype)).asnumpy()
        self.weight, _ = steps.langevin(self.weight, grad, noise.astype("float64"), **how)
        mx.random.seed(int(how["t"]))


def adafactor(w: Any, g: Any, r: Any, c: Any, **how: float) -> Any:
    g, t = formulas.gradient(g, how), how["t"]
    rho = 1 - t**-0.8
    r = rho * r + (1 - rho) * np.mean(g**2 + 1e-30, axis=1)
    c = rho * c + (1 - rho) * np.mean(g**2 + 1e-30, axis=0)
    u = g / np.sqrt(np.outer(r, c) / np.mean(r))
    u /= max(1.0, np.sqrt(np.mean(u**2)))
    alpha = min(how["lr"], 1 / np.sqrt(t)) * max(1e-3, np.sqrt(np.mean(w**2)))
    return w - alpha * u - how["lr"] * how["wd"] * w, r, c


def muon(w: Any, g: Any, mom: Any, **how: float) -> Any:
    g = formulas.gradient(g, how)
    mom = 0.95 * mom + 0.05 * g
    x = 0.05 * g + 0.95 * mom
    x = x / (np.linalg.norm(x) + 1e-7)
    rows, columns = x.shape
    x = x.T if rows > columns else x
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    x = x.T if rows > columns else x
    return w - how["lr"] * (max(1.0, rows / columns) ** 0.5 * x + how["wd"] * w), mom


class Eve(Reference):
    """The losses are those that `prepare` gives the optimizer."""

    def step(self, grad: Any, **how: float) -> None:
        t = how["t"]
        if t == 1:
            self.d = 1.0
        else:
            now, last = LOSS(t), LOSS(t - 1)
            jump = np.clip(abs(now - last) / min(now, last), 0.1, 10)
            self.d = 0.9 * self.d + 0.1 * jump
        super().step(grad, **{**how, "lr": how["lr"] / self.d})


def LOSS(t: float) -> float:
    return 3.0 + np.sin(t)


def prepare(optimizer: Any, t: int) -> None:
    """What an optimizer needs before a step."""
    if isinstance(optimizer, mx.optimizer.Eve):
        optimizer.set_loss(mx.nd.array([LOSS(t)], dtype="float64"))
    if isinstance(optimizer, mx.optimizer.SGLD):
        mx.random.seed(t)


ADAM: dict[str, float] = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
LARGE_LAYER: dict[str, float] = {**ADAM, "epsilon": 1e-6}

# Name: arguments of the optimizer, and its reference.
REFERENCES: dict[str, list[tuple[dict[str, Any], Make]]] = {
    "sgd": [({}, plain(formulas.sgd, 0)), ({"momentum": 0.9}, plain(formulas.momentum, 1, momentum=0.9))],
    "ccsgd": [({"momentum": 0.5}, plain(formulas.momentum, 1, momentum=0.5))],
    "nag": [({"momentum": 0.9}, plain(formulas.nesterov, 1, momentum=0.9)), ({}, plain(formulas.sgd, 0))],
    "sgld": [({}, lambda weight: Langevin(steps.langevin, weight, []))],
    "dcasgd": [
        ({"momentum": 0.9}, lambda w: Reference(steps.dcasgd, w, [w, 0 * w], lamda=0.04, momentum=0.9)),
        ({"lamda": 0.5}, lambda w: Reference(lambda *x, **kw: steps.dcasgd(*x, **kw)[:2], w, [w], lamda=0.5)),
    ],
    "lbsgd": [
        ({"momentum": 0.9, "batch_scale": 2, "warmup_epochs": 1, "updates_per_epoch": 4},
         lambda w: LargeBatch(formulas.momentum, w, [0 * w], momentum=0.9)),
    ],
    "test": [({}, plain(lambda w, g, s, **kw: (w + formulas.gradient(g, kw),) * 2, 1))],
    "signum": [
        ({"wd_lh": 0.1}, plain(formulas.signum, 1, momentum=0.9, wd_lh=0.1)),
        ({"momentum": 0}, plain(formulas.signsgd, 0)),
    ],
    "lion": [({}, plain(steps.lion, 1, beta1=0.9, beta2=0.99))],
    "adagrad": [({}, plain(steps.adagrad, 1, epsilon=1e-7))],
    "groupadagrad": [({}, lambda w: Reference(group_adagrad, w, [np.zeros_like(w[:, :1])], epsilon=1e-5))],
    "adadelta": [({}, plain(steps.adadelta, 2, rho=0.9, epsilon=1e-5))],
    "rmsprop": [
        ({"clip_weights": 1.2}, plain(formulas.rmsprop, 1, gamma1=0.9, epsilon=1e-8, clip_weights=1.2)),
        ({"centered": True}, plain(formulas.rmspropalex, 3, gamma1=0.9, gamma2=0.9, epsilon=1e-8)),
    ],
    "ftrl": [({"lamda1": 0.3}, plain(formulas.ftrl, 2, lamda1=0.3, beta=1.0))],
    "ftml": [({}, plain(formulas.ftml, 3, beta1=0.6, beta2=0.999, epsilon=1e-8))],
    "adam": [({}, plain(steps.folded_adam, 2, **ADAM))],
    "adamw": [
        ({}, plain(steps.adamw, 2, **LARGE_LAYER)),
        ({"correct_bias": False}, plain(steps.adamw, 2, **LARGE_LAYER, bias_correction=0)),
    ],
    "adamax": [({}, plain(steps.adamax, 2, beta1=0.9, beta2=0.999))],
    "nadam": [({}, plain(steps.nadam, 2, **ADAM, schedule_decay=0.004))],
    "adabelief": [
        ({}, plain(steps.adabelief, 2, **LARGE_LAYER)),
        ({"correct_bias": False}, plain(steps.adabelief, 2, **LARGE_LAYER, bias_correction=0)),
    ],
    "eve": [({"beta3": 0.9}, lambda w: Eve(steps.folded_adam, w, [0 * w, 0 * w], **ADAM))],
    "lars": [({"momentum": 0.9, "eta": 0.1, "eps": 1e-3, "momentum_correction": False},
              plain(lars, 1, momentum=0.9, eta=0.1, eps=1e-3))],
    "lamb": [
        ({}, plain(formulas.lamb, 2, **LARGE_LAYER)),
        ({"upper_bound": 1.0, "lower_bound": 0.5, "bias_correction": False},
         plain(formulas.lamb, 2, **LARGE_LAYER, upper_bound=1.0, lower_bound=0.5, bias_correction=0)),
    ],
    "lans": [
        ({}, plain(steps.lans, 2, **LARGE_LAYER)),
        ({"upper_bound": 1.0}, plain(steps.lans, 2, **LARGE_LAYER, upper_bound=1.0)),
    ],
    "adafactor": [({}, lambda w: Reference(adafactor, w, [np.zeros(w.shape[0]), np.zeros(w.shape[1])]))],
    "muon": [({}, plain(muon, 1))],
}  # fmt: skip

# Not a formula of one gradient: tests/unit/test_optimizer_lbfgs.py.
APART = {"lbfgs"}
CASES = [(name, i) for name, cases in REFERENCES.items() for i in range(len(cases))]
