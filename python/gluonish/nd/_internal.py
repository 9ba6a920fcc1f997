"""The names under which MXNet's own code and some of its users' reach ops: ``nd._internal._plus_scalar`` and the like.

They are other names of what `nd` has; a name is looked up when it is asked for.

>>> from gluonish import nd
>>> nd._internal._rminus_scalar(nd.array([1, 2]), scalar=10).tolist()
[9.0, 8.0]
>>> nd._internal._random_uniform(low=2, high=3, shape=(2, 2)).shape
(2, 2)
"""

from collections.abc import Callable
from typing import Any

from gluonish._core import NDArray
from gluonish._faces import functions
from gluonish._types import Number
from gluonish.nd import contrib, creation, linalg

__all__: list[str] = []

_nd = functions("nd")

# MXNet's word for an operator -> the function that broadcasts.
_BINARY = {
    "plus": "broadcast_add", "add": "broadcast_add", "minus": "broadcast_sub", "sub": "broadcast_sub",
    "mul": "broadcast_mul", "div": "broadcast_div", "mod": "broadcast_mod", "power": "broadcast_power",
    "maximum": "broadcast_maximum", "minimum": "broadcast_minimum", "hypot": "broadcast_hypot",
    "equal": "broadcast_equal", "not_equal": "broadcast_not_equal", "greater": "broadcast_greater",
    "greater_equal": "broadcast_greater_equal", "lesser": "broadcast_lesser", "lesser_equal": "broadcast_lesser_equal",
    "logical_and": "broadcast_logical_and", "logical_or": "broadcast_logical_or",
    "logical_xor": "broadcast_logical_xor", "grad_add": "broadcast_add",
}  # fmt: skip
_REVERSED = {"rminus": "minus", "rdiv": "div", "rmod": "mod", "rpower": "power"}

# Other names of functions.
_SAME = {
    "copy": "identity", "shuffle": "shuffle", "ravel_multi_index": "ravel_multi_index",
    "unravel_index": "unravel_index",
}  # fmt: skip


def _copyto(data: NDArray, out: NDArray) -> NDArray:
    """Copies the values into another array."""
    return data.copyto(out)


def _set_value(src: Number, out: NDArray) -> NDArray:
    """Fills an array with one number."""
    out[:] = src
    return out


def _full(shape: Any, value: Number, ctx: Any = None, dtype: Any = "float32", out: NDArray | None = None) -> NDArray:
    """An array filled with one number."""
    return creation.full(shape, value, ctx=ctx, dtype=dtype, out=out)


def _slice_assign(lhs: NDArray, rhs: NDArray, begin: Any, end: Any, step: Any = ()) -> NDArray:
    """A copy of ``lhs`` with a part replaced by ``rhs``."""
    return lhs.copy().slice_assign(rhs, begin, end, step)


def _slice_assign_scalar(data: NDArray, scalar: Number, begin: Any, end: Any, step: Any = ()) -> NDArray:
    """A copy of ``data`` with a part filled with one number."""
    return data.copy().slice_assign_scalar(scalar, begin, end, step)


_crop_assign, _crop_assign_scalar = _slice_assign, _slice_assign_scalar
_zeros, _ones, _arange, _eye = creation.zeros, creation.ones, creation.arange, creation.eye


def _with_scalar(op: str, turned: bool) -> Callable[..., NDArray]:
    function = _nd[op]

    def apply(data: NDArray, scalar: Number = 1.0, out: NDArray | None = None) -> NDArray:
        result: NDArray = function(scalar, data, out=out) if turned else function(data, scalar, out=out)
        return result

    return apply


def _look_up(name: str) -> Callable[..., Any] | None:
    """What `nd` has for a name without its underscore."""
    for prefix, module in (("contrib_", contrib), ("linalg_", linalg)):
        if name.startswith(prefix):
            return getattr(module, name.removeprefix(prefix), None)
    if name.endswith("_scalar"):
        word = name.removesuffix("_scalar")
        op = _BINARY.get(_REVERSED.get(word, word))
        return _with_scalar(op, word in _REVERSED) if op else None
    if name in _BINARY:
        return _nd[_BINARY[name]]
    return _nd.get(_SAME.get(name, name)) if name in _SAME or name.startswith(("random_", "sample_")) else None


def __getattr__(name: str) -> Any:
    found = _look_up(name[1:]) if name.startswith("_") and not name.startswith("__") else None
    if found is None:
        raise AttributeError(f"gluonish.nd._internal has no {name!r}; the functions of nd have public names")
    globals()[name] = found
    return found
