"""Steps of optimizers: ONNX updates several weights at once, ours one for each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gluonish import nd
from onnx_nodes.translation import Attributes, no_counterpart, node

Step = Callable[..., tuple[Any, ...]]


def of_each_weight(step: Step) -> Step:
    """`step(a, rate, count, weight, gradient, ...)` for one weight; ONNX has all weights, then all gradients, ..."""

    def steps(a: Attributes, rate: Any, count: Any, *arrays: Any) -> tuple[Any, ...]:
        size = len(arrays) // (step.__code__.co_argcount - 3)
        results = [step(a, rate.item(), count.item(), *arrays[i::size]) for i in range(size)]
        return tuple(result for kind in zip(*results, strict=True) for result in kind)

    return steps


@node("Adam")
@of_each_weight
def adam(a: Attributes, rate: float, count: int, weight: Any, gradient: Any, mean: Any, var: Any) -> tuple[Any, ...]:
    if count > 0:
        rate *= (1 - a.beta**count) ** 0.5 / (1 - a.alpha**count)
    how = {"beta1": a.alpha, "beta2": a.beta, "epsilon": a.epsilon, "wd": a.norm_coefficient}
    new = nd.adam_update(weight, gradient, mean, var, lr=rate, **how)
    return new * (1 - a.norm_coefficient_post), mean, var


@node("Momentum")
@of_each_weight
def momentum(a: Attributes, rate: float, count: int, weight: Any, gradient: Any, speed: Any) -> tuple[Any, ...]:
    assert a.mode == "standard" or a.beta == 1 or count == 0
    update = nd.nag_mom_update if a.mode == "nesterov" else nd.sgd_mom_update
    step = speed * -rate  # ours keeps the step itself
    how = {"momentum": a.alpha, "wd": a.norm_coefficient}
    new = update(weight, gradient, step, lr=rate * (a.beta if count > 0 else 1.0), **how)
    return new, step / -rate


no_counterpart("Adagrad", "group_adagrad_update has epsilon inside of the root")
