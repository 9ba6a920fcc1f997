"""How close numbers of each element type have to be."""

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = [
    "default_atols",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "effective_dtype",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tolerance",
    "get_tols",
]

Key = Any  # NumPy's dtype, or "bfloat16", which NumPy does not know
_EXACT = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def default_dtype() -> type:
    """The element type of random inputs.

    >>> default_dtype().__name__
    'float32'
    """
    return np.float32


def default_rtols() -> dict[Key, float]:
    """Relative tolerances by element type.

    >>> default_rtols()[np.dtype("float32")]
    0.0001
    """
    return _table(bfloat16=5e-2, float16=1e-2, float32=1e-4, float64=1e-5)


def default_atols() -> dict[Key, float]:
    """Absolute tolerances by element type.

    >>> default_atols()[np.dtype("float32")]
    0.001
    """
    return _table(bfloat16=1e-1, float16=1e-1, float32=1e-3, float64=1e-20)


def default_numeric_eps() -> dict[Key, float]:
    """Steps of finite differences by element type.

    >>> default_numeric_eps()[np.dtype("float32")]
    0.001953125
    """
    steps = {"float16": 1.0 / 2**6, "float32": 1.0 / 2**9, "float64": 1.0 / 2**14}
    return {np.dtype(name): step for name, step in steps.items()}


def _table(bfloat16: float, **floating: float) -> dict[Key, float]:
    table: dict[Key, float] = {"bfloat16": bfloat16}
    table.update({np.dtype(name): value for name, value in floating.items()})
    table.update({np.dtype(name): 0.0 for name in _EXACT})
    return table


def effective_dtype(dat: Any) -> Key:
    """The element type whose precision a result has: that of the array; for other values, NumPy's.

    >>> effective_dtype(np.zeros(2, "float16")), effective_dtype(1.5)
    (dtype('float16'), dtype('float64'))
    """
    dtype = getattr(dat, "dtype", None)
    if dtype is None:
        dtype = np.asarray(dat).dtype
    return "bfloat16" if str(dtype) == "bfloat16" else np.dtype(dtype)


def get_tolerance(dat: Any, tol: float | Mapping[Key, float] | None, default_tol: Mapping[Key, float]) -> float:
    """The tolerance for an array: a number, or what a table has for its element type, or else the default's.

    >>> get_tolerance(np.zeros(2, "float32"), {np.dtype("float64"): 1}, default_rtols())
    0.0001
    """
    if isinstance(tol, int | float):
        return tol
    dtype = effective_dtype(dat)
    return tol[dtype] if tol is not None and dtype in tol else default_tol[dtype]


def get_tols(
    x: Any, y: Any, rtol: float | Mapping[Key, float] | None, atol: float | Mapping[Key, float] | None
) -> tuple[float, float]:
    """The tolerances for two arrays: those of the less precise one.

    >>> get_tols(np.zeros(2, "float32"), np.zeros(2, "float16"), None, 0.5)
    (0.01, 0.5)
    """
    relative = max(get_tolerance(value, rtol, default_rtols()) for value in (x, y))
    absolute = max(get_tolerance(value, atol, default_atols()) for value in (x, y))
    return relative, absolute


def get_rtol(rtol: float | None = None, dtype: Any = np.float64) -> float:
    """The relative tolerance, or that of a type if None.

    >>> get_rtol(), get_rtol(0.5), get_rtol(dtype="float32")
    (1e-05, 0.5, 0.0001)
    """
    return default_rtols()[_key(dtype)] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: Any = np.float64) -> float:
    """The absolute tolerance, or that of a type if None.

    >>> get_atol(dtype="float32")
    0.001
    """
    return default_atols()[_key(dtype)] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """The share of elements that may be wrong; 0 if None.

    >>> get_etol(), get_etol(0.1)
    (0, 0.1)
    """
    return 0 if etol is None else etol


def _key(dtype: Any) -> Key:
    return "bfloat16" if str(dtype) == "bfloat16" else np.dtype(dtype)
