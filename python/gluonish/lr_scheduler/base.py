"""What every schedule is: a warm-up, a state, a name."""

from collections.abc import Mapping
from operator import index
from typing import Any

from gluonish._registry import Registry
from gluonish.errors import ArgumentError, UnsupportedError

__all__ = ["REGISTRY", "LRScheduler", "at_most_one", "create", "whole"]


class LRScheduler:
    """The base of all: a warm-up, then what ``_rate`` says. One of your own overrides ``_rate(self, num_update)``.

    Parameters
    ----------
    base_lr
        The rate after the warm-up.
    warmup_steps
        How many updates the warm-up has; 0: none.
    warmup_begin_lr
        The rate of update 0 if there is a warm-up.
    warmup_mode
        "linear": up to ``base_lr`` in equal steps; "constant": ``warmup_begin_lr`` until the warm-up ends.

    >>> class Halves(LRScheduler):
    ...     def _rate(self, num_update):
    ...         return self.base_lr / (1 + num_update)
    >>> Halves(base_lr=1)(3)
    0.25
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        self.base_lr = base_lr
        self.warmup_steps = whole("warmup_steps", warmup_steps, 0, self)
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode
        if warmup_begin_lr > base_lr:
            raise ArgumentError(
                f"{type(self).__name__}: warmup_begin_lr={warmup_begin_lr} is above base_lr={base_lr}: a warm-up rises"
            )
        if warmup_mode not in {"linear", "constant"}:
            raise ArgumentError(
                f"{type(self).__name__}: warmup_mode={warmup_mode!r} is not valid: expected 'linear' or 'constant'"
            )

    @property
    def warmup_final_lr(self) -> float:
        """Where the warm-up ends: ``base_lr``."""
        return self.base_lr

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate of an update of the warm-up.

        >>> LRScheduler(base_lr=1, warmup_steps=4, warmup_begin_lr=0.5).get_warmup_lr(2)
        0.75
        """
        if not 0 <= num_update < self.warmup_steps:
            raise ArgumentError(
                f"get_warmup_lr: num_update={num_update} is not one of the {self.warmup_steps} updates of the warm-up"
            )
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        return self.warmup_begin_lr + (self.base_lr - self.warmup_begin_lr) * num_update / self.warmup_steps

    def __call__(self, num_update: int) -> float:
        """The learning rate of an update; optimizers count them from 1."""
        num_update = whole("num_update", num_update, 0, self)
        return self.get_warmup_lr(num_update) if num_update < self.warmup_steps else self._rate(num_update)

    def _rate(self, num_update: int) -> float:
        """The rate of an update after the warm-up."""
        raise UnsupportedError(
            f"{type(self).__name__} has no schedule: _rate(self, num_update) is not written; its rate of update "
            f"{num_update} is unknown"
        )

    def state_dict(self) -> dict[str, Any]:
        """All that the schedule knows, as a dict that ``load_state_dict`` takes.

        >>> LRScheduler(base_lr=0.5).state_dict()["base_lr"]
        0.5
        """
        return {key: list(value) if isinstance(value, list) else value for key, value in vars(self).items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Puts back what ``state_dict`` of a scheduler of this class gave."""
        if set(state) != set(vars(self)):
            odd = ", ".join(map(repr, sorted(set(state) ^ set(vars(self)))))
            raise ArgumentError(f"{type(self).__name__}: this is not the state of such a scheduler: see {odd}")
        vars(self).update({key: list(value) if isinstance(value, list) else value for key, value in state.items()})

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in vars(self).items() if not key.startswith("_"))
        return f"{type(self).__name__}({shown})"


REGISTRY: Registry[LRScheduler] = Registry("learning-rate scheduler", LRScheduler)


def create(scheduler: Any, *args: Any, **kwargs: Any) -> LRScheduler:
    """A scheduler from an instance, or from a name ("cosine", "factor", ...) and arguments.

    >>> from gluonish import lr_scheduler
    >>> lr_scheduler.create("poly", max_update=10, pwr=1, base_lr=1)(5)
    0.5
    """
    return REGISTRY.create(scheduler, *args, **kwargs)


def whole(name: str, value: Any, least: int, scheduler: LRScheduler) -> int:
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise ArgumentError(
            f"{type(scheduler).__name__}: {name}={value!r} is not valid: expected a whole number of at least {least}"
        )
    return number


def at_most_one(factor: float, scheduler: LRScheduler) -> float:
    if factor > 1:
        raise ArgumentError(f"{type(scheduler).__name__}: factor={factor} is above 1, and the rate would rise")
    return factor
