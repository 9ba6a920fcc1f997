"""Steps along the gradient, with and without momentum."""

from collections.abc import Hashable
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.optimizer._fused import Composed, Fused
from gluonish.optimizer.base import register, zeros

__all__ = ["DCASGD", "NAG", "SGD", "SGLD", "Test", "ccSGD"]


@register
class SGD(Fused):
    """Stochastic gradient descent with momentum (Polyak, 1964).

    ::

        g = clip(rescale_grad * grad, clip_gradient) + wd * weight
        mom = momentum * mom - lr * g
        weight = weight + mom

    Parameters
    ----------
    momentum
        How much of the last step is kept; 0: there is no state.
    lazy_update
        For sparse gradients: only their rows change. Dense ones, which all are so far, are not affected.

    State: the momentum, or None. With ``multi_precision``: (momentum, copy in float32).

    >>> import gluonish as mx
    >>> w, g = mx.nd.array([1.0, 2.0]), mx.nd.array([1.0, 1.0])
    >>> sgd = mx.optimizer.SGD(learning_rate=0.5, momentum=0.9)
    >>> state = sgd.create_state(0, w)
    >>> for _ in range(2):
    ...     sgd.update(0, w, g, state)
    >>> [round(x, 4) for x in w.tolist()]
    [-0.45, 0.55]
    """

    _nesterov = False

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = self._number("momentum", momentum)
        self.lazy_update = lazy_update

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return zeros(weight) if self.momentum != 0 else None

    def _joined(self, master: NDArray, state: Any) -> Any:
        return state, master

    def _parted(self, state: Any) -> tuple[NDArray, Any]:
        return state[1], state[0]

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        if self.momentum == 0:
            return "_step_sgd", ()
        return "_step_momentum", (self.momentum, float(self._nesterov))


@register
class ccSGD(SGD):  # noqa: N801 - MXNet's name
    """`SGD` by an old name of MXNet's.

    >>> import gluonish as mx
    >>> isinstance(mx.optimizer.create("ccsgd"), mx.optimizer.SGD)
    True
    """


@register
class NAG(SGD):
    """SGD with Nesterov's momentum (Nesterov, 1983; in the form of Sutskever et al., 2013).

    ::

        g = clip(rescale_grad * grad, clip_gradient) + wd * weight
        mom = momentum * mom - lr * g
        weight = weight + momentum * mom - lr * g

    State: as `SGD`.

    >>> import gluonish as mx
    >>> w = mx.nd.array([1.0])
    >>> nag = mx.optimizer.NAG(learning_rate=0.5, momentum=0.5)
    >>> nag.update(0, w, mx.nd.array([1.0]), nag.create_state(0, w))
    >>> w.tolist()
    [0.25]
    """

    _nesterov = True

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(momentum, **kwargs)


@register
class SGLD(Fused):
    """Stochastic gradient Langevin dynamics (Welling and Teh, 2011): noise makes the weights samples of a posterior.

    ::

        g = clip(rescale_grad * grad, clip_gradient) + wd * weight
        weight = weight - lr / 2 * g + normal(0, sqrt(lr))

    State: None. The noise is that of ``mx.random.seed``.

    >>> import gluonish as mx
    >>> mx.random.seed(1)
    >>> w = mx.nd.zeros(10000)
    >>> sgld = mx.optimizer.SGLD(learning_rate=0.25)
    >>> sgld.update(0, w, mx.nd.zeros(10000), None)
    >>> round(float(w.asnumpy().std()), 1)
    0.5
    """

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_langevin", ()

    def _step_masters(
        self,
        indices: list[Hashable],
        weights: list[NDArray],
        grads: list[NDArray],
        states: list[Any],
        masters: list[NDArray | None],
    ) -> None:
        wide = [w if m is None else m for w, m in zip(weights, masters, strict=True)]
        noise = [nd.random.normal(0, 1, shape=w.shape, dtype=w.dtype, ctx=w.context) for w in wide]
        super()._step_masters(indices, weights, grads, noise, masters)


@register
class DCASGD(Fused):
    """Delay-compensated asynchronous SGD (Zheng et al., 2017), for gradients of weights that changed since.

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        mom = momentum * mom - lr * (g + wd * weight + lamda * g * g * (weight - previous))
        previous, weight = weight, weight + mom

    State: (momentum or None, previous weight).

    >>> import gluonish as mx
    >>> w = mx.nd.array([1.0])
    >>> dcasgd = mx.optimizer.DCASGD(learning_rate=0.5)
    >>> state = dcasgd.create_state(0, w)
    >>> dcasgd.update(0, w, mx.nd.array([1.0]), state)
    >>> w.tolist(), state[1].tolist()
    ([0.5], [1.0])
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = self._number("momentum", momentum)
        self.lamda = self._number("lamda", lamda)

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return (zeros(weight) if self.momentum != 0 else None, weight.copy().detach())

    def _arrays(self, state: Any) -> tuple[NDArray, ...]:
        momentum, previous = state
        return (previous,) if momentum is None else (previous, momentum)

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        if self.momentum == 0:
            return "_step_dcasgd", (self.lamda,)
        return "_step_dcasgd_momentum", (self.lamda, self.momentum)


@register
class Test(Composed):
    """MXNet's optimizer of its own tests: ``weight + rescale_grad * grad``, which the state repeats.

    >>> import gluonish as mx
    >>> w, test = mx.nd.array([1.0]), mx.optimizer.Test()
    >>> test.update(0, w, mx.nd.array([2.0]), test.create_state(0, w))
    >>> w.tolist()
    [3.0]
    """

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return zeros(weight)

    def _new(
        self, index: Hashable, weight: NDArray, grad: NDArray, state: Any, rate: tuple[float, float, float]
    ) -> tuple[NDArray, Any]:
        made = weight + grad
        return made, made
