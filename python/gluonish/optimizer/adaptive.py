"""Learning rates of each weight's own, by the squares of its gradients."""

from collections.abc import Hashable
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.optimizer._fused import Composed, Fused
from gluonish.optimizer.base import register, zeros

__all__ = ["FTML", "AdaDelta", "AdaGrad", "Ftrl", "GroupAdaGrad", "RMSProp"]


@register
class AdaGrad(Fused):
    """AdaGrad (Duchi, Hazan and Singer, 2011).

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        history = history + g ** 2
        weight = weight - lr * (g / sqrt(history + eps) + wd * weight)

    State: the history.

    >>> import gluonish as mx
    >>> w, adagrad = mx.nd.array([1.0, 1.0]), mx.optimizer.AdaGrad(learning_rate=0.5)
    >>> adagrad.update(0, w, mx.nd.array([3.0, -0.1]), adagrad.create_state(0, w))
    >>> [round(x, 4) for x in w.tolist()]
    [0.5, 1.5]
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = self._number("eps", eps)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return zeros(weight)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_adagrad", (self.float_stable_eps,)


@register
class GroupAdaGrad(Composed):
    """AdaGrad with one history for each row of a matrix, such as an embedding; there is no decay.

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        history = history + mean(g ** 2, axis=1, keepdims=True)
        weight = weight - lr * g / sqrt(history + eps)

    State: the history, a column.

    >>> import gluonish as mx
    >>> w, group = mx.nd.ones((2, 2)), mx.optimizer.GroupAdaGrad(learning_rate=0.5)
    >>> group.update(0, w, mx.nd.array([[2.0, 2.0], [0.0, 0.0]]), group.create_state(0, w))
    >>> [[round(x, 4) for x in row] for row in w.tolist()]
    [[0.5, 0.5], [1.0, 1.0]]
    """

    def __init__(self, eps: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = self._number("eps", eps)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        if weight.ndim != 2:
            raise ShapeError(f"GroupAdaGrad: weight {index!r} must have two axes, got shape {weight.shape}")
        return zeros(weight[:, :1])

    def _new(
        self, index: Hashable, weight: NDArray, grad: NDArray, state: Any, rate: tuple[float, float, float]
    ) -> tuple[NDArray, Any]:
        lr, wd, _ = rate
        if wd != 0:
            raise ArgumentError(f"GroupAdaGrad has no weight decay, and that of weight {index!r} is {wd}")
        history = state + (grad * grad).mean(axis=1, keepdims=True)
        return weight - lr * grad / (history + self.float_stable_eps).sqrt(), history


@register
class AdaDelta(Fused):
    """AdaDelta (Zeiler, 2012): the lengths of steps decide those to come.

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        acc_g = rho * acc_g + (1 - rho) * g ** 2
        delta = sqrt(acc_delta + epsilon) / sqrt(acc_g + epsilon) * g
        acc_delta = rho * acc_delta + (1 - rho) * delta ** 2
        weight = weight - lr * (delta + wd * weight)

    The learning rate is 1 unless one is given.

    State: (acc_g, acc_delta).

    >>> import gluonish as mx
    >>> w, adadelta = mx.nd.array([1.0]), mx.optimizer.AdaDelta()
    >>> adadelta.update(0, w, mx.nd.array([3.0]), adadelta.create_state(0, w))
    >>> round(w[0].item(), 4)
    0.99
    """

    def __init__(self, rho: float = 0.9, epsilon: float = 1e-5, **kwargs: Any) -> None:
        if kwargs.get("lr_scheduler") is None and kwargs.get("learning_rate") is None:
            kwargs["learning_rate"] = 1.0
        super().__init__(**kwargs)
        self.rho = self._number("rho", rho, 0, 1)
        self.epsilon = self._number("epsilon", epsilon)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return zeros(weight), zeros(weight)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_adadelta", (self.rho, self.epsilon)


@register
class RMSProp(Fused):
    """RMSProp (Tieleman and Hinton, 2012); ``centered``: the form of Graves (2013), with momentum.

    ::

        g = clip(rescale_grad * grad + wd * weight, clip_gradient)
        n = gamma1 * n + (1 - gamma1) * g ** 2
        weight = weight - lr * g / sqrt(n + epsilon)

    Centered::

        mean = gamma1 * mean + (1 - gamma1) * g
        delta = gamma2 * delta - lr * g / sqrt(n - mean ** 2 + epsilon)
        weight = weight + delta

    Parameters
    ----------
    clip_weights
        Bound of the size of the weights; None or 0: none.

    State: (n,), or (n, mean, delta).

    >>> import gluonish as mx
    >>> w, rmsprop = mx.nd.array([1.0]), mx.optimizer.RMSProp(learning_rate=0.1, gamma1=0.75)
    >>> rmsprop.update(0, w, mx.nd.array([3.0]), rmsprop.create_state(0, w))
    >>> round(w[0].item(), 4)
    0.8
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = self._number("gamma1", gamma1, 0, 1)
        self.gamma2 = self._number("gamma2", gamma2)
        self.epsilon = self._number("epsilon", epsilon)
        self.centered = centered
        self.clip_weights = None if clip_weights is None else self._number("clip_weights", clip_weights)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return tuple(zeros(weight) for _ in range(3 if self.centered else 1))

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        shared = (self.gamma1, self.epsilon, self.clip_weights or -1.0)
        return ("_step_rmsprop_centered", (*shared, self.gamma2)) if self.centered else ("_step_rmsprop", shared)


@register
class Ftrl(Fused):
    """Follow the regularised leader (McMahan et al., 2013): weights that matter little become 0.

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        z = z + g - (sqrt(n + g ** 2) - sqrt(n)) * weight / lr
        n = n + g ** 2
        weight = (sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd) * (abs(z) > lamda1)

    A learning rate of 0 changes nothing.

    State: (z, n).

    >>> import gluonish as mx
    >>> w, ftrl = mx.nd.zeros(2), mx.optimizer.Ftrl(lamda1=0.5)
    >>> ftrl.update(0, w, mx.nd.array([1.0, 0.1]), ftrl.create_state(0, w))
    >>> [round(x, 4) for x in w.tolist()]
    [-0.025, 0.0]
    """

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.lamda1 = self._number("lamda1", lamda1)
        self.beta = self._number("beta", beta)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return zeros(weight), zeros(weight)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_ftrl", (self.lamda1, self.beta)


@register
class FTML(Fused):
    """Follow the moving leader (Zheng and Kwok, 2017).

    ::

        g = clip(rescale_grad * grad + wd * weight, clip_gradient)
        v = beta2 * v + (1 - beta2) * g ** 2
        d_t = (1 - beta1 ** t) / lr * (sqrt(v / (1 - beta2 ** t)) + epsilon)
        z = beta1 * z + (1 - beta1) * g - (d_t - beta1 * d) * weight
        weight, d = -z / d_t, d_t

    A learning rate of 0 changes nothing.

    State: (d, v, z).

    >>> import gluonish as mx
    >>> w, ftml = mx.nd.array([1.0]), mx.optimizer.FTML(learning_rate=0.5)
    >>> ftml.update(0, w, mx.nd.array([3.0]), ftml.create_state(0, w))
    >>> round(w[0].item(), 4)
    0.5
    """

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beta1 = self._number("beta1", beta1, 0, 1)
        self.beta2 = self._number("beta2", beta2, 0, 1)
        self.epsilon = self._number("epsilon", epsilon)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return tuple(zeros(weight) for _ in range(3))

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_ftml", (self.beta1, self.beta2, self.epsilon)
