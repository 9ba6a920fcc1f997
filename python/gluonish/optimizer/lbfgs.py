"""L-BFGS, which computes the loss several times for each step."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.optimizer._line_search import strong_wolfe
from gluonish.optimizer.base import Optimizer, register

__all__ = ["LBFGS"]


@register
class LBFGS(Optimizer):
    """BFGS with limited memory (Liu and Nocedal, 1989), for smooth problems without noise.

    A step needs a function without arguments that clears and computes gradients, and returns the loss; it is called
    once or several times. All weights are on one device and of one real type, and have one learning rate.

    Parameters
    ----------
    learning_rate
        The length of a step; with a line search, that of the first try.
    max_iter, max_eval
        The most iterations, and the most calls of the function, in one step. None: ``1.25 * max_iter``.
    tolerance_grad, tolerance_change
        A step ends when no gradient is larger, or when loss or weights change less.
    history_size
        How many changes of the gradient are remembered.
    line_search
        "strong_wolfe": lengths that fulfil Wolfe's conditions (Nocedal and Wright, algorithms 3.5 and 3.6). None:
        always ``learning_rate``.

    >>> import gluonish as mx
    >>> w = mx.nd.array([-1.0, 2.0])
    >>> w.attach_grad()
    >>> def closure():
    ...     with mx.autograd.record():
    ...         loss = (1 - w[0]) ** 2 + 10 * (w[1] - w[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> lbfgs = mx.optimizer.LBFGS(line_search="strong_wolfe", max_iter=50)
    >>> loss = lbfgs.minimize(closure, [w], [w.grad])
    >>> [round(x, 3) for x in w.tolist()]
    [1.0, 1.0]
    """

    needs_closure = True

    def __init__(
        self,
        learning_rate: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.max_iter = int(self._number("max_iter", max_iter, 1))
        self.max_eval = max_iter * 5 // 4 if max_eval is None else int(self._number("max_eval", max_eval, 1))
        self.tolerance_grad = self._number("tolerance_grad", tolerance_grad)
        self.tolerance_change = self._number("tolerance_change", tolerance_change)
        self.history_size = int(self._number("history_size", history_size, 1))
        if line_search not in {None, "strong_wolfe"}:
            raise ArgumentError(f"LBFGS: line_search={line_search!r} is not valid: expected 'strong_wolfe' or None")
        self.line_search = line_search
        self._history: list[tuple[NDArray, NDArray, float]] = []  # step, change of the gradient, 1 / their product
        self._begun = False

    def step(self, indices: Any, weights: Any, grads: Any, states: Any) -> None:
        raise UnsupportedError(
            "LBFGS needs a function that computes the loss: call minimize(closure, weights, grads), or step of a "
            "Trainer with closure="
        )

    def minimize(self, closure: Callable[[], Any], weights: Sequence[NDArray], grads: Sequence[NDArray]) -> float:
        """One step; it returns the loss before it. ``grads`` are the arrays that ``closure`` writes gradients to.

        Where ``closure`` raises, weights, counts and what is remembered are as they were before the step.
        """
        problem = _Problem(self, closure, list(weights), list(grads))
        before = self._history, self._begun
        with self._counted():
            try:
                return self._minimize(problem)
            except BaseException:
                self._history, self._begun = before
                problem.restore()
                raise

    def _minimize(self, problem: "_Problem") -> float:
        self._update_count([0])
        first = loss = problem.evaluate()
        gradient = problem.gradient()
        for _ in range(self.max_iter):
            if _largest(gradient) <= self.tolerance_grad or not math.isfinite(loss):
                break
            direction = self._direction(gradient)
            slope = _dot(gradient, direction)
            if slope > -self.tolerance_change:
                break
            lr = self.learning_rate
            length = lr if self._begun else min(1.0, 1.0 / _sum_abs(gradient)) * lr
            before, last_loss = gradient, loss
            start = problem.weights()
            if self.line_search is None:
                problem.move(start, direction, length)
                loss = problem.evaluate()
                gradient = problem.gradient()
            else:
                length, loss, gradient = strong_wolfe(problem.along(start, direction), length, loss, gradient, slope)
                problem.move(start, direction, length)
            self._remember(direction, before, gradient, length)
            change = length * _largest(direction)
            if (
                problem.calls >= self.max_eval
                or change <= self.tolerance_change
                or abs(loss - last_loss) < self.tolerance_change
            ):
                break
        return first

    def _remember(self, direction: NDArray, before: NDArray, after: NDArray, length: float) -> None:
        change, step = after - before, direction * length
        product = _dot(change, step)
        if product > 1e-10:
            self._history = [*self._history, (step, change, 1 / product)][-self.history_size :]
        self._begun = True

    def _direction(self, gradient: NDArray) -> NDArray:
        """Downhill, by the two loops over what is remembered."""
        q = -gradient
        shares = []
        for step, change, rho in reversed(self._history):
            share = rho * _dot(step, q)
            shares.append(share)
            q = q - share * change
        if self._history:
            _, change, rho = self._history[-1]
            q = q * (1 / (rho * _dot(change, change)))
        for (step, change, rho), share in zip(self._history, reversed(shares), strict=True):
            q = q + step * (share - rho * _dot(change, q))
        return q

    def _extra(self) -> Any:
        return self._history, self._begun

    def _set_extra(self, extra: Any) -> None:
        self._history, self._begun = list(extra[0]), bool(extra[1])


class _Problem:
    """Weights and gradients as one vector each."""

    def __init__(self, owner: LBFGS, closure: Callable[[], Any], weights: list[NDArray], grads: list[NDArray]) -> None:
        if not callable(closure):
            raise ArgumentError(f"LBFGS: closure must be a function that computes the loss, got {closure!r}")
        if not weights or len(weights) != len(grads):
            raise ArgumentError(f"LBFGS: as many gradients as weights are needed, got {len(grads)} and {len(weights)}")
        if len({(str(w.dtype), w.context) for w in weights}) > 1:
            raise ArgumentError("LBFGS: all weights must be of one type and on one device")
        self._owner, self._closure, self._weights, self._grads = owner, closure, weights, grads
        self.calls = 0
        self._first: NDArray | None = None  # the weights before anything was tried

    def evaluate(self) -> float:
        """The loss; gradients are computed with it."""
        self.calls += 1
        loss = self._closure()
        return float(loss.sum().item()) if isinstance(loss, NDArray) else float(loss)

    def weights(self) -> NDArray:
        with pause():
            made: NDArray = nd.concat(*(w.detach().reshape(-1) for w in self._weights), dim=0)
            return made

    def gradient(self) -> NDArray:
        own = self._owner
        with pause():
            made: NDArray = nd.concat(*(g.reshape(-1) for g in self._grads), dim=0)
            factor = own._factors.factor(own.rescale_grad, own.clip_global_norm, self._grads, made.context)
            made = made * factor.astype(made.dtype)
            if own.clip_gradient:
                made = made.clip(-own.clip_gradient, own.clip_gradient)
            return made + own.wd * self.weights() if own.wd else made

    def move(self, start: NDArray, direction: NDArray, length: float) -> None:
        """Puts weights to a place along a line."""
        if self._first is None:
            self._first = start
        with pause():
            self._put(start + direction * length)

    def restore(self) -> None:
        """Puts weights back to where they were first."""
        if self._first is not None:
            with pause():
                self._put(self._first)

    def _put(self, place: NDArray) -> None:
        at = 0
        for weight in self._weights:
            _core.copy_into(weight, place[at : at + weight.size].reshape(weight.shape))
            at += weight.size

    def along(self, start: NDArray, direction: NDArray) -> Callable[[float], tuple[float, NDArray, float]]:
        """Loss, gradient and slope as a function of the length of a step."""

        def at(length: float) -> tuple[float, NDArray, float]:
            self.move(start, direction, length)
            loss = self.evaluate()
            gradient = self.gradient()
            return loss, gradient, _dot(gradient, direction)

        return at


def _dot(a: NDArray, b: NDArray) -> float:
    return float((a * b).sum().item())


def _largest(a: NDArray) -> float:
    return float(a.abs().max().item())


def _sum_abs(a: NDArray) -> float:
    return float(a.abs().sum().item())
