"""Adam, and what came of it."""

from collections.abc import Hashable
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.optimizer._fused import Fused
from gluonish.optimizer.base import register, zeros

__all__ = ["AdaBelief", "Adam", "AdamW", "Adamax", "Moments", "Nadam"]


class Moments(Fused):
    """The base of optimizers that keep two running means: of the gradient, and of its square or the like."""

    def __init__(
        self, learning_rate: float | None, beta1: float, beta2: float, epsilon: float | None, **kwargs: Any
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = self._number("beta1", beta1, 0, 1)
        self.beta2 = self._number("beta2", beta2, 0, 1)
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if beta == 1:
                raise ArgumentError(f"{self._name}: {name}=1 is not valid: the mean would never change")
        if epsilon is not None:
            self.epsilon = self._number("epsilon", epsilon)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return zeros(weight), zeros(weight)


@register
class Adam(Moments):
    """Adam (Kingma and Ba, 2014), with the bias correction in the learning rate, as in the paper's section 2.

    ::

        g = clip(rescale_grad * grad + wd * weight, clip_gradient)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        lr_t = lr * sqrt(1 - beta2 ** t) / (1 - beta1 ** t)
        weight = weight - lr_t * m / (sqrt(v) + epsilon)

    Parameters
    ----------
    lazy_update
        For sparse gradients: only their rows change. Dense ones, which all are so far, are not affected.

    State: (m, v). With ``multi_precision``: (copy in float32, (m, v)).

    >>> import gluonish as mx
    >>> w, adam = mx.nd.array([1.0, 1.0]), mx.optimizer.Adam(learning_rate=0.1)
    >>> adam.update(0, w, mx.nd.array([3.0, -0.1]), adam.create_state(0, w))
    >>> [round(x, 4) for x in w.tolist()]
    [0.9, 1.1]
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.lazy_update = lazy_update

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_adam", (self.beta1, self.beta2, self.epsilon)


@register
class AdamW(Moments):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2017).

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        m_hat, v_hat = m / (1 - beta1 ** t), v / (1 - beta2 ** t)
        weight = weight - lr * (m_hat / (sqrt(v_hat) + epsilon) + wd * weight)

    Parameters
    ----------
    correct_bias
        False: m and v stand for m_hat and v_hat, as in BERT.
    decay_with_lr
        False: the decay is ``lr / lr_0 * wd * weight``, as in the paper: only the schedule of the learning rate
        counts. ``lr_0`` is the learning rate that the optimizer was made with.

    State: as `Adam`.

    >>> import gluonish as mx
    >>> w, adamw = mx.nd.array([2.0]), mx.optimizer.AdamW(learning_rate=0.1, wd=0.5)
    >>> adamw.update(0, w, mx.nd.array([3.0]), adamw.create_state(0, w))
    >>> round(w[0].item(), 4)
    1.8
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        correct_bias: bool = True,
        decay_with_lr: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.correct_bias = correct_bias
        self.decay_with_lr = decay_with_lr
        self._first_lr = self.lr
        if not decay_with_lr and self.lr == 0:
            raise ArgumentError("AdamW: decay_with_lr=False needs a learning_rate above 0, of which decays are shares")

    def _rates(self, indices: Any) -> list[tuple[float, float, float]]:
        rates = super()._rates(indices)
        return rates if self.decay_with_lr else [(lr, wd / self._first_lr, t) for lr, wd, t in rates]

    def _extra(self) -> Any:
        return self._first_lr

    def _set_extra(self, extra: Any) -> None:
        self._first_lr = self._number("first learning rate", extra)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_adamw", (self.beta1, self.beta2, self.epsilon, float(self.correct_bias))


@register
class Adamax(Moments):
    """Adam by the largest gradient (Kingma and Ba, 2014, section 7.1).

    ::

        g = clip(rescale_grad * grad + wd * weight, clip_gradient)
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g))
        weight = weight - lr / (1 - beta1 ** t) * m / u

    A weight that never had a gradient stays as it is.

    State: (m, u).

    >>> import gluonish as mx
    >>> w, adamax = mx.nd.array([1.0, 1.0]), mx.optimizer.Adamax(learning_rate=0.25)
    >>> adamax.update(0, w, mx.nd.array([3.0, 0.0]), adamax.create_state(0, w))
    >>> w.tolist()
    [0.75, 1.0]
    """

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any) -> None:
        super().__init__(learning_rate, beta1, beta2, None, **kwargs)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_adamax", (self.beta1, self.beta2)


@register
class Nadam(Moments):
    """Adam with Nesterov's momentum (Dozat, 2016).

    ::

        mu_t = beta1 * (1 - 0.5 * 0.96 ** (t * schedule_decay)),  s_t = mu_1 * ... * mu_t
        g = clip(rescale_grad * grad + wd * weight, clip_gradient)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        m_bar = (1 - mu_t) * g / (1 - s_t) + mu_{t+1} * m / (1 - s_{t+1})
        weight = weight - lr * m_bar / (sqrt(v / (1 - beta2 ** t)) + epsilon)

    State: (m, v).

    >>> import gluonish as mx
    >>> w, nadam = mx.nd.array([1.0]), mx.optimizer.Nadam(learning_rate=0.1)
    >>> nadam.update(0, w, mx.nd.array([3.0]), nadam.create_state(0, w))
    >>> round(w[0].item(), 3)
    0.894
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.schedule_decay = self._number("schedule_decay", schedule_decay)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_nadam", (self.beta1, self.beta2, self.epsilon, self.schedule_decay)


@register
class AdaBelief(Moments):
    """Adam by how far gradients are from their mean (Zhuang et al., 2020).

    ::

        g = clip(rescale_grad * grad + wd * weight, clip_gradient)
        m = beta1 * m + (1 - beta1) * g
        s = beta2 * s + (1 - beta2) * (g - m) ** 2 + epsilon
        m_hat, s_hat = m / (1 - beta1 ** t), s / (1 - beta2 ** t)
        weight = weight - lr * m_hat / (sqrt(s_hat) + epsilon)

    Parameters
    ----------
    correct_bias
        False: m and s stand for m_hat and s_hat.

    State: (m, s).

    >>> import gluonish as mx
    >>> w, belief = mx.nd.array([1.0]), mx.optimizer.AdaBelief(learning_rate=0.1)
    >>> belief.update(0, w, mx.nd.array([3.0]), belief.create_state(0, w))
    >>> round(w[0].item(), 3)
    0.889
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        correct_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.correct_bias = correct_bias

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_adabelief", (self.beta1, self.beta2, self.epsilon, float(self.correct_bias))
