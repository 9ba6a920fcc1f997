"""SGD for large batches."""

from collections.abc import Hashable
from typing import Any

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.optimizer._operands import scaled_rates
from gluonish.optimizer.base import register, zeros
from gluonish.optimizer.sgd import SGD

__all__ = ["LBSGD"]


@register
class LBSGD(SGD):
    """SGD for large batches that are gathered of small ones, with a warm-up (You et al., 2017).

    The gradients of ``batch_scale`` calls are averaged before each step, and the learning rate is multiplied: by 1 at
    first, by ``batch_scale`` after ``warmup_epochs``; or, with ``warmup_strategy='lars'``, by
    ``sqrt(|weight|^2 / (|g|^2 + wd * |weight|^2))`` within [0.01, 100].

    Parameters
    ----------
    warmup_strategy
        "linear", "power2", "sqrt" or "lars".
    warmup_epochs, updates_per_epoch, begin_epoch
        How long the warm-up is, in calls, and at which epoch this begins.
    num_epochs
        How many epochs there will be; kept for those who ask.

    State: (momentum or None, sum of gradients), which with ``multi_precision`` stands before the copy in float32.

    >>> import gluonish as mx
    >>> w = mx.nd.array([1.0])
    >>> lbsgd = mx.optimizer.LBSGD(learning_rate=0.5, batch_scale=2, warmup_epochs=0)
    >>> state = lbsgd.create_state(0, w)
    >>> for grad in (0.2, 0.4):
    ...     lbsgd.update(0, w, mx.nd.array([grad]), state)
    >>> round(w[0].item(), 4)
    0.7
    """

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: float = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum, multi_precision=multi_precision, **kwargs)
        if warmup_strategy not in {"linear", "power2", "sqrt", "lars"}:
            raise ArgumentError(
                f"LBSGD: warmup_strategy={warmup_strategy!r} is not valid: expected 'linear', 'power2', "
                "'sqrt' or 'lars'"
            )
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = self._number("warmup_epochs", warmup_epochs)
        self.batch_scale = int(self._number("batch_scale", batch_scale, 1))
        self.updates_per_epoch = int(self._number("updates_per_epoch", updates_per_epoch, 1))
        self.init_updates = int(self._number("begin_epoch", begin_epoch)) * self.updates_per_epoch
        self.num_epochs = num_epochs

    def create_state(self, index: Hashable, weight: NDArray) -> Any:
        return super().create_state(index, weight), zeros(weight)

    def _arrays(self, state: Any) -> tuple[NDArray, ...]:
        return super()._arrays(state[0])

    def _warmth(self, calls: float) -> float:
        """What the learning rate is multiplied with after so many calls."""
        whole = self.warmup_epochs * self.updates_per_epoch
        if calls >= whole:
            return float(self.batch_scale)
        if whole <= 1:
            return 1.0
        share = calls / whole
        curve = {"linear": share, "power2": share**2, "sqrt": share**0.5}[self.warmup_strategy]
        return 1 + (self.batch_scale - 1) * float(curve)

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
        due = []
        sums = [total + grad.astype(total.dtype) for grad, (_, total) in zip(grads, states, strict=True)]
        for i in range(len(indices)):
            calls = rates[i][2] + self.init_updates
            if calls % self.batch_scale == 0:
                due.append(i)
                lr, wd, t = rates[i]
                by = 1.0 if self.warmup_strategy == "lars" else self._warmth(calls)
                rates[i] = (lr * by, wd, t)
        if due:
            means = [sums[i] / self.batch_scale for i in due]
            arrays = [self._arrays(states[i]) for i in due]
            due_rates, due_indices = [rates[i] for i in due], [indices[i] for i in due]
            due_weights, due_masters = [weights[i] for i in due], [masters[i] for i in due]
            self._run(self._rule(), due_indices, due_rates, due_weights, means, arrays, due_masters)
        # A part that failed stays in the sum: the step that it belongs to is skipped as a whole.
        taken = set(due)
        for i, (_, total) in enumerate(states):
            _core.copy_into(total, 0 if i in taken else sums[i])

    def _adjusted(
        self, rates: NDArray, indices: list[Hashable], weights: list[NDArray], grads: list[NDArray], factor: NDArray
    ) -> NDArray:
        if self.warmup_strategy != "lars":
            return rates
        weight, grad = (nd.multi_sum_sq(*some, num_arrays=len(some)).astype("float64") for some in (weights, grads))
        by = (weight / (grad + rates[:, 1] * weight + 1e-18)).sqrt().clip(0.01, 100)
        return scaled_rates(rates, by)
