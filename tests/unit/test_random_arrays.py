"""The functions of nd.random: parameters that are numbers or arrays, types, `out`, devices, errors, gradients."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, errors, nd

NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("uniform", (0, 1)),
        ("normal", (0, 1)),
        ("exponential", (2,)),
        ("gamma", (2, 3)),
        ("poisson", (4,)),
        ("negative_binomial", (3, 0.5)),
        ("generalized_negative_binomial", (3, 0.5)),
    ],
)
def test_numbers_or_arrays(name, parameters):
    f = getattr(nd.random, name)
    assert getattr(mx.random, name) is f
    assert f(*parameters).shape == ()
    assert f(*parameters, shape=(2, 3)).shape == (2, 3)
    assert f(*parameters, shape=4, dtype="float64").dtype == np.float64
    assert f(*parameters, shape=4, ctx=mx.cpu(1)).context == mx.cpu(1)
    arrays = [nd.array([[p, p, p]]) for p in parameters]
    assert f(*arrays).shape == (1, 3)
    assert f(*arrays, shape=5).shape == (1, 3, 5)
    assert f(*arrays, shape=(5, 2), dtype="float16").dtype == np.float16
    assert f(arrays[0], *parameters[1:], shape=5).shape == (1, 3, 5)
    out = nd.zeros((1, 3, 2))
    assert f(*arrays, shape=2, out=out) is out
    assert f(*parameters, out=out) is out
    like = getattr(nd.random, f"{name}_like")
    assert like(nd.zeros((4, 5), ctx=mx.cpu(1))).context == mx.cpu(1)
    assert like(data=nd.zeros((4, 5), dtype="float64")).dtype == np.float64


def test_flat_names():
    for name in (
        *(
            "random_uniform",
            "random_normal",
            "random_gamma",
            "random_exponential",
            "random_poisson",
            "uniform",
            "normal",
        ),
        *("random_negative_binomial", "random_generalized_negative_binomial"),
    ):
        assert getattr(nd, name)(shape=(2, 3)).shape == (2, 3)
    assert nd.random_randint(0, 5, shape=4).dtype == np.int32
    assert nd.random_randint(low=0, high=5, dtype="int64").dtype == np.int64
    one = nd.ones(3)
    assert nd.sample_uniform(low=one, high=2 * one, shape=2).shape == (3, 2)
    assert nd.sample_normal(mu=one, sigma=one, shape=2).shape == (3, 2)
    assert nd.sample_gamma(alpha=one, beta=one).shape == (3,)
    assert nd.sample_exponential(lam=one).shape == nd.sample_poisson(lam=one).shape == (3,)
    assert nd.sample_negative_binomial(k=one, p=one).tolist() == [0, 0, 0]
    assert nd.sample_generalized_negative_binomial(mu=one, alpha=one).shape == (3,)
    assert nd.sample_multinomial(nd.array([0, 1]), shape=3).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nd.random.uniform(2, 1), "high=1.0 is not valid"),
        (lambda: nd.random.normal(NAN), "loc=NaN"),
        (lambda: nd.random.normal(0, -1), "scale=-1.0"),
        (lambda: nd.random.exponential(0), "lam=0.0"),
        (lambda: nd.random.exponential(-2), "lam=-0.5"),
        (lambda: nd.random.gamma(0, 1), "alpha=0.0"),
        (lambda: nd.random.poisson(-1), "lam=-1.0"),
        (lambda: nd.random.negative_binomial(1, 1.5), "p=1.5"),
        (lambda: nd.random.randint(3, 3), "high=3 is not valid: expected an integer above low, which is 3"),
        (lambda: nd.random.randint(0, 2**40), "do not fit in int32"),
        (lambda: nd.random.multinomial(nd.array([1, 2], dtype="int32")), "floating"),
    ],
)
def test_bad_numbers_are_refused_at_once(call, says, threaded):
    with pytest.raises(errors.MXNetError) as caught:
        call()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nd.random.normal(nd.zeros((2, 2)), nd.array([[1, 2], [3, -4]])), "sigma at position (1, 1) is -4"),
        (lambda: nd.random.uniform(nd.array([0, 5]), nd.array([1, 2])), "high at position (1,) is 2"),
        (lambda: nd.random.poisson(nd.array([1, NAN])), "lam at position (1,) is NaN"),
        (lambda: nd.random.gamma(nd.array([1, 1]), nd.array([0, 1])), "beta at position (0,) is 0"),
        (lambda: nd.random.multinomial(nd.array([[0.5, 0.5], [1.5, -0.5]])), "probability at position (1, 1) is -0.5"),
        (lambda: nd.random.multinomial(nd.array([[0.5, 0.5], [0.5, 0.3]])), "of row (1,) add up to 0.8"),
    ],
)
def test_bad_values_of_arrays_are_raised_at_the_wait(call, says, queued):
    drawn = call()
    for _ in range(2):
        with pytest.raises(errors.MXNetError) as caught:
            drawn.asnumpy()
        assert says in str(caught.value)
    assert nd.random.normal(nd.zeros(2), nd.ones(2)).asnumpy().shape == (2,)


def test_gradients_of_parameters():
    mean, deviation = nd.array([0, 100]), nd.array([1, 0])
    mean.attach_grad()
    deviation.attach_grad()
    with autograd.record():
        y = nd.random.normal(mean, deviation, shape=(3, 4))
    y.backward()
    assert mean.grad.tolist() == [12, 12]
    np.testing.assert_allclose(deviation.grad.asnumpy()[0], y.asnumpy()[0].sum(), rtol=1e-5)
    assert deviation.grad.asnumpy()[1] != 0  # of a deviation of 0 too
    shape = nd.array([2.0])
    shape.attach_grad()
    with autograd.record():
        y = nd.random.gamma(shape, nd.ones(1))
    with pytest.raises(errors.GradientError, match="alpha"):
        y.backward()


def test_gradient_of_chosen_probabilities():
    """As in policy gradients: of the logarithm of what was chosen."""
    p = nd.array([[0.2, 0.8], [0.5, 0.5]])
    p.attach_grad()
    with autograd.record():
        chosen, logs = nd.random.multinomial(p, shape=100, get_prob=True)
        loss = (logs * nd.arange(200).reshape(2, 100)).sum()
    loss.backward()
    want = np.zeros((2, 2))
    for r in range(2):
        np.add.at(want[r], chosen.asnumpy()[r], np.arange(200).reshape(2, 100)[r])
    np.testing.assert_allclose(p.grad.asnumpy(), want / p.asnumpy(), rtol=1e-5)
    assert chosen.dtype == np.int32
    assert nd.random.multinomial(p, dtype="float32").dtype == np.float32


def test_shuffle():
    x = nd.arange(24).reshape(6, 4)
    y = nd.random.shuffle(x)
    assert sorted(map(tuple, y.tolist())) == list(map(tuple, x.tolist()))
    assert mx.random.shuffle is nd.random.shuffle
    mx.random.seed(5)
    a = nd.shuffle(nd.arange(100)).tolist()
    mx.random.seed(5)
    assert nd.shuffle(nd.arange(100)).tolist() == a != list(range(100))


def test_zipfian():
    classes, of_true, of_sampled = nd.contrib.rand_zipfian(nd.array([0, 3]), 20_000, 50)
    drawn = classes.asnumpy()
    assert (drawn.min() >= 0, drawn.max() < 50, classes.dtype) == (True, True, np.int64)
    np.testing.assert_allclose(of_true.asnumpy(), 20_000 * np.log([2, 5 / 4]) / np.log(51))
    counts = np.bincount(drawn, minlength=50)
    expected = 20_000 * np.log((np.arange(50) + 2) / (np.arange(50) + 1)) / np.log(51)
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()
    np.testing.assert_allclose(of_sampled.asnumpy(), expected[drawn])


def test_into_views_and_of_nothing():
    out = nd.zeros((4, 6))
    nd.random.poisson(100, out=out[:, ::2])
    assert (out.asnumpy()[:, ::2] > 20).all()
    assert (out.asnumpy()[:, 1::2] == 0).all()
    assert nd.random.gamma(nd.zeros((0, 3)), nd.zeros((0, 3)), shape=2).shape == (0, 3, 2)
    assert nd.random.gamma(2, 1, shape=(0, 3)).shape == (0, 3)
    assert nd.random.multinomial(nd.zeros((0, 3)), shape=2).shape == (0, 2)
    assert nd.shuffle(nd.zeros((0, 3))).shape == (0, 3)
