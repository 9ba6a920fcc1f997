"""Looking at what layers make while a network trains.

>>> import gluonish as mx
>>> from gluonish.gluon import nn
>>> net = nn.Sequential(prefix="net_")
>>> net.add(nn.Identity(prefix="first_"))
>>> monitor = mx.monitor.Monitor(interval=1, stat_func=lambda x: x.max())
>>> monitor.install(net)
>>> monitor.tic()
>>> y = net(mx.nd.array([1, 3, 2]))
>>> monitor.toc()
[(1, 'first_output0', '3.0\\t'), (1, 'net_output0', '3.0\\t')]
"""

import logging
import re
from collections.abc import Callable
from typing import Any

from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.errors import ArgumentError

__all__ = ["Monitor"]

Stat = NDArray | list[NDArray] | tuple[NDArray, ...]


def _mean_size(x: NDArray) -> NDArray:
    """The norm over the root of the number of elements."""
    size: NDArray = x.norm() / max(x.size, 1) ** 0.5
    return size


class Monitor:
    """Collects a statistic of every output of every layer, and of the parameters, every ``interval`` batches.

    Outputs are called after their block, ``dense0_output0``, parameters as they are. Between ``tic`` and ``toc``
    nothing waits: ``toc`` does.

    Parameters
    ----------
    stat_func
        What is computed of an array: an array, or a list of them. None: the norm, divided by the root of the size.
    pattern
        A regular expression that names have to begin with.
    sort
        Whether ``toc`` sorts by name.
    monitor_all
        Whether inputs are looked at, too (``dense0_input0``).

    >>> Monitor(10, pattern=".*weight").toc()
    []
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Stat] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        if interval < 1:
            raise ArgumentError(f"Monitor: interval={interval} is not valid: expected at least 1")
        self.interval = interval
        self.stat_func = stat_func or _mean_size
        self.re_prog = re.compile(pattern)
        self.sort, self.monitor_all = sort, monitor_all
        self.step, self.activated = 0, False
        self.queue: list[tuple[int, str, Stat]] = []
        self._blocks: list[Any] = []

    def install(self, exe: Any) -> None:
        """Begins to look at a block and at all that are inside of it."""
        if not hasattr(exe, "register_forward_hook"):
            raise ArgumentError(
                f"Monitor: a Block is needed, got {type(exe).__name__}; executors of symbols are not built yet"
            )
        exe.apply(lambda block: block.register_forward_hook(self._seen))
        self._blocks.append(exe)

    def _seen(self, block: Any, inputs: Any, output: Any) -> None:
        if not self.activated:
            return
        if self.monitor_all:
            self._look_at_all(f"{block.name}_input", inputs)
        self._look_at_all(f"{block.name}_output", output)

    def _look_at_all(self, name: str, values: Any) -> None:
        for i, array in enumerate(_arrays(values)):
            self._look_at(f"{name}{i}", array)

    def _look_at(self, name: str, array: NDArray) -> None:
        if self.re_prog.match(name):
            with pause():
                self.queue.append((self.step, name, self.stat_func(array)))

    def tic(self) -> None:
        """Says that a batch begins. Of every ``interval`` batches one is looked at."""
        if self.step % self.interval == 0:
            self.queue, self.activated = [], True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Says that the batch ended, and returns what was seen: its number from 1, name and statistic of each array."""
        seen: list[tuple[int, str, str]] = []
        if self.activated:
            for block in self._blocks:
                for name, parameter in block.collect_params().items():
                    for array in _values(parameter):
                        self._look_at(name, array)
            queue = sorted(self.queue, key=lambda entry: entry[1]) if self.sort else self.queue
            seen = [(step, name, _text(stat)) for step, name, stat in queue]
        self.queue, self.activated = [], False
        return seen

    def toc_print(self) -> None:
        """``toc``, logged."""
        for step, name, text in self.toc():
            logging.getLogger("gluonish.monitor").info("Batch: %7d %-30s %s", step, name, text)


def _arrays(values: Any) -> list[NDArray]:
    """All arrays in nested lists."""
    if isinstance(values, NDArray):
        return [values]
    return [array for value in values for array in _arrays(value)] if isinstance(values, list | tuple) else []


def _values(parameter: Any) -> list[NDArray]:
    """The copies of a parameter on all devices; none while it waits for its shape."""
    from gluonish.gluon.parameter import DeferredInitializationError

    try:
        values: list[NDArray] = parameter.list_data()
    except (DeferredInitializationError, RuntimeError):
        return []
    return values


def _text(stat: Stat) -> str:
    """The numbers, each with a tab behind it."""
    arrays = [stat] if isinstance(stat, NDArray) else list(stat)
    return "".join(f"{array.item() if array.size == 1 else array.asnumpy()}\t" for array in arrays)
