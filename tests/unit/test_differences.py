"""What docs/differences-from-mxnet.md says of values is so."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, errors, nd
from gluonish import np as mnp

NAN, INF = float("nan"), float("inf")
FLOATS = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_rint_goes_to_the_even_number_and_round_away_from_zero(dtype):
    halves = nd.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], dtype=dtype)
    assert nd.rint(halves).tolist() == mnp.rint(halves).tolist() == [-2, -2, 0, 0, 2, 2]
    assert nd.round(halves).tolist() == [-3, -2, -1, 1, 2, 3]


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_casts_of_floats_take_the_nearest_number_that_fits(source, target):
    limits = np.iinfo(target)
    x = nd.array([NAN, INF, -INF, 1.75, -1.75, 60000], dtype=source)
    held = [min(max(int(v), limits.min), limits.max) for v in (1.75, -1.75, float(x[5].astype("float32").item()))]
    assert x.astype(target).tolist() == nd.cast(x, dtype=target).tolist() == [0, limits.max, limits.min, *held]


def test_casts_of_integers_wrap_around():
    assert nd.array([300, -1], dtype="int32").astype("uint8").tolist() == [44, 255]


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_sign_of_nan_is_nan(dtype):
    assert np.isnan(nd.sign(nd.array([NAN], dtype=dtype)).asnumpy()).all()


@pytest.mark.parametrize("clip", [nd.clip, mnp.clip, lambda x, low, high: x.clip(low, high)])
def test_bounds_that_cross_give_the_upper_one(clip):
    assert clip(nd.array([1, 2, 3, 4, 5]), 4, 2).tolist() == np.clip([1, 2, 3, 4, 5], 4, 2).tolist() == [2] * 5


def test_bounds_of_integers():
    x = nd.array([0, 1, 2, 255], dtype="uint8")
    with pytest.raises(errors.NumberOverflow, match="clip: the number -1 does not fit in uint8"):
        nd.clip(x, -1, 1)
    assert mnp.clip(x, -1, 1).tolist() == mnp.clip(x, 0, 1).tolist() == [0, 1, 1, 1]
    assert (nd.clip(x, 0.5, 1.5).tolist(), str(nd.clip(x, 0.5, 1.5).dtype)) == ([0.5, 1, 1.5, 1.5], "float32")


def test_integers():
    assert nd.sum(nd.array([200, 100], dtype="uint8")).item() == 300
    assert nd.mean(nd.array([1, 2], dtype="int32")).item() == 1.5
    with pytest.raises(errors.ArgumentError, match="cannot be raised to the power -1"):
        nd.power(nd.array([2], dtype="int32"), nd.array([-1], dtype="int32")).asnumpy()


def test_a_gradient_that_comes_to_an_output_layer():
    data, labels, head = nd.array([[1, 2, 3]]), nd.array([0]), nd.array([[1, 2, 3]])
    data.attach_grad()
    with autograd.record():
        y = nd.SoftmaxOutput(data, labels, out_grad=True)
    y.backward(head)
    want = (y.asnumpy() - [[1, 0, 0]]) * head.asnumpy()
    np.testing.assert_allclose(data.grad.asnumpy(), want, rtol=1e-6)


def test_the_zero_on_the_diagonal():
    for call in (nd.linalg.potri, nd.linalg.inverse, lambda a: nd.linalg.trsm(a, nd.ones((2, 2)))):
        with pytest.raises(mx.errors.LinAlgError, match="singular"):
            call(nd.zeros((2, 2))).asnumpy()
