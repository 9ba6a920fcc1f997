"""Functions of `np` that are made of others, where NumPy's signature asks for more than a row of the op table."""

from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._faces import functions
from gluonish._types import ArrayLike, Shape
from gluonish.errors import ArgumentError
from gluonish.np._axis import along
from gluonish.np.creation import asarray

__all__ = [
    "clip",
    "dot",
    "ndim",
    "shape",
    "size",
    "take",
    "where",
]

_np = functions("np")


@beside
def take(
    a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: NDArray | None = None, mode: str = "raise"
) -> NDArray:
    """Elements along an axis, or of the flattened array, by their positions.

    A position out of range raises, or is taken as the nearest end ("clip") or modulo the size ("wrap").

    >>> from gluonish import np
    >>> np.take(np.array([[1, 2], [3, 4]]), np.array([0, -1])).tolist()
    [1, 4]
    """
    source = asarray(a)
    axis = along(source, axis)
    source = source if axis is not None else source.ravel()
    taken: NDArray = _core.invoke("take", [source, asarray(indices)], {"axis": axis or 0, "mode": mode}, out)
    return taken


@beside
def dot(a: ArrayLike, b: ArrayLike, out: NDArray | None = None) -> NDArray:
    """The product of vectors and matrices; with a number, of its elements.

    Of more dimensions: the sum over the last axis of ``a`` and the last but one of ``b``.

    >>> from gluonish import np
    >>> np.dot(np.ones((2, 3)), np.ones((4, 3, 5))).shape
    (2, 4, 5)
    """
    lhs, rhs = asarray(a), asarray(b)
    if not lhs.shape or not rhs.shape:
        product: NDArray = _core.invoke("broadcast_mul", [lhs, rhs], {}, out)
    elif rhs.ndim <= 2:
        product = _core.invoke("matmul", [lhs, rhs], {}, out)
    else:
        n = rhs.ndim
        product = _core.invoke("dot", [lhs, rhs.transpose(n - 2, *range(n - 2), n - 1)], {}, out)
    return product


@beside
def clip(
    a: ArrayLike,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
    out: NDArray | None = None,
    *,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
) -> NDArray:
    """Values held between two bounds, of which one or both may be None. ``min`` and ``max`` are other names of them.

    >>> from gluonish import np
    >>> np.clip(np.array([1, 5, 9]), None, 6).tolist()
    [1, 5, 6]
    """
    array = asarray(a)
    low: Any = a_min if min is None else min
    high: Any = a_max if max is None else max
    if "int" in (kind := str(array.dtype)):  # a bound beyond the type holds nothing back
        limits = numpy.iinfo(kind)
        low = None if isinstance(low, int) and low <= limits.min else low
        high = None if isinstance(high, int) and high >= limits.max else high
    bounds = [bound if _is_number(bound) else asarray(bound) for bound in (low, high) if bound is not None]
    row = ("_copy", "broadcast_maximum" if high is None else "broadcast_minimum", "clip")[len(bounds)]
    held: NDArray = _core.invoke(row, [array, *bounds], {}, out)
    return held


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | numpy.generic)


def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None) -> Any:
    """``x`` where the condition holds, else ``y``; without those, where it holds, as ``nonzero`` says it.

    >>> from gluonish import np
    >>> np.where(np.array([True, False]), 1, np.array([5, 6])).tolist()
    [1, 6]
    """
    if (x is None) != (y is None):
        raise ArgumentError("where: x and y belong together: give both or neither")
    if x is None:
        from gluonish.np.positions import nonzero

        return nonzero(condition)
    return _np["where"](condition, x, y)


def shape(a: ArrayLike) -> Shape:
    """The shape of an array, a list or a number.

    >>> shape([[1, 2]])
    (1, 2)
    """
    return a.shape if isinstance(a, NDArray) else numpy.shape(a)


def ndim(a: ArrayLike) -> int:
    """The number of dimensions of an array, a list or a number.

    >>> ndim([[1, 2]])
    2
    """
    return len(shape(a))


def size(a: ArrayLike, axis: int | None = None) -> int:
    """The number of elements, or the size of one axis.

    >>> size([[1, 2]]), size([[1, 2]], 0)
    (2, 1)
    """
    sizes = shape(a)
    return int(numpy.prod(sizes)) if axis is None else sizes[axis]
