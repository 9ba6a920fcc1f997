"""Arguments that NumPy's functions have beside those of the rows: `where`, `initial`, `dtype`, `order`, `out`, ..."""

import numpy  # noqa: ICN001 - np is ours
import pytest

import gluonish as mx
from gluonish import nd, np
from gluonish.errors import ArgumentError, DTypeError, ShapeError
from gluonish.np._beyond import beyond

HOST = numpy.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], "float32")
MASK = numpy.array([[True, False, True], [False, True, True]])


def same(ours, theirs):
    assert ours.shape == numpy.shape(theirs)
    numpy.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-6)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "all", "any"])
def test_where_leaves_elements_out(name, axis):
    x, mask = np.array(HOST), np.array(MASK)
    expected = getattr(numpy, name)(HOST, axis=axis, where=MASK)
    same(getattr(np, name)(x, axis=axis, where=mask), expected)
    same(getattr(numpy, name)(x, axis=axis, where=mask), expected)


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "sum", "prod"])
def test_initial_is_one_more_element(name):
    function = getattr(numpy, name)
    same(getattr(np, name)(np.array(HOST), axis=1, initial=4.5), function(HOST, axis=1, initial=4.5))
    same(getattr(np, name)(np.array(HOST), initial=2, where=np.array(MASK)), function(HOST, initial=2, where=MASK))
    same(getattr(np, name)(np.zeros((0, 2)), axis=0, initial=3), function(numpy.zeros((0, 2)), axis=0, initial=3))


def test_gradient_flows_through_where():
    x = nd.array(HOST)
    x.attach_grad()
    with mx.autograd.record():
        y = np.sum(x * x, where=np.array(MASK))
    y.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy(), 2 * HOST * MASK)


@pytest.mark.filterwarnings("ignore::gluonish.np.NumpyFallbackWarning")
def test_what_no_row_knows_the_host_computes():
    same(np.std(np.array(HOST), axis=0, where=np.array(MASK)), numpy.std(HOST, axis=0, where=MASK))
    same(np.nansum(np.array(HOST), where=np.array(MASK)), numpy.nansum(HOST, where=MASK))
    x = nd.array(HOST)
    x.attach_grad()
    with mx.autograd.record(), pytest.raises(mx.errors.GradientError):
        np.std(x, where=np.array(MASK))


def test_reductions_take_arguments_by_numpys_positions():
    out = np.zeros(3)
    assert np.sum(np.array(HOST), 0, None, out) is out
    same(out, HOST.sum(0))
    with pytest.raises(TypeError):
        np.sum(np.array(HOST), no_such=1)


def test_out_of_numpys_is_filled():
    out = numpy.zeros(())
    assert numpy.sum(np.array(HOST), out=out) is out
    assert out == HOST.sum()
    vector = numpy.zeros(3)
    assert numpy.sum(np.array(HOST), axis=0, out=vector) is vector
    assert numpy.median(np.array(HOST), out=out) is out


def test_elementwise_functions_take_what_ufuncs_do():
    x = np.array(HOST)
    assert np.add(x, x, dtype="float64").dtype == "float64"
    out = np.full((2, 3), 7.0)
    assert np.divide(1.0, x, out=out, where=np.array(MASK)) is out
    same(out, numpy.divide(1.0, HOST, out=numpy.full((2, 3), 7.0, "float32"), where=MASK))
    same(np.add([1, 2], 3, dtype="float32"), [4.0, 5.0])
    same(np.exp(x, order="K", subok=False), numpy.exp(HOST))
    with pytest.raises(DTypeError):
        np.add(x, x, dtype="int32")
    for function, name in ((np.add, "axis"), (nd.sin, "dtype"), (np.tile, "where")):
        with pytest.raises(ArgumentError, match=f"there is no argument '{name}'"):
            function(x, x, **{name: None}) if function is np.add else function(x, **{name: None})
    host = numpy.zeros((2, 3), "float32")
    assert beyond("negative", (x,), {"out": host}) is host
    numpy.testing.assert_array_equal(host, -HOST)
    assert beyond("sum", (x,), {"where": True}) is NotImplemented


def test_joining_as_a_type():
    x = np.array([1.5])
    for function in (np.concatenate, np.stack, np.vstack, np.hstack):
        assert function([x, x], dtype="float64").dtype == "float64"
        with pytest.raises(DTypeError, match=rf"^{function.__name__}"):
            function([x, x], dtype="int32")
        assert function([x, x], dtype="int32", casting="unsafe").dtype == "int32"


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("axis", [0, -1])
def test_linspace_between_arrays(endpoint, axis):
    low, high = numpy.array([0.0, 10.0]), numpy.array([[1.0], [5.0]])
    made, step = np.linspace(np.array(low), np.array(high), 4, endpoint, True, axis=axis)
    expected, distance = numpy.linspace(low, high, 4, endpoint, True, axis=axis)
    same(made, expected)
    same(step, distance)


def test_linspace_says_its_step():
    assert np.linspace(0, 1, 5, retstep=True)[1] == numpy.linspace(0, 1, 5, retstep=True)[1]
    assert numpy.isnan(np.linspace(0, 1, 1, retstep=True)[1])


def test_like_another_but_for_the_shape():
    x = np.array([1, 2], dtype="int8")
    assert np.zeros_like(x, shape=(2, 3)).shape == np.empty_like(x, shape=(2, 3)).shape == (2, 3)
    assert np.ones_like(x, order="C", shape=3).tolist() == [1, 1, 1]
    assert np.full_like(x, [1, 2, 3], shape=(2, 3)).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert np.array([1, 2], ndmin=3).shape == (1, 1, 2)
    assert np.asarray(x, copy=True) is not x


@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_order_of_reshape(order):
    for host in (numpy.arange(24).reshape(2, 3, 4), numpy.arange(6).reshape(2, 3).T):
        x = np.arange(24).reshape(2, 3, 4) if host.ndim == 3 else np.arange(6).reshape(2, 3).T
        same(np.reshape(x, (-1, 2), order), numpy.reshape(host, (-1, 2), order))
        same(np.ravel(x, order), numpy.ravel(host, order))
        same(np.ravel(x, "K"), numpy.ravel(host, "K"))
    same(np.reshape(np.arange(6), (3, 2), order), numpy.reshape(numpy.arange(6), (3, 2), order))
    same(np.reshape(np.ones(()), (1, 1), order), numpy.ones((1, 1)))
    with pytest.raises(ShapeError, match=r"^reshape"):
        np.reshape(np.ones(3), (2, 2), order=order)
    with pytest.raises(ArgumentError, match=r"^reshape: order='Z'"):
        np.reshape(np.ones(3), 3, order="Z")


def test_clip_without_bounds_is_a_copy():
    x = np.array(HOST)
    y = np.clip(x, None, None)
    assert y is not x
    same(y, HOST)
    same(np.clip(x, min=0, max=4), numpy.clip(HOST, 0, 4))


def test_median_of_nothing_is_nan():
    assert numpy.isnan(np.median(np.zeros(0)).item())
    assert np.median(np.zeros((0, 3)), axis=0).shape == (3,)


def test_generators_of_numpy_give_our_arrays():
    made = np.random.default_rng(3).normal(size=(2, 2))
    assert isinstance(made, np.ndarray)
    same(made, numpy.random.default_rng(3).normal(size=(2, 2)))
    same(np.random.RandomState(3).rand(2), numpy.random.RandomState(3).rand(2))
    mx.random.seed(1)
    first = np.random.default_rng().random()
    mx.random.seed(1)
    assert first == np.random.default_rng().random()
    assert np.random.Generator is numpy.random.Generator


def test_memory_of_arrays():
    x = np.zeros((2, 4))
    for module in (np, numpy):
        assert module.shares_memory(x, x)
        assert module.shares_memory(x, x.T[1:])
        assert module.may_share_memory(x, x[1])
        assert not module.shares_memory(x, x.copy())
        assert not module.shares_memory(x[:, ::2], x[:, 1::2])
        assert module.may_share_memory(x[:, ::2], x[:, 1::2])
    half = nd.zeros((2, 4), dtype="bfloat16")
    assert np.shares_memory(half, half.T)
    assert not np.shares_memory(half[0], half[1])
    host = numpy.zeros(3, "float32")
    assert np.shares_memory(nd.from_numpy(host), host)


def test_ascontiguousarray():
    x = np.zeros((2, 3))
    assert np.ascontiguousarray(x) is x
    assert np.ascontiguousarray(x.T).strides == (8, 4)
    assert np.ascontiguousarray(np.zeros(())).shape == (1,)
    assert np.ascontiguousarray(x[:, :1], dtype="int8").strides == (1, 1)
