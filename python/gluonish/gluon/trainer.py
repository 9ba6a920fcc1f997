"""Trainer: applies an optimizer to the parameters of a network, on one device or several."""

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import index
from typing import Any, NoReturn

from gluonish import _files
from gluonish import kvstore as stores
from gluonish import optimizer as optimizers
from gluonish._commit import raise_left_out
from gluonish._core import NDArray
from gluonish._files import PathLike
from gluonish.autograd import pause
from gluonish.context import from_index
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.gluon import _trainer_states
from gluonish.gluon._freshness import accumulate as accumulate_in
from gluonish.gluon._freshness import kept
from gluonish.gluon._parameter import ParameterError
from gluonish.gluon._trained import Slot, StaleGradientError, devices_of, parameters_of, reached, unused
from gluonish.kvstore.base import check_name

__all__ = ["StaleGradientError", "Trainer"]

_LARGE = 16 << 20  # elements of a tensor that a "local" store does not update itself
_OTHERS = -1  # the version of values that the store holds, where a parameter has other arrays since


class Trainer:
    """Applies an optimizer to parameters.

    Parameters
    ----------
    params
        A block, or a dict or list of parameters. One that is shared counts once.
    optimizer, optimizer_params
        An optimizer, or the name of one with its arguments: ``"sgd", {"learning_rate": 0.1, "momentum": 0.9}``. An
        optimizer belongs to the last trainer that it was given to, which goes on with its counts of updates.
    kvstore
        The store that sums gradients of several devices: a name or a store, or None. With one device none is made.
    compression_params
        How the store compresses gradients: ``{"type": "2bit", "threshold": 0.5}``. Where there is no store, there is
        nothing to compress.
    update_on_kvstore
        Whether the store applies the optimizer. By default it does where it can (and the environment variable
        ``MXNET_UPDATE_ON_KVSTORE`` is not 0); ``allreduce_grads`` and ``update`` need False.
    accumulate
        So many calls of ``step`` make one update, by the sum of their gradients: large batches in little memory. The
        ``grad_req`` of the parameters becomes "add", and gradients are set to 0 after an update.

    All tensors of a device are updated by one call of the optimizer, so that its ``clip_global_norm`` is a bound of the
    norm of all gradients of the network together: ``{"clip_global_norm": 1.0}``.

    >>> import gluonish as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize(mx.init.One())
    >>> trainer = Trainer(net, "sgd", {"learning_rate": 0.5})
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.array([[1, 2], [3, 4]])).sum(axis=1)
    >>> loss.backward()
    >>> trainer.step(batch_size=2)
    >>> net.weight.data().tolist()
    [[0.0, -0.5]]
    """

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: Mapping[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
        *,
        accumulate: int = 1,
    ) -> None:
        self._params = parameters_of(params)
        self._slots = [Slot(key, parameter) for key, parameter in enumerate(self._params)]
        self._devices = devices_of(self._params)
        self._by_number: dict[Hashable, Any] = dict(enumerate(self._params))
        self._optimizer = _optimizer_of(optimizer, optimizer_params, self._by_number)
        self._updaters = [optimizers.get_updater(self._optimizer) for _ in self._devices]
        self._scale = self._optimizer.rescale_grad
        if not (kvstore is None or isinstance(kvstore, str | stores.KVStoreBase)):
            raise ArgumentError(f"Trainer: kvstore must be a name, a store or None, got {type(kvstore).__name__}")
        self._wanted = (kvstore, compression_params, update_on_kvstore)
        self._started = False
        self._kvstore: Any = None
        self._update_on_kvstore: bool | None = None
        self._stored: dict[int, int] = {}  # parameters that the store holds, by number, and versions of these values
        self._amp_loss_scaler: Any = None
        self._accumulate, self._waiting_batches, self._waiting_examples = _count(accumulate), 0, 0.0
        if isinstance(kvstore, str):
            check_name(kvstore)
        accumulate_in(self._params, self._accumulate > 1)

    # The optimizer.

    @property
    def optimizer(self) -> Any:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The learning rate of now, which a schedule may change."""
        rate: float = self._optimizer.learning_rate
        return rate

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate. One that a schedule makes cannot be set, and raises UserWarning."""
        self._optimizer.set_learning_rate(lr)

    # Training.

    def step(self, batch_size: float, ignore_stale_grad: bool = False, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters by their gradients, which are summed over devices and divided by ``batch_size``.

        Losses are one number for each example, so the size of the whole batch, of all devices together, is what makes
        the mean. A parameter whose gradient is not new raises `StaleGradientError`, a UserWarning, before anything
        changes; ``ignore_stale_grad`` skips it.

        ``closure`` is a function that computes the loss and calls ``backward``: it is called, and what it returned is
        returned. `LBFGS` needs one, calls it several times, and what is returned is a number: the loss before the step,
        summed and divided by ``batch_size``.
        """
        size = _batch_size(batch_size, "step")
        self._start()
        if self._optimizer.needs_closure:
            return self._minimize(size, closure)
        loss = None if closure is None else closure()
        found = reached(self._slots, ignore_stale_grad)
        if self._accumulate == 1:
            with pause():
                self._move(found, size)
        else:
            self._gather(found, size)
        return loss

    def _gather(self, found: list[Slot], size: float) -> None:
        """One of the batches of an update, which comes with the last of them."""
        self._check_batches()
        batches, examples = self._waiting_batches + 1, self._waiting_examples + size
        with pause():
            if batches < self._accumulate:
                for slot in found:
                    slot.count()
            else:
                self._move(unused(self._slots), examples)
                self._zero()
                batches, examples = 0, 0.0
            accumulate_in(self._params, True)  # also those that were frozen until now
        self._waiting_batches, self._waiting_examples = batches, examples

    def allreduce_grads(self) -> None:
        """Sums the gradients over devices, for code that looks at them before ``update``: to clip them, for example.

        It needs ``update_on_kvstore=False``. On one device there is nothing to sum.
        """
        self._start()
        self._check_manual("allreduce_grads")
        with pause():
            self._sum(reached(self._slots, ignore_stale=True))

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Updates the parameters by gradients that ``allreduce_grads`` summed: the second half of ``step``."""
        size = _batch_size(batch_size, "update")
        self._start()
        self._check_manual("update")
        found = reached(self._slots, ignore_stale_grad)
        with pause():
            self._apply(found, self._factor(found, size))

    def fit(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Trains over a data set. It comes with the data pipelines."""
        raise UnsupportedError(
            "Trainer.fit is not built yet: it comes with the data pipelines; write the loop with autograd.record(), "
            "backward() and step()"
        )

    # Files.

    def save_states(self, fname: PathLike) -> None:
        """Saves what the optimizer keeps: training goes on from it exactly. The old file stays until all is on disk."""
        self._start()
        self._check_settled("save_states", "to files")
        path = _files.local_path(fname, "save_states")
        if self._update_on_kvstore and not isinstance(self._kvstore, stores.KVStore):
            self._kvstore.save_optimizer_states(path, dump_optimizer=True)
        else:
            states = self._state_bytes()
            raise_left_out()
            _files.write_whole(path, states)

    def load_states(self, fname: PathLike) -> None:
        """Loads what ``save_states`` saved. A file that does not fit raises, and leaves the trainer as it was.

        States belong to parameters by their numbers; names in the file tell when these stand in another order. A file
        that was saved with a schedule of the learning rate needs an optimizer with one.
        """
        self._start()
        self._check_settled("load_states", "with states")
        path = _files.local_path(fname, "load_states")
        if self._update_on_kvstore and not isinstance(self._kvstore, stores.KVStore):
            self._kvstore.load_optimizer_states(path)
        else:
            with _files.about(path):
                self._set_states(_files.read_whole(path))

    def __getstate__(self) -> dict[str, Any]:
        """Copies of parameters have no gradients."""
        self._check_settled("a copy of the Trainer", "with it")
        return dict(vars(self))

    # The store.

    def _start(self) -> None:
        """Makes the store at the first use, and gives it the parameters that it does not hold yet."""
        raise_left_out()
        if self._optimizer.param_dict is not self._by_number:
            if self._optimizer.param_dict:
                raise ParameterError(
                    f"Trainer: its optimizer, {self._optimizer!r}, was given to another trainer since, whose updates "
                    "would be counted as its own: make an optimizer for each trainer"
                )
            self._optimizer.param_dict = self._by_number  # a copy of a trainer
        changed = [slot for slot in self._slots if slot.changed()]
        if changed:
            for slot in changed:
                slot.look()
                if slot.key in self._stored:
                    self._stored[slot.key] = _OTHERS
            if any(slot.weights and list(slot.weights) != self._devices for slot in self._slots):
                self._move_to(devices_of(self._params))
        if not self._started:
            self._make_store()
        if self._kvstore is not None:
            with pause():
                for slot in self._slots:
                    if slot.weights and slot.parameter.grad_req != "null":
                        self._store_value(slot)

    def _store_value(self, slot: Slot) -> None:
        """Gives the store a parameter: a new one, or one that it updates and whose values somebody else has changed."""
        known = self._stored.get(slot.key)
        if known is None:
            weights = list(slot.weights.values())
            self._kvstore.broadcast(slot.key, weights[0], weights)
        elif known == slot.version() or not (self._update_on_kvstore or known == _OTHERS):
            return
        elif isinstance(self._kvstore, stores.KVStore):
            self._kvstore._replace(slot.key, slot.weights[self._devices[0]])
        elif self._update_on_kvstore:
            raise ParameterError(
                f"Trainer: the values of parameter '{slot.parameter.name}' were changed, and a store of kind "
                f"{self._kvstore.type!r} keeps its own: give the trainer update_on_kvstore=False"
            )
        self._stored[slot.key] = slot.version()

    def _make_store(self) -> None:
        wanted, compression, on_store = self._wanted
        store: Any = wanted
        if isinstance(wanted, str):
            store = stores.create(wanted) if len(self._devices) > 1 or "dist" in wanted else None
        if store is not None:
            if on_store is None:
                on_store = os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") != "0" and store.is_capable("optimizer")
                on_store = on_store and not (store.type == "local" and self._largest() > _LARGE)
            if store._trained:
                raise ParameterError(
                    f"Trainer: its store, of kind {store.type!r}, holds the parameters of another trainer by the same "
                    "numbers: make a store for each trainer, or name its kind"
                )
            if compression is not None:
                store.set_gradient_compression(compression)
            if on_store:
                store.set_optimizer(self._optimizer)
            store._trained = on_store or isinstance(store, stores.KVStore)
        self._kvstore, self._update_on_kvstore = store, on_store if store is not None else None
        self._started = True

    def _move_to(self, devices: list[int]) -> None:
        """Starts again on the devices that parameters were moved to; what the optimizer keeps goes with them."""
        if isinstance(self._wanted[0], stores.KVStoreBase):
            raise ParameterError(
                f"Trainer: the parameters have moved to {[*map(from_index, devices)]}, but the store that was given to "
                "the trainer holds those that were before: make a new trainer"
            )
        states = self._state_bytes()
        self._devices, self._started, self._stored = devices, False, {}
        self._updaters = [optimizers.get_updater(self._optimizer) for _ in devices]
        self._make_store()
        self._set_states(states)

    def _largest(self) -> int:
        return max((array.size for slot in self._slots for array in slot.weights.values()), default=0)

    # A step.

    def _move(self, found: list[Slot], size: float) -> None:
        """Updates the parameters that have new gradients, on all their devices."""
        if not self._update_on_kvstore:
            self._sum(found)
            try:
                self._apply(found, self._factor(found, size))
            except BaseException:
                if self._kvstore is not None:
                    _use(found)  # they are sums now, which another step would sum again
                raise
        elif found:
            with self._rescaled():
                self._optimizer.rescale_grad = _on(self._factor(found, size), self._devices[0])
                self._push(found, [list(slot.weights.values()) for slot in found])
            for slot in found:
                slot.use()
                self._stored[slot.key] = slot.version()

    def _factor(self, found: list[Slot], size: float) -> float | NDArray:
        """What gradients are multiplied by. An array, which nobody waits for, where the loss is scaled."""
        rescale: float = self._scale / size
        if self._amp_loss_scaler is None or not found:
            return rescale
        factor: NDArray = self._amp_loss_scaler.settle([one for slot in found for one in slot.fresh()]) * rescale
        return factor

    def _sum(self, found: list[Slot]) -> None:
        if self._kvstore is not None and found:
            self._push(found, [slot.gradients() for slot in found])

    def _push(self, found: list[Slot], outs: list[list[NDArray]]) -> None:
        """Gives the store new gradients, and writes what it makes of them. What was stale stays so."""
        keys, values = [slot.key for slot in found], [slot.fresh() for slot in found]
        with kept([slot.parameter for slot in found]):
            if isinstance(self._kvstore, stores.KVStore):
                self._kvstore.pushpull(keys, values, outs)
            else:
                for place, (key, value, out) in enumerate(zip(keys, values, outs, strict=True)):
                    self._kvstore.pushpull(key, value, out=out, priority=-place)

    def _apply(self, found: list[Slot], factor: float | NDArray) -> None:
        """One step of the optimizer on each device, for all its tensors at once."""
        if not found:
            return
        keys = [slot.key for slot in found]
        with self._rescaled():
            for device, updater in zip(self._devices, self._updaters, strict=True):
                weights = [slot.weights[device] for slot in found]
                self._optimizer.rescale_grad = _on(factor, device)
                updater(keys, [weight.grad for weight in weights], weights)
        _use(found)

    @contextmanager
    def _rescaled(self) -> Iterator[None]:
        """The optimizer's factor is another within this; a trainer that gets the optimizer later finds its own."""
        try:
            yield
        finally:
            self._optimizer.rescale_grad = self._scale

    def _zero(self) -> None:
        for slot in self._slots:
            if slot.parameter.grad_req != "null":
                slot.parameter.zero_grad()
                slot.use()

    def _minimize(self, size: float, closure: Callable[[], Any] | None) -> Any:
        """A step of an optimizer that computes the loss itself, as often as it wants."""
        name = type(self._optimizer).__name__
        if closure is None:
            raise ArgumentError(f"step: {name} needs closure=, a function that computes the loss and calls backward")
        if len(self._devices) > 1 or self._accumulate > 1 or self._amp_loss_scaler is not None:
            raise UnsupportedError(f"step: {name} works on one device, without accumulate and scaled losses")
        trained = [slot for slot in self._slots if slot.parameter.grad_req != "null"]
        weights = [slot.parameter.data() for slot in trained]
        with self._rescaled():
            self._optimizer.rescale_grad = self._scale / size
            gradients = [weight.grad for weight in weights]
            loss = self._optimizer.minimize(closure, weights, gradients, [slot.key for slot in trained])
        _use(trained)
        return loss

    # Checks.

    def _check_manual(self, function: str) -> None:
        if self._kvstore is not None and self._update_on_kvstore:
            raise ParameterError(
                f"{function}() is not supported when parameters are updated on the kvstore: give the trainer "
                "update_on_kvstore=False"
            )
        if self._accumulate > 1:
            raise ParameterError(
                f"{function}() does not fit accumulate={self._accumulate}, which counts calls of step()"
            )

    def _check_settled(self, function: str, where: str) -> None:
        if self._waiting_batches:
            raise ParameterError(
                f"{function}: {self._waiting_batches} of {self._accumulate} batches of an update have been added up, "
                f"and gradients do not go {where}: do it after the last of them"
            )

    def _check_batches(self) -> None:
        """Raises where gradients of earlier batches of an update are gone, and begins it anew."""
        lost = next((slot.parameter.name for slot in self._slots if slot.lost()), None)
        if lost is None:
            return
        batches, self._waiting_batches, self._waiting_examples = self._waiting_batches, 0, 0.0
        accumulate_in(self._params, True)
        self._zero()
        raise ParameterError(
            f"step: gradients of {batches} of {self._accumulate} batches of an update are lost: that of parameter "
            f"'{lost}' was set to 0 or made anew since the last step, by zero_grad(), reset_ctx(), another grad_req or "
            "another Trainer. step() itself sets gradients to 0 after an update; this one begins anew with the next "
            "batch"
        )

    def _holders(self) -> list[Any]:
        """The updaters that keep states: the store's, or one for each device."""
        return [self._kvstore._updater] if self._update_on_kvstore else self._updaters

    def _state_bytes(self) -> bytes:
        return _trainer_states.pack(self._holders()[0].get_states(dump_optimizer=True), self._amp_loss_scaler)

    def _set_states(self, states: bytes) -> None:
        """Everything is looked at before anything changes."""
        _trainer_states.check(states, self._optimizer, self._params)
        scaling = _trainer_states.unpack(states, self._amp_loss_scaler)
        for updater in self._holders():
            updater.set_states(states)
        _trainer_states.spread_counts(self._optimizer, [from_index(device).device_id for device in self._devices])
        if scaling:
            self._amp_loss_scaler.set_state(scaling)


def _use(slots: Iterable[Slot]) -> None:
    for slot in slots:
        slot.use()


def _on(factor: float | NDArray, device: int) -> float | NDArray:
    if isinstance(factor, NDArray) and factor._device != device:
        return factor.as_in_context(from_index(device))
    return factor


def _optimizer_of(given: Any, params: Mapping[str, Any] | None, param_dict: dict[Hashable, Any]) -> Any:
    if isinstance(given, optimizers.Optimizer):
        if params:
            raise ParameterError(
                f"Trainer: optimizer_params={dict(params)} must be None where the optimizer is made already; give them "
                "to it, or name the optimizer"
            )
        given.param_dict = param_dict
        given._check_groups()
        return given
    return optimizers.create(given, param_dict=param_dict, **dict(params or {}))


def _count(accumulate: Any) -> int:
    try:
        count = index(accumulate)
    except TypeError:
        count = 0
    if count < 1:
        raise ArgumentError(f"Trainer: accumulate={accumulate!r} is not valid: expected a whole number of at least 1")
    return count


def _batch_size(given: Any, function: str) -> float:
    try:
        size = float(given)
    except (TypeError, ValueError):
        size = 0.0
    if isinstance(given, bool) or not 0 < size < float("inf"):
        raise ArgumentError(f"{function}: batch_size={given!r} is not valid: expected a number above 0")
    return size
