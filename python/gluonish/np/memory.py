"""Functions of `np` about where values lie: whether arrays share memory, and arrays whose elements stand in order."""

from typing import Any

import numpy  # noqa: ICN001 - np is this package
import numpy.typing as npt

from gluonish import _core
from gluonish._core import NDArray
from gluonish._types import ArrayLike
from gluonish.np.creation import DType, asarray

__all__ = ["ascontiguousarray", "may_share_memory", "shares_memory"]


def ascontiguousarray(a: ArrayLike, dtype: DType = None, *, like: None = None) -> NDArray:
    """The array with its elements one after the other in memory, and with at least one axis: itself if it is so.

    >>> from gluonish import np
    >>> x = np.ones((2, 3))
    >>> np.ascontiguousarray(x) is x, np.ascontiguousarray(x.T).strides, np.ascontiguousarray(5).shape
    (True, (8, 4), (1,))
    """
    array = asarray(a, dtype)
    if not array.ndim:
        return array.reshape(1)
    return array if _is_contiguous(array) else array.copy()


def _is_contiguous(array: NDArray) -> bool:
    step = array.itemsize
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if size > 1 and stride != step:
            return not array.size
        step *= size
    return True


def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> bool:
    """Whether two arrays have an element in common, exactly; ``max_work=0`` looks at their first and last bytes only.

    Work on both is waited for.

    >>> from gluonish import np
    >>> x = np.zeros((2, 4))
    >>> np.shares_memory(x, x[1]), np.shares_memory(x[:, ::2], x[:, 1::2]), np.shares_memory(x, x.copy())
    (True, False, False)
    """
    return numpy.shares_memory(_memory(a), _memory(b), max_work)


def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> bool:
    """Whether the stretches of memory overlap in which two arrays lie; they may still have no element in common.

    Work on both is waited for.

    >>> from gluonish import np
    >>> x = np.zeros((2, 4))
    >>> np.may_share_memory(x[:, ::2], x[:, 1::2]), np.may_share_memory(x[0], x[1])
    (True, False)
    """
    return numpy.may_share_memory(_memory(a), _memory(b), max_work)


def _memory(a: Any) -> npt.NDArray[Any]:
    """The memory of an array, as NumPy sees it."""
    if not isinstance(a, NDArray):
        return numpy.asarray(a)
    if str(a.dtype) != "bfloat16":
        return numpy.asarray(a.data)
    if not a.size:
        return numpy.empty(a.shape, "uint16")
    # NumPy has no such type: the bits of the first element, and the way from there to the others.
    from ctypes import c_uint16

    bits: Any = c_uint16.from_address(_address(a))
    return numpy.lib.stride_tricks.as_strided(numpy.frombuffer(bits, "uint16"), a.shape, a.strides)


def _address(a: NDArray) -> int:
    """Where the first element lies: what DLPack says of the memory (a pointer first, and the offset from it last)."""
    from ctypes import PYFUNCTYPE, c_char_p, c_uint64, c_void_p, py_object, pythonapi

    pointer_of = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", pythonapi))
    capsule = _core.to_dlpack(a.detach(), False, False, False)
    tensor = pointer_of(capsule, b"dltensor")
    return int(c_uint64.from_address(tensor).value + c_uint64.from_address(tensor + 40).value)
