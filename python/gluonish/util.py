"""MXNet's helpers for its own modules and for tests: the switches between its two kinds of arrays (here there is one;
what is left is the default type of `np`), environment variables, GPUs, and the arguments of universal functions."""

import functools
import os
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from gluonish._dtype import NAMES, default_float, set_default_float
from gluonish._scope import Changed
from gluonish.context import ContextLike, gpu_memory_info, num_gpus
from gluonish.errors import ArgumentError, DeviceError, UnsupportedError

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "np_array",
    "np_shape",
    "np_ufunc_legal_option",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "wrap_np_binary_func",
    "wrap_np_unary_func",
]

T = TypeVar("T", bound=Callable[..., object])
_array = False


def set_np(shape: bool = True, array: bool = True, dtype: bool = False) -> None:
    """Says that a program uses `np`. Arrays always have NumPy's semantics, so this changes one thing only:

    with ``dtype=True`` the functions of `np` that make arrays make float64 where NumPy does, not float32.

    >>> import gluonish as mx
    >>> mx.npx.set_np(dtype=True)
    >>> mx.np.zeros(2).dtype
    dtype('float64')
    >>> mx.npx.reset_np()
    >>> mx.np.zeros(2).dtype
    dtype('float32')
    """
    if not shape:
        raise UnsupportedError("set_np: shape=False: arrays without dimensions or elements cannot be switched off")
    global _array
    _array = bool(array)
    set_default_float("float64" if dtype else "float32")


def reset_np() -> None:
    """Undoes ``set_np``.

    >>> reset_np()
    """
    global _array
    _array = False
    set_default_float("float32")


def is_np_array() -> bool:
    """Whether ``set_np`` was called; it makes no difference to arrays.

    >>> is_np_array()
    False
    """
    return _array


def is_np_shape() -> bool:
    """Whether arrays may have no dimensions or no elements: always.

    >>> is_np_shape()
    True
    """
    return True


def is_np_default_dtype() -> bool:
    """Whether `np` makes float64 by default.

    >>> is_np_default_dtype()
    False
    """
    return default_float() == "float64"


def use_np(func: T) -> T:
    """MXNet's decorator for functions and classes that use `np`: they need nothing, so this returns them.

    >>> use_np(len) is len
    True
    """
    return func


use_np_array = use_np_shape = use_np


def set_np_shape(active: bool) -> bool:
    """MXNet's switch that allows arrays of no dimensions or no elements; here they always are. Returns the old value.

    >>> set_np_shape(True)
    True
    """
    if not active:
        raise UnsupportedError("set_np_shape: arrays without dimensions or elements cannot be switched off")
    return True


def np_shape(active: bool = True) -> Changed[bool]:
    """A scope with another ``set_np_shape``.

    >>> with np_shape(True):
    ...     is_np_shape()
    True
    """
    return Changed(set_np_shape, active)


def np_array(active: bool = True) -> Changed[bool]:
    """A scope in which ``is_np_array`` says this; it makes no difference to arrays.

    >>> with np_array():
    ...     is_np_array()
    True
    >>> is_np_array()
    False
    """
    return Changed(_set_array, bool(active))


def _set_array(active: bool) -> bool:
    global _array
    before, _array = _array, active
    return before


def getenv(name: str) -> str | None:
    """An environment variable; None if it is not set.

    >>> setenv("SOME_VARIABLE", "1")
    >>> getenv("SOME_VARIABLE")
    '1'
    >>> setenv("SOME_VARIABLE", None)
    >>> getenv("SOME_VARIABLE")
    """
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Sets an environment variable, or removes it if the value is None. Those of this package are read at import.

    >>> setenv("SOME_VARIABLE", None)
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = str(value)


def get_gpu_count() -> int:
    """How many GPUs there are.

    >>> get_gpu_count()
    0
    """
    return num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Free and total bytes of a GPU; raises, as no GPU support is built yet.

    >>> get_gpu_memory(0)
    Traceback (most recent call last):
        ...
    gluonish.errors.DeviceError: gpu_memory_info(0): no GPU support is built yet...
    """
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: ContextLike) -> NoReturn:
    """The generation of a GPU; raises, as no GPU support is built yet.

    >>> get_cuda_compute_capability("gpu(0)")
    Traceback (most recent call last):
        ...
    gluonish.errors.DeviceError: get_cuda_compute_capability: gpu(0) is no CUDA device: no GPU support is built yet
    """
    raise DeviceError(f"get_cuda_compute_capability: {ctx} is no CUDA device: no GPU support is built yet")


def set_module(module: str | None) -> Callable[[T], T]:
    """The decorator that says which module a function or class belongs to.

    >>> set_module("gluonish.nd")(lambda x: x).__module__
    'gluonish.nd'
    """

    def decorate(function: T) -> T:
        if module is not None:
            function.__module__ = module
        return function

    return decorate


# What NumPy's universal functions take beside arrays and `out`, with the values that change nothing.
_UFUNC = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}


def np_ufunc_legal_option(key: str, value: Any) -> bool:
    """Whether an argument of NumPy's universal functions may have a value.

    >>> np_ufunc_legal_option("casting", "safe"), np_ufunc_legal_option("casting", "fast")
    (True, False)
    """
    if key == "casting":
        return value in ("no", "equiv", "safe", "same_kind", "unsafe")
    if key == "order":
        return isinstance(value, str)
    if key == "dtype":
        return getattr(value, "__name__", value) in NAMES
    return key == "where" or (key == "subok" and isinstance(value, bool))


def _check_ufunc(function: str, kwargs: dict[str, Any]) -> None:
    for key, value in kwargs.items():
        if key not in _UFUNC:
            raise ArgumentError(f"{function}: there is no argument {key!r}")
        if value is not _UFUNC[key] and value != _UFUNC[key]:
            if np_ufunc_legal_option(key, value):
                raise UnsupportedError(f"{function}: {key}={value!r} is not built for this function")
            raise ArgumentError(f"{function}: {key}={value!r} is not valid")


def wrap_np_unary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function of (x, out) take the other arguments of a universal function, as long as they change nothing.

    >>> wrap_np_unary_func(lambda x, out=None: -x)(3, where=True)
    -3
    """

    @functools.wraps(func)
    def wrapped(x: Any, out: Any = None, **kwargs: Any) -> Any:
        _check_ufunc(func.__name__, kwargs)
        return func(x, out=out)

    return wrapped


def wrap_np_binary_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a function of (x1, x2, out).

    >>> wrap_np_binary_func(lambda x1, x2, out=None: x1 - x2)(3, 1, casting="same_kind")
    2
    """

    @functools.wraps(func)
    def wrapped(x1: Any, x2: Any, out: Any = None, **kwargs: Any) -> Any:
        _check_ufunc(func.__name__, kwargs)
        return func(x1, x2, out=out)

    return wrapped
