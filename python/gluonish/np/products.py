"""Products of arrays, with NumPy's signatures: compositions of the one matrix product and of views."""

from collections.abc import Sequence
from typing import Any

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._rows import store
from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError, ShapeError
from gluonish.np._beyond import ARGUMENTS, beyond
from gluonish.np.creation import asarray

__all__ = ["cross", "inner", "kron", "matmul", "outer", "tensordot", "vdot"]


def _reshaped(x: NDArray, shape: Sequence[int]) -> NDArray:
    made: NDArray = _core.invoke("_np_reshape", [x], {"shape": tuple(shape)})
    return made


@beside
def matmul(x1: ArrayLike, x2: ArrayLike, /, out: NDArray | None = None, **how: Any) -> NDArray:
    """The matrix product over the last two axes; the axes before them broadcast, and vectors count as matrices.

    ``how`` is ``dtype`` and what else NumPy's ufuncs take.

    >>> from gluonish import np
    >>> np.matmul(np.ones((4, 2, 3)), np.ones(3)).shape
    (4, 2)
    """
    product: NDArray
    if how or not isinstance(out, NDArray | None):
        product = beyond("matmul", (x1, x2), {"out": out, **how})
        if product is NotImplemented:
            raise ArgumentError(f"matmul: there is no argument {next(iter(how))!r}; it takes {', '.join(ARGUMENTS)}")
    else:
        product = _core.invoke("matmul", [asarray(x1), asarray(x2)], {}, out)
    return product


@beside
def vdot(a: ArrayLike, b: ArrayLike, /) -> NDArray:
    """The sum of the products of all elements.

    >>> from gluonish import np
    >>> np.vdot(np.ones((2, 3)), np.ones((2, 3))).item()
    6.0
    """
    left, right = asarray(a), asarray(b)
    if left.size != right.size:
        raise ShapeError(f"vdot: arrays of {left.size} and {right.size} elements (shapes {left.shape}, {right.shape})")
    return matmul(_reshaped(left, (-1,) if left.size else (0,)), _reshaped(right, (-1,) if right.size else (0,)))


@beside
def inner(a: ArrayLike, b: ArrayLike, /) -> NDArray:
    """The sum of products over the last axes of both.

    >>> from gluonish import np
    >>> np.inner(np.ones((2, 3)), np.ones((4, 3))).shape
    (2, 4)
    """
    left, right = asarray(a), asarray(b)
    if not left.ndim or not right.ndim:
        return left * right
    return tensordot(left, right, axes=([-1], [-1]))


@beside
def outer(a: ArrayLike, b: ArrayLike, out: NDArray | None = None) -> NDArray:
    """The products of each element of one array with each of the other, as a matrix.

    >>> from gluonish import np
    >>> np.outer(np.arange(2), np.arange(3)).tolist()
    [[0, 0, 0], [0, 1, 2]]
    """
    left, right = asarray(a), asarray(b)
    return store(_reshaped(left, (left.size, 1)) * _reshaped(right, (1, right.size)), out, "outer")


@beside
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> NDArray:
    """The sum of products over several axes: the last and first so many, or those given for each array.

    >>> from gluonish import np
    >>> np.tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
    (2, 5)
    """
    left, right = asarray(a), asarray(b)
    first, second = _contracted(left, right, axes)
    rows = [d for d in range(left.ndim) if d not in first]
    columns = [d for d in range(right.ndim) if d not in second]
    shape = [left.shape[d] for d in rows] + [right.shape[d] for d in columns]
    size = 1
    for d in first:
        size *= left.shape[d]
    count = 1
    for d in rows:
        count *= left.shape[d]
    width = 1
    for d in columns:
        width *= right.shape[d]
    lhs = _reshaped(left.transpose((*rows, *first)) if left.ndim else left, (count, size))
    rhs = _reshaped(right.transpose((*second, *columns)) if right.ndim else right, (size, width))
    return _reshaped(matmul(lhs, rhs), shape)


def _contracted(left: NDArray, right: NDArray, axes: Any) -> tuple[list[int], list[int]]:
    """The axes of both that are summed over, counted from the front."""
    if isinstance(axes, int):
        first, second = list(range(left.ndim - axes, left.ndim)), list(range(axes))
    else:
        first, second = ([x] if isinstance(x, int) else list(x) for x in axes)
    text = f"tensordot: axes={axes!r} do not fit shapes {left.shape} and {right.shape}"
    if len(first) != len(second):
        raise ArgumentError(f"{text}: as many are needed of each")
    for found, array in ((first, left), (second, right)):
        if any(not -array.ndim <= d < array.ndim for d in found):
            raise ArgumentError(f"{text}: there is no such axis")
        found[:] = [d % array.ndim for d in found]
        if len(set(found)) != len(found):
            raise ArgumentError(f"{text}: an axis is given twice")
    if any(left.shape[i] != right.shape[j] for i, j in zip(first, second, strict=True)):
        raise ShapeError(f"{text}: their sizes differ")
    return first, second


@beside
def kron(a: ArrayLike, b: ArrayLike) -> NDArray:
    """The Kronecker product: each element of ``a`` becomes a copy of ``b`` times it.

    >>> from gluonish import np
    >>> np.kron(np.array([1, 10]), np.array([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    left, right = asarray(a), asarray(b)
    n = max(left.ndim, right.ndim)
    sizes = [(1,) * (n - x.ndim) + x.shape for x in (left, right)]
    lhs = _reshaped(left, [d for size in sizes[0] for d in (size, 1)])
    rhs = _reshaped(right, [d for size in sizes[1] for d in (1, size)])
    return _reshaped(lhs * rhs, [i * j for i, j in zip(*sizes, strict=True)])


@beside
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> NDArray:
    """The cross product of vectors of three components; of two, the third component of theirs.

    >>> from gluonish import np
    >>> np.cross(np.array([1, 0, 0]), np.array([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = _last(asarray(a), axisa), _last(asarray(b), axisb)
    sizes = left.shape[-1], right.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise ShapeError(
            f"cross: vectors of two or three components are needed, got shapes {left.shape}, {right.shape}"
        )
    a0, a1, b0, b1 = left[..., 0], left[..., 1], right[..., 0], right[..., 1]
    third = a0 * b1 - a1 * b0
    if sizes == (2, 2):
        return third
    if 2 not in sizes:
        a2, b2 = left[..., 2], right[..., 2]
        parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, third]
    elif sizes[0] == 2:
        parts = [a1 * right[..., 2], -(a0 * right[..., 2]), third]
    else:
        parts = [-(left[..., 2] * b1), left[..., 2] * b0, third]
    lifted = [_core.invoke("expand_dims", [x], {"axis": -1}) for x in parts]
    made: NDArray = _core.invoke("concat", lifted, {"dim": -1})
    return _back(made, axisc)


def _last(x: NDArray, axis: int) -> NDArray:
    """The array with an axis moved to the end."""
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"cross: axis {axis} is out of range for shape {x.shape}")
    return x.transpose((*(d for d in range(x.ndim) if d != axis % x.ndim), axis % x.ndim))


def _back(x: NDArray, axis: int) -> NDArray:
    """The array with its last axis moved to a place."""
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"cross: axisc={axis} is out of range for a result of shape {x.shape}")
    order = list(range(x.ndim - 1))
    order.insert(axis % x.ndim, x.ndim - 1)
    return x.transpose(order)
