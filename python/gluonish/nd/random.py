"""Arrays of random numbers, with MXNet's signatures. ``mx.random.seed`` starts them anew.

The same seed gives the same numbers for any number of threads and on both engines; each device has its own sequence.
Parameters are numbers, for ``shape`` values, or arrays of one shape, for ``shape`` values at each of their places.

>>> import gluonish as mx
>>> mx.random.seed(7)
>>> x = mx.nd.random.normal(0, 0.1, shape=(2, 3))
>>> mx.random.seed(7)
>>> bool((mx.nd.random.normal(0, 0.1, shape=(2, 3)) == x).min())
True
>>> mx.nd.random.poisson(mx.nd.array([1, 100]), shape=5).shape
(2, 5)
"""

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._faces import functions
from gluonish._missing import explained
from gluonish.context import ContextLike, parse
from gluonish.errors import ArgumentError

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "negative_binomial",
    "normal",
    "poisson",
    "rand_zipfian",
    "randint",
    "randn",
    "uniform",
]
__all__ += list(functions("nd", "random"))
globals().update(functions("nd", "random"))

Shape = int | Sequence[int] | None
Parameter = float | NDArray
DType = npt.DTypeLike | None


_ROWS = functions("nd")


def _draw(
    name: str, parameters: tuple[Any, ...], shape: Shape, dtype: DType, ctx: ContextLike, out: NDArray | None
) -> NDArray:
    """Numbers of a distribution: by the row for numbers, or by that for arrays where a parameter is one."""
    drawn: NDArray
    if isinstance(ctx, str):
        ctx = parse(ctx)
    if any(isinstance(value, NDArray) for value in parameters):
        drawn = _ROWS[f"sample_{name}"](*parameters, shape, dtype, out=out)
        return drawn
    if out is not None:
        dtype = out.dtype if dtype is None else dtype
        shape = out.shape if shape is None else shape
    drawn = _ROWS[f"random_{name}"](*parameters, shape, dtype, ctx=ctx, out=out)
    return drawn


def uniform(
    low: Parameter = 0,
    high: Parameter = 1,
    shape: Shape = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Numbers from ``low`` to ``high``, which is not reached, all equally likely.

    >>> x = uniform(2, 3, shape=100)
    >>> bool(x.min() >= 2), bool(x.max() < 3)
    (True, True)
    """
    return _draw("uniform", (low, high), shape, dtype, ctx, out)


def normal(
    loc: Parameter = 0,
    scale: Parameter = 1,
    shape: Shape = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Normally distributed numbers with mean ``loc`` and standard deviation ``scale``.

    >>> from gluonish import nd
    >>> normal(shape=(2, 3)).shape, normal(nd.array([0, 10]), nd.array([1, 2]), shape=5).shape
    ((2, 3), (2, 5))
    """
    return _draw("normal", (loc, scale), shape, dtype, ctx, out)


def randn(
    *shape: int,
    loc: Parameter = 0,
    scale: Parameter = 1,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Normally distributed numbers, with the shape as separate arguments.

    >>> randn(2, 3, loc=10, scale=0.1).shape
    (2, 3)
    """
    return normal(loc, scale, shape or None, dtype, ctx, out)


def exponential(
    scale: Parameter = 1,
    shape: Shape = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Exponentially distributed numbers with mean ``scale``.

    >>> bool(exponential(3, shape=100).min() > 0)
    True
    """
    return _draw("exponential", (_rate(scale),), shape, dtype, ctx, out)


def _rate(scale: Any) -> Any:
    """One over the mean; what cannot be a mean is left to the row to refuse."""
    if isinstance(scale, NDArray):
        return 1.0 / scale
    return 1.0 / scale if isinstance(scale, int | float) and scale != 0 else scale


def gamma(
    alpha: Parameter = 1,
    beta: Parameter = 1,
    shape: Shape = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Gamma distributed numbers with shape ``alpha`` and scale ``beta``; their mean is the product of the two.

    >>> gamma(2, 3, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("gamma", (alpha, beta), shape, dtype, ctx, out)


def poisson(
    lam: Parameter = 1,
    shape: Shape = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Poisson distributed numbers with mean ``lam``, floating unless ``dtype`` says otherwise.

    >>> poisson(0, shape=3).tolist(), poisson(5, shape=3, dtype="int32").dtype
    ([0.0, 0.0, 0.0], dtype('int32'))
    """
    return _draw("poisson", (lam,), shape, dtype, ctx, out)


def negative_binomial(
    k: Parameter = 1,
    p: Parameter = 1,
    shape: Shape = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """How many trials fail before ``k`` succeed, each with probability ``p``.

    >>> negative_binomial(3, 1, shape=2).tolist()
    [0.0, 0.0]
    """
    return _draw("negative_binomial", (k, p), shape, dtype, ctx, out)


def generalized_negative_binomial(
    mu: Parameter = 1,
    alpha: Parameter = 1,
    shape: Shape = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Negative binomial numbers with mean ``mu`` and variance ``mu + alpha * mu**2``.

    >>> generalized_negative_binomial(0, 1, shape=2).tolist()
    [0.0, 0.0]
    """
    return _draw("generalized_negative_binomial", (mu, alpha), shape, dtype, ctx, out)


def randint(
    low: int,
    high: int,
    shape: Shape = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Integers from ``low`` to below ``high``, all equally likely: int32 unless told otherwise.

    >>> x = randint(-2, 3, shape=100)
    >>> x.min().item(), x.max().item(), x.dtype
    (-2, 2, dtype('int32'))
    """
    return _draw("randint", (low, high), shape, dtype, ctx, out)


@beside
def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: ContextLike = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes below ``range_max`` for a sampled softmax: class k comes with probability
    ``log((k + 2) / (k + 1)) / log(range_max + 1)``, as words do in a list by frequency.

    Returns ``num_sampled`` classes (int64), how often each true class is expected among them, and how often each
    sampled one (float64).

    >>> from gluonish import nd
    >>> classes, of_true, of_sampled = rand_zipfian(nd.array([3]), 4, 5)
    >>> classes.shape, round(of_true.item(), 3), of_sampled.shape
    ((4,), 0.498, (4,))
    """
    from math import log

    if range_max < 1:
        raise ArgumentError(f"rand_zipfian: range_max={range_max} is not valid: expected a number of at least 1")
    whole = log(range_max + 1)
    drawn = uniform(0, whole, shape=(num_sampled,), dtype="float64", ctx=ctx)
    classes = (drawn.exp() - 1).astype("int64") % range_max

    def expected(chosen: NDArray) -> NDArray:
        k = chosen.astype("float64")
        count: NDArray = ((k + 2) / (k + 1)).log() * (num_sampled / whole)
        return count

    return classes, expected(true_classes.as_in_context(classes.context)), expected(classes)


__getattr__ = explained("gluonish.nd.random", __all__)
