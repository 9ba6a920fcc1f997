"""Random numbers that MXNet has beyond NumPy.

>>> from gluonish import np, npx
>>> npx.random.bernoulli(np.array([0.0, 1.0])).tolist()
[0.0, 1.0]
"""

from typing import Any

from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._dtype import default_float, dtype_name
from gluonish._missing import explained
from gluonish._rows import store
from gluonish._types import ArrayLike
from gluonish.context import ContextLike, device_index
from gluonish.errors import ArgumentError
from gluonish.np import random
from gluonish.np._draw import DType, Size, are_numbers, draw, shape_from
from gluonish.np.creation import asarray
from gluonish.random import seed

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]


@beside
def bernoulli(
    prob: ArrayLike | None = None,
    logit: ArrayLike | None = None,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """1 with a probability, given as such or by the logarithm of its odds, else 0.

    >>> bernoulli(1.0, size=3).tolist(), bernoulli(logit=-1000.0, size=2, dtype="int32").tolist()
    ([1.0, 1.0, 1.0], [0, 0])
    """
    if (prob is None) == (logit is None):
        raise ArgumentError("bernoulli: either prob or logit is needed, and not both")
    chance: Any = prob if logit is None else asarray(logit).sigmoid()
    kind = dtype_name(dtype, default_float())
    index = device_index(ctx, device)
    if kind == "bool":
        drawn = draw("binomial", {"n": 1, "p": chance}, size, "uint8", index, None).astype("bool")
        return store(drawn, out, "bernoulli")
    return draw("binomial", {"n": 1, "p": chance}, size, kind, index, out)


@beside
def uniform_n(
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    batch_shape: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Uniform numbers, ``batch_shape`` of them for each place of the bounds: the batch's axes come first.

    >>> uniform_n([0.0, 1.0], 2.0, batch_shape=(3,)).shape
    (3, 2)
    """
    size = _whole(batch_shape, "uniform_n", low, high)
    return random.uniform(low, high, size, dtype, ctx, device=device)


@beside
def normal_n(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    batch_shape: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Normal numbers, ``batch_shape`` of them for each place of the parameters: the batch's axes come first.

    >>> normal_n([0.0, 1.0], 2.0, batch_shape=(3,)).shape
    (3, 2)
    """
    size = _whole(batch_shape, "normal_n", loc, scale)
    return random.normal(loc, scale, size, dtype, ctx, device=device)


def _whole(batch: Size, function: str, *parameters: ArrayLike) -> tuple[int, ...]:
    from numpy import broadcast_shapes

    shapes = (asarray(p).shape for p in parameters if not are_numbers(p))
    return shape_from(batch, function) + broadcast_shapes(*shapes)


__getattr__ = explained("gluonish.npx.random", __all__)
