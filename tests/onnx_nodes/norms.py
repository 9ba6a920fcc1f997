"""Normalisation."""

from __future__ import annotations

from contextlib import nullcontext
from math import prod
from typing import Any

from gluonish import autograd, nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, node


@node("BatchNormalization")
def batch(a: Attributes, x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> tuple[Any, ...]:
    with autograd.train_mode() if a.training_mode else nullcontext():
        y = nd.BatchNorm(x, gamma, beta, mean, var, eps=a.epsilon, momentum=a.momentum, fix_gamma=False)
    return y, mean, var


@node("MeanVarianceNormalization")
def standardised(a: Attributes, x: Any) -> Any:
    assert a.axes == [0, 2, 3]
    ones, zeros = mnp.ones(x.shape[1]), mnp.zeros(x.shape[1])
    with autograd.train_mode():
        return nd.BatchNorm(x, ones, zeros, zeros.copy(), ones.copy(), eps=1e-9)


def rows(a: Attributes, x: Any) -> tuple[Any, tuple[int, ...]]:
    """One row for each thing to normalise, and the shape of what there is one of for each row."""
    axis = a.axis % x.ndim
    return x.reshape(-1, prod(x.shape[axis:])), (*x.shape[:axis], *(1 for _ in x.shape[axis:]))


@node("LayerNormalization")
def layer(a: Attributes, x: Any, gamma: Any, beta: Any) -> tuple[Any, ...]:
    flat, each = rows(a, x)
    y, mean, deviation = nd.LayerNorm(flat, gamma.reshape(-1), beta.reshape(-1), eps=a.epsilon, output_mean_var=True)
    return y.reshape(x.shape), mean.reshape(each), 1 / deviation.reshape(each)


@node("RMSNormalization")
def root_mean_square(a: Attributes, x: Any, gamma: Any) -> Any:
    return nd.RMSNorm(rows(a, x)[0], gamma.reshape(-1), eps=a.epsilon).reshape(x.shape)


@node("GroupNormalization")
def group(a: Attributes, x: Any, gamma: Any, beta: Any) -> Any:
    return nd.GroupNorm(x, gamma, beta, num_groups=a.num_groups, eps=a.epsilon)


@node("InstanceNormalization")
def instance(a: Attributes, x: Any, gamma: Any, beta: Any) -> Any:
    return nd.InstanceNorm(x, gamma, beta, eps=a.epsilon)


@node("LpNormalization")
def unit_norm(a: Attributes, x: Any) -> Any:
    if a.p == 1:
        return x / nd.norm(x, ord=1, axis=a.axis, keepdims=True)
    axis = a.axis % x.ndim
    around = x.reshape(prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :]))
    return nd.L2Normalization(around, mode="channel").reshape(x.shape)


@node("LRN")
def local_response(a: Attributes, x: Any) -> Any:
    return nd.LRN(x, alpha=a.alpha, beta=a.beta, knorm=a.bias, nsize=a.size)


def drops(case: Any) -> bool:
    """Whether a dropout drops anything."""
    ratio, training = [*case.inputs, None, None][1:3]
    return training is not None and bool(training) and float(0.5 if ratio is None else ratio) > 0


@node(
    "Dropout",
    left_out={
        "what is dropped comes from NumPy's random numbers": drops,
        "Dropout does not give its mask": lambda case: len(case.outputs) > 1,
    },
)
def dropout(a: Attributes, x: Any, ratio: Any = None, training: Any = None) -> Any:
    share = a.ratio or (0.5 if ratio is None else ratio.item())
    with autograd.train_mode() if training is not None and training.item() else nullcontext():
        return nd.Dropout(x, p=share)
