"""Functions of `nd` that summarise arrays and need more than a row of the op table."""

from collections.abc import Sequence
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import array_of
from gluonish._rows import call, store, store_all
from gluonish._types import Number
from gluonish.errors import ArgumentError

__all__ = ["all_finite", "histogram", "moments", "multi_all_finite"]


def moments(
    data: NDArray,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    out: Sequence[NDArray] | None = None,
    name: str | None = None,
) -> tuple[NDArray, NDArray]:
    """Mean and variance over axes; over all of them when ``axes`` is None.

    >>> from gluonish import nd
    >>> mean, variance = moments(nd.array([[1, 3], [5, 7]]), axes=1)
    >>> mean.tolist(), variance.tolist()
    ([2.0, 6.0], [1.0, 1.0])
    """
    array = array_of(data, "moments")
    where = {"axis": axes, "keepdims": keepdims}
    both = [call("moments", row, [array], where) for row in ("mean", "var")]
    mean, variance = store_all(both, out, "moments")
    return mean, variance


def histogram(
    a: NDArray,
    bins: Any = 10,
    range: tuple[Number, Number] | None = None,
    *,
    out: Sequence[NDArray] | None = None,
    name: str | None = None,
) -> tuple[NDArray, NDArray]:
    """How many values lie in each bin, and the edges of the bins.

    ``bins`` is how many bins of equal width there are, from the smallest value to the largest or over ``range``; or
    the edges themselves, in order.

    >>> from gluonish import nd
    >>> counts, edges = histogram(nd.array([1, 2, 2, 5]), bins=2)
    >>> counts.tolist(), edges.tolist()
    ([3, 1], [1.0, 3.0, 5.0])
    """
    array = array_of(a, "histogram")
    if isinstance(bins, NDArray):
        if range is not None:
            raise ArgumentError("histogram: range belongs to a number of bins; edges are given, so leave it out")
        _in_order(bins)
        counts, edges = store_all([_core.invoke("_histogram", [array, bins], {}), bins], out, "histogram")
        return counts, edges
    if not isinstance(bins, int) or bins < 1:
        raise ArgumentError(f"histogram: bins={bins!r} is not valid: expected at least one, or an array of edges")
    given = {"num": bins + 1, "dtype": "float32"}
    edges = call("histogram", "_linspace", _limits(array, range), given, None, array._device)
    counts = call("histogram", "_histogram", [array, edges], {"even": True})
    counts, edges = store_all([counts, edges], out, "histogram")
    return counts, edges


def _in_order(edges: NDArray) -> None:
    """Refuses edges that do not go up. NaN is in no order with anything."""
    host = edges.asnumpy()
    if host.ndim != 1 or not (host[1:] >= host[:-1]).all() or (host != host).any():  # noqa: PLR0124
        raise ArgumentError("histogram: bins must be a vector of edges that go up, without NaN")


def _limits(array: NDArray, given: tuple[Number, Number] | None) -> tuple[float, float]:
    """From where to where the bins reach."""
    if given is not None:
        low, high = float(given[0]), float(given[1])
    else:
        low, high = (float(array.min().item()), float(array.max().item())) if array.size else (0.0, 1.0)
    if not low <= high or high - low == float("inf"):
        raise ArgumentError(f"histogram: the range from {low} to {high} is not finite and in order")
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def all_finite(data: NDArray, init_output: bool = True, out: NDArray | None = None, name: str | None = None) -> NDArray:
    """1 if no element is infinite or NaN, else 0, as an array of one float32.

    With ``init_output=False``, ``out`` stays 0 where it was 0: so several arrays can be looked at one after the other.

    >>> from gluonish import nd
    >>> all_finite(nd.array([1, float("inf")])).tolist()
    [0.0]
    """
    return _gathered(_core.invoke("_all_finite", [array_of(data, "all_finite")], {}), init_output, out, "all_finite")


def multi_all_finite(
    *data: NDArray | Sequence[NDArray],
    num_arrays: int = 1,
    init_output: bool = True,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """1 if no element of any of the arrays is infinite or NaN, else 0, as an array of one float32.

    >>> from gluonish import nd
    >>> multi_all_finite(nd.ones(2), nd.zeros(3), num_arrays=2).tolist()
    [1.0]
    """
    arrays: Any = data[0] if len(data) == 1 and isinstance(data[0], Sequence) else data
    found = _core.invoke("_multi_all_finite", list(arrays), {"num_arrays": num_arrays})
    return _gathered(found, init_output, out, "multi_all_finite")


def _gathered(found: NDArray, init_output: bool, out: NDArray | None, function: str) -> NDArray:
    if out is None:
        if not init_output:
            raise ArgumentError(f"{function}: init_output=False goes on from what out holds, so out is needed")
        return found
    goes_on = not init_output and out.shape == found.shape  # another shape is refused below
    return store(found * out if goes_on else found, out, function)
