"""Sums, means, extremes and the like with all of NumPy's arguments. A plain call goes straight to the row.

``where`` leaves elements out and ``initial`` is one more of them; both have gradients. With what else NumPy takes, and
for the functions that skip NaN, NumPy computes on the host.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._create import filled
from gluonish._dtype import dtype_name
from gluonish._faces import dressed, functions
from gluonish._rows import store
from gluonish.np._fallback import on_host
from gluonish.np._gathered import gathering
from gluonish.np.creation import asarray

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "max",
    "mean",
    "min",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "std",
    "sum",
    "var",
]

_np = functions("np")

# What an element counts that `where` leaves out, and what one more element does to the result.
_NEUTRAL: dict[str, Any] = {"sum": 0, "prod": 1, "all": True, "any": False}
_ONE_MORE = {"sum": "broadcast_add", "prod": "broadcast_mul", "max": "broadcast_maximum", "min": "broadcast_minimum"}
_OTHER_NAMES = {"amax": "max", "amin": "min"}


def _typed(name: str) -> Callable[..., NDArray]:
    """A reduction that takes the type of its result."""
    row = _np[name]

    @dressed(row)
    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if out is initial is None and where is True:
            return row(a, axis, dtype, keepdims)
        return _beyond(name, a, out, {"axis": axis, "dtype": dtype, "keepdims": keepdims}, where, initial)

    return call


def _untyped(name: str) -> Callable[..., NDArray]:
    """A reduction whose result has the type of its elements."""
    row = _np[name]

    @dressed(row)
    def call(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        if out is initial is None and where is True:
            return row(a, axis, keepdims)
        return _beyond(name, a, out, {"axis": axis, "keepdims": keepdims}, where, initial)

    return call


def _truth(name: str) -> Callable[..., NDArray]:
    """A reduction of truth values."""
    row = _np[name]

    @dressed(row)
    def call(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        if out is None and where is True:
            return row(a, axis, keepdims)
        return _beyond(name, a, out, {"axis": axis, "keepdims": keepdims}, where, None)

    return call


def _spread(name: str) -> Callable[..., NDArray]:
    """A standard deviation or a variance; ``correction`` is another name of ``ddof``."""
    row = _np[name]

    @dressed(row)
    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        ddof = ddof if correction is None else correction
        if out is mean is None and where is True:
            return row(a, axis, dtype, ddof, keepdims)
        how = {"axis": axis, "dtype": dtype, "ddof": ddof, "keepdims": keepdims}
        return _beyond(name, a, out, how if mean is None else {**how, "mean": mean}, where, None)

    return call


@beside
def _beyond(name: str, a: Any, out: Any, how: dict[str, Any], where: Any, initial: Any) -> NDArray:
    """A reduction with arguments that its row does not have, or into ``out``."""
    kind = _OTHER_NAMES.get(name, name)
    if where is True and initial is None and "mean" not in how:
        reduced: NDArray = _np[name](a, **how, out=out)
        return reduced
    if kind in _NEUTRAL or kind == "mean" or (kind in _ONE_MORE and initial is not None):
        return store(_chosen(kind, asarray(a), how, where, initial), out, name)
    more = {"out": out, "initial": initial, "where": None if where is True else where}
    given = {key: value for key, value in {**how, **more}.items() if value is not None}
    found: NDArray = _hosted(name, " and ".join(key for key in ("initial", "mean", "where") if key in given))(
        a, **given
    )
    return found


def _chosen(kind: str, array: NDArray, how: dict[str, Any], where: Any, initial: Any) -> NDArray:
    """The reduction of the elements that ``where`` chooses, and of ``initial``."""
    if kind == "mean":
        chosen = _core.invoke("_np_broadcast_to", [asarray(where)], {"shape": array.shape})
        count = _np["sum"](chosen, how["axis"], None, how["keepdims"])
        kept = _np["where"](chosen, array, False)
        kind = dtype_name(how["dtype"], array.dtype)
        mean: NDArray = _np["sum"](kept, how["axis"], gathering(kind), how["keepdims"]) / count
        return mean.astype(kind, copy=False) if how["dtype"] is not None or "float" in kind else mean
    fill = _NEUTRAL.get(kind, _fitted(initial, array))
    kept = array if where is True else _np["where"](where, array, fill)
    if kind in _NEUTRAL or kept.size:
        found: NDArray = _np[kind](kept, **how)
    else:  # of nothing: the one more is all there is
        shape = _np["sum"](kept, how["axis"], None, how["keepdims"]).shape
        found = filled(shape, _fitted(initial, kept), str(kept.dtype), kept._device, None, kind)
    if initial is not None and kind in _ONE_MORE:
        found = _core.invoke(_ONE_MORE[kind], [found, _fitted(initial, found)], {})
    return found


def _fitted(initial: Any, array: NDArray) -> Any:
    """A number as NumPy takes it into a reduction: in the type of the result."""
    if not isinstance(initial, int | float | numpy.generic) or "float" in (name := str(array.dtype)):
        return initial
    return bool(initial) if name == "bool" else int(initial)


@functools.cache
def _hosted(name: str, arguments: str) -> Callable[..., Any]:
    return on_host(getattr(numpy, name), f"np.{name} with {arguments}")


sum, prod, mean = map(_typed, ("sum", "prod", "mean"))
nansum, nanprod, nanmean = map(_typed, ("nansum", "nanprod", "nanmean"))
max, min = map(_untyped, ("max", "min"))
all, any = map(_truth, ("all", "any"))
amax, amin, nanmax, nanmin = map(_untyped, ("amax", "amin", "nanmax", "nanmin"))
std, var, nanstd, nanvar = map(_spread, ("std", "var", "nanstd", "nanvar"))
