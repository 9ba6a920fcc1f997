"""Adam that looks at the loss."""

from collections.abc import Hashable
from typing import Any

from gluonish import nd
from gluonish._commit import commit
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.errors import ArgumentError
from gluonish.optimizer._operands import scaled_rates
from gluonish.optimizer.adam import Moments
from gluonish.optimizer.base import register

__all__ = ["Eve"]


@register
class Eve(Moments):
    """Adam whose learning rate follows the loss (Hayashi, Koushik and Neubig, 2016): slower where the loss jumps.

    ::

        d_hat = clip(abs(f_t - f_{t-1}) / (min(f_t, f_{t-1}) - f_star), 1 / c, c)
        d = beta3 * d + (1 - beta3) * d_hat        # 1 for the first loss

    Then it is `Adam` with the learning rate ``lr / d``. ``set_loss`` gives the loss f_t before each step; nobody waits
    for its value.

    Parameters
    ----------
    c
        Bound of one loss's effect.
    f_star
        The least loss that there can be.

    State: as `Adam`.

    >>> import gluonish as mx
    >>> w, eve = mx.nd.array([1.0]), mx.optimizer.Eve(learning_rate=0.1)
    >>> state = eve.create_state(0, w)
    >>> eve.set_loss(mx.nd.array([4.0]))
    >>> eve.update(0, w, mx.nd.array([3.0]), state)
    >>> round(w[0].item(), 4)
    0.9
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        beta3: float = 0.999,
        c: float = 10,
        f_star: float = 0.0,
        epsilon: float = 1e-8,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.beta3 = self._number("beta3", beta3, 0, 1)
        self.c = self._number("c", c, 1)
        self.f_star = self._number("f_star", f_star, float("-inf"))
        self._d: NDArray | None = None
        self._loss: NDArray | None = None
        self._done: set[Hashable] = set()  # weights that have had their step for this loss

    def set_loss(self, loss: NDArray | float) -> None:
        """The loss of the next step; the mean, where there are several numbers. One that is NaN changes nothing."""
        with pause():
            given = loss if isinstance(loss, NDArray) else nd.array([loss], dtype="float64")
            now = given.detach().astype("float64").mean().reshape(-1)
            if self._loss is None or self._d is None:
                self._d = nd.ones((1,), ctx=now.context, dtype="float64")
                self._loss = nd.full((1,), float("nan"), ctx=now.context, dtype="float64")  # none before
            now = now.as_in_context(self._loss.context)
            jump = (now - self._loss).abs() / (nd.minimum(now, self._loss) - self.f_star)
            d = self.beta3 * self._d + (1 - self.beta3) * jump.clip(1 / self.c, self.c)
            commit(self._d, nd.where(nd.contrib.isnan(jump), self._d, d))
            commit(self._loss, nd.where(nd.contrib.isnan(now), self._loss, now))
            self._done = set()

    def _adjusted(
        self, rates: NDArray, indices: list[Hashable], weights: list[Any], grads: list[NDArray], factor: NDArray
    ) -> NDArray:
        device = rates.context
        again = self._done.intersection((device, index) for index in indices)
        if self._d is None or again:
            raise ArgumentError("Eve: the loss of this step is not known; call set_loss(loss) before each step")
        return scaled_rates(rates, 1 / self._d.as_in_context(device))

    def _step_masters(
        self,
        indices: list[Hashable],
        weights: list[NDArray],
        grads: list[NDArray],
        states: list[Any],
        masters: list[NDArray | None],
    ) -> None:
        super()._step_masters(indices, weights, grads, states, masters)
        self._done.update((weight.context, index) for weight, index in zip(weights, indices, strict=True))

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        return "_step_adam", (self.beta1, self.beta2, self.epsilon)

    def _extra(self) -> Any:
        return self._d, self._loss

    def _set_extra(self, extra: Any) -> None:
        d, loss = extra
        if not all(one is None or isinstance(one, NDArray) for one in (d, loss)):
            raise TypeError(f"Eve keeps two arrays, not {d!r} and {loss!r}")
        self._d, self._loss = d, loss
        self._done = set()
