"""Distributions that are functions of exponential, normal or gamma numbers: a gradient flows to their parameters."""

from typing import Any

from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._rows import store
from gluonish._types import ArrayLike, Shape
from gluonish.context import ContextLike, device_index
from gluonish.np._draw import DType, Size, are_numbers, checked, draw, shape_from
from gluonish.np.creation import asarray

__all__ = [
    "chisquare",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "pareto",
    "power",
    "rayleigh",
    "standard_exponential",
    "weibull",
]


def _common(size: Size, function: str, *parameters: Any) -> Shape:
    """The size given, or the shape to which the parameters broadcast."""
    if size is not None:
        return shape_from(size, function)
    from numpy import broadcast_shapes

    return broadcast_shapes(*(p.shape for p in parameters if isinstance(p, NDArray)))


def _given(value: ArrayLike) -> Any:
    return value if are_numbers(value) else asarray(value)


def _waits(size: Shape, index: int, dtype: DType = None) -> NDArray:
    """Exponential numbers of mean 1."""
    return draw("exponential", {"lam": 1.0}, size, dtype, index, None)


def standard_exponential(size: Size = None, dtype: DType = None) -> NDArray:
    """Exponentially distributed numbers with mean 1.

    >>> bool(standard_exponential(100).min() > 0)
    True
    """
    return _waits(shape_from(size, "standard_exponential"), device_index(), dtype)


@beside
def exponential(
    scale: ArrayLike = 1.0,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Exponentially distributed numbers with mean ``scale``.

    >>> exponential(0.0, size=2).tolist(), exponential([1.0, 2.0]).shape
    ([0.0, 0.0], (2,))
    """
    width = checked(scale, "scale", "exponential")
    drawn = _waits(_common(size, "exponential", width), device_index(ctx, device), dtype)
    return store(drawn * width, out, "exponential")


@beside
def laplace(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Numbers around ``loc`` whose distances from it are exponential with mean ``scale``.

    >>> laplace(3.0, 0.0, size=2).tolist()
    [3.0, 3.0]
    """
    centre, width = _given(loc), checked(scale, "scale", "laplace")
    shape, index = _common(size, "laplace", centre, width), device_index(ctx, device)
    return store(centre + (_waits(shape, index, dtype) - _waits(shape, index, dtype)) * width, out, "laplace")


@beside
def logistic(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Numbers whose distribution function is the sigmoid of ``(x - loc) / scale``.

    >>> logistic(size=(2, 3)).shape
    (2, 3)
    """
    centre, width = _given(loc), checked(scale, "scale", "logistic")
    shape, index = _common(size, "logistic", centre, width), device_index(ctx, device)
    # The ratio of two exponential numbers is distributed as the odds of a uniform one.
    return store(centre + (_waits(shape, index).log() - _waits(shape, index).log()) * width, out, "logistic")


@beside
def gumbel(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Gumbel distributed numbers, as the largest of many are.

    >>> gumbel(size=(2, 3)).shape
    (2, 3)
    """
    centre, width = _given(loc), checked(scale, "scale", "gumbel")
    return store(
        centre - _waits(_common(size, "gumbel", centre, width), device_index(ctx, device)).log() * width, out, "gumbel"
    )


@beside
def lognormal(
    mean: ArrayLike = 0.0,
    sigma: ArrayLike = 1.0,
    size: Size = None,
    dtype: DType = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Numbers whose logarithms are normal with mean ``mean`` and standard deviation ``sigma``.

    >>> bool(lognormal(size=100).min() > 0)
    True
    """
    said = ("lognormal", "mean", "sigma")
    drawn = draw("normal", {"loc": mean, "scale": sigma}, size, dtype, device_index(ctx, device), None, said)
    return store(drawn.exp(), out, "lognormal")


@beside
def rayleigh(
    scale: ArrayLike = 1.0,
    size: Size = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Lengths of plane vectors whose two parts are normal with standard deviation ``scale``.

    >>> rayleigh(0.0, size=2).tolist()
    [0.0, 0.0]
    """
    width = checked(scale, "scale", "rayleigh")
    return store(
        (_waits(_common(size, "rayleigh", width), device_index(ctx, device)) * 2).sqrt() * width, out, "rayleigh"
    )


@beside
def weibull(
    a: ArrayLike,
    size: Size = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Weibull distributed numbers of scale 1: exponential ones to the power ``1 / a``.

    >>> weibull(2.0, size=(2, 3)).shape
    (2, 3)
    """
    exponent = checked(a, "a", "weibull", reached=False)
    return store(
        _waits(_common(size, "weibull", exponent), device_index(ctx, device)) ** (1.0 / exponent), out, "weibull"
    )


@beside
def pareto(
    a: ArrayLike,
    size: Size = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Pareto distributed numbers from 0 on, as NumPy has them (Lomax): ``1 + x`` is above t with probability ``t**-a``.

    >>> bool(pareto(3.0, size=100).min() > 0)
    True
    """
    exponent = checked(a, "a", "pareto", reached=False)
    return store(
        (_waits(_common(size, "pareto", exponent), device_index(ctx, device)) / exponent).expm1(), out, "pareto"
    )


@beside
def power(
    a: ArrayLike,
    size: Size = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Numbers from 0 to 1 that are below t with probability ``t**a``.

    >>> bool(power(3.0, size=100).max() <= 1)
    True
    """
    exponent = checked(a, "a", "power", reached=False)
    return store((-_waits(_common(size, "power", exponent), device_index(ctx, device)) / exponent).exp(), out, "power")


@beside
def chisquare(
    df: ArrayLike, size: Size = None, dtype: DType = None, ctx: ContextLike = None, *, device: ContextLike = None
) -> NDArray:
    """Sums of the squares of ``df`` normal numbers.

    >>> bool(chisquare(3.0, size=100).min() > 0)
    True
    """
    half: Any = checked(df, "df", "chisquare", reached=False) / 2
    return draw(
        "gamma", {"alpha": half, "beta": 2.0}, size, dtype, device_index(ctx, device), None, ("chisquare", "df")
    )
