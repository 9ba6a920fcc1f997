"""Functions of `np` that summarise arrays: averages, quantiles, histograms, differences."""

from collections.abc import Sequence
from typing import Any

import numpy  # noqa: ICN001 - np is this package
import numpy.typing as npt

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._dtype import default_float
from gluonish._rows import call, store
from gluonish._types import ArrayLike, Number
from gluonish.errors import ArgumentError, OutOfMemory, ShapeError
from gluonish.np._fallback import fallback
from gluonish.np._gathered import gathered
from gluonish.np.creation import asarray
from gluonish.np.joining import concatenate
from gluonish.np.shaping import ravel

__all__ = [
    "average",
    "bincount",
    "diff",
    "histogram",
    "median",
    "nanargmax",
    "nanargmin",
    "percentile",
    "quantile",
]

Axes = int | Sequence[int] | None


@beside
def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean over axes, each value counting as much as its weight; with ``returned``, also the sum of the weights.

    >>> from gluonish import np
    >>> np.average(np.array([1.0, 5.0]), weights=[3, 1]).item()
    2.0
    """
    array = asarray(a)
    if weights is None:
        mean: NDArray = _core.invoke("mean", [array], {"axis": axis, "keepdims": keepdims})
        return (mean, _full_like(mean, array.size / max(mean.size, 1))) if returned else mean
    scale = _spread_weights(array, asarray(weights), axis)
    product = array * scale
    kind = product.dtype
    halves = gathered(product) is not product
    scale = gathered(scale)
    product = gathered(array) * scale if halves else product
    where = {"axis": axis, "keepdims": keepdims}
    total: NDArray = _core.invoke("sum", [scale], where)
    if bool((total == 0).any()):
        raise ZeroDivisionError(f"average: weights of shape {scale.shape} add up to 0")
    mean = _core.invoke("sum", [product], where) / total
    mean = mean.astype(kind) if halves else mean
    return (mean, total.astype(mean.dtype, copy=False)) if returned else mean


def _is_float(array: NDArray) -> bool:
    return "float" in str(array.dtype)


def _full_like(array: NDArray, value: float) -> NDArray:
    return _core.full(array.shape, value, str(array.dtype), array._device)


def _spread_weights(array: NDArray, weights: NDArray, axis: Axes) -> NDArray:
    """Weights in the shape of the array: they have it, or are one for each element along the axes."""
    if weights.shape == array.shape:
        return weights
    if axis is None:
        raise ShapeError(
            f"average: weights of shape {weights.shape} for values of shape {array.shape}: give the axis they belong to"
        )
    axes = [a % max(array.ndim, 1) for a in ((axis,) if isinstance(axis, int) else axis)]
    if weights.shape != tuple(array.shape[a] for a in axes):
        raise ShapeError(f"average: weights of shape {weights.shape} do not fit axis {axis} of shape {array.shape}")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    sizes = tuple(n if i in axes else 1 for i, n in enumerate(array.shape))
    lifted: NDArray = _core.invoke("_np_reshape", [weights.transpose(order)], {"shape": sizes})
    spread: NDArray = _core.invoke("_np_broadcast_to", [lifted], {"shape": array.shape})
    return spread


def median(
    a: ArrayLike,
    axis: Axes = None,
    out: NDArray | None = None,
    overwrite_input: bool = False,
    *,
    keepdims: bool = False,
) -> NDArray:
    """The value in the middle of the ordered ones, or the mean of the two there; NaN if there is one.

    >>> from gluonish import np
    >>> np.median(np.array([[3.0, 1.0, 2.0], [4.0, 9.0, 6.0]]), axis=1).tolist()
    [2.0, 6.0]
    """
    array = asarray(a)
    if not array.size:
        array = array.astype("float32", copy=False) if not _is_float(array) else array
        return store(call("median", "mean", [array], {"axis": axis, "keepdims": keepdims}), out, "median")
    return _quantile(array, numpy.float64(0.5), axis, out, keepdims, "median")


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: NDArray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> NDArray:
    """As ``quantile``, with ``q`` from 0 to 100.

    >>> from gluonish import np
    >>> np.percentile(np.arange(5), 75).item()
    3.0
    """
    if method != "linear" or weights is not None:
        how = {"method": method, "keepdims": keepdims, "weights": weights}
        found: NDArray = fallback(numpy, "percentile", "np")(a, q, axis, **how)
        return store(found, out, "percentile")
    shares = numpy.asarray(q, "float64") / 100
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ArgumentError(f"percentile: q={q!r} is not valid: expected numbers from 0 to 100")
    return _quantile(asarray(a), shares, axis, out, keepdims, "percentile")


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: NDArray | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> NDArray:
    """The value below which the share ``q`` of the values lies, between two of them by a straight line.

    Several shares give a leading axis. NaN if there is one among the values. Other methods are NumPy's own.

    >>> from gluonish import np
    >>> np.quantile(np.array([0.0, 1.0, 3.0]), [0.5, 0.75]).tolist()
    [1.0, 2.0]
    """
    if method != "linear" or weights is not None:
        how = {"method": method, "keepdims": keepdims, "weights": weights}
        found: NDArray = fallback(numpy, "quantile", "np")(a, q, axis, **how)
        return store(found, out, "quantile")
    shares = numpy.asarray(q, "float64")
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ArgumentError(f"quantile: q={q!r} is not valid: expected shares from 0 to 1")
    return _quantile(asarray(a), shares, axis, out, keepdims, "quantile")


def _quantile(array: NDArray, shares: Any, axis: Axes, out: NDArray | None, keepdims: bool, function: str) -> NDArray:
    ordered, kept = _ordered(array, axis, keepdims, function)
    n = ordered.shape[-1]
    if not shares.size:
        return store(_core.empty((*shares.shape, *kept), str(ordered.dtype), ordered._device), out, function)
    if n == 0:
        raise ArgumentError(f"{function}: no values along axis {axis} of shape {array.shape}: it is empty")
    parts = [_between(ordered, float(share) * (n - 1)) for share in shares.ravel()]
    last = ordered[..., n - 1]
    whole = [_core.invoke("_where", [last != last, last, part], {}) for part in parts]  # noqa: PLR0124 - NaN
    joined = _core.invoke("concat", [_core.invoke("expand_dims", [w], {"axis": 0}) for w in whole], {"dim": 0})
    return store(_core.invoke("_np_reshape", [joined], {"shape": (*shares.shape, *kept)}), out, function)


def _ordered(array: NDArray, axis: Axes, keepdims: bool, function: str) -> tuple[NDArray, tuple[int, ...]]:
    """Floating values in order along a last axis that holds the given ones, and the shape of the result."""
    real = array if _is_float(array) else array.astype("float32")
    axes = range(array.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    reduced = [_axis(a, array, function) for a in axes]
    others = [i for i in range(array.ndim) if i not in reduced]
    sizes = tuple(array.shape[i] for i in others)
    count = int(numpy.prod([array.shape[i] for i in reduced], dtype="int64"))
    turned = real.transpose([*others, *reduced]) if array.ndim else real
    line = _core.invoke("_np_reshape", [turned], {"shape": (*sizes, count)})
    kept = tuple(1 if i in reduced else n for i, n in enumerate(array.shape)) if keepdims else sizes
    return _core.invoke("sort", [line], {}), kept


def _axis(axis: int, array: NDArray, function: str) -> int:
    if not -array.ndim <= axis < array.ndim:
        raise ShapeError(f"{function}: axis {axis} is out of range for shape {array.shape}")
    return axis % array.ndim


def _between(ordered: NDArray, at: float) -> NDArray:
    """The value at a place that may lie between two."""
    below = int(at)
    low = ordered[..., below]
    if at == below:
        return low
    high = ordered[..., below + 1]
    if at - below == 0.5:  # the mean of the two: also where one of them is infinite
        return ((gathered(low) + gathered(high)) * 0.5).astype(low.dtype, copy=False)
    return low + (high - low) * (at - below)


@beside
def diff(
    a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None
) -> NDArray:
    """Differences between neighbours along an axis, ``n`` times over.

    >>> from gluonish import np
    >>> np.diff(np.array([1, 4, 9, 16])).tolist(), np.diff(np.array([1, 4, 9, 16]), n=2).tolist()
    ([3, 5, 7], [2, 2])
    """
    array = asarray(a)
    if n < 0:
        raise ArgumentError(f"diff: n={n} is not valid: expected at least 0")
    if n == 0:
        return array
    at = _axis(axis, array, "diff")
    ends = [asarray(x) if x is not None else None for x in (prepend, append)]
    one = (*array.shape[:at], 1, *array.shape[at + 1 :])
    wide = [x if x is None or x.ndim else x.broadcast_to(one) for x in ends]
    whole = [x for x in (wide[0], array, wide[1]) if x is not None]
    array = concatenate(whole, axis=at) if len(whole) > 1 else array
    before = (slice(None),) * at
    row = "broadcast_not_equal" if str(array.dtype) == "bool" else "broadcast_sub"
    for _ in range(n):
        array = _core.invoke(row, [array[(*before, slice(1, None))], array[(*before, slice(None, -1))]], {})
    return array


@beside
def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0) -> NDArray:
    """How often each number from 0 to the largest occurs, or the sum of the weights where it does.

    >>> from gluonish import np
    >>> np.bincount(np.array([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    numbers = asarray(x)
    if minlength < 0:
        raise ArgumentError(f"bincount: minlength={minlength} is not valid: expected at least 0")
    if numbers.size == 0 and numbers.ndim == 1:
        numbers = numbers.astype("int64", copy=False)
    largest = int(numbers.max().item()) if numbers.size else -1
    scale = [] if weights is None else [asarray(weights)]
    counts: NDArray = _core.invoke("_bincount", [numbers, *scale], {"n": max(largest + 1, minlength)})
    return counts


@beside
def histogram(
    a: ArrayLike,
    bins: int | str | ArrayLike = 10,
    range: tuple[Number, Number] | None = None,
    density: bool = False,
    weights: ArrayLike | None = None,
) -> tuple[NDArray, NDArray]:
    """How many values lie in each bin (or their weight, or their density), and the edges of the bins.

    >>> from gluonish import np
    >>> counts, edges = np.histogram(np.array([1, 2, 2, 5]), bins=2)
    >>> counts.tolist(), edges.tolist()
    ([3, 1], [1.0, 3.0, 5.0])
    """
    array = ravel(a)
    values = array.asnumpy() if isinstance(bins, str) else _span(array, range)
    try:
        host = numpy.histogram_bin_edges(values, bins, range)
    except MemoryError as error:
        raise OutOfMemory(f"histogram: bins={bins!r}: {error}") from None
    except (TypeError, ValueError) as error:  # what NumPy says of bins and a range that are not valid
        raise ArgumentError(f"histogram: bins={bins!r}, range={range!r}: {error}") from None
    edges = asarray(numpy.asarray(host, "float64"))  # exact: it holds all that they can be
    even = isinstance(bins, int | str)
    if weights is None:
        counts = _core.invoke("_histogram", [array, edges], {"even": even})
    else:
        counts = _weighed(array, edges, ravel(weights))
    if density:
        kind = "float64" if str(array.dtype) == "float64" else "float32"
        counts = counts.astype(kind) / (counts.sum() * diff(edges)).astype(kind)
    wide = "float64" in (str(array.dtype), str(getattr(bins, "dtype", "")))
    return counts, edges.astype(default_float() if host.dtype == "float64" and not wide else str(host.dtype))


def _span(array: NDArray, given: tuple[Number, Number] | None) -> npt.NDArray[Any]:
    """Values with the same smallest and largest: all that NumPy needs for bins of equal width."""
    kind = "float32" if str(array.dtype) == "bfloat16" else str(array.dtype)
    if given is not None or not array.size:
        return numpy.zeros(0, kind)
    return numpy.array([array.min().item(), array.max().item()], kind)


def _weighed(array: NDArray, edges: NDArray, weights: NDArray) -> NDArray:
    """The sum of the weights of the values in each bin."""
    bins = edges.shape[0] - 1
    place = _core.invoke("_searchsorted", [edges, array], {"side": "right"})
    last = array == edges[bins]
    number = _core.invoke("_where", [last, bins, place], {})
    outside = (array < edges[0]) + (array > edges[bins]) + (array != array)  # noqa: PLR0124 - NaN
    spare = _core.invoke("_where", [outside > 0, 0, number], {})
    totals: NDArray = _core.invoke("_bincount", [spare.astype("int64"), weights], {"n": bins + 1})
    return totals[1:]


def nanargmax(a: ArrayLike, axis: int | None = None, out: NDArray | None = None, *, keepdims: bool = False) -> NDArray:
    """The position of the largest value that is not NaN, along an axis or in the flattened array.

    >>> from gluonish import np
    >>> np.nanargmax(np.array([1.0, float("nan"), 3.0])).item()
    2
    """
    return store(_nan_position(asarray(a), axis, keepdims, "argmax", float("-inf")), out, "nanargmax")


def nanargmin(a: ArrayLike, axis: int | None = None, out: NDArray | None = None, *, keepdims: bool = False) -> NDArray:
    """The position of the smallest value that is not NaN, along an axis or in the flattened array.

    >>> from gluonish import np
    >>> np.nanargmin(np.array([float("nan"), 5.0, 3.0])).item()
    2
    """
    return store(_nan_position(asarray(a), axis, keepdims, "argmin", float("inf")), out, "nanargmin")


def _nan_position(array: NDArray, axis: int | None, keepdims: bool, row: str, last: float) -> NDArray:
    where = {"axis": axis, "keepdims": keepdims}
    if _is_float(array):
        missing = _core.invoke("isnan", [array], {})
        empty = _core.invoke("all", [missing], {"axis": axis})
        if array.size and bool(_core.invoke("any", [empty], {})):
            raise ArgumentError(f"nan{row}: all values along axis {axis} of a part of shape {array.shape} are NaN")
        array = _core.invoke("_where", [missing, last, array], {})
    found: NDArray = _core.invoke(row, [array], where)
    return found
