"""Rates that follow a curve."""

import math

from gluonish.errors import ArgumentError
from gluonish.lr_scheduler.base import REGISTRY, LRScheduler, whole

__all__ = [
    "CosineScheduler",
    "CosineWarmRestartsScheduler",
    "ExponentialScheduler",
    "InverseSquareRootScheduler",
    "OneCycleScheduler",
    "PolyScheduler",
]


class _ToTheEnd(LRScheduler):
    """From ``base_lr`` after the warm-up to ``final_lr`` at ``max_update``, where it stays."""

    def __init__(
        self,
        max_update: int,
        base_lr: float,
        final_lr: float,
        warmup_steps: int,
        warmup_begin_lr: float,
        warmup_mode: str,
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.max_update = whole("max_update", max_update, 1, self)
        self.final_lr = final_lr
        if self.warmup_steps >= self.max_update:
            raise ArgumentError(
                f"{type(self).__name__}: warmup_steps={warmup_steps} is not below max_update={max_update}: "
                "nothing would be left after the warm-up"
            )

    def _rate(self, num_update: int) -> float:
        done = (num_update - self.warmup_steps) / (self.max_update - self.warmup_steps)
        return self.final_lr + (self.base_lr - self.final_lr) * self._left(min(done, 1.0))

    def _left(self, done: float) -> float:
        """How much of the way down is left, from 1 to 0, when this share of the updates is done."""
        raise NotImplementedError


@REGISTRY.alias("poly")
class PolyScheduler(_ToTheEnd):
    """Down to ``final_lr`` at ``max_update`` as a power of what is left: ``(1 - done)**pwr``.

    >>> schedule = PolyScheduler(max_update=10, base_lr=1, pwr=2)
    >>> schedule(0), schedule(5), schedule(10), schedule(99)
    (1.0, 0.25, 0.0, 0.0)
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _left(self, done: float) -> float:
        return float((1 - done) ** self.power)


@REGISTRY.alias("cosine")
class CosineScheduler(_ToTheEnd):
    """Down to ``final_lr`` at ``max_update`` along half a cosine (Loshchilov and Hutter, 2016).

    >>> schedule = CosineScheduler(max_update=4, base_lr=1)
    >>> [round(schedule(update), 4) for update in range(5)]
    [1.0, 0.8536, 0.5, 0.1464, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _left(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2


@REGISTRY.alias("cosine_warm_restarts")
class CosineWarmRestartsScheduler(LRScheduler):
    """Half a cosine down, again and again: cycles of ``cycle`` updates, each ``mult`` times as long as the one before.

    ``decay`` multiplies the rate that a cycle starts from (SGDR: Loshchilov and Hutter, 2016).

    >>> schedule = CosineWarmRestartsScheduler(cycle=2, mult=2, base_lr=1, decay=0.5)
    >>> [round(schedule(update), 4) for update in range(7)]
    [1.0, 0.5, 0.5, 0.4268, 0.25, 0.0732, 0.25]
    """

    def __init__(
        self,
        cycle: int,
        mult: int = 1,
        base_lr: float = 0.01,
        final_lr: float = 0,
        decay: float = 1,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.cycle = whole("cycle", cycle, 1, self)
        self.mult = whole("mult", mult, 1, self)
        self.final_lr, self.decay = final_lr, decay

    def _rate(self, num_update: int) -> float:
        at, length, cycles = num_update - self.warmup_steps, self.cycle, 0
        if self.mult == 1:
            cycles, at = divmod(at, length)
        else:
            while at >= length:
                at, length, cycles = at - length, length * self.mult, cycles + 1
        top = self.base_lr * self.decay**cycles
        return self.final_lr + (top - self.final_lr) * (1 + math.cos(math.pi * at / length)) / 2


@REGISTRY.alias("exponential")
class ExponentialScheduler(LRScheduler):
    """Multiplied by ``gamma`` at each update after the warm-up.

    >>> schedule = ExponentialScheduler(gamma=0.5, base_lr=1)
    >>> schedule(0), schedule(1), schedule(3)
    (1.0, 0.5, 0.125)
    """

    def __init__(
        self,
        gamma: float,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if gamma <= 0:
            raise ArgumentError(f"ExponentialScheduler: gamma={gamma} is not valid: expected a number above 0")
        self.gamma = gamma

    def _rate(self, num_update: int) -> float:
        return float(self.base_lr * self.gamma ** (num_update - self.warmup_steps))


@REGISTRY.alias("inverse_square_root")
class InverseSquareRootScheduler(LRScheduler):
    """After the warm-up ``base_lr * sqrt(warmup_steps / num_update)``, as Transformers use (Vaswani and others, 2017).

    Without a warm-up, ``base_lr / sqrt(num_update)``.

    >>> schedule = InverseSquareRootScheduler(base_lr=1, warmup_steps=4)
    >>> schedule(2), schedule(4), schedule(16)
    (0.5, 1.0, 0.5)
    """

    def _rate(self, num_update: int) -> float:
        return self.base_lr * math.sqrt(max(self.warmup_steps, 1) / max(num_update, 1))


@REGISTRY.alias("one_cycle")
class OneCycleScheduler(LRScheduler):
    """Up to ``base_lr``, then down to almost nothing, in ``max_update`` updates (Smith and Topin, 2017).

    It rises from ``base_lr / div_factor`` during the first ``pct_start`` of the updates, and falls to
    ``base_lr / div_factor / final_div_factor`` during the rest.

    Parameters
    ----------
    anneal_strategy
        "cos" or "linear": the form of both slopes.

    >>> schedule = OneCycleScheduler(max_update=10, base_lr=1, div_factor=10, pct_start=0.5, anneal_strategy="linear")
    >>> [round(schedule(update), 4) for update in (0, 5, 10, 20)]
    [0.1, 1.0, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
    ) -> None:
        super().__init__(base_lr)
        self.max_update = whole("max_update", max_update, 1, self)
        if not 0 <= pct_start <= 1:
            raise ArgumentError(f"OneCycleScheduler: pct_start={pct_start} is not valid: expected a share from 0 to 1")
        if anneal_strategy not in {"cos", "linear"}:
            raise ArgumentError(
                f"OneCycleScheduler: anneal_strategy={anneal_strategy!r} is not valid: expected 'cos' or 'linear'"
            )
        if div_factor < 1 or final_div_factor < 1:
            raise ArgumentError(
                f"OneCycleScheduler: div_factor={div_factor} and final_div_factor={final_div_factor} are not valid: "
                "expected at least 1"
            )
        self.pct_start, self.anneal_strategy = pct_start, anneal_strategy
        self.div_factor, self.final_div_factor = div_factor, final_div_factor

    def _rate(self, num_update: int) -> float:
        low, peak = self.base_lr / self.div_factor, self.pct_start * self.max_update
        if num_update < peak:
            return self._between(low, self.base_lr, num_update / peak)
        falling = self.max_update - peak
        done = min((num_update - peak) / falling, 1.0) if falling else 0.0
        return self._between(self.base_lr, low / self.final_div_factor, done)

    def _between(self, start: float, end: float, done: float) -> float:
        share = done if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * done)) / 2
        return start + (end - start) * share
