"""Elementwise functions of `np` whose signatures ask for more than a row of the op table."""

from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._faces import functions
from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError
from gluonish.np.creation import asarray

__all__ = ["allclose", "around", "array_equal", "divmod", "nan_to_num", "round"]

_np = functions("np")

_HALVES = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}


def _is_float(a: NDArray) -> bool:
    return "float" in str(a.dtype)


@beside
def round(a: ArrayLike, decimals: int = 0, out: NDArray | None = None) -> NDArray:
    """Values rounded to so many decimals, halves to even.

    >>> from gluonish import np
    >>> np.round(np.array([0.5, 1.5, 2.5])).tolist(), np.round(np.array([2.125]), 2).tolist()
    ([0.0, 2.0, 2.0], [2.119999885559082])
    """
    x = asarray(a)
    if not _is_float(x) and decimals < 0:
        whole = numpy.round(x.asnumpy(), decimals)
        rounded: NDArray = _core.invoke("_copy", [asarray(whole)], {}, out)
    elif not _is_float(x):
        rounded = _core.invoke("_copy", [x], {}, out)
    elif decimals == 0:
        rounded = _core.invoke("rint", [x], {}, out)
    else:
        power = 10.0 ** abs(decimals)
        there, back = ("broadcast_mul", "broadcast_div") if decimals > 0 else ("broadcast_div", "broadcast_mul")
        nearest = _core.invoke("rint", [_core.invoke(there, [x, power], {})], {})
        rounded = _core.invoke(back, [nearest, power], {}, out)
    return rounded


around = round


def divmod(x1: ArrayLike, x2: ArrayLike, /, out: Any = None, **how: Any) -> tuple[NDArray, NDArray]:
    """The quotient, rounded down, and the remainder. ``how`` is ``dtype`` and what else NumPy's ufuncs take.

    >>> from gluonish import np
    >>> [part.tolist() for part in np.divmod(np.array([7, -7]), 3)]
    [[2, -3], [1, 2]]
    """
    quotient, remainder = (_np[name](x1, x2, **how) for name in ("floor_divide", "remainder"))
    if out is None:
        return quotient, remainder
    if not isinstance(out, tuple) or len(out) != 2:
        raise ArgumentError("divmod: 'out' must be a tuple of two arrays")
    from gluonish.np._dispatch import stored

    first, second = (
        value if to is None else stored("divmod", value, to, how)
        for value, to in zip((quotient, remainder), out, strict=True)
    )
    return first, second


def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> NDArray:
    """Numbers in the place of NaN and the infinities; the largest and smallest of the type unless told otherwise.

    ``copy=False`` replaces them in ``x`` itself.

    >>> from gluonish import np
    >>> np.nan_to_num(np.array([np.nan, np.inf, 1.0]), posinf=9).tolist()
    [0.0, 9.0, 1.0]
    """
    a = asarray(x)
    out = None if copy else a
    if not _is_float(a):
        whole: NDArray = _core.invoke("_copy", [a], {}, out)
        return whole
    name = str(a.dtype)
    largest = _HALVES.get(name) or float(numpy.finfo(name).max)
    high, low = (largest if posinf is None else posinf), (-largest if neginf is None else neginf)
    replaced: NDArray = _core.invoke("_nan_to_num", [a, nan, high, low], {}, out)
    return replaced


@beside
def allclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all values of two arrays are near each other: they differ by at most ``atol + rtol * abs(b)``.

    >>> from gluonish import np
    >>> np.allclose(np.array([1.0, 2.0]), np.array([1.0, 2.00001]))
    True
    """
    attrs = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    return bool(_core.item(_core.invoke("allclose", [asarray(a), asarray(b)], attrs)))


@beside
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and the same values.

    >>> from gluonish import np
    >>> np.array_equal(np.array([1, 2]), [1, 2]), np.array_equal(np.ones(2), np.ones((1, 2)))
    (True, False)
    """
    a, b = asarray(a1), asarray(a2)
    if a.shape != b.shape:
        return False
    same = _core.invoke("broadcast_equal", [a, b], {})
    if equal_nan:
        both = _core.invoke("broadcast_logical_and", [_core.invoke("isnan", [v], {}) for v in (a, b)], {})
        same = _core.invoke("broadcast_logical_or", [same, both], {})
    return a.size == 0 or bool(_core.item(_core.invoke("min", [same], {})))
