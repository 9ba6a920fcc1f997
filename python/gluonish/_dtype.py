"""Element types: NumPy's names and objects, and bfloat16, which NumPy does not know."""

from typing import Any

import numpy as np

from gluonish.errors import DTypeError

__all__ = ["NAMES", "can_cast", "default_float", "dtype_name", "fits", "set_default_float"]

NAMES = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64"),
)
_NAMES = frozenset(NAMES)
# What was asked for before: to find the name of a NumPy type takes microseconds.
_found: dict[Any, str] = {name: name for name in NAMES}

_default_float = "float32"


def default_float() -> str:
    """The type that ``np`` gives Python's floats: float32, or float64 after ``npx.set_np(dtype=True)``."""
    return _default_float


def set_default_float(name: str) -> None:
    global _default_float
    _default_float = name


def dtype_name(dtype: Any, default: Any = None) -> str:
    """The core's name of a type given as a name, a NumPy type or dtype, or a Python type; of the default for None.

    >>> dtype_name(np.float32), dtype_name("int8"), dtype_name(bool), dtype_name(None, "bfloat16")
    ('float32', 'int8', 'bool', 'bfloat16')
    """
    if dtype is None and default is not None:
        dtype = default
    try:
        return _found[dtype]
    except (KeyError, TypeError):
        pass
    try:
        name = str(np.dtype(dtype).name)
    except TypeError:
        name = str(dtype)
    if name not in _NAMES:
        raise DTypeError(f"dtype={dtype!r} is not valid: expected one of {', '.join(NAMES)}")
    if isinstance(dtype, type | np.dtype):
        _found[dtype] = name
    return name


def fits(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of the package can hold a NumPy type."""
    return dtype.name in _NAMES


def can_cast(source: str, target: str, casting: Any) -> bool:
    """Whether NumPy's rule lets one type become another; bfloat16, which NumPy does not know, counts as float32.

    >>> can_cast("float32", "bfloat16", "same_kind"), can_cast("float32", "int8", "same_kind")
    (True, False)
    """
    known = ["float32" if name == "bfloat16" else name for name in (source, target)]
    return bool(np.can_cast(known[0], known[1], casting))
