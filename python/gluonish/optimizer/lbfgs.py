"""L-BFGS, which computes the loss several times for each step."""

import math
from collections.abc import Callable, Hashable, Sequence
from numbers import Real
from typing import Any

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, FormatError, UnsupportedError
from gluonish.optimizer._line_search import strong_wolfe
from gluonish.optimizer.base import Optimizer, register

__all__ = ["LBFGS"]


@register
class LBFGS(Optimizer):
    """BFGS with limited memory (Liu and Nocedal, 1989), for smooth problems without noise.

    A step needs a function without arguments that clears and computes gradients, and returns the loss; it is called
    once or several times. All weights are on one device and of one real type, and have one learning rate; decays may
    differ. A decay is a part of what is minimized: ``wd / 2`` times the sum of the squares of a weight.

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

    def minimize(
        self,
        closure: Callable[[], Any],
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        indices: Sequence[Hashable] | None = None,
    ) -> float:
        """One step; it returns the loss before it: the sum of what ``closure`` returned, times ``rescale_grad``.

        ``grads`` are the arrays that ``closure`` writes gradients to; ``indices`` are those of the weights, by which
        they have names and decays: 0, 1, ... if none are given. Where ``closure`` raises, weights, counts and what is
        remembered are as they were before the step. Other weights than those of the last step begin anew.
        """
        keys = list(range(len(weights)) if indices is None else indices)
        self._check_rates(keys)
        problem = _Problem(self, closure, list(weights), list(grads), self._get_wds(keys))
        before = self._history, self._begun
        with self._counted():
            try:
                self._fit(problem.weights())
                return self._minimize(problem)
            except BaseException:
                self._history, self._begun = before
                problem.restore()
                raise

    def _check_rates(self, indices: Sequence[Hashable]) -> None:
        for index in indices:
            by = self._multipliers(index)[0]
            if by != 1:
                name = self._name_of(index) or index
                raise ArgumentError(
                    f"LBFGS has one learning rate for all weights, and that of weight '{name}' is multiplied by {by}: "
                    "leave lr_mult at 1; grad_req='null' freezes a parameter"
                )

    def _fit(self, weights: NDArray) -> None:
        """What is remembered goes on in the type and on the device of the weights; of others nothing is of use."""
        if self._history and self._history[0][0].size != weights.size:
            self._history, self._begun = [], False

        def moved(array: NDArray) -> NDArray:
            made: NDArray = array.as_in_context(weights.context).astype(weights.dtype, copy=False)
            return made

        with pause():
            self._history = [(moved(step), moved(change), rho) for step, change, rho in self._history]

    def _minimize(self, problem: "_Problem") -> float:
        self._update_count([0])
        loss = problem.evaluate()
        first = problem.loss
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
        if self._history and self._size() not in {None, self._history[0][0].size}:
            return [], False  # of other weights: some were frozen since
        return self._history, self._begun

    def _size(self) -> int | None:
        """How many numbers are trained, where parameters are known."""
        trained = [known.shape for known in self.param_dict.values() if known.grad_req != "null"]
        return sum(map(math.prod, trained)) if self.param_dict else None

    def _set_extra(self, extra: Any) -> None:
        history, begun = extra
        size = self._size()
        for step, change, rho in history:
            vectors = isinstance(step, NDArray) and isinstance(change, NDArray)
            if not (vectors and step.shape == change.shape == (history[0][0].size,) and isinstance(rho, Real)):
                raise FormatError("LBFGS remembers pairs of vectors of one length, with a number for each")
            if size not in {None, step.size}:
                raise FormatError(f"they remember changes of {step.size} numbers, and the parameters are {size}")
        self._history, self._begun = [(step, change, float(rho)) for step, change, rho in history], bool(begun)


class _Problem:
    """Weights and gradients as one vector each."""

    def __init__(
        self,
        owner: LBFGS,
        closure: Callable[[], Any],
        weights: list[NDArray],
        grads: list[NDArray],
        decays: list[float],
    ) -> None:
        if not callable(closure):
            raise ArgumentError(f"LBFGS: closure must be a function that computes the loss, got {closure!r}")
        if not weights or len(weights) != len(grads):
            raise ArgumentError(f"LBFGS: as many gradients as weights are needed, got {len(grads)} and {len(weights)}")
        if len({(str(w.dtype), w.context) for w in weights}) > 1:
            raise ArgumentError("LBFGS: all weights must be of one type and on one device")
        self._owner, self._closure, self._weights, self._grads = owner, closure, weights, grads
        self._decays, self._decaying = decays, any(decays)
        self._rescale = float(owner.rescale_grad)
        self.calls, self.loss = 0, math.nan  # the loss of the last call, without decays
        self._first: NDArray | None = None  # the weights before anything was tried

    def evaluate(self) -> float:
        """What is minimized: the loss, and what decays add to it. Gradients are computed with it."""
        self.calls += 1
        loss = self._closure()
        if not isinstance(loss, NDArray | Real):
            raise ArgumentError(
                f"LBFGS: closure must return the loss, an array or a number, and returned {loss!r}: it ends with "
                "'return loss'"
            )
        self.loss = self._rescale * (float(loss.sum().item()) if isinstance(loss, NDArray) else float(loss))
        if not self._decaying:
            return self.loss
        with pause():
            vector = self.weights()
            return self.loss + 0.5 * _dot(vector, self._decay(vector))

    def _decay(self, vector: NDArray) -> NDArray:
        """What decays add to the gradient at a vector of all weights."""
        made, at = [], 0
        for weight, decay in zip(self._weights, self._decays, strict=True):
            made.append(decay * vector[at : at + weight.size])
            at += weight.size
        joined: NDArray = nd.concat(*made, dim=0)
        return joined

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
            return made + self._decay(self.weights()) if self._decaying else made

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
