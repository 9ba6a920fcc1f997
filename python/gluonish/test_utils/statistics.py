"""Whether random numbers have the distribution that they should have."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["chi_square_check", "gen_buckets_probs_with_ppf", "mean_check", "var_check", "verify_generator"]

Generator = Callable[[int], Any]
Buckets = Sequence[Any]


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Intervals of equal probability, and these, from a function of quantiles.

    >>> gen_buckets_probs_with_ppf(lambda q: 10 * q, 2)
    ([(0.0, 5.0), (5.0, 10.0)], [0.5, 0.5])
    """
    if nbuckets < 1:
        raise AssertionError(f"nbuckets={nbuckets} is not valid: expected at least 1")
    edges = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(pairwise(edges)), [1.0 / nbuckets] * nbuckets


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the mean of ``generator(nsamples)`` is within three of its standard deviations of ``mu``.

    >>> mean_check(lambda n: np.arange(n) % 2, 0.5, 0.5, nsamples=100)
    True
    """
    mean = float(np.mean(_samples(generator, nsamples)))
    return abs(mean - mu) < 3 * sigma / math.sqrt(nsamples)


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance of normal numbers is within three of its standard deviations of ``sigma**2``.

    >>> var_check(lambda n: 5 * np.arange(n), 1.0, nsamples=100)
    False
    """
    variance = float(np.var(_samples(generator, nsamples), ddof=1))
    return abs(variance - sigma**2) < 3 * math.sqrt(2 * sigma**4 / (nsamples - 1))


def chi_square_check(
    generator: Generator, buckets: Buckets, probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, Any, Any]:
    """Pearson's chi-square test of how samples fall into buckets.

    Buckets are intervals (from, to), or values of a discrete distribution. Returns how likely counts are at least as
    far from what is expected, the counts, and what is expected. Samples in no bucket make a last one.

    >>> p, counts, expected = chi_square_check(lambda n: np.arange(n) % 2, [0, 1], [0.5, 0.5], nsamples=100)
    >>> p, counts.tolist(), expected.tolist()
    (1.0, [50, 50], [50.0, 50.0])
    """
    if not buckets or len(buckets) != len(probs):
        raise AssertionError(f"{len(buckets)} buckets and {len(probs)} probabilities: expected as many, and at least 1")
    samples = _samples(generator, nsamples)
    if isinstance(buckets[0], list | tuple):
        counts = [int(((samples >= low) & (samples < high)).sum()) for low, high in buckets]
    else:
        counts = [int((samples == value).sum()) for value in buckets]
    left, share = samples.size - sum(counts), 1 - sum(probs)
    expected = [p * samples.size for p in probs]
    if share > 1e-9 or left:
        counts, expected = [*counts, left], [*expected, max(share, 0.0) * samples.size]
    return _chi_square_p(counts, expected), np.array(counts), np.array(expected)


def _chi_square_p(counts: list[int], expected: list[float]) -> float:
    if any(e <= 0 and c for c, e in zip(counts, expected, strict=True)):
        return 0.0  # what cannot be, was
    cells = [(c, e) for c, e in zip(counts, expected, strict=True) if e > 0]
    statistic = sum((c - e) ** 2 / e for c, e in cells)
    return _upper_gamma((len(cells) - 1) / 2, statistic / 2)


def _upper_gamma(a: float, x: float) -> float:
    """The regularised upper incomplete gamma function: by a series, beyond the mean by Lentz's continued fraction."""
    if a == 0 or x <= 0:
        return 1.0 if x <= 0 else 0.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        k = a
        while term > total * 1e-16:
            k += 1
            term *= x / k
            total += term
        return 1 - front * total
    b = x + 1 - a
    c, d = 1e300, 1 / b
    fraction, k = d, 0
    change = 0.0
    while abs(change - 1) > 1e-15:
        k += 1
        step = -k * (k - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        change = c * d
        fraction *= change
    return front * fraction


def verify_generator(
    generator: Generator,
    buckets: Buckets,
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Raises unless the chi-square test passes often enough, and returns the probabilities that it found.

    Parameters
    ----------
    success_rate
        The share of ``nrepeat`` tests that have to pass.
    alpha
        A test passes if its probability is above.

    >>> verify_generator(lambda n: np.arange(n) % 2, [0, 1], [0.5, 0.5], nsamples=100, nrepeat=1)
    [1.0]
    """
    found = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    passed = sum(p > alpha for p, _, _ in found)
    if passed < nrepeat * success_rate:
        p, counts, expected = found[-1]
        raise AssertionError(
            f"the generator failed: {passed} of {nrepeat} tests passed, {success_rate:.0%} have to; the last had "
            f"p={p:g}, counts {counts.tolist()} and expected {expected.tolist()}"
        )
    return [p for p, _, _ in found]


def _samples(generator: Generator, nsamples: int) -> Any:
    samples = generator(nsamples)
    return np.ravel(samples.asnumpy() if hasattr(samples, "asnumpy") else np.asarray(samples))
