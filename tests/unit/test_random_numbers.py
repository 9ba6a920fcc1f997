"""Random numbers: the same bits anywhere, others for other seeds, streams and calls, and the right distributions."""

import math

import numpy as np
import pytest
from helpers import core, op

SHAPE = (3, 70001)


def draw(name, device=0, **attrs):
    return core.to_numpy(core.invoke(name, [], {"shape": SHAPE, **attrs}, None, device))


def uniform(**attrs):
    return draw("random_uniform", **attrs)


def normal(**attrs):
    return draw("random_normal", **attrs)


BOTH = pytest.mark.parametrize("f", [uniform, normal])
TYPES = pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])


@BOTH
@TYPES
def test_bits_do_not_depend_on_the_machine(f, dtype):
    def bits(naive, threads, inline, isa=None):
        core.set_naive(naive)
        core.set_num_threads(threads)
        core.set_inline(inline)
        core.limit_isa(isa or best)
        core.seed(5, None)
        return [f(dtype=dtype).tobytes() for _ in range(2)]

    best = core.isa()
    want = bits(True, 1, None)
    assert want[0] != want[1]
    for naive, threads, inline in (
        (True, 2, None),
        (False, 1, None),
        (False, 2, None),
        (False, 2, 0),
        (False, 2, 2**62),
    ):
        assert bits(naive, threads, inline) == want
    for isa in ("portable", "avx2"):
        assert bits(False, 2, None, isa) == want


@BOTH
def test_seed(f):
    core.seed(1, None)
    a, b = f(), f()
    core.seed(1, None)
    assert np.array_equal(a, f())
    assert np.array_equal(b, f())
    core.seed(2, None)
    assert not np.array_equal(a, f())


@BOTH
def test_streams_of_devices(f):
    core.seed(1, None)
    a, b = f(device=0), f(device=1)
    assert not np.array_equal(a, b)
    core.seed(1, None)
    assert np.array_equal(b, f(device=1))  # whatever was drawn on the other device
    core.seed(9, 1)
    c = f(device=1)
    assert np.array_equal(a, f(device=0))  # it was not seeded anew
    core.seed(9, 1)
    assert np.array_equal(c, f(device=1))
    assert not np.array_equal(b, c)


def test_program_order(threaded):
    """Tickets are taken when an op is called, not when it runs."""
    core.seed(3, None)
    core.set_inline(0)
    queued = [core.invoke("random_normal", [], {"shape": (50_000,)}) for _ in range(6)]
    queued = [core.to_numpy(y) for y in reversed(queued)][::-1]
    core.set_naive(True)
    core.seed(3, None)
    for y in queued:
        assert np.array_equal(y, core.to_numpy(core.invoke("random_normal", [], {"shape": (50_000,)})))


def test_shape_does_not_change_the_numbers():
    core.seed(3, None)
    a = draw("random_uniform", shape=(6, 35))
    core.seed(3, None)
    assert np.array_equal(a.ravel(), draw("random_uniform", shape=(210,)))
    core.seed(3, None)
    assert np.array_equal(a.ravel()[:17], draw("random_uniform", shape=(17,)))


def test_into_a_strided_array():
    core.seed(3, None)
    want = draw("random_normal", shape=(8, 5))
    core.seed(3, None)
    out = core.full((8, 10), 0, "float32", 0)
    op("random_normal", shape=(8, 5), out=out[:, ::2])
    assert np.array_equal(core.to_numpy(out)[:, ::2], want)
    assert not core.to_numpy(out)[:, 1::2].any()


def distance(values, distribution):
    """Kolmogorov's and Smirnov's: times the root of the number of values, beyond 1.95 in one of a thousand samples."""
    x = np.sort(values.ravel().astype(np.float64))
    f, n = distribution(x), x.size
    return math.sqrt(n) * max(np.max(f - np.arange(n) / n), np.max(np.arange(1, n + 1) / n - f))


_normal_cdf = np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
def test_uniform_distribution(dtype, seed):
    core.seed(seed, None)
    x = uniform(low=-2.0, high=6.0, dtype=dtype)
    assert x.min() >= -2
    assert x.max() < 6
    assert distance(x, lambda x: (x + 2) / 8) < 1.95


@pytest.mark.parametrize(("dtype", "largest"), [("float32", 3.4e38), ("bfloat16", 3.3e38), ("float64", 8.9e307)])
def test_uniform_over_more_than_its_type_can_hold(dtype, largest):
    core.seed(1, None)
    x = uniform(low=-largest, high=largest, dtype=dtype).astype("float64")
    assert np.abs(x).max() <= largest
    assert distance(x, lambda x: x / largest / 2 + 0.5) < (1.95 if dtype != "bfloat16" else 10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
def test_normal_distribution(dtype, seed):
    core.seed(seed, None)
    x = normal(loc=3.0, scale=0.5, dtype=dtype)[:, :20000]
    assert distance(x, lambda x: _normal_cdf((x - 3) / 0.5)) < 1.95
    assert abs((((x - 3) / 0.5) ** 4).mean() - 3) < 0.15


@BOTH
def test_no_correlation(f):
    """Neighbours, calls, devices and seeds have nothing to do with each other."""
    core.seed(0, None)
    a, b, c = f().ravel(), f().ravel(), f(device=1).ravel()
    core.seed(1, None)
    d = f().ravel()
    for k in (1, 2, 16, 32, 64, 70001):
        assert abs(np.corrcoef(a[:-k], a[k:])[0, 1]) < 0.01
    for other in (b, c, d):
        assert abs(np.corrcoef(a, other)[0, 1]) < 0.01


def test_bits_are_spread_evenly():
    """Chi-square over 256 bins of the leading and of the trailing random bits."""
    core.seed(0, None)
    bits = (uniform(dtype="float64").ravel() * 2**53).astype(np.uint64)
    for shift in (45, 20, 0):
        counts = np.bincount((bits >> np.uint64(shift) & np.uint64(255)).astype(int), minlength=256)
        expected = bits.size / 256
        assert ((counts - expected) ** 2 / expected).sum() < 340  # of 255 degrees of freedom: one of 3000


def test_bad_parameters():
    with pytest.raises(core.MXNetError, match="scale"):
        normal(scale=-1.0)
    with pytest.raises(core.MXNetError, match="int32"):
        uniform(dtype="int32")
    assert np.array_equal(normal(scale=0.0, loc=2.0), np.full(SHAPE, 2, np.float32))
    assert np.array_equal(uniform(low=1.0, high=1.0), np.ones(SHAPE, np.float32))
