import numpy as np
import pytest

import gluonish as mx
from gluonish import engine, errors, nd, random


def draws():
    return [nd.random.uniform(shape=(3, 5)).tolist(), nd.random.normal(shape=7).tolist(), mx.np.random.rand(2).tolist()]


def test_seed_repeats():
    random.seed(5)
    first = draws()
    assert draws() != first
    random.seed(5)
    assert draws() == first
    with engine.naive(), engine.set_num_threads(1):
        random.seed(5)
        assert draws() == first
    random.seed(6)
    assert draws() != first


def test_seed_of_one_device():
    random.seed(1)
    one, two = (nd.random.uniform(shape=3, ctx=mx.cpu(i)).tolist() for i in range(2))
    assert one != two
    random.seed(1, ctx=mx.cpu(1))
    assert nd.random.uniform(shape=3, ctx=mx.cpu(1)).tolist() != one
    random.seed(1)
    nd.random.uniform(shape=3)
    random.seed(1, ctx="cpu(0)")
    assert nd.random.uniform(shape=3).tolist() == one


@pytest.mark.parametrize("seed", [0, -1, 2**64 + 3, np.int32(4), True])
def test_any_integer_is_a_seed(seed):
    random.seed(seed)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: random.seed(1.5), "seed_state=1.5 is not valid"),
        (lambda: random.seed("now"), "seed_state='now' is not valid"),
        (lambda: random.seed(1, ctx="everything"), "device_type='everything' is not valid"),
        (lambda: nd.random.normal(scale=-1, shape=3).wait_to_read(), "scale"),
        (lambda: nd.random.uniform(shape=3, dtype="int32"), "int32"),
        (lambda: mx.np.random.uniform(size=-3), "shape=-3 is not valid"),
    ],
)
def test_bad_calls(call, says):
    with pytest.raises(errors.MXNetError) as caught:
        call()
    assert says in str(caught.value)


def test_shapes_types_and_out():
    assert nd.random.uniform().shape == mx.np.random.normal().shape == ()
    assert nd.random.randn(2, 3).shape == mx.np.random.randn(2, 3).shape == mx.random.randn(2, 3).shape == (2, 3)
    assert nd.random.normal(shape=2, dtype="float64").dtype == np.float64
    out = nd.zeros((2, 2))
    assert nd.random.uniform(low=5, high=6, shape=(2, 2), out=out) is out
    assert out.min().item() >= 5
    assert mx.np.random.normal(100, 1, size=(2, 2), out=out) is out
    assert out.min().item() > 50


def test_parameters_that_are_arrays():
    low, high = mx.np.array([0.0, 10.0]), mx.np.array([1.0, 20.0])
    x = mx.np.random.uniform(low, high, size=(50, 2)).asnumpy()
    assert ((x >= [0, 10]) & (x < [1, 20])).all()
    assert mx.np.random.uniform(low, high).shape == (2,)
    mean = mx.np.array([0.0, 100.0])
    mean.attach_grad()
    with mx.autograd.record():
        y = mx.np.random.normal(mean, 1.0, size=(3, 2))
    y.backward()
    assert mean.grad.tolist() == [3, 3]


def test_missing_distributions_are_named():
    with pytest.raises(AttributeError, match=r"gluonish\.nd\.random has no 'poison'; did you mean poisson"):
        mx.random.poison
