"""States of optimizers as bytes: a safetensors file of the arrays, with the rest as JSON in its header.

Reading one never runs code.
"""

import json
from collections.abc import Hashable
from typing import Any, NamedTuple

from gluonish import _core
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, FormatError

__all__ = ["Kept", "pack", "unpack"]

_KEY = "gluonish.optimizer"
_VERSION = 1
_MOST = 2**53  # counts beyond are no exact floats


class Kept(NamedTuple):
    """What is saved of an optimizer."""

    name: str  # of its class
    states: dict[Hashable, Any]
    counts: dict[int, dict[Hashable, int]]  # updates, by device and weight
    num_update: int
    extra: Any
    settings: dict[str, Any] | None  # learning rate and the like
    scheduler: dict[str, Any] | None  # its class by the key "class", and its state
    names: dict[Hashable, str]  # of weights, where they are known: of those that have states


def pack(kept: Kept) -> bytes:
    """The bytes of a file.

    >>> data = pack(Kept("SGD", {0: None}, {0: {0: 3}}, 3, None, None, None, {0: "weight"}))
    >>> unpack(data).counts
    {0: {0: 3}}
    """
    arrays: list[NDArray] = []
    header = {
        "version": _VERSION,
        "optimizer": kept.name,
        "states": [[_key(key), _tree(state, arrays)] for key, state in kept.states.items()],
        "counts": [[device, _key(key), count] for device, own in kept.counts.items() for key, count in own.items()],
        "num_update": kept.num_update,
        "extra": _tree(kept.extra, arrays),
        "settings": kept.settings,
        "scheduler": kept.scheduler,
        "names": [[_key(key), name] for key, name in kept.names.items()],
    }
    names = [f"state.{i}" for i in range(len(arrays))]
    return _core.save_bytes("safetensors", names, arrays, [(_KEY, json.dumps(header))])


def unpack(data: Any) -> Kept:
    """What `pack` was given; its arrays are on the current device."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ArgumentError(f"set_states: bytes are needed, as get_states gives them, got {type(data).__name__}")
    data = bytes(data)
    is_safetensors = data[8:9] == b"{" and int.from_bytes(data[:8], "little") <= len(data)
    if not is_safetensors and (data[:1] == b"\x80" or data[:2] in {b"(d", b"(l", b"c_", b"cc"}):
        raise FormatError(
            "set_states: these are pickled states, as MXNet writes .states files; they are not read, because reading a "
            "pickle runs the code in it. States that gluonish saves are safetensors"
        )
    format, names, arrays, texts = _core.load_bytes(data, _core.current_device())
    if format != "safetensors" or _KEY not in texts:
        raise FormatError(f"set_states: this is a file of arrays ({format}), not one of the states of an optimizer")
    try:
        header = json.loads(texts[_KEY])
        if header["version"] != _VERSION:
            raise FormatError(
                f"set_states: these states have version {header['version']!r}, and this package reads {_VERSION}"
            )
        by_name = dict(zip(names or (), arrays, strict=True))
        counts: dict[int, dict[Hashable, int]] = {}
        for device, key, count in header["counts"]:
            counts.setdefault(_count(device), {})[_checked(key)] = _count(count)
        return Kept(
            _text(header["optimizer"]),
            {_checked(key): _grown(tree, by_name) for key, tree in header["states"]},
            counts,
            _count(header["num_update"]),
            _grown(header["extra"], by_name),
            header["settings"],
            header["scheduler"],
            {_checked(key): _text(name) for key, name in header.get("names", ())},  # older files have none
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"set_states: the header of these states is damaged: {error!r}") from None


def _key(key: Hashable) -> int | str:
    if not isinstance(key, int | str) or isinstance(key, bool):
        raise ArgumentError(f"get_states: the index of a weight must be an int or a str to be saved, got {key!r}")
    return key


def _checked(key: Any) -> Hashable:
    if not isinstance(key, int | str):
        raise ValueError(f"{key!r} is not the index of a weight")
    return key


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < _MOST:
        raise ValueError(f"{value!r} is not a number of updates")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a name")
    return value


def _tree(value: Any, arrays: list[NDArray]) -> Any:
    """A state as JSON; arrays are numbered."""
    if isinstance(value, NDArray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [_tree(one, arrays) for one in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ArgumentError(
        f"get_states: a state of type {type(value).__name__} cannot be saved; states are arrays, numbers and text, in "
        "tuples and lists"
    )


def _grown(tree: Any, arrays: dict[str, NDArray]) -> Any:
    match tree:
        case {"array": int(i)}:
            return arrays.pop(f"state.{i}")  # each stands in one place: two states of one array would change together
        case {"tuple": list(items)}:
            return tuple(_grown(one, arrays) for one in items)
        case {"list": list(items)}:
            return [_grown(one, arrays) for one in items]
        case None | bool() | int() | float() | str():
            return tree
    raise ValueError(f"{tree!r} is not a state")
