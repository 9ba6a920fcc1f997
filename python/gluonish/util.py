"""MXNet's switches between its two kinds of arrays. Here there is one; what is left is the default type of `np`."""

from collections.abc import Callable
from typing import TypeVar

from gluonish._dtype import default_float, set_default_float
from gluonish.errors import UnsupportedError

__all__ = ["is_np_array", "is_np_default_dtype", "is_np_shape", "reset_np", "set_np", "use_np"]

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
