"""Samples: the gamma function and its kin."""

from __future__ import annotations

import math

import numpy as np
from ops.sampling import NUMBERS, number, real, sample, unary


def _one_by_one(f):
    def safe(x):
        try:
            return f(x)
        except ValueError:  # a pole, or what lies below
            return (
                math.copysign(math.inf, x) if x == 0 and f is math.gamma else math.inf if f is math.lgamma else math.nan
            )
        except OverflowError:
            return math.inf

    return np.vectorize(safe, otypes=[float])


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _digamma(x):
    """By the recurrence to beyond 16, and Stirling's series there."""
    x = np.asarray(x, float)
    low = np.where(np.isfinite(x) & (x > -14), x, 1.0)
    y = sum(-1 / (low + k) for k in range(30)) + _stirling(low + 30)
    pole = (x < 0) & (x == np.floor(x))
    y = np.where(x == 0, -1 / x, y)
    return np.where(x > 1e4, _stirling(np.maximum(x, 1)), np.where(np.isnan(x) | (x <= -14) | pole, np.nan, y))


def _stirling(x):
    return np.log(x) - 0.5 / x - sum(b / (2 * k * x ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1))


def _polygamma(n, x):
    """By the recurrence to beyond 30, and the series of inverse powers there."""
    y = sum((x + k) ** -(n + 1.0) for k in range(40))
    z, s = x + 40, n + 1.0
    y = y + z ** (1 - s) / (s - 1) + z**-s / 2
    rising = s
    for k, b in enumerate(_BERNOULLI[:5], 1):
        y = y + b / math.factorial(2 * k) * rising * z ** (1 - s - 2 * k)
        rising *= (s + 2 * k - 1) * (s + 2 * k)
    sized = _gamma(n + 1) * np.where(np.mod(n, 2) == 1, y, -y)
    return np.where(n == np.floor(n), sized, np.nan)


_gamma, _gammaln = _one_by_one(math.gamma), _one_by_one(math.lgamma)
unary("gamma", _gamma, 0.3, 4)
unary("gamma", _gamma, -0.9, -0.1, dtypes=("float32", "float64"), rtol=4)
unary("gammaln", _gammaln, 0.3, 4, atol=8)
unary("gammaln", _gammaln, -1.9, -1.1, dtypes=("float32", "float64"), atol=8)
unary("digamma", _digamma, 0.3, 4, atol=32, special=False)
unary("digamma", _digamma, -1.9, -1.1, dtypes=("float32", "float64"), rtol=4, atol=64, special=False)
for _n in (1, 2, 3):
    sample("_polygamma", number(_n), real(5, 7, low=0.3, high=6), ref=_polygamma, result="float", grad=(1,), rtol=4,
           edge=[((), ()), ((), (0, 3)), ((), (1,)), ((), (13, 11))], big=((), (301, 7)))  # fmt: skip
sample("_polygamma", number(1), real(5, 7, low=-1.8, high=-1.2), ref=_polygamma, grad=(1,), rtol=4,
       dtypes=("float32", "float64"))  # fmt: skip
sample("_polygamma", number(2), real(5, 7, low=-1.8, high=-1.2), ref=_polygamma, grad=(1,), rtol=4, atol=64,
       dtypes=("float32", "float64"))  # fmt: skip


def _erfinv(x):
    """By halving: erf rises everywhere."""
    x = np.asarray(x, float)
    erf = np.vectorize(math.erf, otypes=[float])
    low, high = np.full(x.shape, -6.0), np.full(x.shape, 6.0)
    for _ in range(60):
        middle = (low + high) / 2
        below = erf(middle) < x
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    edge = np.where(np.abs(x) == 1, np.copysign(np.inf, x), np.nan)
    return np.where(np.abs(x) < 1, np.where(np.abs(x) < 1e-8, x * (math.sqrt(math.pi) / 2), (low + high) / 2), edge)


unary("erfinv", _erfinv, -0.9, 0.9, dtypes=NUMBERS, big=((11, 301),), rtol=2)
