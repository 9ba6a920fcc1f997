"""The store of one process: values by key, sums over devices, an optimizer that runs on what it holds."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from gluonish import _core, _files
from gluonish._core import NDArray
from gluonish._files import PathLike
from gluonish.autograd import pause
from gluonish.errors import DTypeError, ShapeError, UnsupportedError
from gluonish.kvstore._values import pairs, summed
from gluonish.kvstore.base import Key, KVStoreBase, StoreError
from gluonish.kvstore.compression import Compression

__all__ = ["KVStore"]

Update = Callable[[Any, Any, Any], object]


class KVStore(KVStoreBase):
    """A store of this process; ``create`` makes it. Keys are all ints or all strings.

    A push of several arrays sums them on the device where the key was initialized. The sum replaces the value, or is
    what the updater gets: ``updater(key, sum, value)`` changes the value in place. ``priority`` orders the traffic of
    stores over a network; within a process work runs in the order in which it is queued.

    >>> import gluonish as mx
    >>> store = mx.kv.create("local")
    >>> store.init([3, 5], [mx.nd.ones(2), mx.nd.ones(2)])
    >>> store._set_updater(lambda key, total, value: value.__isub__(0.5 * total))
    >>> store.push(3, mx.nd.ones(2))
    >>> out = mx.nd.zeros(2)
    >>> store.pull(3, out=out)
    >>> out.tolist()
    [0.5, 0.5]
    """

    def __init__(self, name: str = "local") -> None:
        self._type = name
        self._held: dict[Key, NDArray] = {}
        self._updater: Update | None = None
        self._optimizer: Any = None
        self._compression: Compression | None = None

    @property
    def type(self) -> str:
        """The name of the kind."""
        return self._type

    @property
    def rank(self) -> int:
        """0: there is one process."""
        return 0

    @property
    def num_workers(self) -> int:
        """1: there is one process."""
        return 1

    def is_capable(self, capability: str) -> bool:
        """Whether the store can do something: it runs optimizers.

        >>> KVStore().is_capable("optimizer")
        True
        """
        return capability.lower() == self.OPTIMIZER

    def barrier(self) -> None:
        """Waits for all workers: there is one, so nothing is waited for."""

    _barrier = barrier

    # Values.

    def init(self, key: Any, value: Any) -> None:
        """Keeps a copy of a value under a new key; of several, the first. Every key needs this once."""
        given = pairs(key, value, "init")
        counts = Counter(one for one, _ in given)
        for one, _ in given:
            self._check_type(one, "init", given[0][0])
            if one in self._held or counts[one] > 1:
                raise StoreError(f"init: key {one!r} has been initialized already; push replaces its value")
        with pause():
            for one, values in given:
                self._held[one] = values[0].copy().detach()

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Sums the arrays of a key, and gives the sum to the updater; without one it becomes the value."""
        groups: dict[Key, list[NDArray]] = {}
        for one, values in pairs(key, value, "push"):
            held = self._get(one, "push")
            for array in values:
                _check_fit(one, array, held)
            groups.setdefault(one, []).extend(values)
        with pause():
            sums = {one: self._sum(one, values) for one, values in groups.items()}
            self._take(sums)

    def pull(self, key: Any, out: Any = None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Writes the value of a key to each array of ``out``, on whatever device it is."""
        if out is None:
            raise StoreError("pull: out is needed: the arrays that the values are written to")
        given = [(one, self._get(one, "pull"), outs) for one, outs in pairs(key, out, "pull")]
        for one, held, outs in given:
            for array in outs:
                _check_shape("pull", one, array, held)
        with pause():
            for _, held, outs in given:
                for array in outs:
                    _core.copy_into(array, held)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """A push, and a pull into ``out``, or into what was pushed."""
        outs = value if out is None else out
        for one, arrays in pairs(key, outs, "pushpull"):
            held = self._get(one, "pushpull")
            for array in arrays:
                _check_shape("pushpull", one, array, held)
        self.push(key, value, priority)
        self.pull(key, outs, priority)

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Initializes a key, and pulls its value into ``out``."""
        self.init(key, value)
        self.pull(key, out, priority)

    def _replace(self, key: Key, value: NDArray) -> None:
        """Another value for a key, whatever updater there is; also of another type."""
        held = self._get(key, "replace")
        _check_shape("replace", key, value, held)
        with pause():
            if value.dtype == held.dtype:
                _core.copy_into(held, value)
            else:
                self._held[key] = _core.copy_to_device(value, held._device).detach()

    def row_sparse_pull(self, key: Any, out: Any = None, priority: int = 0, row_ids: Any = None) -> NoReturn:
        """Rows of a sparse value. There are no sparse arrays yet."""
        raise UnsupportedError("row_sparse_pull: waits for sparse arrays, which are not built yet")

    # What happens to sums.

    def set_optimizer(self, optimizer: Any) -> None:
        """Updates values by an optimizer: sums are the gradients, values the weights."""
        from gluonish import optimizer as optimizers

        if not isinstance(optimizer, optimizers.Optimizer):
            raise StoreError(
                f"set_optimizer: an Optimizer is needed, got {optimizer!r}; optimizer.create makes one of a name"
            )
        self._optimizer = optimizer
        self._updater = optimizers.get_updater(optimizer)

    def _set_updater(self, updater: Update) -> None:
        """Calls ``updater(key, sum, value)`` at each push, which changes the value in place."""
        if not callable(updater):
            raise StoreError(f"_set_updater: a function of (key, sum, value) is needed, got {updater!r}")
        self._optimizer, self._updater = None, updater

    set_updater = _set_updater

    def set_gradient_compression(self, compression_params: Mapping[str, Any]) -> None:
        """Rounds what is pushed to one or two bits a number: ``{'type': '2bit', 'threshold': 0.5}``.

        What that loses is added to the next push of the same key from the same device. Stores of kind "local" sum in
        one memory, where it would gain nothing, and refuse it.
        """
        if "device" not in self._type:
            raise UnsupportedError(
                f"set_gradient_compression: a store of kind {self._type!r} does not compress; create('device') does"
            )
        self._compression = Compression(compression_params)

    def save_optimizer_states(self, fname: PathLike, dump_optimizer: bool = False) -> None:
        """Saves what the optimizer keeps for each key; ``dump_optimizer`` adds its counts and settings."""
        updater = self._stateful("save_optimizer_states")
        path = _files.local_path(fname, "save_optimizer_states")
        _files.write_whole(path, updater.get_states(dump_optimizer=dump_optimizer))

    def load_optimizer_states(self, fname: PathLike) -> None:
        """Loads what ``save_optimizer_states`` saved. A file that does not fit leaves everything as it was."""
        updater = self._stateful("load_optimizer_states")
        path = _files.local_path(fname, "load_optimizer_states")
        with _files.about(path):
            updater.set_states(_files.read_whole(path))

    def _stateful(self, function: str) -> Any:
        if self._optimizer is None:
            raise StoreError(f"{function}: the store has no optimizer: set_optimizer gives it one")
        return self._updater

    def _sum(self, key: Key, values: list[NDArray]) -> NDArray:
        """The sum where the key is held; compressed before it leaves the devices that made its parts."""
        if self._compression is not None:
            seen: Counter[int] = Counter()
            for i, value in enumerate(values):
                device = value._device
                values[i] = self._compression((key, device, seen[device]), value)
                seen[device] += 1
        return summed(values, self._held[key]._device)

    def _take(self, sums: dict[Key, NDArray]) -> None:
        if self._updater is None:
            # A sum that failed goes on as it is: whoever pulls it would else get the one before.
            for key, total in sums.items():
                _core.copy_into(self._held[key], total)
        elif self._optimizer is not None:  # one fused step for all keys of a device
            by_device: dict[int, list[Key]] = {}
            for key in sums:
                by_device.setdefault(self._held[key]._device, []).append(key)
            for keys in by_device.values():
                self._updater(keys, [sums[key] for key in keys], [self._held[key] for key in keys])
        else:
            for key, total in sums.items():
                self._updater(key, total, self._held[key])

    # Keys.

    def _get(self, key: Key, function: str) -> NDArray:
        self._check_type(key, function, key)
        held = self._held.get(key)
        if held is None:
            raise StoreError(f"{function}: there is no key {key!r}: init it first; there are {_shown(self._held)}")
        return held

    def _check_type(self, key: Key, function: str, beside: Key) -> None:
        first = next(iter(self._held), beside)
        if isinstance(key, str) != isinstance(first, str):
            raise StoreError(
                f"{function}: key {key!r} is a {type(key).__name__}, but key {first!r} is a {type(first).__name__}: "
                "the keys of a store are all of one type"
            )


def _check_fit(key: Key, array: NDArray, held: NDArray) -> None:
    _check_shape("push", key, array, held)
    if array.dtype != held.dtype:
        raise DTypeError(f"push: key {key!r} holds {held.dtype}, but {array.dtype} was pushed; astype makes it fit")


def _check_shape(function: str, key: Key, array: NDArray, held: NDArray) -> None:
    if array.shape != held.shape:
        raise ShapeError(f"{function}: key {key!r} holds an array of shape {held.shape}, not of {array.shape}")


def _shown(keys: Any) -> str:
    names = [repr(key) for key in keys]
    return ", ".join(names[:8]) + (" and more" if len(names) > 8 else "") or "none"
