"""What training loops call after a batch or an epoch: progress, speed, checkpoints.

After a batch they are called with a :class:`BatchEndParam`; after an epoch a checkpoint is called with the number of
the epoch, a symbol (None without one) and two dicts of arrays. What they say goes to the log as information:
``logging.basicConfig(level=logging.INFO)`` shows it. ``mx.operator.callback``, which queues a Python function as an
operation, is something else.

>>> import gluonish as mx
>>> speed = mx.callback.Speedometer(batch_size=32, frequent=10)
>>> for batch in range(3):
...     speed(mx.callback.BatchEndParam(epoch=0, nbatch=batch, eval_metric=None, locals=None))
"""

import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError

__all__ = [
    "BatchEndParam",
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]

_log = logging.getLogger("gluonish.callback")


class BatchEndParam(NamedTuple):
    """What a loop says after a batch.

    >>> BatchEndParam(epoch=1, nbatch=20, eval_metric=None, locals=None).nbatch
    20
    """

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """A callback of epochs that writes the parameters to ``prefix-0001.params`` and so on, every ``period`` epochs.

    The symbol, if there is one, goes to ``prefix-symbol.json`` by its own ``save``.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> do_checkpoint(os.path.join(folder, "net"))(0, None, {"fc_weight": nd.ones(2)}, {})
    >>> nd.load(os.path.join(folder, "net-0001.params"))["arg:fc_weight"].tolist()
    [1.0, 1.0]
    """
    every = _period(period, "do_checkpoint")

    def save(
        iter_no: int,
        sym: Any = None,
        arg: Mapping[str, NDArray] | None = None,
        aux: Mapping[str, NDArray] | None = None,
    ) -> None:
        if (iter_no + 1) % every:
            return
        if sym is not None:
            sym.save(f"{prefix}-symbol.json")
        arrays = {f"arg:{name}": value for name, value in (arg or {}).items()}
        arrays |= {f"aux:{name}": value for name, value in (aux or {}).items()}
        nd.save(f"{prefix}-{iter_no + 1:04d}.params", arrays)

    return save


def module_checkpoint(
    mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """A callback of epochs that calls ``mod.save_checkpoint(prefix, epoch, save_optimizer_states)``.

    >>> class Saved:
    ...     def save_checkpoint(self, prefix, epoch, states):
    ...         print(prefix, epoch, states)
    >>> module_checkpoint(Saved(), "net", period=2)(3)
    net 4 False
    """
    every = _period(period, "module_checkpoint")

    def save(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % every == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return save


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """A callback of batches that logs the metric every ``period`` batches, and then resets it if asked to.

    >>> log_train_metric(10)(BatchEndParam(0, 5, None, None))
    """
    every = _period(period, "log_train_metric")

    def log(param: Any) -> None:
        if param.nbatch % every or param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            _log.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            param.eval_metric.reset_local()

    return log


class Speedometer:
    """A callback of batches that logs samples a second, and the metric, every ``frequent`` batches.

    With ``auto_reset`` the metric is that of these batches, else that of all since it was last reset.

    >>> meter = Speedometer(batch_size=32, frequent=1)
    >>> for batch in (0, 1):
    ...     meter(BatchEndParam(0, batch, None, None))
    >>> meter.last_speed > 0
    True
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size = batch_size
        self.frequent = _period(frequent, "Speedometer", "frequent")
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0
        self.last_speed: float | None = None

    def __call__(self, param: Any) -> None:
        count = param.nbatch
        if self.last_count > count:  # another epoch
            self.init = False
        self.last_count = count
        if not self.init:
            self.init, self.tic = True, time.perf_counter()
            return
        if count % self.frequent:
            return
        passed = time.perf_counter() - self.tic
        speed = self.last_speed = self.frequent * self.batch_size / passed if passed else math.inf
        metric = param.eval_metric
        values = [] if metric is None else metric.get_name_value()
        first = 0
        if metric is not None and self.auto_reset:
            metric.reset_local()
            first = count - self.frequent
        text = "".join(f"\t{name}={value:f}" for name, value in values)
        _log.info("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s", param.epoch, first, count, speed, text)
        self.tic = time.perf_counter()


class ProgressBar:
    """A callback of batches that logs a bar of ``length`` characters, full after ``total`` batches.

    >>> bar = ProgressBar(total=4, length=8)
    >>> bar.text(3)
    '[======--] 75%'
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.total = _period(total, "ProgressBar", "total")
        self.bar_len = length

    def text(self, count: int) -> str:
        """The bar after so many batches."""
        share = min(count / self.total, 1.0)
        filled = round(self.bar_len * share)
        return f"[{'=' * filled}{'-' * (self.bar_len - filled)}] {math.ceil(100 * share)}%"

    def __call__(self, param: Any) -> None:
        _log.info("%s\r", self.text(param.nbatch))


class LogValidationMetricsCallback:
    """A callback of epochs that logs each value of the metric of the validation.

    >>> LogValidationMetricsCallback()(BatchEndParam(0, 5, None, None))
    """

    def __call__(self, param: Any) -> None:
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            _log.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


def _period(value: int, function: str, name: str = "period") -> int:
    if value < 1:
        raise ArgumentError(f"{function}: {name}={value} is not valid: expected at least 1")
    return int(value)
