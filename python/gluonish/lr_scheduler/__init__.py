"""Learning rates that change while a network trains. An optimizer calls its scheduler with the number of the update.

All but :class:`ReduceOnPlateauScheduler` are functions of that number alone, so training that is resumed at an update
has the rate that it would have had. ``base_lr`` is the rate that the schedule starts from; an optimizer that is given a
``learning_rate`` of its own puts it there.

>>> import gluonish as mx
>>> schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1)
>>> [schedule(update) for update in (1, 2, 3, 4, 5)]
[1, 1, 0.5, 0.5, 0.25]
>>> warm = mx.lr_scheduler.CosineScheduler(max_update=8, base_lr=1, warmup_steps=4)
>>> [round(warm(update), 3) for update in (0, 2, 4, 6, 8)]
[0.0, 0.5, 1.0, 0.5, 0.0]
"""

from gluonish.lr_scheduler.base import LRScheduler, create
from gluonish.lr_scheduler.curves import (
    CosineScheduler,
    CosineWarmRestartsScheduler,
    ExponentialScheduler,
    InverseSquareRootScheduler,
    OneCycleScheduler,
    PolyScheduler,
)
from gluonish.lr_scheduler.plateau import ReduceOnPlateauScheduler
from gluonish.lr_scheduler.steps import FactorScheduler, MultiFactorScheduler

__all__ = [
    "CosineScheduler",
    "CosineWarmRestartsScheduler",
    "ExponentialScheduler",
    "FactorScheduler",
    "InverseSquareRootScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "OneCycleScheduler",
    "PolyScheduler",
    "ReduceOnPlateauScheduler",
    "create",
]
