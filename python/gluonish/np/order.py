"""Functions of `np` about order: sorting, searching, what is there once."""

from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.np._axis import along
from gluonish.np._fallback import fallback
from gluonish.np.creation import asarray, full
from gluonish.np.joining import concatenate
from gluonish.np.ranges import arange
from gluonish.np.shaping import ravel

__all__ = ["argpartition", "argsort", "digitize", "in1d", "isin", "partition", "searchsorted", "sort", "unique"]

_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable")


def _checked(function: str, kind: str | None, order: object) -> None:
    """All kinds are stable here; names of fields belong to arrays that have some."""
    if kind not in _KINDS:
        raise ArgumentError(f"{function}: kind={kind!r} is not valid: expected one of {_KINDS[1:]} or None")
    if order is not None:
        raise UnsupportedError(f"{function}: order={order!r}: arrays have no fields to sort by; leave it out")


def sort(
    a: ArrayLike, axis: int | None = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None
) -> NDArray:
    """The values in order along an axis, or flattened. NaN comes last. The sort is stable, whatever ``kind`` says.

    >>> from gluonish import np
    >>> np.sort(np.array([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    _checked("sort", kind if stable is None else "stable", order)
    ordered: NDArray = _core.invoke("sort", [asarray(a)], {"axis": axis})
    return ordered


def argsort(
    a: ArrayLike, axis: int | None = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None
) -> NDArray:
    """The positions of the values in order, along an axis or flattened. Equal values keep their order.

    >>> from gluonish import np
    >>> np.argsort(np.array([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    _checked("argsort", kind if stable is None else "stable", order)
    array = asarray(a)
    ordered: NDArray = _core.invoke("argsort", [array], {"axis": along(array, axis)})
    return ordered


def partition(a: ArrayLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None) -> NDArray:
    """The values along an axis with the ``kth`` in its place, smaller ones before it: they come fully in order.

    >>> from gluonish import np
    >>> np.partition(np.array([3, 1, 2]), 1)[1].item()
    2
    """
    _selected(asarray(a), kth, axis, kind, "partition")
    return sort(a, axis, order=order)


def argpartition(
    a: ArrayLike, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> NDArray:
    """The positions of the values as ``partition`` has them.

    >>> from gluonish import np
    >>> np.argpartition(np.array([3, 1, 2]), 0)[0].item()
    1
    """
    _selected(asarray(a), kth, axis, kind, "argpartition")
    return argsort(a, axis, order=order)


def _selected(array: NDArray, kth: Any, axis: int | None, kind: str, function: str) -> None:
    if kind != "introselect":
        raise ArgumentError(f"{function}: kind={kind!r} is not valid: expected 'introselect'")
    if axis is not None and not -array.ndim <= axis < array.ndim:
        return  # sort says so
    n = array.size if axis is None else array.shape[axis]
    wrong = [int(k) for k in numpy.ravel(kth) if not -n <= k < n]
    if wrong and array.size:  # of nothing there is nothing to choose, as NumPy has it
        raise ArgumentError(f"{function}: kth={wrong[0]} is out of range for the {n} values along axis {axis}")


@beside
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None) -> NDArray:
    """Where values belong in an ordered vector: before equal ones ("left") or after them ("right").

    ``sorter`` holds the positions that put ``a`` in order, where it is not.

    >>> from gluonish import np
    >>> np.searchsorted(np.array([1, 3, 5]), np.array([3, 4])).tolist()
    [1, 2]
    """
    ordered = asarray(a)
    if sorter is not None:
        ordered = _core.invoke("take", [ordered, asarray(sorter)], {"axis": 0, "mode": "raise"})
    found: NDArray = _core.invoke("_searchsorted", [ordered, asarray(v)], {"side": side})
    return found


@beside
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> NDArray:
    """The number of the bin that each value lies in; the edges go up or down.

    >>> from gluonish import np
    >>> np.digitize(np.array([0.5, 1.0, 9.0]), np.array([1.0, 2.0])).tolist()
    [0, 1, 2]
    """
    edges = asarray(bins)
    host = edges.asnumpy()
    if host.ndim != 1:
        raise ArgumentError(f"digitize: bins must be a vector, got shape {edges.shape}")
    if (host[1:] >= host[:-1]).all():
        return searchsorted(edges, x, "left" if right else "right")
    if not (host[1:] <= host[:-1]).all():
        raise ArgumentError("digitize: bins must go up or down throughout")
    return edges.shape[0] - searchsorted(edges[::-1], x, "right" if right else "left")


@beside
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> NDArray:
    """Whether each value is among the others. ``assume_unique`` and ``kind`` change nothing: there is one way here.

    >>> from gluonish import np
    >>> np.isin(np.array([1, 2, 3]), [2, 5]).tolist()
    [False, True, False]
    """
    values, others = asarray(element), ravel(test_elements)
    if not others.size:
        return full(values.shape, bool(invert))
    ordered = _core.invoke("sort", [others], {})
    place = _core.invoke("_searchsorted", [ordered, values], {})
    near = _core.invoke("take", [ordered, place], {"axis": 0, "mode": "clip"})
    found: NDArray = near != values if invert else near == values
    return found


@beside
def in1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, invert: bool = False) -> NDArray:
    """As ``isin``, of the flattened values.

    >>> from gluonish import np
    >>> np.in1d(np.array([[1, 2]]), [2]).tolist()
    [False, True]
    """
    return isin(ravel(ar1), ar2, assume_unique, invert)


@beside
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The different values in order; also where each is first, which of them each value is, how often each occurs.

    With an axis, NumPy computes it.

    >>> from gluonish import np
    >>> values, counts = np.unique(np.array([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    array = asarray(ar)
    if axis is not None:
        flags = (return_index, return_inverse, return_counts)
        return fallback(numpy, "unique", "np")(array, *flags, axis, equal_nan=equal_nan)
    flat = ravel(array)
    with_order = return_index or return_inverse
    order: Any = _core.invoke("argsort", [flat], {}) if with_order else None
    ordered = _core.invoke("take", [flat, order], {"axis": 0}) if with_order else _core.invoke("sort", [flat], {})
    first = _first_of_equals(ordered, equal_nan)
    begins = _core.invoke("boolean_mask", [arange(flat.size), first], {}) if first.size else arange(0)
    result: list[NDArray] = [_core.invoke("take", [ordered, begins], {"axis": 0})]
    if return_index:
        result.append(_core.invoke("take", [order, begins], {"axis": 0}))
    if return_inverse:
        number = _core.invoke("cumsum", [first], {}) - 1
        back = _core.invoke("_put_along_axis", [number, order], {"axis": 0, "shape": (flat.size,)})
        result.append(_core.invoke("_np_reshape", [back], {"shape": array.shape}))
    if return_counts:
        ends = concatenate([begins[1:], full((1,), flat.size)]) if begins.size else begins
        result.append(ends - begins)
    return result[0] if len(result) == 1 else tuple(result)


def _first_of_equals(ordered: NDArray, equal_nan: bool) -> NDArray:
    """Where a value differs from the one before it."""
    if not ordered.size:
        return full((0,), True)
    changes = ordered[1:] != ordered[:-1]
    if equal_nan and str(ordered.dtype).startswith(("float", "bfloat")):
        before = _core.invoke("isnan", [ordered[:-1]], {})
        changes = _core.invoke("_where", [before, False, changes], {})
    return concatenate([full((1,), True), changes])
