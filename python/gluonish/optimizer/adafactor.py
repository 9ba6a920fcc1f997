"""Adam in little memory."""

from collections.abc import Hashable
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.optimizer._fused import Composed
from gluonish.optimizer._operands import NARROW
from gluonish.optimizer.base import register

__all__ = ["Adafactor"]


@register
class Adafactor(Composed):
    """Adafactor (Shazeer and Stern, 2018): of the squares, only means of rows and columns are kept.

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        rho = 1 - t ** decay_rate
        r = rho * r + (1 - rho) * mean(g ** 2 + eps1, axis=-1)
        c = rho * c + (1 - rho) * mean(g ** 2 + eps1, axis=-2)
        u = g / sqrt(r * c / mean(r))                        # v instead, for weights of fewer than two axes
        u = u / max(1, rms(u) / clip_threshold)
        alpha = min(lr, 1 / sqrt(t)) * max(eps2, rms(weight))
        weight = weight - alpha * u - lr * wd * weight

    Parameters
    ----------
    eps1, eps2
        Keep squares, and the size of a weight, above 0.
    clip_threshold
        Bound of the root of the mean square of an update.
    decay_rate
        How soon the means forget less and less.
    relative_step
        False: ``alpha = lr * max(eps2, rms(weight))``.
    scale_parameter
        False: the size of the weight does not count.

    State: (r, c), or (v,). They are float32 for narrow weights: squares of ordinary gradients are beyond float16.

    >>> import gluonish as mx
    >>> w, adafactor = mx.nd.ones((2, 2)), mx.optimizer.Adafactor(learning_rate=0.5)
    >>> state = adafactor.create_state(0, w)
    >>> [x.shape for x in state]
    [(2,), (2,)]
    >>> adafactor.update(0, w, mx.nd.array([[1.0, 1.0], [-1.0, -1.0]]), state)
    >>> [[round(x, 4) for x in row] for row in w.tolist()]
    [[0.5, 0.5], [1.5, 1.5]]
    """

    def __init__(
        self,
        learning_rate: float = 0.01,
        eps1: float = 1e-30,
        eps2: float = 1e-3,
        clip_threshold: float = 1.0,
        decay_rate: float = -0.8,
        relative_step: bool = True,
        scale_parameter: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.eps1 = self._number("eps1", eps1)
        self.eps2 = self._number("eps2", eps2)
        self.clip_threshold = self._number("clip_threshold", clip_threshold, 1e-30)
        self.decay_rate = self._number("decay_rate", decay_rate, -1e9, 0)
        self.relative_step = relative_step
        self.scale_parameter = scale_parameter

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        shapes: tuple[tuple[int, ...], ...] = (weight.shape,)
        if weight.ndim > 1:
            shapes = weight.shape[:-1], (*weight.shape[:-2], weight.shape[-1])
        return tuple(nd.zeros(shape, ctx=weight.context, dtype=self._state_type(weight)) for shape in shapes)

    def _state_type(self, weight: NDArray) -> Any:
        return "float32" if str(weight.dtype) in NARROW else weight.dtype

    def _new(
        self, index: Hashable, weight: NDArray, grad: NDArray, state: Any, rate: tuple[float, float, float]
    ) -> tuple[NDArray, Any]:
        lr, wd, t = rate
        rho = 1 - t**self.decay_rate
        squares = grad * grad + self.eps1
        if weight.ndim < 2:
            (v,) = state
            made: Any = (rho * v + (1 - rho) * squares,)
            update = grad / made[0].sqrt()
        else:
            r, c = (rho * s + (1 - rho) * squares.mean(axis=axis) for s, axis in zip(state, (-1, -2), strict=True))
            made = (r, c)
            # The quotient first: a product of two tiny means would be 0.
            rows = (r / r.mean(axis=-1, keepdims=True)).expand_dims(-1)
            update = grad / (rows * c.expand_dims(-2)).sqrt()
        update = update / nd.maximum(_rms(update) / self.clip_threshold, 1.0)
        alpha = min(lr, t**-0.5) if self.relative_step else lr
        size = nd.maximum(_rms(weight), self.eps2) if self.scale_parameter else 1.0
        return weight - alpha * size * update - lr * wd * weight, made


def _rms(x: NDArray) -> NDArray:
    return (x * x).mean().sqrt()
