"""np.random and npx.random: distributions, shapes, types, parameters that are arrays, gradients, what NumPy draws."""

import math

import numpy  # noqa: ICN001 - np is the package's
import pytest
from distributions import chi_square_p, discrete_p, gamma_cdf, kolmogorov_p, normal_cdf, poisson_ln

import gluonish as mx
from gluonish import autograd, errors, np, npx

N = 50_000
LIKELY = 1e-4
random = np.random

CONTINUOUS = {
    "exponential": ((3.0,), lambda x: -numpy.expm1(-x / 3)),
    "laplace": ((1.0, 2.0), lambda x: numpy.where(x < 1, numpy.exp((x - 1) / 2) / 2, 1 - numpy.exp((1 - x) / 2) / 2)),
    "logistic": ((1.0, 2.0), lambda x: 1 / (1 + numpy.exp(-(x - 1) / 2))),
    "gumbel": ((1.0, 2.0), lambda x: numpy.exp(-numpy.exp(-(x - 1) / 2))),
    "lognormal": ((0.5, 0.7), lambda x: normal_cdf((numpy.log(x) - 0.5) / 0.7)),
    "rayleigh": ((2.0,), lambda x: -numpy.expm1(-(x**2) / 8)),
    "weibull": ((1.7,), lambda x: -numpy.expm1(-(x**1.7))),
    "pareto": ((2.5,), lambda x: 1 - (1 + x) ** -2.5),
    "power": ((2.5,), lambda x: x**2.5),
    "chisquare": ((3.0,), lambda x: gamma_cdf(1.5, x / 2)),
    "gamma": ((2.0, 3.0), lambda x: gamma_cdf(2.0, x / 3)),
    "beta": ((1.0, 3.0), lambda x: 1 - (1 - x) ** 3),
    "uniform": ((-1.0, 3.0), lambda x: (x + 1) / 4),
    "normal": ((-1.0, 3.0), lambda x: normal_cdf((x + 1) / 3)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    parameters, cdf = CONTINUOUS[name]
    f = getattr(random, name)
    random.seed(4)
    x = f(*parameters, size=N)
    assert (x.shape, x.dtype) == ((N,), numpy.float32)
    assert kolmogorov_p(x.asnumpy(), cdf) > LIKELY
    arrays = [np.array([p]) for p in parameters]
    assert kolmogorov_p(f(*arrays, size=(2, N // 2)).asnumpy(), cdf) > LIKELY
    assert f(*parameters).shape == ()
    assert f(*arrays).shape == (1,)
    assert f(*parameters, size=(2, 0)).shape == (2, 0)
    assert f(*(np.array([p] * 3) for p in parameters), size=(2, 3), ctx=mx.cpu(0)).shape == (2, 3)
    with pytest.raises(errors.ShapeError):
        f(*(np.array([p] * 3) for p in parameters), size=(2, 4))


def test_counts():
    random.seed(4)
    x = random.poisson(20.0, size=N)
    assert x.dtype == numpy.int64
    assert discrete_p(x.asnumpy(), poisson_ln(20.0)) > LIKELY
    assert random.poisson(np.array([1.0, 2.0]), size=(3, 2), dtype="float32").dtype == numpy.float32
    assert abs(random.binomial(10, np.array([0.3]), size=(N,)).asnumpy().mean() - 3) < 0.05
    assert abs(random.negative_binomial(3, 0.5, size=N).asnumpy().mean() - 3) < 0.1
    x = random.randint(-2, 3, size=N).asnumpy()
    assert chi_square_p(numpy.bincount(x + 2), [N / 5] * 5) > LIKELY
    assert random.randint(5, size=3, dtype="uint8").dtype == numpy.uint8


def test_multinomial():
    random.seed(4)
    x = random.multinomial(30, [0.2, 0.3, 0.5], size=(100, 50))
    assert (x.shape, x.dtype) == ((100, 50, 3), numpy.int64)
    assert (x.asnumpy().sum(-1) == 30).all()
    numpy.testing.assert_allclose(x.asnumpy().mean((0, 1)), [6, 9, 15], rtol=0.02)
    with pytest.raises(errors.MXNetError, match="add up to"):
        random.multinomial(30, [0.2, 0.3]).asnumpy()


def test_multivariate_normal():
    random.seed(4)
    cov = numpy.array([[2.0, 0.6], [0.6, 1.0]])
    x = random.multivariate_normal([1.0, -1.0], cov, size=N).asnumpy()
    numpy.testing.assert_allclose(x.mean(0), [1, -1], atol=0.03)
    numpy.testing.assert_allclose(numpy.cov(x.T), cov, atol=0.05)
    assert random.multivariate_normal(np.zeros((4, 2)), cov).shape == (4, 2)
    with pytest.raises(errors.ShapeError, match="does not fit"):
        random.multivariate_normal([1.0, 2.0, 3.0], cov)
    with pytest.raises(errors.MXNetError, match="positive definite"):
        random.multivariate_normal([1.0, 2.0], -cov).asnumpy()


def test_choice():
    random.seed(4)
    x = random.choice(5, size=(N,)).asnumpy()
    assert chi_square_p(numpy.bincount(x, minlength=5), [N / 5] * 5) > LIKELY
    p = [0.1, 0.0, 0.4, 0.5]
    x = random.choice(np.array([10.0, 20.0, 30.0, 40.0]), size=N, p=p).asnumpy()
    counts = numpy.array([(x == v).sum() for v in (10, 20, 30, 40)])
    assert counts[1] == 0
    assert chi_square_p(counts[[0, 2, 3]], numpy.array([0.1, 0.4, 0.5]) * N) > LIKELY
    assert sorted(random.choice(6, size=(2, 3), replace=False).asnumpy().ravel()) == list(range(6))
    rows = random.choice(np.arange(12).reshape(6, 2), size=3)
    assert rows.shape == (3, 2)
    assert random.choice(3).shape == ()


def test_choice_without_replacement():
    """The first of two different ones has the probabilities; the second, those of the others that are left."""
    random.seed(4)
    p = numpy.array([0.2, 0.3, 0.5])
    pairs = numpy.array([random.choice(3, size=2, replace=False, p=p).asnumpy() for _ in range(6000)])
    counts = [((pairs == (i, j)).all(1)).sum() for i in range(3) for j in range(3) if i != j]
    expected = [6000 * p[i] * p[j] / (1 - p[i]) for i in range(3) for j in range(3) if i != j]
    assert chi_square_p(counts, expected) > LIKELY


def test_orders():
    random.seed(4)
    x = np.arange(20).reshape(10, 2)
    y = random.permutation(x)
    assert x.tolist() == numpy.arange(20).reshape(10, 2).tolist() != y.tolist()
    assert random.shuffle(x) is None
    assert sorted(x.tolist()) == sorted(y.tolist()) == numpy.arange(20).reshape(10, 2).tolist()
    assert sorted(random.permutation(7).tolist()) == list(range(7))
    assert sorted(random.permutation([3.0, 1.0]).tolist()) == [1, 3]


def test_gradients_of_parameters():
    """Against finite differences with the same numbers."""
    for name in ("normal", "uniform", "laplace", "logistic", "gumbel", "lognormal"):
        parameters = [np.array([-0.3], dtype="float64"), np.array([0.7], dtype="float64")]
        slope(name, parameters)
    for name in ("exponential", "rayleigh", "weibull", "pareto", "power"):
        slope(name, [np.array([1.7], dtype="float64")])


def slope(name, parameters):
    def total(step=0.0, which=0):
        random.seed(9)
        moved = [p + step if i == which else p for i, p in enumerate(parameters)]
        return getattr(random, name)(*moved, size=(5,)).sum()

    for p in parameters:
        p.attach_grad()
    with autograd.record():
        y = total()
    y.backward()
    for i, p in enumerate(parameters):
        want = (total(1e-3, i) - total(-1e-3, i)).item() / 2e-3
        assert math.isclose(p.grad.item(), want, rel_tol=2e-3), (name, i)


def test_bad_parameters():
    for name in ("exponential", "laplace", "logistic", "gumbel", "rayleigh"):
        with pytest.raises(errors.ArgumentError, match=f"{name}: scale=-1.0 is not valid"):
            getattr(random, name)(scale=-1.0)
        with pytest.raises(errors.MXNetError, match=r"position \(1,\) is -1"):
            getattr(random, name)(scale=np.array([1.0, -1.0])).asnumpy()
    for name in ("weibull", "pareto", "power", "chisquare"):
        with pytest.raises(errors.ArgumentError, match="is not valid: expected a finite number above 0"):
            getattr(random, name)(0.0)
        with pytest.raises(errors.ArgumentError, match="nan is not valid"):
            getattr(random, name)(float("nan"))
    with pytest.raises(errors.ArgumentError, match="nothing to choose"):
        random.choice(0, size=2)
    with pytest.raises(errors.ArgumentError, match="5 different elements"):
        random.choice(3, size=5, replace=False)
    with pytest.raises(errors.ShapeError, match=r"expected \(3,\)"):
        random.choice(3, p=[0.5, 0.5])
    with pytest.raises(errors.ArgumentError, match="but 1 can be chosen"):
        random.choice(3, size=2, replace=False, p=[0.0, 1.0, 0.0])
    with pytest.raises(errors.ArgumentError, match="probabilities that add up to 1"):
        random.choice(2, size=2, replace=False, p=[1.5, -0.5])
    with pytest.raises(errors.ArgumentError, match="an NDArray"):
        random.shuffle([1, 2])
    with pytest.raises(errors.ArgumentError, match="check_valid"):
        random.multivariate_normal([0.0], [[1.0]], check_valid="ignore")


def test_on_the_host():
    """NumPy draws what has no op, from our seed."""
    random.seed(5)
    with pytest.warns(np.NumpyFallbackWarning, match=r"np\.random\.vonmises"):
        a = random.vonmises(0.0, 4.0, size=5)
    b = random.vonmises(0.0, 4.0, size=5)
    random.seed(5)
    assert random.vonmises(0.0, 4.0, size=5).tolist() == a.tolist() != b.tolist()
    assert a.dtype == numpy.float32
    with pytest.raises(AttributeError, match="did you mean normal"):
        random.normall


def test_seed_of_numpy():
    random.seed(seed=3)
    a = random.rand(3).tolist()
    random.seed(3)
    assert random.rand(3).tolist() == a
    random.seed()
    b = random.rand(3).tolist()
    random.seed()
    assert random.rand(3).tolist() != b


def test_beyond_numpy():
    random.seed(4)
    p = npx.random.bernoulli(np.array([0.2, 0.8]), size=(N, 2)).asnumpy().mean(0)
    numpy.testing.assert_allclose(p, [0.2, 0.8], atol=0.01)
    p = npx.random.bernoulli(logit=np.array([0.0]), size=(N,)).asnumpy().mean()
    assert abs(p - 0.5) < 0.01
    assert npx.random.bernoulli(0.5, size=3, dtype="bool").dtype == bool
    assert npx.random.uniform_n(np.zeros((2, 1)), np.ones(3), batch_shape=(4, 5)).shape == (4, 5, 2, 3)
    assert npx.random.normal_n(0.0, 1.0, batch_shape=4).shape == (4,)
    for bad in ({}, {"prob": 0.5, "logit": 0.5}):
        with pytest.raises(errors.ArgumentError, match="either prob or logit"):
            npx.random.bernoulli(**bad)
    with pytest.raises(errors.ArgumentError, match=r"p=1\.5"):
        npx.random.bernoulli(1.5)
