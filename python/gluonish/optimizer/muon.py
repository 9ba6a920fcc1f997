"""Steps along the nearest orthogonal matrix."""

import re
from collections.abc import Hashable
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.optimizer._fused import Composed, Fused
from gluonish.optimizer.base import register, zeros

__all__ = ["Muon"]

# Of the quintic iteration whose slope at 0 is largest (Jordan et al., 2024).
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)


@register
class Muon(Composed, Fused):
    """Momentum made orthogonal by Newton and Schulz's iteration (Jordan et al., 2024), and AdamW for what is no matrix.

    ::

        g = clip(rescale_grad * grad, clip_gradient)
        mom = momentum * mom + (1 - momentum) * g
        u = (1 - momentum) * g + momentum * mom             # mom, without nesterov
        o = orthogonal(u)                                   # of u's singular vectors, with singular values about 1
        weight = weight - lr * (sqrt(max(1, rows / columns)) * o + wd * weight)

    A weight of more than two axes is a matrix of as many rows as its first axis has.

    Parameters
    ----------
    ns_steps
        How many iterations there are.
    adamw_match
        A pattern of the names of matrices that AdamW takes too; embeddings and the last layer are better off there.
    adamw_lr_mult
        The learning rate of AdamW, for a learning rate of 1.
    beta1, beta2, epsilon
        Of AdamW.

    State: (momentum,), or (m, v) of `AdamW`.

    >>> import gluonish as mx
    >>> w, muon = mx.nd.zeros((2, 2)), mx.optimizer.Muon(learning_rate=1.0)
    >>> muon.update(0, w, mx.nd.array([[3.0, 0.0], [0.0, 2.0]]), muon.create_state(0, w))
    >>> bool((abs(w.asnumpy() + [[1, 0], [0, 1]]) < 0.35).all())
    True
    """

    def __init__(
        self,
        learning_rate: float = 0.02,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_steps: int = 5,
        adamw_match: str | None = None,
        adamw_lr_mult: float = 0.015,
        beta1: float = 0.9,
        beta2: float = 0.95,
        epsilon: float = 1e-8,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = self._number("momentum", momentum, 0, 1)
        self.nesterov = nesterov
        self.ns_steps = int(self._number("ns_steps", ns_steps, 1))
        self.adamw_match = adamw_match
        self.adamw_lr_mult = self._number("adamw_lr_mult", adamw_lr_mult)
        self.beta1 = self._number("beta1", beta1, 0, 1)
        self.beta2 = self._number("beta2", beta2, 0, 1)
        self.epsilon = self._number("epsilon", epsilon)

    def _orthogonal(self, index: Hashable, weight: NDArray) -> bool:
        """Whether a weight is one of those that this is for."""
        name = self._name_of(index)
        other = self.adamw_match is not None and name is not None and re.match(self.adamw_match, name)
        return weight.ndim > 1 and not other

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return tuple(zeros(weight) for _ in range(1 if self._orthogonal(index, weight) else 2))

    def step(self, indices: Any, weights: Any, grads: Any, states: Any) -> None:
        Fused.step(self, indices, weights, grads, states)

    def _step_masters(
        self,
        indices: list[Hashable],
        weights: list[NDArray],
        grads: list[NDArray],
        states: list[Any],
        masters: list[NDArray | None],
    ) -> None:
        self._update_count(indices)
        rates = self._rates(indices)
        others = [i for i, state in enumerate(states) if len(state) == 2]
        joint = self._joint(grads)
        for i, state in enumerate(states):
            if len(state) == 1:
                own = masters[i]
                weight = weights[i] if own is None else own
                self._step_one(joint, indices[i], weight, grads[i], state, rates[i])
                if own is not None:
                    weights[i][:] = own
        if others:
            some: list[list[Any]] = [[one[i] for i in others] for one in (weights, grads, states, masters)]
            by = self.adamw_lr_mult
            table = [(rates[i][0] * by, rates[i][1], rates[i][2]) for i in others]
            rule = "_step_adamw", (self.beta1, self.beta2, self.epsilon, 1.0)
            self._run(rule, [indices[i] for i in others], table, some[0], some[1], some[2], some[3], joint)

    def _new(
        self, index: Hashable, weight: NDArray, grad: NDArray, state: Any, rate: tuple[float, float, float]
    ) -> tuple[NDArray, Any]:
        (mom,), (lr, wd, _), keep = state, rate, self.momentum
        mom = keep * mom + (1 - keep) * grad
        update = (1 - keep) * grad + keep * mom if self.nesterov else mom
        rows = max(weight.shape[0], 1)
        columns = max(weight.size // rows, 1)
        if weight.size == 0:
            return weight, (mom,)
        matrix = update.reshape((rows, columns))
        to = orthogonal(matrix, self.ns_steps).reshape(weight.shape) * max(1, rows / columns) ** 0.5
        return weight - lr * (to + wd * weight), (mom,)


def orthogonal(matrix: NDArray, steps: int) -> NDArray:
    """A matrix with the same singular vectors, and singular values between about 0.7 and 1.2.

    >>> import gluonish as mx
    >>> x = orthogonal(mx.nd.array([[0.0, 5.0], [2.0, 0.0]]), 5)
    >>> bool((abs(x.asnumpy() - [[0, 1], [1, 0]]) < 0.35).all())
    True
    """
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / ((x * x).sum().sqrt() + 1e-7)
    a, b, c = _COEFFICIENTS
    for _ in range(steps):
        square = nd.dot(x, x, transpose_b=True)
        x = a * x + nd.dot(b * square + c * nd.dot(square, square), x)
    return x.T if tall else x
