"""Rates that fall by a factor at certain updates."""

from bisect import bisect_left
from collections.abc import Sequence

from gluonish.errors import ArgumentError
from gluonish.lr_scheduler.base import REGISTRY, LRScheduler, at_most_one, whole

__all__ = ["FactorScheduler", "MultiFactorScheduler"]


@REGISTRY.alias("factor")
class FactorScheduler(LRScheduler):
    """Multiplied by ``factor`` each time ``step`` more updates are over, but not below ``stop_factor_lr``.

    >>> schedule = FactorScheduler(step=10, factor=0.1, base_lr=1, stop_factor_lr=0.05)
    >>> schedule(10), schedule(11), schedule(21)
    (1, 0.1, 0.05)
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step = whole("step", step, 1, self)
        self.factor = at_most_one(factor, self)
        self.stop_factor_lr = stop_factor_lr

    def _rate(self, num_update: int) -> float:
        times = max(0, num_update - 1) // self.step
        return max(self.base_lr * self.factor**times, self.stop_factor_lr) if times else self.base_lr


@REGISTRY.alias("multifactor")
class MultiFactorScheduler(LRScheduler):
    """Multiplied by ``factor`` after each of the updates in ``step``, a list that rises.

    >>> schedule = MultiFactorScheduler([2, 4], 0.5, base_lr=1)
    >>> [schedule(update) for update in (2, 3, 4, 5)]
    [1, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        given: object = step
        if not isinstance(given, list | tuple) or not given:
            raise ArgumentError(f"MultiFactorScheduler: step={step!r} is not valid: expected a list of updates")
        self.step = [whole("step", at, 1, self) for at in given]
        if any(a >= b for a, b in zip(self.step, self.step[1:], strict=False)):
            raise ArgumentError(f"MultiFactorScheduler: step={step!r} is not valid: expected a list that rises")
        self.factor = at_most_one(factor, self)

    def _rate(self, num_update: int) -> float:
        times = bisect_left(self.step, num_update)
        return self.base_lr * self.factor**times if times else self.base_lr
