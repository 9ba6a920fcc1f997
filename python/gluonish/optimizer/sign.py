"""Steps by the sign of a mean of gradients."""

from collections.abc import Hashable
from typing import Any

from gluonish._core import NDArray
from gluonish.optimizer._fused import Fused
from gluonish.optimizer.base import register, zeros

__all__ = ["Lion", "Signum"]


@register
class Signum(Fused):
    """SGD by the sign of a momentum (Bernstein et al., 2018); without momentum, by the sign of the gradient.

    ::

        mom = momentum * mom + (1 - momentum) * (clip(rescale_grad * grad, clip_gradient) + wd * weight)
        weight = (1 - lr * wd_lh) * weight - lr * sign(mom)

    Without momentum: ``weight = (1 - lr * (wd + wd_lh)) * weight - lr * sign(grad)``.

    Parameters
    ----------
    wd_lh
        Decay that is no part of the gradient (Loshchilov and Hutter).

    State: the momentum (with the sign turned, as in MXNet), or None.

    >>> import gluonish as mx
    >>> w, signum = mx.nd.array([1.0, 1.0]), mx.optimizer.Signum(learning_rate=0.25)
    >>> signum.update(0, w, mx.nd.array([3.0, -0.1]), signum.create_state(0, w))
    >>> w.tolist()
    [0.75, 1.25]
    """

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = self._number("momentum", momentum, 0, 1)
        self.wd_lh = self._number("wd_lh", wd_lh)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return zeros(weight) if self.momentum != 0 else None

    def _rates(self, indices: Any) -> list[tuple[float, float, float]]:
        rates = super()._rates(indices)
        return rates if self.momentum != 0 else [(lr, wd + self.wd_lh, t) for lr, wd, t in rates]

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return ("_step_signsgd", ()) if self.momentum == 0 else ("_step_signum", (self.momentum, self.wd_lh))


@register
class Lion(Fused):
    """Lion, evolved sign momentum (Chen et al., 2023). Its learning rates are a third to a tenth of Adam's.

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        weight = weight - lr * (sign(beta1 * mom + (1 - beta1) * g) + wd * weight)
        mom = beta2 * mom + (1 - beta2) * g

    State: the momentum.

    >>> import gluonish as mx
    >>> w, lion = mx.nd.array([1.0, 1.0]), mx.optimizer.Lion(learning_rate=0.25)
    >>> lion.update(0, w, mx.nd.array([3.0, -0.1]), lion.create_state(0, w))
    >>> w.tolist()
    [0.75, 1.25]
    """

    def __init__(self, learning_rate: float = 0.0001, beta1: float = 0.9, beta2: float = 0.99, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = self._number("beta1", beta1, 0, 1)
        self.beta2 = self._number("beta2", beta2, 0, 1)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return zeros(weight)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_lion", (self.beta1, self.beta2)
