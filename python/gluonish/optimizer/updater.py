"""An optimizer with the states of the weights that it updates."""

import inspect
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gluonish import _core, nd
from gluonish._commit import commit
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.context import Context
from gluonish.errors import ArgumentError, FormatError, MXNetError
from gluonish.lr_scheduler import LRScheduler
from gluonish.optimizer._names import check_order
from gluonish.optimizer._operands import as_type
from gluonish.optimizer._states import Kept, pack, unpack
from gluonish.optimizer._types import refuse_other_types
from gluonish.optimizer.base import Optimizer

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Updater", "get_updater"]


class Updater:
    """Called with index, gradient and weight, or lists of these, it updates the weights, and makes states as needed.

    >>> import gluonish as mx
    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    >>> weights = [mx.nd.ones(2), mx.nd.zeros(1)]
    >>> update([0, 1], [mx.nd.ones(2), mx.nd.ones(1)], weights)
    >>> [w.tolist() for w in weights]
    [[0.5, 0.5], [-0.5]]
    >>> update.states[1].tolist()
    [-0.5]
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Hashable, Any] = {}
        self.states_synced: dict[Hashable, bool] = {}
        self._weights: dict[Hashable, NDArray] = {}  # those that the states are for
        self._written: dict[Hashable, int] = {}  # versions of those that have copies in float32

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        if not isinstance(index, list | tuple):
            index, grad, weight = [index], [grad], [weight]
        indices = [key.decode() if isinstance(key, bytes) else key for key in index]
        if not len(indices) == len(grad) == len(weight):
            raise ArgumentError(
                f"as many gradients and weights as indices are needed, got {len(grad)}, {len(weight)} and "
                f"{len(indices)}"
            )
        if not indices:
            return
        self.optimizer._set_current_context(weight[0].context.device_id)
        for key, one in zip(indices, weight, strict=True):
            if self._weights.get(key) is not one or key not in self.states:
                self._take(key, one)
        states = [self.states[key] for key in indices]
        wide: list[tuple[Hashable, NDArray]] = []
        try:
            if self.optimizer.multi_precision:
                wide = [pair for pair in zip(indices, weight, strict=True) if self.optimizer._has_master(pair[1])]
                self._renew_masters(wide)
            self.optimizer.update_multi_precision(indices, list(weight), list(grad), states)
        except MXNetError as error:
            refuse_other_types(self.optimizer, self.states, indices, weight, error)
            raise
        for key, one in wide:
            self._written[key] = _core.version(one)

    def _take(self, key: "Hashable", weight: NDArray) -> None:
        """Makes the state of a weight, or one that fits it of what is there."""
        with pause():
            if key not in self.states:
                self.states[key] = self.optimizer.create_state_multi_precision(key, weight)
            elif not self.states_synced.get(key):
                self.states[key] = self.sync_state_context(self.states[key], weight.context)
                if self.optimizer._has_master(weight):
                    refuse_other_types(self.optimizer, self.states, [key], [weight])
            elif key in self._weights and self._weights[key].dtype != weight.dtype:
                self.states[key] = self._recast(self.states[key], self._weights[key], weight)
        self.states_synced[key] = True
        self._weights[key] = weight
        self._written.pop(key, None)

    def _recast(self, state: Any, before: NDArray, weight: NDArray) -> Any:
        """The state of a weight that is of another type now: in that, or in float32 beside a copy of the weight."""
        own = self.optimizer
        inner = own._parted(state)[1] if own._has_master(before) else state
        if own._has_master(weight):
            return own._joined(weight.astype("float32").detach(), as_type(inner, "float32"))
        return as_type(inner, own._state_type(weight))

    def _renew_masters(self, weights: Sequence[tuple["Hashable", NDArray]]) -> None:
        """Copies in float32 of weights that somebody else has written take the new values: a file's, ``set_data``'s.

        What the copy has beyond the digits of its weight stays where the two agree: as after both came from files.
        """
        with pause():
            for key, weight in weights:
                if self._written.get(key) != _core.version(weight):
                    master, _ = self.optimizer._parted(self.states[key])
                    agree = master.astype(weight.dtype) == weight
                    commit(master, nd.where(agree, master, weight.astype(master.dtype)), told=True)

    def sync_state_context(self, state: Any, context: Context) -> Any:
        """The state on a device."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, tuple | list):
            return type(state)(self.sync_state_context(one, context) for one in state)
        return state

    def __getstate__(self) -> dict[str, Any]:
        """Copies are for other weights."""
        return {**vars(self), "_weights": {}, "_written": {}}

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """States and counts of updates as bytes: a safetensors file.

        With ``dump_optimizer`` the learning rate and the other settings are saved too, and the state of the scheduler.

        >>> import gluonish as mx
        >>> def made():
        ...     return mx.optimizer.get_updater(mx.optimizer.Adam())
        >>> w, update, other = mx.nd.ones(2), made(), made()
        >>> update(0, mx.nd.ones(2), w)
        >>> other.set_states(update.get_states())
        >>> other.optimizer.num_update, len(other.states[0])
        (1, 2)
        """
        own = self.optimizer
        scheduler = own.lr_scheduler
        about = None if scheduler is None else {"class": type(scheduler).__name__, **scheduler.state_dict()}
        return pack(
            Kept(
                type(own).__name__,
                self.states,
                own._all_index_update_counts,
                own.num_update,
                own._extra(),
                _settings(own) if dump_optimizer else None,
                about if dump_optimizer else None,
                {key: name for key in self.states if (name := own._name_of(key)) is not None},
            )
        )

    def set_states(self, states: bytes) -> None:
        """Takes what ``get_states`` gave. Whatever is wrong with it, nothing has changed then.

        Settings that were saved become those of the optimizer, which must be of the class that it was. States saved
        with a schedule need an optimizer with one of that class. Where names tell that weights stand in another order
        than they did, that is refused; so are pickled states of MXNet.
        """
        kept = unpack(states)
        own = self.optimizer
        if kept.name != type(own).__name__:
            raise FormatError(f"set_states: these are states of {kept.name}, and the optimizer is {type(own).__name__}")
        check_order(kept.names, {key: name for key in kept.names if (name := own._name_of(key)) is not None})
        settings = _checked_settings(own, kept.settings)
        before = own._extra()
        try:
            own._set_extra(kept.extra)
            _load_scheduler(own.lr_scheduler, kept.scheduler)
        except (TypeError, ValueError) as error:  # all of this package's are one of the two
            own._set_extra(before)
            raise FormatError(f"set_states: these states do not fit the optimizer: {error}") from None
        vars(own).update(settings)
        device = own._current()
        own._all_index_update_counts = kept.counts
        own._set_current_context(device)
        own.num_update = kept.num_update
        self.states = kept.states
        self.states_synced = dict.fromkeys(kept.states, False)
        self._weights, self._written = {}, {}


def _settings(optimizer: Optimizer) -> dict[str, Any]:
    """The numbers and texts that an optimizer was made with."""
    return {
        key: value
        for key, value in vars(optimizer).items()
        if not key.startswith("_") and (value is None or isinstance(value, bool | int | float | str))
    }


def _load_scheduler(scheduler: LRScheduler | None, saved: Any) -> None:
    if saved is None:
        return  # a schedule that is new begins at the update that the states have reached
    about = dict(saved)
    name = about.pop("class", None)
    if scheduler is None:
        raise FormatError(
            f"they were saved with the scheduler {name}, and the optimizer has none: make it with lr_scheduler=, load, "
            "and set optimizer.lr_scheduler = None if the schedule is not to go on"
        )
    if name != type(scheduler).__name__:
        raise FormatError(f"they were saved with the scheduler {name}, and the optimizer's is {scheduler!r}")
    scheduler.load_state_dict(about)


def _checked_settings(optimizer: Optimizer, saved: Any) -> dict[str, Any]:
    if saved is None:
        return {}
    known = _settings(optimizer)
    if not isinstance(saved, dict) or not all(key in vars(optimizer) for key in saved):
        raise FormatError(f"set_states: the settings of these states are not those of {type(optimizer).__name__}")
    # What is an array now is not replaced by a number.
    fitting = {key: value for key, value in saved.items() if key in known}
    for key, value in fitting.items():
        both = [one for one in (known[key], value) if one is not None]  # bounds may be None, then or now
        alike = all(isinstance(one, str) for one in both) or all(isinstance(one, bool | int | float) for one in both)
        finite = not isinstance(value, float) or math.isfinite(value)
        if not (finite and alike and (value is not None or known[key] is None or key.startswith("clip"))):
            raise FormatError(f"set_states: {key}={value!r} of these states is not valid; it is {known[key]!r} now")
    _check_as_made(optimizer, fitting)
    return fitting


def _check_as_made(optimizer: Optimizer, settings: dict[str, Any]) -> None:
    """Settings in which an optimizer would not be made are refused."""
    kind = type(optimizer)
    inits = [vars(k)["__init__"] for k in kind.__mro__[:-1] if "__init__" in vars(k)]
    taken = {name for init in inits for name in inspect.signature(init).parameters}
    given = {"learning_rate" if key == "lr" else key: value for key, value in settings.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind(**{key: value for key, value in given.items() if key in taken})
    except ArgumentError as error:
        raise FormatError(f"set_states: the settings of these states are not valid: {error}") from None
    except TypeError:
        return  # a class of the user's, which is made in another way


def get_updater(optimizer: Optimizer) -> Updater:
    """The function that updates weights: `Updater`."""
    return Updater(optimizer)
