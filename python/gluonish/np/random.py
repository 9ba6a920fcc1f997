"""Arrays of random numbers, with NumPy's signatures. ``mx.random.seed`` or ``np.random.seed`` starts them anew.

The same seed gives the same numbers for any number of threads and on both engines; each device has its own sequence.
Parameters may be arrays that broadcast; where a number moves with its parameters, as with ``loc + scale * x``, a
gradient flows to them. What is not here NumPy computes on the host, from the same seed.

>>> from gluonish import np
>>> np.random.seed(3)
>>> np.random.uniform(0, 10, size=(2, 3)).shape
(2, 3)
>>> np.random.gamma(np.array([1.0, 100.0]), 2.0).shape
(2,)
"""

from typing import Any

from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._dtype import dtype_name
from gluonish._rows import call
from gluonish._types import ArrayLike
from gluonish.context import ContextLike, device_index
from gluonish.np._draw import DType, Size, draw, shape_from
from gluonish.np.random_choice import choice, multinomial, multivariate_normal, permutation, shuffle
from gluonish.np.random_moved import (
    chisquare,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    pareto,
    power,
    rayleigh,
    standard_exponential,
    weibull,
)
from gluonish.random import seed as _seed

__all__ = [
    "beta",
    "binomial",
    "chisquare",
    "choice",
    "exponential",
    "gamma",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "rayleigh",
    "seed",
    "shuffle",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "uniform",
    "weibull",
]


def seed(seed: int | None = None) -> None:
    """Starts the random numbers of every device anew; without a number, from the system's randomness.

    >>> from gluonish import np
    >>> np.random.seed(5)
    >>> a = np.random.rand()
    >>> np.random.seed(5)
    >>> bool(a == np.random.rand())
    True
    """
    if seed is None:
        from os import urandom

        seed = int.from_bytes(urandom(8), "little")
    _seed(seed)


@beside
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
    return draw("uniform", {"low": low, "high": high}, size, dtype, device_index(ctx, device), out)


@beside
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

    >>> normal(size=(2, 3)).shape, normal([0.0, 100.0], 1.0).shape
    ((2, 3), (2,))
    """
    return draw("normal", {"loc": loc, "scale": scale}, size, dtype, device_index(ctx, device), out)


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


def standard_normal(size: Size = None, dtype: DType = None) -> NDArray:
    """Normally distributed numbers with mean 0 and standard deviation 1.

    >>> standard_normal(3).shape
    (3,)
    """
    return normal(size=size, dtype=dtype)


def randint(
    low: int,
    high: int | None = None,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Integers from ``low`` to below ``high``, or from 0 to below ``low``: int64 unless told otherwise.

    >>> x = randint(3, size=100)
    >>> x.min().item(), x.max().item(), x.dtype
    (0, 2, dtype('int64'))
    """
    first, end = (0, low) if high is None else (low, high)
    given = {"low": first, "high": end, "shape": shape_from(size, "randint"), "dtype": dtype_name(dtype, "int64")}
    drawn: NDArray = call("randint", "random_randint", [], given, out, device_index(ctx, device))
    return drawn


@beside
def gamma(
    shape: ArrayLike,
    scale: ArrayLike = 1.0,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Gamma distributed numbers; their mean is the product of shape and scale. A gradient flows to the scale.

    >>> bool((gamma(2.0, 3.0, size=100) > 0).min())
    True
    """
    said = ("gamma", "shape", "scale")
    return draw("gamma", {"alpha": shape, "beta": scale}, size, dtype, device_index(ctx, device), out, said)


def standard_gamma(shape: ArrayLike, size: Size = None, dtype: DType = None) -> NDArray:
    """Gamma distributed numbers of scale 1.

    >>> standard_gamma(0.5, size=3).shape
    (3,)
    """
    return gamma(shape, size=size, dtype=dtype)


@beside
def beta(
    a: ArrayLike,
    b: ArrayLike,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Beta distributed numbers, from 0 to 1; their mean is ``a / (a + b)``.

    >>> beta(0.5, 2.0, size=3).shape
    (3,)
    """
    return draw("beta", {"a": a, "b": b}, size, dtype, device_index(ctx, device), None)


@beside
def poisson(
    lam: ArrayLike = 1.0, size: Size = None, dtype: DType = None, ctx: ContextLike = None, *, device: ContextLike = None
) -> NDArray:
    """Poisson distributed numbers with mean ``lam``, as int64 unless told otherwise.

    >>> poisson(0.0, size=3).tolist()
    [0, 0, 0]
    """
    return draw("poisson", {"lam": lam}, size, dtype_name(dtype, "int64"), device_index(ctx, device), None)


@beside
def binomial(
    n: ArrayLike,
    p: ArrayLike,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """How many of ``n`` trials succeed, each with probability ``p``, as int64 unless told otherwise.

    >>> binomial(5, 1.0, size=3).tolist()
    [5, 5, 5]
    """
    return draw("binomial", {"n": n, "p": p}, size, dtype_name(dtype, "int64"), device_index(ctx, device), None)


@beside
def negative_binomial(
    n: ArrayLike,
    p: ArrayLike,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """How many trials fail before ``n`` succeed, each with probability ``p``, as int64 unless told otherwise.

    >>> negative_binomial(3, 1.0, size=3).tolist()
    [0, 0, 0]
    """
    kind = dtype_name(dtype, "int64")
    said = ("negative_binomial", "n")
    return draw("negative_binomial", {"k": n, "p": p}, size, kind, device_index(ctx, device), None, said)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"gluonish.np.random has no {name!r}")
    from gluonish.np._host_random import drawn_on_host

    value = globals()[name] = drawn_on_host(name, __all__)
    return value
