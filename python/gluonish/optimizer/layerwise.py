"""Steps whose length depends on the norms of whole layers, for large batches."""

from collections.abc import Hashable, Mapping
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.optimizer._operands import scaled_rates
from gluonish.optimizer.adam import Moments
from gluonish.optimizer.base import register
from gluonish.optimizer.sgd import SGD

__all__ = ["LAMB", "LANS", "LARS"]


@register
class LARS(SGD):
    """SGD with layer-wise adaptive rates (You, Gitman and Ginsburg, 2017).

    ::

        lr_layer = lr * eta * |weight| / (|rescale_grad * grad| + wd * |weight| + eps)

    Then it is `SGD` with that learning rate. Weights whose names end with gamma, beta or bias, and those where one of
    the norms is 0, keep ``lr``.

    Parameters
    ----------
    momentum_correction
        Whether the momentum is multiplied with the quotient of this learning rate and the last one.

    State: as `SGD`.

    >>> import gluonish as mx
    >>> w, lars = mx.nd.array([3.0, 4.0]), mx.optimizer.LARS(learning_rate=1.0, eta=0.5)
    >>> lars.update(0, w, mx.nd.array([0.0, 2.0]), lars.create_state(0, w))
    >>> w.tolist()
    [3.0, 1.5]
    """

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum, lazy_update, **kwargs)
        self.eta = self._number("eta", eta)
        self.eps = self._number("eps", eps)
        self.momentum_correction = momentum_correction
        self._lrs: tuple[int, float, float] = (-1, 0.0, 0.0)  # of which update; this learning rate, and the last one

    def set_wd_mult(self, args_wd_mult: Mapping[Hashable, float]) -> None:
        super().set_wd_mult({})
        plain = [name for name in self.idx2name.values() if not name.endswith("_weight")]
        self.wd_mult = {**dict.fromkeys(plain, 0.0), **args_wd_mult}

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        row, numbers = super()._rule()
        if not numbers or not self.momentum_correction:
            return row, numbers
        update, lr, last = self._lrs
        if update != self.num_update:
            now = self.learning_rate
            last = now if update < 0 else lr
            self._lrs = (self.num_update, now, last)
            lr = now
        return row, (self.momentum * (lr / last if last != 0 else 1.0), *numbers[1:])

    def _adjusted(
        self, rates: NDArray, indices: list[Hashable], weights: list[Any], grads: list[NDArray], factor: NDArray
    ) -> NDArray:
        weight, grad = (nd.multi_sum_sq(*some, num_arrays=len(some)).astype("float64") for some in (weights, grads))
        names = [self._name_of(index) or "" for index in indices]
        plain = [float(name.endswith(("gamma", "beta", "bias"))) for name in names]
        how = {"eta": self.eta, "eps": self.eps}
        by = nd.multi_lars(nd.ones_like(weight), weight, grad * factor * factor, rates[:, 1], **how)
        return scaled_rates(rates, nd.where(nd.array(plain, ctx=weight.context) > 0, nd.ones_like(by), by))

    def _extra(self) -> Any:
        return self._lrs

    def _set_extra(self, extra: Any) -> None:
        update, lr, last = extra
        self._lrs = (int(update), float(lr), float(last))


class _Bounded(Moments):
    """Adam's means, and bounds of the norm of a weight."""

    def __init__(
        self,
        learning_rate: float,
        beta1: float,
        beta2: float,
        epsilon: float,
        lower_bound: float | None,
        upper_bound: float | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.lower_bound = None if lower_bound is None else self._number("lower_bound", lower_bound)
        self.upper_bound = None if upper_bound is None else self._number("upper_bound", upper_bound)

    def _bounds(self) -> tuple[float, float]:
        return self.lower_bound or -1.0, self.upper_bound or -1.0


@register
class LAMB(_Bounded):
    """Layer-wise adaptive moments (You et al., 2019).

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        m_hat, v_hat = m / (1 - beta1 ** t), v / (1 - beta2 ** t)
        r = m_hat / (sqrt(v_hat) + epsilon) + wd * weight
        weight = weight - lr * min(max(|weight|, lower_bound), upper_bound) / |r| * r

    Where one of the norms is 0, their quotient counts as 1.

    Parameters
    ----------
    lower_bound, upper_bound
        Bounds of the norm of a weight; None or 0: none.
    bias_correction
        False: m and v stand for m_hat and v_hat.

    State: as `Adam`.

    >>> import gluonish as mx
    >>> w, lamb = mx.nd.array([3.0, 4.0]), mx.optimizer.LAMB(learning_rate=0.2)
    >>> lamb.update(0, w, mx.nd.array([1.0, 0.0]), lamb.create_state(0, w))
    >>> [round(x, 4) for x in w.tolist()]
    [2.0, 4.0]
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, lower_bound, upper_bound, **kwargs)
        self.bias_correction = bias_correction

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        shared = (self.beta1, self.beta2, self.epsilon, float(self.bias_correction))
        return "_step_lamb", (*shared, *self._bounds())


@register
class LANS(_Bounded):
    """LAMB with Nesterov's momentum, of gradients of length 1 (Zheng et al., 2020).

    ::

        g = clip(grad / |grad|, clip_gradient)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        m_hat, v_hat = m / (1 - beta1 ** t), v / (1 - beta2 ** t)
        r = m_hat / (sqrt(v_hat) + epsilon) + wd * weight
        c = g / (sqrt(v_hat) + epsilon) + wd * weight
        weight = weight - lr * |weight| * (beta1 * r / |r| + (1 - beta1) * c / |c|)

    with the norm of the weight within its bounds. Where one of the norms is 0, their quotient counts as 1.

    Parameters
    ----------
    lower_bound, upper_bound
        Bounds of the norm of a weight; None or 0: none.

    State: as `Adam`.

    >>> import gluonish as mx
    >>> w, lans = mx.nd.array([3.0, 4.0]), mx.optimizer.LANS(learning_rate=0.2)
    >>> lans.update(0, w, mx.nd.array([1.0, 0.0]), lans.create_state(0, w))
    >>> [round(x, 4) for x in w.tolist()]
    [2.0, 4.0]
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, lower_bound, upper_bound, **kwargs)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_lans", (self.beta1, self.beta2, self.epsilon, *self._bounds())
