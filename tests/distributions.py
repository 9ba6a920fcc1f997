"""Tests of what random numbers are distributed like: Kolmogorov and Smirnov's, and chi-square, with NumPy alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Values = Any
_lgamma = np.vectorize(math.lgamma, otypes=[float])
_erfc = np.vectorize(math.erfc, otypes=[float])


def gamma_cdf(a: float, x: Values) -> Values:
    """The regularised lower incomplete gamma function: by its series, beyond the mean by its continued fraction."""
    x = np.maximum(np.asarray(x, float), 1e-300)
    front = np.exp(a * np.log(x) - x - math.lgamma(a))
    rounds = 100 + int(12 * math.sqrt(a))
    low = np.minimum(x, a + 1)
    term = total = np.full(x.shape, 1 / a)
    for k in range(1, rounds):
        term = term * low / (a + k)
        total = total + term
    high = np.maximum(x, a + 1)
    b = high + 1 - a
    c, d = np.full(x.shape, 1e300), 1 / b
    fraction = d
    for k in range(1, rounds):
        b = b + 2
        an = -k * (k - a)
        d = 1 / (an * d + b)
        c = b + an / c
        fraction = fraction * d * c
    return np.where(x < a + 1, front * total, 1 - front * fraction)


def normal_cdf(z: Values) -> Values:
    return 0.5 * _erfc(-np.asarray(z) / math.sqrt(2))


def kolmogorov_p(values: Values, cdf: Callable[[Values], Values]) -> float:
    """How likely a sample of the distribution is at least as far from it as these values."""
    x = np.sort(np.asarray(values, float).ravel())
    f, n = cdf(x), x.size
    distance = max(np.max(f - np.arange(n) / n), np.max(np.arange(1, n + 1) / n - f))
    t = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance
    series = sum((-1) ** (k - 1) * math.exp(-2 * k * k * t * t) for k in range(1, 101))
    return 1.0 if t < 0.2 else min(1.0, max(0.0, 2 * series))


def chi_square_p(counts: Values, expected: Values) -> float:
    """How likely counts are at least as far from the expected ones. Cells are joined until ten are expected in each."""
    joined = []
    have = want = 0.0
    for c, e in zip(counts, expected, strict=True):
        have, want = have + c, want + e
        if want >= 10:
            joined.append((have, want))
            have = want = 0.0
    if joined:
        joined[-1] = (joined[-1][0] + have, joined[-1][1] + want)
    if len(joined) < 2:  # all that is expected in one cell
        return 1.0 if joined and math.isclose(*joined[0]) else 0.0
    statistic = sum((h - w) ** 2 / w for h, w in joined)
    return float(1 - gamma_cdf((len(joined) - 1) / 2, np.array([statistic / 2]))[0])


def discrete_p(values: Values, ln_probability: Callable[[Values], Values]) -> float:
    """The same for whole numbers from 0 on, by the logarithm of their probabilities."""
    x = np.asarray(values).ravel()
    assert (x == np.floor(x)).all()
    assert (x >= 0).all()
    first, last = int(x.min()), int(x.max())
    counts = np.bincount((x - first).astype(int), minlength=last - first + 1)
    expected = np.exp(ln_probability(np.arange(first, last + 1))) * x.size
    # What lies beyond the values that came.
    rest = x.size - expected.sum()
    return chi_square_p([*counts, 0], [*expected, max(rest, 0.0)])


def poisson_ln(lam: float) -> Callable[[Values], Values]:
    return lambda k: k * math.log(lam) - lam - _lgamma(k + 1.0)


def negative_binomial_ln(k: float, p: float) -> Callable[[Values], Values]:
    return lambda x: (
        _lgamma(x + k) - _lgamma(x + 1.0) - math.lgamma(k) + k * math.log(p) + x * (math.log1p(-p) if p < 1 else 0)
    )


def binomial_ln(n: int, p: float) -> Callable[[Values], Values]:
    return lambda k: (
        math.lgamma(n + 1) - _lgamma(k + 1.0) - _lgamma(n - k + 1.0) + k * math.log(p) + (n - k) * math.log1p(-p)
    )
