"""Random numbers are distributed as they should be, for small and large parameters; other parameters would be noticed.

Seeds are fixed, so a test that passes once passes always; a sample that is right fails a new one in 1 of 10,000 cases.
"""

import math

import numpy as np
import pytest
from distributions import (
    binomial_ln,
    chi_square_p,
    discrete_p,
    gamma_cdf,
    kolmogorov_p,
    negative_binomial_ln,
    normal_cdf,
    poisson_ln,
)
from helpers import array, core, op

N = 60_000
LIKELY, UNLIKELY = 1e-4, 1e-9


def draw(row, dtype="float64", **attrs):
    core.seed(11, None)
    return core.to_numpy(op(row, shape=(N,), dtype=dtype, **attrs)).astype(float)


def draw_of_arrays(row, *parameters):
    """The same from arrays: half of the numbers for each of two equal places."""
    core.seed(12, None)
    return core.to_numpy(op(row, *(array([p, p], "float64") for p in parameters), shape=(N // 2,))).ravel()


CONTINUOUS = [
    ("uniform", {"low": -2.0, "high": 6.0}, lambda x, low, high: (x - low) / (high - low)),
    ("normal", {"loc": 3.0, "scale": 0.5}, lambda x, loc, scale: normal_cdf((x - loc) / scale)),
    *(("exponential", {"lam": lam}, lambda x, lam: -np.expm1(-lam * x)) for lam in (1e-3, 1.0, 50.0)),
    *(
        ("gamma", {"alpha": alpha, "beta": beta}, lambda x, alpha, beta: gamma_cdf(alpha, x / beta))
        for alpha, beta in ((0.1, 2.0), (0.7, 1.0), (1.0, 0.1), (2.5, 3.0), (40.0, 1.0), (1e4, 0.5))
    ),
]
NAMES = [f"{name}-{'-'.join(map(str, p.values()))}" for name, p, _ in CONTINUOUS]


@pytest.mark.parametrize(("name", "parameters", "cdf"), CONTINUOUS, ids=NAMES)
def test_continuous(name, parameters, cdf):
    for x in (draw(f"random_{name}", **parameters), draw_of_arrays(f"sample_{name}", *parameters.values())):
        assert kolmogorov_p(x, lambda x: cdf(x, **parameters)) > LIKELY
        for wrong in parameters:
            factor = 1.5 if name == "gamma" else 1.1
            other = {**parameters, wrong: parameters[wrong] * factor}
            assert kolmogorov_p(x, lambda x, other=other: np.clip(cdf(x, **other), 0, 1)) < UNLIKELY
    narrow = draw(f"random_{name}", dtype="float32", **parameters)
    assert kolmogorov_p(narrow, lambda x: cdf(x, **parameters)) > LIKELY


def test_beta():
    for a, b, cdf in (
        (1.0, 3.0, lambda x: 1 - (1 - x) ** 3),
        (0.05, 1.0, lambda x: x**0.05),
        (0.5, 0.5, lambda x: 2 / math.pi * np.arcsin(np.sqrt(x))),
        (2.0, 2.0, lambda x: 3 * x**2 - 2 * x**3),
    ):
        for x in (draw("_random_beta", a=a, b=b), draw_of_arrays("_sample_beta", a, b)):
            assert kolmogorov_p(x, cdf) > LIKELY, (a, b)


def moments(x, mean, variance):
    """Mean and variance within five deviations of what they are for a sample of this size."""
    n = x.size
    assert abs(x.mean() - mean) < 5 * math.sqrt(variance / n)
    fourth = ((x - x.mean()) ** 4).mean()
    assert abs(x.var() - variance) < 5 * math.sqrt(max(fourth - variance**2, 0) / n) + 1e-12


@pytest.mark.parametrize("lam", [0.1, 1.0, 4.0, 9.99, 10.0, 12.0, 30.0, 150.0, 1e3, 1e4])
def test_poisson(lam):
    for x in (draw("random_poisson", lam=lam), draw_of_arrays("sample_poisson", lam)):
        assert discrete_p(x, poisson_ln(lam)) > LIKELY
        assert discrete_p(x, poisson_ln(lam + 0.15 * math.sqrt(lam))) < UNLIKELY
        moments(x, lam, lam)


def test_poisson_of_large_means():
    for lam in (1e6, 1e9, 1e13):
        x = draw("random_poisson", lam=lam)
        assert kolmogorov_p((x - lam) / math.sqrt(lam), normal_cdf) > LIKELY
    assert draw("random_poisson", lam=0.0).max() == 0
    assert draw("random_poisson", lam=1e-9).max() == 0
    assert np.isfinite(draw("random_poisson", lam=1e300)).all()


@pytest.mark.parametrize(("k", "p"), [(1.0, 0.5), (0.3, 0.1), (5.0, 0.9), (20.0, 0.3), (300.0, 0.5), (2.0, 1e-2)])
def test_negative_binomial(k, p):
    for x in (draw("random_negative_binomial", k=k, p=p), draw_of_arrays("sample_negative_binomial", k, p)):
        assert discrete_p(x, negative_binomial_ln(k, p)) > LIKELY
        assert discrete_p(x, negative_binomial_ln(k * 1.15, p)) < UNLIKELY
        moments(x, k * (1 - p) / p, k * (1 - p) / p**2)


@pytest.mark.parametrize(("mu", "alpha"), [(2.0, 1.0), (20.0, 0.1), (0.5, 3.0), (100.0, 0.01)])
def test_generalized_negative_binomial(mu, alpha):
    row = "generalized_negative_binomial"
    for x in (draw(f"random_{row}", mu=mu, alpha=alpha), draw_of_arrays(f"sample_{row}", mu, alpha)):
        assert discrete_p(x, negative_binomial_ln(1 / alpha, 1 / (1 + mu * alpha))) > LIKELY
        moments(x, mu, mu + alpha * mu**2)
    assert discrete_p(draw(f"random_{row}", mu=mu, alpha=0.0), poisson_ln(mu)) > LIKELY
    assert discrete_p(draw(f"random_{row}", mu=mu, alpha=1e-12), poisson_ln(mu)) > LIKELY


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.3), (10, 0.5), (19, 0.5), (21, 0.5), (40, 0.9), (1000, 0.005), (1000, 0.02), (500, 0.7), (9, 0.99)],
)
def test_binomial(n, p):
    for x in (draw("_random_binomial", n=n, p=p), draw_of_arrays("_sample_binomial", n, p)):
        assert x.max() <= n
        assert discrete_p(x, binomial_ln(n, p)) > LIKELY
        moments(x, n * p, n * p * (1 - p))
    for certain in (0.0, 1.0):
        assert set(draw("_random_binomial", n=n, p=certain)) == {n * certain}


@pytest.mark.parametrize(("low", "high"), [(0, 2), (-3, 7), (0, 1000), (-(2**31), 2**31), (-(2**62), 2**62)])
def test_randint(low, high):
    core.seed(3, None)
    x = core.to_numpy(op("random_randint", low=low, high=high, shape=(N,), dtype="int64"))
    assert x.min() >= low
    assert x.max() < high
    cells = min(high - low, 100)
    counts = np.bincount([(int(v) - low) * cells // (high - low) for v in x], minlength=cells)
    assert chi_square_p(counts, np.full(cells, N / cells)) > LIKELY


def test_multinomial_frequencies():
    p = np.array([[0.1, 0.0, 0.2, 0.7], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 1.0, 0.0]])
    core.seed(3, None)
    chosen, ln = op("sample_multinomial", array(p, "float64"), shape=(N,), get_prob=True)
    chosen, ln = core.to_numpy(chosen), core.to_numpy(ln)
    for row, x, logs in zip(p, chosen, ln, strict=True):
        counts = np.bincount(x, minlength=4)
        assert (counts[row == 0] == 0).all()
        assert chi_square_p(counts[row > 0], row[row > 0] * N) > LIKELY
        np.testing.assert_allclose(logs, np.log(row[x]))
    # Rows have nothing to do with each other.
    assert abs(np.corrcoef(chosen[0], chosen[1])[0, 1]) < 0.02


def test_multinomial_of_many_categories():
    p = np.random.default_rng(0).random(5000)
    core.seed(3, None)
    x = core.to_numpy(op("sample_multinomial", array(p / p.sum(), "float32"), shape=(20 * N,)))
    assert chi_square_p(np.bincount(x, minlength=5000), p / p.sum() * 20 * N) > LIKELY


def test_multinomial_counts():
    p = np.array([0.2, 0.0, 0.5, 0.3])
    core.seed(3, None)
    x = core.to_numpy(op("_np_multinomial", array(p, "float64"), n=50, shape=(N,)))
    assert (x.sum(-1) == 50).all()
    assert x[:, 1].max() == 0
    for k in (0, 2, 3):
        assert discrete_p(x[:, k], binomial_ln(50, p[k])) > LIKELY
    np.testing.assert_allclose(np.cov(x[:, 0], x[:, 2])[0, 1], -50 * 0.2 * 0.5, rtol=0.05)
    assert core.to_numpy(op("_np_multinomial", array(p, "float64"), n=0)).tolist() == [0] * 4


def test_permutations_are_equally_likely():
    core.seed(3, None)
    counts = {}
    for _ in range(12_000):
        order = tuple(core.to_numpy(op("_permutation", n=4)).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert chi_square_p(list(counts.values()), [500] * 24) > LIKELY


def test_places_of_a_long_permutation():
    """Where an element goes: every part of the array is as likely, whichever part it comes from."""
    core.seed(3, None)
    n = 200_000
    x = core.to_numpy(op("_permutation", n=n))
    assert (np.sort(x) == np.arange(n)).all()
    table = np.histogram2d(np.arange(n), x, bins=20)[0].ravel()
    assert chi_square_p(table, np.full(400, n / 400)) > LIKELY
    assert core.to_numpy(op("_permutation", n=1)).tolist() == [0]


@pytest.mark.parametrize(
    ("row", "attrs"),
    [
        ("random_exponential", {}),
        ("random_gamma", {"alpha": 0.5}),
        ("random_poisson", {"lam": 20.0}),
        ("random_poisson", {"lam": 3.0}),
        ("random_negative_binomial", {"k": 3.0, "p": 0.3}),
        ("random_randint", {"low": 0, "high": 1000}),
    ],
)
def test_no_correlation(row, attrs):
    """Neighbours, calls and devices have nothing to do with each other."""
    dtype = "int64" if row == "random_randint" else "float64"
    core.seed(0, None)
    a, b, c = (
        core.to_numpy(core.invoke(row, [], {"shape": (N,), "dtype": dtype, **attrs}, None, d)) for d in (0, 0, 1)
    )
    for k in (1, 2, 15, 16, 17, 32, 64):
        assert abs(np.corrcoef(a[:-k], a[k:])[0, 1]) < 5 / math.sqrt(N)
    for other in (b, c):
        assert abs(np.corrcoef(a, other)[0, 1]) < 5 / math.sqrt(N)


def test_extreme_parameters():
    assert (draw("random_gamma", alpha=1e-3) < 1e-30).mean() > 0.8
    assert (draw("random_gamma", alpha=1e-3) >= 0).all()
    x = draw("random_gamma", alpha=1e12)
    assert kolmogorov_p((x - 1e12) / 1e6, normal_cdf) > LIKELY
    x = draw("_random_beta", a=1e-3, b=1e-3)
    assert abs(x.mean() - 0.5) < 0.02
    assert ((x < 1e-6) | (x > 1 - 1e-6)).mean() > 0.97
    x = draw("random_exponential", dtype="float32")
    assert x.min() > 0
    assert np.unique(x[x < 1e-3]).size > 40  # not a few steps of the type near 1
    assert kolmogorov_p(x[x < 0.01] / 0.01, lambda t: np.expm1(-0.01 * t) / np.expm1(-0.01)) > LIKELY
    tiny = draw("random_normal", scale=1e-300)
    assert np.abs(tiny).max() < 1e-298
    assert np.isfinite(draw("random_uniform", low=-1e308, high=0.7e308)).all()
