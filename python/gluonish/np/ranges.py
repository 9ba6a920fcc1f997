"""Numbers at equal distances, or in equal ratios, with NumPy's signatures."""

from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core, _create
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._dtype import default_float, dtype_name
from gluonish._types import ArrayLike, Number
from gluonish.context import ContextLike, device_index
from gluonish.errors import ArgumentError
from gluonish.np._fallback import fallback
from gluonish.np.creation import DType, asarray

__all__ = ["arange", "geomspace", "linspace", "logspace"]


def arange(
    start: Number,
    stop: Number | None = None,
    step: Number = 1,
    dtype: DType = None,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """``start, start + step, ...`` up to ``stop``, which is left out. Integers give int64, else the type is floating.

    >>> arange(3).tolist(), arange(0, 1, 0.25).tolist()
    ([0, 1, 2], [0.0, 0.25, 0.5, 0.75])
    """
    whole = all(isinstance(value, int) for value in (start, stop if stop is not None else 0, step))
    return _create.arange(
        start, stop, step, dtype_name(dtype, ("int64" if whole else default_float())), device_index(ctx, device)
    )


@beside
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DType = None,
    axis: int = 0,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> Any:
    """``num`` values at equal distances from ``start`` to ``stop``, with or without that; with ``retstep``, also the
    distance. Bounds that are arrays, to which gradients flow, give the values along a new axis.

    >>> linspace(0, 1, 5).tolist(), linspace(0, 1, 5, retstep=True)[1]
    ([0.0, 0.25, 0.5, 0.75, 1.0], 0.25)
    >>> linspace([0, 10], 20, 3).tolist()
    [[0.0, 10.0], [10.0, 15.0], [20.0, 20.0]]
    """
    parts = num - 1 if endpoint else num
    if _are_numbers(start, stop):
        first: Any = start
        last: Any = stop
        kind = dtype_name(dtype, default_float())
        whole = "int" in kind  # which NumPy rounds down
        made = _create.linspace(first, last, num, endpoint, "float64" if whole else kind, device_index(ctx, device))
        made = made.floor().astype(kind) if whole else made
        return (made, (last - first) / parts if parts > 0 else float("nan")) if retstep else made
    first, last = asarray(start), asarray(stop)
    # 1 - t and t, not first + t * step: so both ends are exact.
    index = first._device if isinstance(start, NDArray) else last._device
    place = _create.linspace(0.0, 1.0, num, endpoint, default_float(), index)
    deep = max(last.ndim, first.ndim)
    share = place[(slice(None), *(None,) * deep)]
    values = first * (1 - share) + last * share
    if dtype is not None:
        values = (values.floor() if "int" in dtype_name(dtype) else values).astype(dtype_name(dtype))
    moved: NDArray = _core.invoke("moveaxis", [values], {"source": 0, "destination": axis}) if axis else values
    return (moved, (last - first) / (parts if parts > 0 else float("nan"))) if retstep else moved


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float | numpy.generic) for value in values)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DType = None,
    axis: int = 0,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """The powers of ``base`` to ``num`` exponents at equal distances from ``start`` to ``stop``.

    >>> logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    (count,) = _create.shape_of((num,), "logspace")
    if not _are_numbers(start, stop, base):
        made: NDArray = fallback(numpy, "logspace", "np")(start, stop, count, endpoint, base, dtype, axis)
        return made
    values = numpy.logspace(start, stop, count, endpoint, base)
    return _create.from_host(values, dtype_name(dtype, default_float()), device_index(ctx, device))


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: DType = None,
    axis: int = 0,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """``num`` values from ``start`` to ``stop``, each the one before it times the same factor.

    >>> geomspace(1, 8, 4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    (count,) = _create.shape_of((num,), "geomspace")
    if not _are_numbers(start, stop):
        made: NDArray = fallback(numpy, "geomspace", "np")(start, stop, count, endpoint, dtype, axis)
        return made
    try:
        values = numpy.geomspace(start, stop, count, endpoint)
    except ValueError as error:
        raise ArgumentError(f"geomspace: start={start}, stop={stop}: {error}") from None
    return _create.from_host(values, dtype_name(dtype, default_float()), device_index(ctx, device))
