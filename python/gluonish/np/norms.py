"""Norms of vectors and matrices, with NumPy's signatures."""

from collections.abc import Sequence
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish._dtype import default_float
from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError, ShapeError
from gluonish.np._gathered import gathered
from gluonish.np.creation import asarray

__all__ = ["matrix_norm", "norm", "real", "vector_norm"]

Axes = int | Sequence[int] | None


def norm(x: ArrayLike, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> NDArray:
    """The norm of vectors along one axis, or of matrices along two; of all elements, when nothing is said.

    ``ord`` for vectors: a number, inf, -inf or 0; for matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf.

    >>> from gluonish import np
    >>> np.linalg.norm(np.array([3.0, 4.0])).item()
    5.0
    >>> np.linalg.norm(np.array([[3.0, -4.0], [0.0, 1.0]]), ord=1).item()
    5.0
    """
    array = real(x)
    if axis is None:
        if ord is None or (ord == 2 and array.ndim == 1) or (ord in ("f", "fro") and array.ndim == 2):
            total = _length(array, None)
            return total.reshape((1,) * array.ndim) if keepdims else total
        if array.ndim not in {1, 2}:
            raise ArgumentError(f"norm: ord={ord!r} needs a vector or a matrix, got shape {array.shape}; give axis")
        axes = tuple(range(array.ndim))
    else:
        axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1:
        return _of_vectors(array, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _of_matrices(array, "fro" if ord is None else ord, _checked(array, axes), keepdims)
    raise ArgumentError(f"norm: axis={axis!r} is not valid: expected one or two axes")


def vector_norm(x: ArrayLike, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2) -> NDArray:
    """The norm of vectors along axes, which are taken for one; of all elements, when there are none.

    >>> from gluonish import np
    >>> np.linalg.vector_norm(np.array([[3.0], [4.0]])).item()
    5.0
    """
    array = real(x)
    axes = tuple(range(array.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return _of_vectors(array, ord, axes, keepdims)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> NDArray:
    """The norm of the matrices in the last two axes.

    >>> from gluonish import np
    >>> np.linalg.matrix_norm(np.array([[3.0, 0.0], [4.0, 0.0]])).item()
    5.0
    """
    array = real(x)
    return _of_matrices(array, ord, _checked(array, (-2, -1)), keepdims)


def real(x: ArrayLike) -> NDArray:
    """An array of real numbers: integers become the default floating type."""
    array = asarray(x)
    return array if "float" in str(array.dtype) else array.astype(default_float())


def _checked(x: NDArray, axes: Sequence[int]) -> tuple[int, int]:
    """The two axes of matrices, counted from the front."""
    if any(not -x.ndim <= a < x.ndim for a in axes):
        raise ShapeError(f"norm: axes {tuple(axes)} are out of range for shape {x.shape}")
    row, column = (a % x.ndim for a in axes)
    if row == column:
        raise ArgumentError(f"norm: axis={tuple(axes)!r} is not valid: the axes are one and the same")
    return row, column


def _call(row: str, x: NDArray, axes: Sequence[int] | int | None, keepdims: bool = False) -> NDArray:
    made: NDArray = _core.invoke(row, [x], {"axis": axes, "keepdims": keepdims})
    return made


def _largest(x: NDArray, axes: Sequence[int], keepdims: bool = False) -> NDArray:
    """The largest of sizes; of none it is 0, as their sum is."""
    return _call("max" if x.size else "sum", x, axes, keepdims)


def _length(x: NDArray, axes: Sequence[int] | None, keepdims: bool = False) -> NDArray:
    """The root of the sum of squares. Its gradient at zero is zero, the least of those that fit."""
    return _call("norm", x, axes, keepdims)


def _of_vectors(x: NDArray, order: Any, axes: Sequence[int], keepdims: bool) -> NDArray:
    if isinstance(order, str):
        raise ArgumentError(f"norm: ord={order!r} is not valid for vectors: expected a number")
    if order == 2:
        return _length(x, axes, keepdims)
    size = abs(x)
    if order == float("inf"):
        return _largest(size, axes, keepdims)
    if order == float("-inf"):
        return _call("min", size, axes, keepdims)
    if order == 0:
        return _call("sum", x != 0, axes, keepdims).astype(x.dtype)
    if order == 1:
        return _call("sum", size, axes, keepdims)
    powers = gathered(size) ** order
    power: NDArray = _call("sum", powers, axes, keepdims) ** (1.0 / order)
    return power.astype(x.dtype, copy=False)


def _of_matrices(x: NDArray, order: Any, axes: tuple[int, int], keepdims: bool) -> NDArray:
    row, column = axes
    if order in ("fro", "f"):
        return _length(x, axes, keepdims)
    if order in (1, -1, float("inf"), float("-inf")):
        inner, outer = (row, column) if abs(order) == 1 else (column, row)
        sums = _call("sum", abs(gathered(x)), inner, True)
        found = _largest(sums, (outer,), True) if order > 0 else _call("min", sums, outer, True)
        found = found.astype(x.dtype, copy=False)
        return found if keepdims else found.squeeze(axis=axes)
    if order in (2, -2, "nuc"):
        rest = [a for a in range(x.ndim) if a not in axes]
        values: NDArray = _core.invoke("_np_svdvals", [x.transpose((*rest, row, column))], {})
        found = _largest(values, (-1,)) if order == 2 else _call("sum" if order == "nuc" else "min", values, -1)
        for a in sorted(axes) if keepdims else ():
            found = found.expand_dims(a)
        return found
    raise ArgumentError(
        f"norm: ord={order!r} is not valid for matrices: expected 'fro', 'nuc', 1, -1, 2, -2, inf, -inf"
    )
