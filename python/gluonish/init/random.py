"""Random values, from the sequence of the array's device."""

import math
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.init.base import Initializer, register

__all__ = ["MSRAPrelu", "Normal", "Orthogonal", "TruncNorm", "Uniform", "Xavier"]


@register
class Uniform(Initializer):
    """Values from -scale to scale, all equally likely. Gluon's default.

    >>> x = nd.zeros(100)
    >>> Uniform(2).fill("x", x)
    >>> bool(abs(x).max() <= 2), bool(abs(x).max() > 1)
    (True, True)
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _: str, arr: NDArray) -> None:
        nd.random.uniform(-self.scale, self.scale, out=arr)


@register
class Normal(Initializer):
    """Normally distributed values with mean 0 and standard deviation sigma.

    >>> x = nd.zeros((2, 3))
    >>> Normal(0.5).fill("x", x)
    >>> bool(abs(x).min() > 0)
    True
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _: str, arr: NDArray) -> None:
        nd.random.normal(0, self.sigma, out=arr)


@register
class TruncNorm(Initializer):
    """Normally distributed values of which none is farther from the mean than two standard deviations.

    The standard deviation is that of the normal distribution before it is cut off.

    >>> x = nd.zeros(1000)
    >>> TruncNorm(mean=1, stdev=0.5).fill("x", x)
    >>> bool(x.min() >= 0), bool(x.max() <= 2)
    (True, True)
    """

    _CUT = 2.0

    def __init__(self, mean: float = 0, stdev: float = 0.01) -> None:
        super().__init__(mean=mean, stdev=stdev)
        self.mean, self.stdev = mean, stdev

    def _init_weight(self, _: str, arr: NDArray) -> None:
        edge = math.erf(self._CUT / math.sqrt(2))
        share = nd.random.uniform(-edge, edge, shape=arr.shape, dtype=_computed_in(arr), ctx=arr.context)
        deviations = (nd.erfinv(share) * math.sqrt(2)).clip(-self._CUT, self._CUT)
        arr[...] = deviations * self.stdev + self.mean


@register
class Xavier(Initializer):
    """Values scaled so that signals keep their size from layer to layer (Glorot and Bengio, 2010).

    For weights (out, in, ...) the fan-in is ``in * rest`` and the fan-out ``out * rest``. Values are uniform in
    ``±sqrt(magnitude / factor)``, or normal with that standard deviation.

    Parameters
    ----------
    rnd_type
        "uniform" or "gaussian".
    factor_type
        "avg", "in" or "out": which fan is the factor.

    >>> x = nd.zeros((10, 20))
    >>> Xavier(factor_type="in", magnitude=5).fill("x", x)
    >>> bool(abs(x).max() <= 0.5)
    True
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        _one_of("rnd_type", rnd_type, ("uniform", "gaussian"), "Xavier")
        _one_of("factor_type", factor_type, ("avg", "in", "out"), type(self).__name__)
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim < 2:
            raise ShapeError(
                f"{type(self).__name__}: cannot fill '{name}' of shape {arr.shape}: it is for weights of 2 or more "
                "dimensions; give a vector another initializer (init='zeros')"
            )
        rest = math.prod(arr.shape[2:])
        fan_in, fan_out = arr.shape[1] * rest, arr.shape[0] * rest
        factor = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}[self.factor_type]
        if factor == 0:  # no values
            return
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            nd.random.uniform(-scale, scale, out=arr)
        else:
            nd.random.normal(0, scale, out=arr)


@register
class MSRAPrelu(Xavier):
    """Normal values for layers before a (leaky) ReLU (He and others, 2015): a variance of ``2 / (1 + slope²) / fan``.

    >>> MSRAPrelu(slope=1).magnitude, MSRAPrelu()
    (1.0, MSRAPrelu(factor_type='avg', slope=0.25))
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}
        self.slope = slope


@register
class Orthogonal(Initializer):
    """Rows that are orthogonal, or columns if there are fewer of them, of length ``scale`` (Saxe and others, 2013).

    Dimensions after the first count as one.

    >>> x = nd.zeros((2, 5))
    >>> Orthogonal(scale=1).fill("x", x)
    >>> (nd.dot(x, x.T) - nd.eye(2)).abs().max().item() < 1e-6
    True
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        _one_of("rand_type", rand_type, ("uniform", "normal"), "Orthogonal")
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim < 2:
            raise ShapeError(
                f"Orthogonal: cannot fill '{name}' of shape {arr.shape}: it is for weights of 2 or more dimensions"
            )
        if arr.size == 0:
            return
        from gluonish.np import linalg

        shape = (arr.shape[0], math.prod(arr.shape[1:]))
        how: dict[str, Any] = {"shape": shape, "dtype": _computed_in(arr), "ctx": arr.context}
        drawn = nd.random.uniform(-1, 1, **how) if self.rand_type == "uniform" else nd.random.normal(0, 1, **how)
        left, _, right = linalg.svd(drawn, full_matrices=False)
        chosen: NDArray = left if left.shape == shape else right
        arr[...] = self.scale * chosen.reshape(arr.shape)


def _computed_in(array: NDArray) -> str:
    """The type to compute values in before they are rounded to the array's own."""
    return "float64" if str(array.dtype) == "float64" else "float32"


def _one_of(name: str, value: str, expected: tuple[str, ...], function: str) -> None:
    if value not in expected:
        names = ", ".join(map(repr, expected))
        raise ArgumentError(f"{function}: {name}={value!r} is not valid: expected one of {names}")
