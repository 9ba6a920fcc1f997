"""What every store has, and the kinds of stores by name."""

from collections.abc import Sequence
from typing import Any, ClassVar

from gluonish._core import NDArray
from gluonish._files import PathLike
from gluonish._registry import Registry
from gluonish.errors import ArgumentError, UnsupportedError

__all__ = ["KVStoreBase", "Key", "StoreError", "Values", "create"]

Key = int | str
Values = NDArray | Sequence[NDArray]

# Names of MXNet's kinds that are not built yet, by what they wait for.
_WAITING = {
    "several machines": ("dist", "dist_sync", "dist_async", "dist_device_sync", "dist_sync_device", "p3", "horovod"),
    "GPUs": ("nccl",),
}


class StoreError(ArgumentError, AssertionError):
    """A call does not fit a store: a key, its values, or what the store cannot do."""


StoreError.__module__ = "gluonish.kvstore"


class KVStoreBase:
    """What `Trainer` asks of a store. A class of your own defines these, and is made known by ``register``.

    >>> @KVStoreBase.register
    ... class Printing(KVStoreBase):
    ...     def broadcast(self, key, value, out, priority=0):
    ...         print("broadcast", key)
    >>> create("printing").broadcast("w", None, None)
    broadcast w
    """

    OPTIMIZER: ClassVar[str] = "optimizer"
    kv_registry: "ClassVar[Registry[KVStoreBase]]"
    _trained = False  # whether it holds the parameters of a trainer, by their numbers

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Writes the value of the first worker to every ``out``."""
        raise self._lacks("broadcast")

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sums the values, and writes what the store makes of the sum to every ``out``, or to the values."""
        raise self._lacks("pushpull")

    def set_optimizer(self, optimizer: Any) -> None:
        """Lets the store update what it holds by the sums that it gets."""
        raise self._lacks("set_optimizer")

    def set_gradient_compression(self, compression_params: Any) -> None:
        """Lets the store compress what it is given."""
        raise self._lacks("set_gradient_compression")

    def is_capable(self, capability: str) -> bool:
        """Whether the store can do something: run an optimizer (``KVStoreBase.OPTIMIZER``)."""
        raise self._lacks("is_capable")

    def save_optimizer_states(self, fname: PathLike, dump_optimizer: bool = False) -> None:
        """Saves what the store's optimizer keeps for each key."""
        raise self._lacks("save_optimizer_states")

    def load_optimizer_states(self, fname: PathLike) -> None:
        """Loads what ``save_optimizer_states`` saved."""
        raise self._lacks("load_optimizer_states")

    @property
    def type(self) -> str:
        """The name of the kind."""
        raise self._lacks("type")

    @property
    def rank(self) -> int:
        """The number of this process among the workers, from 0."""
        raise self._lacks("rank")

    @property
    def num_workers(self) -> int:
        """How many processes train together."""
        raise self._lacks("num_workers")

    def _lacks(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{type(self).__name__} has no {what}: define it in the class")

    @staticmethod
    def register(klass: Any) -> Any:
        """Makes a class known to ``create`` by its name, in lower case; a decorator."""
        return KVStoreBase.kv_registry.register(klass)


KVStoreBase.kv_registry = Registry("store", KVStoreBase)


def create(name: str = "local") -> Any:
    """A store by the name of its kind: "local", "device", or one that was registered.

    Both sum on the device that holds the value of a key; "device" can also compress what it sums.

    >>> create("local").type
    'local'
    >>> create("lokal")
    Traceback (most recent call last):
        ...
    gluonish.errors.ArgumentError: create: 'lokal' is not the name of a store; there are 'device', 'local', ...
    """
    key = check_name(name)
    if key in KVStoreBase.kv_registry.names():
        return KVStoreBase.kv_registry.create(key)
    from gluonish.kvstore.local import KVStore

    return KVStore(key)


def check_name(name: str) -> str:
    """The name of a kind of stores in small letters; one that is none raises."""
    if not isinstance(name, str):
        raise ArgumentError(f"create: name must be a string, got {type(name).__name__}")
    key = name.lower()
    names = sorted({*KVStoreBase.kv_registry.names(), "local", "device"})
    if key in names:
        return key
    known = ", ".join(map(repr, names))
    for what, waiting in _WAITING.items():
        if key in waiting:
            raise UnsupportedError(
                f"create: stores of kind {name!r} are not built yet, they wait for {what}; there are {known}"
            )
    raise ArgumentError(f"create: {name!r} is not the name of a store; there are {known}")
