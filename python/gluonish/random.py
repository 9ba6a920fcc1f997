"""The seed of all random numbers, and MXNet's functions that draw them.

>>> import gluonish as mx
>>> mx.random.seed(42)
>>> a = mx.random.uniform(shape=3)
>>> mx.random.seed(42)
>>> bool((a == mx.random.uniform(shape=3)).min())
True
"""

from operator import index
from typing import Any

from gluonish import _core
from gluonish.context import Context, device_index
from gluonish.errors import ArgumentError

__all__ = ["seed"]


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Starts the random numbers of every device anew, or those of one.

    With the same seed a program draws the same numbers, for any number of threads and on both engines. Different
    devices draw different numbers also after the same seed. The seed is a whole number; its low 64 bits count.

    >>> seed(0)
    >>> seed(1, ctx="cpu(0)")
    """
    try:
        state = index(seed_state)
    except TypeError:
        raise ArgumentError(f"seed: seed_state={seed_state!r} is not valid: expected an integer") from None
    _core.seed(state % 2**64, None if ctx == "all" else device_index(ctx))


def __getattr__(name: str) -> Any:
    from gluonish.nd import random

    return getattr(random, name)
