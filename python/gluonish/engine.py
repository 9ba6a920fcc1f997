"""The engine, which runs operations asynchronously: how many threads it uses, and a serial one to debug with.

A call returns at once, the work is done when what it reads is ready. Waits (``asnumpy``, ``wait_to_read``, ``waitall``)
raise what went wrong. ``docs/engine.md`` explains it.

>>> import gluonish as mx
>>> with mx.engine.naive():
...     y = mx.nd.ones((2, 3)) * 2  # done before the next line begins
>>> with mx.engine.set_num_threads(1):
...     mx.engine.num_threads()
1
"""

from operator import index

from gluonish import _core
from gluonish._scope import Changed
from gluonish.errors import ArgumentError

__all__ = [
    "bulk",
    "instruction_set",
    "is_naive",
    "naive",
    "num_threads",
    "set_bulk_size",
    "set_inflight_bytes",
    "set_num_threads",
    "stats",
]

_bulk_size = 15  # MXNet's default


class naive:  # noqa: N801 - used as a function
    """A scope in which each operation is done before its call returns, so that an error is raised by its own line.

    It holds for the whole process, as ``GLUONISH_ENGINE=naive`` does. Results have the same bits.

    >>> with naive():
    ...     is_naive()
    True
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _core.set_naive(True)

    def __exit__(self, *exc_info: object) -> None:
        _core.set_naive(self._before)


def is_naive() -> bool:
    """Whether the serial engine is in use.

    >>> with naive():
    ...     is_naive()
    True
    """
    return _core.is_naive()


def num_threads() -> int:
    """How many threads one operation may use.

    >>> num_threads() >= 1
    True
    """
    return _core.num_threads()


def set_num_threads(count: int) -> Changed[int]:
    """Sets how many threads one operation may use; 0 is as many as this process may have. Results have the same bits.

    In a ``with`` statement the old number comes back at the end of the block.

    >>> with set_num_threads(1):
    ...     num_threads()
    1
    """
    return Changed(_core.set_num_threads, _count(count, "set_num_threads"))


def set_inflight_bytes(count: int) -> Changed[int]:
    """Sets how many bytes queued operations may still have to write before a call waits; 0 is a few operations ahead.

    In a ``with`` statement the old number comes back at the end of the block.

    >>> with set_inflight_bytes(1 << 20):
    ...     pass
    """
    return Changed(_core.set_inflight_bytes, _count(count, "set_inflight_bytes"))


def stats() -> dict[str, int]:
    """What the engine has done so far, in counts by name.

    >>> isinstance(stats(), dict)
    True
    """
    return _core.engine_stats()


def instruction_set() -> str:
    """The vector instructions that kernels use on this processor.

    >>> isinstance(instruction_set(), str)
    True
    """
    return _core.isa()


def set_bulk_size(size: int) -> int:
    """MXNet's number of operations that are queued as one; returns the old number.

    The engine here runs small operations at once instead of queueing them, so the number is kept but changes nothing.

    >>> before = set_bulk_size(30)
    >>> set_bulk_size(before)
    30
    """
    global _bulk_size
    before, _bulk_size = _bulk_size, _count(size, "set_bulk_size")
    return before


def bulk(size: int) -> Changed[int]:
    """A scope with another ``set_bulk_size``.

    >>> with bulk(10):
    ...     pass
    """
    return Changed(set_bulk_size, size)


def _count(value: int, function: str) -> int:
    try:
        count = index(value)
    except TypeError:
        count = -1
    if count < 0:
        raise ArgumentError(f"{function}: {value!r} is not valid: expected a number of at least 0")
    return count
