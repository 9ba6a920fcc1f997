"""States of trainers as bytes: those of the optimizer, and the factor of the loss where there is one."""

import warnings
from collections.abc import Hashable, Sequence
from copy import deepcopy
from typing import Any

from gluonish import _core
from gluonish import optimizer as optimizers
from gluonish._core import NDArray
from gluonish.errors import FormatError
from gluonish.gluon._parameter import Parameter

__all__ = ["check", "pack", "spread_counts", "unpack"]

_SCALER = "loss_scaler."


def pack(states: bytes, scaler: Any) -> bytes:
    """The optimizer's states together with those of a loss scaler, by name in the same file."""
    if scaler is None:
        return states
    format, names, arrays, texts = _core.load_bytes(states, _core.current_device())
    more = {_SCALER + name: array for name, array in scaler.state().items()}
    return _core.save_bytes(format, [*(names or ()), *more], [*arrays, *more.values()], list(texts.items()))


def unpack(states: bytes, scaler: Any) -> dict[str, NDArray]:
    """The states of the loss scaler, which are there if the trainer has one."""
    _, names, arrays, _ = _core.load_bytes(states, _core.current_device())
    found = {
        name.removeprefix(_SCALER): array
        for name, array in zip(names or (), arrays, strict=False)
        if name.startswith(_SCALER)
    }
    if found and scaler is None:
        raise FormatError("load_states: the states were saved with a scaled loss: call amp.init_trainer(trainer) first")
    if scaler is not None:
        scaler.check_state(found)
    return found


def check(states: bytes, optimizer: Any, parameters: Sequence[Parameter]) -> None:
    """Raises where states are not those of the optimizer for these parameters; nothing has changed then."""
    trial = optimizers.get_updater(deepcopy(optimizer))
    trial.optimizer.param_dict = optimizer.param_dict  # which copies leave behind; names decide about some states
    trial.set_states(states)
    for key, state in trial.states.items():
        if not isinstance(key, int) or not 0 <= key < len(parameters):
            raise FormatError(
                f"load_states: there are states of parameter {key!r}, but only {len(parameters)} parameters"
            )
        parameter = parameters[key]
        weight = next(iter(parameter._copies.values()), None)
        if weight is None:
            raise parameter._absent()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it says of narrow types is said when training begins
            wanted = _form(trial.optimizer.create_state_multi_precision(key, weight))
        if _form(state) != wanted:
            raise FormatError(
                f"load_states: the state of parameter {key} ('{parameter.name}') is {_form(state)}, and the optimizer "
                f"keeps {wanted}: the file is of another network or another optimizer"
            )


def spread_counts(optimizer: Any, devices: Sequence[int]) -> None:
    """Counts of updates are kept by device: those of the devices of now are the largest of all that there are.

    Counts only grow, so those are of the device that trained last; others are of devices that it was moved from.
    """
    counts = optimizer._all_index_update_counts
    newest: dict[Hashable, int] = {}
    for own in counts.values():
        for key, count in own.items():
            newest[key] = max(count, newest.get(key, 0))
    counts.clear()
    counts.update((device, dict(newest)) for device in devices)
    optimizer._set_current_context(devices[0])


def _form(state: Any) -> Any:
    """Shapes and types of the arrays of a state."""
    if isinstance(state, NDArray):
        return f"{state.dtype}{state.shape}"
    if isinstance(state, tuple | list):
        return tuple(_form(one) for one in state)
    return None if state is None else type(state).__name__
