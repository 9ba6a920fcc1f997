"""The smallest store: what a kind of your own looks like, and what tests of trainers use."""

from typing import Any

from gluonish import _core
from gluonish.autograd import pause
from gluonish.kvstore._values import listed, summed
from gluonish.kvstore.base import KVStoreBase

__all__ = ["TestStore"]


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store that keeps nothing: ``pushpull`` gives the sum, ``broadcast`` the value. It runs no optimizer.

    >>> import gluonish as mx
    >>> out = mx.nd.zeros(2)
    >>> mx.kv.create("teststore").pushpull("w", [mx.nd.ones(2), mx.nd.ones(2)], out=out)
    >>> out.tolist()
    [2.0, 2.0]
    """

    __test__ = False  # a store of tests, but no test

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Writes the value to every ``out``."""
        with pause():
            for one in listed(out, f"broadcast of key {key!r}: out"):
                _core.copy_into(one, listed(value, f"broadcast of key {key!r}: value")[0])

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Writes the sum of the values to every ``out``, or to the values."""
        values = listed(value, f"pushpull of key {key!r}: value")
        with pause():
            total = summed(values, values[0]._device)
            for one in values if out is None else listed(out, f"pushpull of key {key!r}: out"):
                _core.copy_into(one, total)

    def is_capable(self, capability: str) -> bool:
        """False: there is no optimizer, and nothing else to ask for."""
        return False

    @property
    def type(self) -> str:
        """'teststore'."""
        return "teststore"

    @property
    def rank(self) -> int:
        """0: there is one process."""
        return 0

    @property
    def num_workers(self) -> int:
        """1: there is one process."""
        return 1
