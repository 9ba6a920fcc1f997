"""Arrays of random numbers, with NumPy's signatures. ``mx.random.seed`` or ``np.random.seed`` starts them anew.

The same seed gives the same numbers for any number of threads and on both engines; each device has its own sequence.
Bounds, means and deviations may be arrays that broadcast; a gradient then flows to them.

>>> from gluonish import np
>>> np.random.seed(3)
>>> np.random.uniform(0, 10, size=(2, 3)).shape
(2, 3)
"""

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import shape_of
from gluonish._dtype import default_float, dtype_name
from gluonish._missing import explained
from gluonish._types import ArrayLike
from gluonish.context import ContextLike, device_index
from gluonish.np.creation import asarray
from gluonish.random import seed

__all__ = ["normal", "rand", "randn", "random", "random_sample", "seed", "uniform"]

DType = npt.DTypeLike | None
Size = int | Iterable[int] | None


def uniform(
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Numbers from ``low`` to ``high``, which is not reached, all equally likely.

    >>> x = uniform(2, 3, size=100)
    >>> bool(x.min() >= 2), bool(x.max() < 3)
    (True, True)
    """
    index = device_index(ctx, device)
    if not _are_numbers(low, high):
        least, most = asarray(low), asarray(high)
        drawn = _draw("random_uniform", {}, _common(size, least, most), dtype, index, None)
        return _into(out, drawn * (most - least) + least)
    return _draw("random_uniform", {"low": low, "high": high}, size, dtype, index, out)


def normal(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Normally distributed numbers with mean ``loc`` and standard deviation ``scale``.

    >>> normal(size=(2, 3)).shape, normal(asarray([0.0, 100.0]), 1.0).shape
    ((2, 3), (2,))
    """
    index = device_index(ctx, device)
    if not _are_numbers(loc, scale):
        mean, deviation = asarray(loc), asarray(scale)
        drawn = _draw("random_normal", {}, _common(size, mean, deviation), dtype, index, None)
        return _into(out, drawn * deviation + mean)
    return _draw("random_normal", {"loc": loc, "scale": scale}, size, dtype, index, out)


def rand(*size: int) -> NDArray:
    """Numbers from 0 to 1, with the shape as separate arguments.

    >>> rand(2, 3).shape
    (2, 3)
    """
    return uniform(size=size)


def randn(*size: int) -> NDArray:
    """Standard normal numbers, with the shape as separate arguments.

    >>> randn(2, 3).shape
    (2, 3)
    """
    return normal(size=size)


def random(size: Size = None) -> NDArray:
    """Numbers from 0 to 1.

    >>> random((2, 3)).shape, random().shape
    ((2, 3), ())
    """
    return uniform(size=size)


random_sample = random


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) for value in values)


def _common(size: Size, *parameters: NDArray) -> Size:
    """The size given, or the shape to which the parameters broadcast."""
    if size is not None:
        return size
    from numpy import broadcast_shapes

    return broadcast_shapes(*(p.shape for p in parameters))


def _draw(row: str, attrs: dict[str, Any], size: Size, dtype: DType, index: int, out: NDArray | None) -> NDArray:
    shape = () if size is None else shape_of(size, row)
    given = {**attrs, "shape": shape, "dtype": dtype_name(dtype, default_float())}
    drawn: NDArray = _core.invoke(row, [], given, out, index)
    return drawn


def _into(out: NDArray | None, result: NDArray) -> NDArray:
    return result if out is None else result.copyto(out)


__getattr__ = explained("gluonish.np.random", __all__)
