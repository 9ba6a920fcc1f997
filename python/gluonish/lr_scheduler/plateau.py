"""A rate that falls when a metric stops improving."""

import math
from typing import Any

from gluonish.errors import ArgumentError
from gluonish.lr_scheduler.base import REGISTRY, LRScheduler, whole

__all__ = ["ReduceOnPlateauScheduler"]


@REGISTRY.alias("reduce_on_plateau")
class ReduceOnPlateauScheduler(LRScheduler):
    """Multiplied by ``factor`` whenever a metric has not improved for more than ``patience`` calls of ``step``.

    Parameters
    ----------
    mode
        "min": lower is better; "max": higher is.
    threshold
        What counts as better: by this share of the best ("rel") or by this much ("abs"), as ``threshold_mode`` says.
    cooldown
        After a reduction, so many calls are not counted.
    min_lr
        The rate does not fall below.

    >>> schedule = ReduceOnPlateauScheduler(factor=0.1, patience=1, base_lr=1)
    >>> for loss in (5, 4, 4, 4):
    ...     schedule.step(loss)
    >>> schedule(100)
    0.1
    """

    def __init__(
        self,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        for name, value, one, other in (
            ("mode", mode, "min", "max"),
            ("threshold_mode", threshold_mode, "rel", "abs"),
        ):
            if value not in {one, other}:
                raise ArgumentError(
                    f"ReduceOnPlateauScheduler: {name}={value!r} is not valid: expected {one!r} or {other!r}"
                )
        if not 0 < factor < 1:
            raise ArgumentError(f"ReduceOnPlateauScheduler: factor={factor} is not valid: expected one between 0 and 1")
        self.mode, self.threshold_mode, self.threshold = mode, threshold_mode, threshold
        self.factor, self.min_lr = factor, min_lr
        self.patience = whole("patience", patience, 0, self)
        self.cooldown = whole("cooldown", cooldown, 0, self)
        self.best: float | None = None
        self.num_bad = self.cooldown_left = self.reductions = 0

    def step(self, metric: Any) -> None:
        """Says how good the network is now. A metric that is not a number counts as no improvement."""
        value = float(metric)
        if self._better(value):
            self.best, self.num_bad = value, 0
        else:
            self.num_bad += 1
        if self.cooldown_left:
            self.cooldown_left -= 1
            self.num_bad = 0
        if self.num_bad > self.patience:
            self.reductions += 1
            self.cooldown_left, self.num_bad = self.cooldown, 0

    def _better(self, value: float) -> bool:
        if self.best is None:
            return not math.isnan(value)
        by = self.threshold * abs(self.best) if self.threshold_mode == "rel" else self.threshold
        return value < self.best - by if self.mode == "min" else value > self.best + by

    def _rate(self, _: int) -> float:
        return max(self.base_lr * self.factor**self.reductions, self.min_lr) if self.reductions else self.base_lr
