"""Functions of `np` that move values or look at them differently, where NumPy's signature asks for more than a row."""

from collections.abc import Sequence
from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._create import shape_of
from gluonish._rows import call, store
from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError, OutOfMemory, ShapeError
from gluonish.np._axis import along
from gluonish.np.creation import asarray

__all__ = [
    "broadcast_arrays",
    "diag",
    "diagflat",
    "fliplr",
    "flipud",
    "meshgrid",
    "pad",
    "ravel",
    "repeat",
    "reshape",
    "resize",
    "rollaxis",
    "rot90",
]

_MARGINS = {"constant", "edge", "reflect", "symmetric", "wrap"}


def ravel(a: ArrayLike, order: str = "C") -> NDArray:
    """The values as a vector, as a view where the layout allows it.

    ``order`` says which axis runs quickest: the last ("C"), the first ("F"), or as the values lie in memory ("K"; "A"
    is "F" for arrays that lie so, else "C").

    >>> from gluonish import np
    >>> np.ravel(np.ones((2, 3))).shape, np.ravel(np.array([[1, 2], [3, 4]]), order="F").tolist()
    ((6,), [1, 3, 2, 4])
    """
    array = asarray(a)
    if order != "C" and array.ndim > 1:
        array = array.transpose(_quickest_last(array, order, "ravel"))
    flat: NDArray = _core.invoke("ravel", [array], {})
    return flat


def reshape(
    a: ArrayLike, shape: int | Sequence[int], order: str = "C", out: NDArray | None = None, *, copy: bool | None = None
) -> NDArray:
    """The values in another shape, of which one size may be -1, as a view where the layout allows it.

    ``order`` says in which order they are read and written: the last axis runs quickest ("C"), or the first ("F"); "A"
    is "F" for arrays that lie so in memory. ``copy=True`` copies.

    >>> from gluonish import np
    >>> x = np.array([[1, 2, 3], [4, 5, 6]])
    >>> np.reshape(x, (3, -1)).tolist(), np.reshape(x, (3, -1), order="F").tolist()
    ([[1, 2], [3, 4], [5, 6]], [[1, 5], [4, 3], [2, 6]])
    """
    array = asarray(a)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    made: NDArray
    # Also of one axis, or none, the result is filled in that order.
    if order == "C" or (order != "F" and _quickest_last(array, order, "reshape") == list(range(array.ndim))):
        made = _core.invoke("_np_reshape", [array], {"shape": sizes}, out)
    else:
        turned = call("reshape", "_np_reshape", [array.transpose()], {"shape": sizes[::-1]})
        made = store(turned.transpose() if len(sizes) > 1 else turned, out, "reshape")
    return made.copy() if copy and out is None else made


def _quickest_last(array: NDArray, order: str, function: str) -> list[int]:
    """The axes in the order in which they are read, the one that runs quickest last."""
    axes = list(range(array.ndim))
    if order == "K" and function == "ravel":
        return sorted(axes, key=lambda d: -abs(array.strides[d]))
    if order not in ("C", "F", "A"):
        raise ArgumentError(f"{function}: order={order!r} is not valid: expected 'C', 'F' or 'A'")
    lies_so = list(array.strides) == sorted(array.strides) and len(set(array.strides)) > 1
    return axes[::-1] if order == "F" or (order == "A" and lies_so) else axes


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> NDArray:
    """An axis moved to stand before the one at ``start``, as a view. ``moveaxis`` is easier to read.

    >>> from gluonish import np
    >>> np.rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    array = asarray(a)
    n = array.ndim
    if not -n <= axis < n or not -n <= start <= n:
        raise ShapeError(f"rollaxis: axis {axis} or start {start} is out of range for shape {array.shape}")
    axis, start = axis % n, start if start >= 0 else start + n
    to = start - 1 if axis < start else start
    moved: NDArray = _core.invoke("moveaxis", [array], {"source": axis, "destination": to})
    return moved


@beside
def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[NDArray, ...]:
    """All arrays in the shape that they broadcast to, as views.

    >>> from gluonish import np
    >>> [x.shape for x in np.broadcast_arrays(np.ones((2, 1)), np.ones(3))]
    [(2, 3), (2, 3)]
    """
    arrays = [asarray(x) for x in args]
    try:
        shape = numpy.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        given = ", ".join(str(x.shape) for x in arrays)
        raise ShapeError(f"broadcast_arrays: cannot broadcast {given} with each other") from None
    return tuple(_core.invoke("_np_broadcast_to", [x], {"shape": shape}) for x in arrays)


@beside
def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[NDArray, ...]:
    """The coordinates of a grid: for each vector an array over all of them, along its own axis.

    The first two axes are exchanged for ``indexing="xy"``. ``sparse`` leaves the other axes at size 1, ``copy=False``
    makes views, which cannot be written to.

    >>> from gluonish import np
    >>> x, y = np.meshgrid(np.arange(3), np.arange(2))
    >>> x.tolist(), y.tolist()
    ([[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [1, 1, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing={indexing!r} is not valid: expected 'xy' or 'ij'")
    vectors = [ravel(x) for x in xi]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[:2] = [1, 0]
    lines = tuple(x.reshape([-1 if place == i else 1 for place in places]) for i, x in enumerate(vectors))
    grid = lines if sparse else broadcast_arrays(*lines)
    return tuple(x.copy() for x in grid) if copy else grid


def fliplr(m: ArrayLike) -> NDArray:
    """The columns in reverse order, as a view.

    >>> from gluonish import np
    >>> np.fliplr(np.array([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    return _flip(m, 1, "fliplr")


def flipud(m: ArrayLike) -> NDArray:
    """The rows in reverse order, as a view.

    >>> from gluonish import np
    >>> np.flipud(np.array([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    return _flip(m, 0, "flipud")


def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> NDArray:
    """The plane of two axes turned by 90 degrees ``k`` times, from the first towards the second, as a view.

    >>> from gluonish import np
    >>> np.rot90(np.array([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    array = asarray(m)
    if len(axes) != 2 or not all(-array.ndim <= d < array.ndim for d in axes) or not (axes[0] - axes[1]) % array.ndim:
        raise ShapeError(f"rot90: axes {tuple(axes)} are not two different axes of shape {array.shape}")
    first, second = axes
    flipped: dict[int, list[int]] = {0: [], 1: [second], 2: [first, second], 3: [first]}
    turned: NDArray = _core.invoke("flip", [array], {"axis": flipped[k % 4]})
    return turned.swapaxes(first, second) if k % 2 else turned


def diag(v: ArrayLike, k: int = 0) -> NDArray:
    """A diagonal of a matrix, as a view; or the matrix that has a vector on a diagonal.

    >>> from gluonish import np
    >>> np.diag(np.array([1, 2])).tolist(), np.diag(np.ones((2, 3)), 1).tolist()
    ([[1, 0], [0, 2]], [1.0, 1.0])
    """
    array = asarray(v)
    if array.ndim not in (1, 2):
        raise ShapeError(f"diag: a vector or a matrix is needed, got shape {array.shape}; see diagonal")
    made: NDArray = _core.invoke("diag", [array], {"k": k})
    return made


def diagflat(v: ArrayLike, k: int = 0) -> NDArray:
    """The matrix that has the values, as a vector, on a diagonal.

    >>> from gluonish import np
    >>> np.diagflat([[1, 2]]).tolist()
    [[1, 0], [0, 2]]
    """
    return diag(ravel(v), k)


def repeat(a: ArrayLike, repeats: int | ArrayLike, axis: int | None = None) -> NDArray:
    """Each element so many times, or each as often as its entry of ``repeats`` says.

    >>> from gluonish import np
    >>> np.repeat(np.array([1, 2]), 2).tolist(), np.repeat(np.array([1, 2]), [2, 1]).tolist()
    ([1, 1, 2, 2], [1, 1, 2])
    """
    array = asarray(a)
    axis = along(array, axis)
    counts = numpy.asarray(repeats)
    if counts.size == 1:
        same: NDArray = _core.invoke("repeat", [array], {"repeats": int(counts.reshape(())), "axis": axis})
        return same
    if axis is None:
        array, axis = array.ravel(), 0
    if not -array.ndim <= axis < array.ndim:
        raise ShapeError(f"repeat: axis {axis} is out of range for shape {array.shape}")
    if counts.shape != (array.shape[axis],) or counts.dtype.kind not in "iu" or (counts < 0).any():
        given = f"repeats of shape {counts.shape} and type {counts.dtype}"
        raise ArgumentError(
            f"repeat: {given} do not fit axis {axis} of shape {array.shape}: one count of at least 0 each"
        )
    try:
        host = numpy.repeat(numpy.arange(len(counts)), counts)
    except (MemoryError, ValueError) as error:  # NumPy's ValueError: no array can be so long
        total = sum(counts.tolist())
        raise OutOfMemory(f"repeat: {total} elements along axis {axis}: {error}") from None
    places = asarray(host, device=array.context)
    taken: NDArray = _core.invoke("take", [array, places], {"axis": axis})
    return taken


def resize(a: ArrayLike, new_shape: int | Sequence[int]) -> NDArray:
    """The values in another shape of any size: repeated from the start where it is larger, else cut.

    >>> from gluonish import np
    >>> np.resize(np.array([1, 2, 3]), (2, 4)).tolist()
    [[1, 2, 3, 1], [2, 3, 1, 2]]
    """
    array, shape = ravel(a), shape_of(new_shape, "resize")
    size = int(numpy.prod(shape))
    if not array.size:
        zeros: NDArray = _core.full(shape, 0, str(array.dtype), array._device)
        return zeros
    tiled: NDArray = _core.invoke("tile", [array], {"reps": -(-size // array.size)})
    shaped: NDArray = _core.invoke("_np_reshape", [tiled[:size]], {"shape": shape})
    return shaped


def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> NDArray:
    """The array with a margin, as wide as ``pad_width`` says: a number, (before, after), or a pair for each axis.

    ``mode`` is "constant" (with ``constant_values``, one number), "edge", "reflect", "symmetric" or "wrap"; what else
    NumPy's function does is computed by NumPy.

    >>> from gluonish import np
    >>> np.pad(np.array([1, 2, 3]), (2, 1), "reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """
    data = asarray(array)
    value = kwargs.get("constant_values", 0)
    usual = {"constant": {"constant_values"}, "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}}
    native = (
        isinstance(mode, str)
        and mode in _MARGINS
        and set(kwargs) <= usual.get(mode, set())
        and kwargs.get("reflect_type", "even") == "even"
        and numpy.ndim(value) == 0
        and not isinstance(pad_width, dict)
    )
    if not native:
        from gluonish.np._fallback import fallback

        other: NDArray = fallback(numpy, "pad", "np")(data, pad_width, mode, **kwargs)
        return other
    try:
        widths = numpy.broadcast_to(numpy.asarray(pad_width), (data.ndim, 2)).tolist()
    except ValueError:
        given = f"pad_width={pad_width!r}"
        raise ArgumentError(f"pad: {given} does not fit an array of shape {data.shape}: a pair for each axis") from None
    before, after = [tuple(pair[i] for pair in widths) for i in (0, 1)]
    margins = {"before": before, "after": after, "mode": mode, "constant_value": float(value)}
    padded: NDArray = _core.invoke("_np_pad", [data], margins)
    return padded


def _flip(m: ArrayLike, axis: int, function: str) -> NDArray:
    array = asarray(m)
    if array.ndim <= axis:
        raise ShapeError(f"{function}: an array of at least {axis + 1} axes is needed, got shape {array.shape}")
    flipped: NDArray = _core.invoke("flip", [array], {"axis": axis})
    return flipped
