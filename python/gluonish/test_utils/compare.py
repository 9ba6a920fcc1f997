"""Whether arrays are equal, or nearly."""

from typing import Any

import numpy as np

from gluonish._core import NDArray
from gluonish.test_utils.tolerance import get_etol, get_tols

__all__ = [
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "checkShapes",
    "compare_ndarray_tuple",
    "locationError",
    "same",
    "same_array",
]

Host = Any
Tolerance = Any


def _host(value: Any) -> Host:
    """As a NumPy array; types that NumPy does not know or compares badly become float64."""
    if isinstance(value, NDArray):
        if str(value.dtype) == "bfloat16":
            value = value.astype("float32")
        value = value.asnumpy()
    host = np.asarray(value)
    return host.astype("float64") if host.dtype.name == "bfloat16" else host


def same(a: Any, b: Any) -> bool:
    """Whether all elements are equal.

    >>> same(np.array([1, 2]), np.array([1.0, 2.0])), same(np.array([1]), np.array([1, 2]))
    (True, False)
    """
    return bool(np.array_equal(_host(a), _host(b)))


def same_array(array1: NDArray, array2: NDArray) -> bool:
    """Whether two arrays share their memory: what is written to one is seen in the other.

    >>> from gluonish import nd
    >>> x = nd.zeros((2, 3))
    >>> same_array(x, x.reshape((2, 3))), same_array(x, x.copy())
    (True, False)
    """
    if not same(array1, array2):
        return False
    array1[...] += 1
    shared = same(array1, array2)
    array1[...] -= 1
    return shared and same(array1, array2)


def checkShapes(a: Any, b: Any) -> None:
    """Raises if two arrays differ in shape.

    >>> checkShapes(np.zeros(2), np.zeros(3))
    Traceback (most recent call last):
        ...
    AssertionError: the shapes (2,) and (3,) differ
    """
    if a.shape != b.shape:
        raise AssertionError(f"the shapes {a.shape} and {b.shape} differ")


def almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether ``|a - b| <= atol + rtol * |b|`` everywhere; tolerances are those of the element types if None.

    >>> almost_equal(np.array([1.0]), np.array([1.0 + 1e-9])), almost_equal([1.0], [1.1], rtol=0.2, atol=0)
    (True, True)
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _host(a), _host(b)
    if not use_broadcast:
        checkShapes(a, b)
    return bool(np.allclose(_widened(a), _widened(b), rtol=rtol, atol=atol, equal_nan=equal_nan))


def _widened(x: Host) -> Host:
    """Differences of unsigned numbers and of float16 are taken in a type that holds them."""
    return x.astype("float64") if x.dtype.kind in "buif" and x.dtype.itemsize < 8 else x


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Raises with the worst places if two arrays are not almost equal (see :func:`almost_equal`).

    Parameters
    ----------
    names
        What the arrays are called in the message.
    mismatches
        How many places, and how many bad elements at most are shown.

    >>> assert_almost_equal(np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    Traceback (most recent call last):
        ...
    AssertionError: a and b differ at 1 of 2 places (rtol=1e-05, atol=1e-20); the worst is off by ... at (1,): ...
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    _assert_close(_host(a), _host(b), rtol, atol, 0.0, names, equal_nan, use_broadcast, mismatches)


def assert_allclose(a: Any, b: Any, rtol: float = 1e-07, atol: float = 0, equal_nan: bool = True) -> None:
    """:func:`assert_almost_equal` with NumPy's tolerances.

    >>> assert_allclose([1.0, np.nan], [1.0, np.nan])
    """
    assert_almost_equal(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def assert_almost_equal_with_err(
    a: Any,
    b: Any,
    rtol: Tolerance = None,
    atol: Tolerance = None,
    etol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """:func:`assert_almost_equal`, where a share ``etol`` of the elements may be wrong.

    >>> assert_almost_equal_with_err(np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 3, 5]), etol=0.25)
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    _assert_close(_host(a), _host(b), rtol, atol, get_etol(etol), names, equal_nan, True, mismatches)


def assert_almost_equal_ignore_nan(
    a: Any, b: Any, rtol: Tolerance = None, atol: Tolerance = None, names: tuple[str, str] = ("a", "b")
) -> None:
    """:func:`assert_almost_equal` of the places where neither array is NaN.

    >>> assert_almost_equal_ignore_nan(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    """
    rtol, atol = get_tols(a, b, rtol, atol)
    a, b = _host(a), _host(b)
    skipped = np.isnan(a) | np.isnan(b)
    zero = np.zeros((), a.dtype)
    _assert_close(np.where(skipped, zero, a), np.where(skipped, zero, b), rtol, atol, 0.0, names, False, True, (10, 10))


def _assert_close(
    a: Host,
    b: Host,
    rtol: float,
    atol: float,
    etol: float,
    names: tuple[str, str],
    equal_nan: bool,
    use_broadcast: bool,
    mismatches: tuple[int, int],
) -> None:
    if not use_broadcast:
        checkShapes(a, b)
    try:
        a, b = np.broadcast_arrays(_widened(a), _widened(b))
    except ValueError:
        raise AssertionError(f"{names[0]} has shape {a.shape}, {names[1]} {b.shape}") from None
    wrong = ~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if wrong.sum() <= etol * wrong.size:
        return
    worst = _worst_first(a, b, rtol, atol, wrong, max(1, min(mismatches)))
    where, error = locationError(a, b, worst[0], names)
    shown = "\n".join(locationError(a, b, place, names)[0] for place in worst[1:])
    allowed = f", etol={etol:g}" if etol else ""
    raise AssertionError(
        f"{names[0]} and {names[1]} differ at {wrong.sum()} of {wrong.size} places (rtol={rtol:g}, atol={atol:g}"
        f"{allowed}); the worst is off by {error:g} at {where}" + (f"\n{shown}" if shown else "")
    )


def _worst_first(a: Host, b: Host, rtol: float, atol: float, wrong: Host, count: int) -> list[tuple[int, ...]]:
    """Places that are wrong, by how many times the tolerance they are off: so many of them."""
    places = np.flatnonzero(wrong)
    x, y = a.ravel()[places], b.ravel()[places]
    with np.errstate(all="ignore"):
        times = np.abs(x - y) / (atol + rtol * np.abs(y) + 1e-300)
    times = np.where(np.isnan(times), np.inf, times)
    order = places[np.argsort(-times, kind="stable")[:count]]
    return [tuple(int(i) for i in np.unravel_index(place, wrong.shape)) for place in order]


def locationError(
    a: Any, b: Any, index: tuple[int, ...], names: tuple[str, str], maxError: bool = False
) -> tuple[str, float]:
    """What two arrays have at a place, in words, and how far that is apart.

    >>> locationError(np.array([1.0]), np.array([3.0]), (0,), ("a", "b"))
    ('(0,): a=1.0, b=3.0', 2.0)
    """
    x, y = _host(a)[index], _host(b)[index]
    with np.errstate(all="ignore"):
        error = float(np.abs(np.subtract(x, y, dtype="float64")))
    word = "the worst is at " if maxError else ""
    return f"{word}{tuple(int(i) for i in index)}: {names[0]}={x}, {names[1]}={y}", error


def compare_ndarray_tuple(t1: Any, t2: Any, rtol: Tolerance = None, atol: Tolerance = None) -> None:
    """:func:`assert_almost_equal` of arrays in nested tuples; None matches anything.

    >>> compare_ndarray_tuple((np.ones(2), None), (np.ones(2), np.ones(3)))
    """
    if t1 is None or t2 is None:
        return
    if not isinstance(t1, tuple | list):
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)
        return
    if len(t1) != len(t2):
        raise AssertionError(f"there are {len(t1)} and {len(t2)} arrays")
    for one, other in zip(t1, t2, strict=True):
        compare_ndarray_tuple(one, other, rtol, atol)
