"""What arrays hold. Freed memory is kept for the next array: fresh memory costs many times the write that fills it.

>>> import gluonish as mx
>>> x = mx.nd.ones((1000, 1000))
>>> x.wait_to_read()  # memory is taken when the work begins
>>> mx.memory.stats()["held"] >= 4_000_000
True
"""

from operator import index

from gluonish import _core
from gluonish._scope import Changed
from gluonish.errors import ArgumentError

__all__ = ["release", "reset_peak", "set_limit", "stats"]


def stats() -> dict[str, int]:
    """Bytes: that arrays hold and held at most (``held``, ``peak``), kept for the next (``pooled``), and the ``limit``.

    >>> sorted(stats())[:2]
    ['held', 'limit']
    """
    return _core.memory_stats()


def release() -> int:
    """Gives memory that no array uses back to the system; returns how many bytes.

    >>> release() >= 0
    True
    """
    return _core.memory_release()


def reset_peak() -> None:
    """Lets ``peak`` begin anew, at what is held now.

    >>> reset_peak()
    """
    _core.memory_reset_peak()


def set_limit(count: int) -> Changed[int]:
    """Sets how many bytes arrays may hold; beyond it making an array raises ``OutOfMemory``. 0: what the machine has.

    In a ``with`` statement the old limit comes back at the end of the block.

    >>> with set_limit(1 << 40):
    ...     pass
    """
    try:
        limit = index(count)
    except TypeError:
        limit = -1
    if limit < 0:
        raise ArgumentError(f"set_limit: {count!r} is not valid: expected a number of bytes, at least 0")
    return Changed(_core.set_memory_limit, limit)
