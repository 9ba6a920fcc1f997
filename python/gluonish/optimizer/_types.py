"""Steps that fail because a weight is of another type than when its state was made."""

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import DTypeError, MXNetError
from gluonish.optimizer.base import Optimizer

__all__ = ["refuse_other_types"]


def refuse_other_types(
    optimizer: Optimizer,
    states: Mapping[Hashable, Any],
    indices: Sequence[Hashable],
    weights: Sequence[NDArray],
    error: MXNetError | None = None,
) -> None:
    """Raises for a weight of another type than the one that its state was made for, if there is one."""
    for key, weight in zip(indices, weights, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = _types(optimizer.create_state_multi_precision(key, weight))
        found = _types(states[key])
        if found != wanted:
            known = optimizer.param_dict
            name = known[key].name if key in known else optimizer.idx2name.get(key, key)
            raise DTypeError(
                f"{type(optimizer).__name__}: weight '{name}' is {weight.dtype}, and its states, of "
                f"{' and '.join(dict.fromkeys(found)) or 'no arrays'}, were made for another type: load states of "
                "the type that the network has, or make another Trainer, whose states begin anew"
            ) from error


def _types(state: Any) -> list[str]:
    if isinstance(state, NDArray):
        return [str(state.dtype)]
    return [kind for one in state for kind in _types(one)] if isinstance(state, tuple | list) else []
