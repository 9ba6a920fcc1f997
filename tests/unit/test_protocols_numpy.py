"""NumPy's own functions with our arrays: native ops where there are some, the host for the rest."""

import warnings

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.errors import DTypeError, GradientError
from gluonish.np import NumpyFallbackWarning

HOST = np.array([[1, 2, 3], [4, 5, 6]], "float32")


@pytest.fixture
def x():
    return nd.array(HOST)


@pytest.fixture
def native():
    """Fails where NumPy is asked to compute on the host."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumpyFallbackWarning)
        yield


def hosted(function):
    """Calls a function that NumPy computes: the warning is said once for each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumpyFallbackWarning)
        return function()


def same(got, want):
    assert isinstance(got, nd.NDArray)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)
    assert got.shape == np.shape(want)


def test_values_are_copied(x):
    host = np.asarray(x)
    host[0] = 9
    assert x[0, 0] == 1
    assert np.asarray(x, "int8").dtype == "int8"
    assert np.array([x, x]).shape == (2, 2, 3)
    assert np.array(x, copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy=False"):
        x.__array__(copy=False)


@pytest.mark.parametrize("ufunc", [np.exp, np.sqrt, np.abs, np.negative, np.square, np.sign, np.isnan, np.tanh])
def test_unary_ufuncs(x, native, ufunc):
    same(ufunc(x), ufunc(HOST))


@pytest.mark.parametrize(
    "ufunc", [np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.less, np.hypot]
)
def test_binary_ufuncs(x, native, ufunc):
    row = HOST[0] + 1
    for other in (row, nd.array(row), row.tolist(), 2, np.float32(2)):
        plain = other.asnumpy() if isinstance(other, nd.NDArray) else other
        same(ufunc(x, other), ufunc(HOST, plain))
        same(ufunc(other, x), ufunc(plain, HOST))


def test_bit_ufuncs(native):
    i = np.array([5, 6, 7], "int32")
    y = nd.array(i, dtype="int32")
    for ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift):
        same(ufunc(y, 2), ufunc(i, 2))
    same(np.invert(y), np.invert(i))


def test_out(x, native):
    ours, theirs = nd.zeros((2, 3)), np.zeros((2, 3))
    assert np.add(x, 1, out=ours) is ours
    assert np.add(x, 1, out=theirs) is theirs
    assert (ours.asnumpy() == HOST + 1).all()
    assert (theirs == HOST + 1).all()
    theirs += x
    assert (theirs == 2 * HOST + 1).all()
    with pytest.raises(TypeError):
        np.add(x, 0.5, out=np.zeros((2, 3), "int32"))
    with pytest.raises(DTypeError, match="float32, does not become int32"):
        np.add(x, 0.5, out=nd.zeros((2, 3), dtype="int32"))
    with pytest.raises(ValueError, match="shape"):
        np.add(x, 0.5, out=nd.zeros((3, 3)))


def test_where_and_dtype(x, native):
    mask = HOST > 2
    for where in (mask, nd.array(mask, dtype="bool")):
        out = nd.full((2, 3), 7)
        np.add(x, 1, out=out, where=where)
        assert (out.asnumpy() == np.where(mask, HOST + 1, 7)).all()
        assert (np.add(x, 1, where=where).asnumpy() == np.where(mask, HOST + 1, 0)).all()
    host = np.full((2, 3), 7.0)
    np.add(x, 1, out=host, where=mask)
    assert (host == np.where(mask, HOST + 1, 7)).all()
    assert np.add(x, 1, dtype="float64").dtype == "float64"
    assert np.add(x, 1, dtype="float64").tolist() == (HOST.astype("float64") + 1).tolist()
    with pytest.raises(DTypeError, match="casting='same_kind'"):
        np.add(x, 1, dtype="int32")


def test_methods_of_ufuncs(x):
    same(np.add.reduce(x), np.add.reduce(HOST))
    same(np.add.reduce(x, axis=1, keepdims=True), np.add.reduce(HOST, axis=1, keepdims=True))
    same(np.maximum.reduce(x, axis=None), HOST.max())
    same(np.multiply.outer(x, [1, 2]), np.multiply.outer(HOST, [1, 2]))
    same(hosted(lambda: np.add.accumulate(x, axis=1)), HOST.cumsum(1))
    same(hosted(lambda: np.add.reduce(x, initial=5.0)), np.add.reduce(HOST, initial=5.0))
    same(hosted(lambda: np.add.reduceat(x, [0, 1], axis=1)), np.add.reduceat(HOST, [0, 1], axis=1))
    counts = nd.zeros(3, dtype="int32")
    hosted(lambda: np.add.at(counts, [0, 0, 2], 1))
    assert counts.tolist() == [2, 0, 1]
    out = nd.zeros(3)
    assert np.add.reduce(x, out=out) is out
    assert out.tolist() == [5, 7, 9]


def test_ufuncs_without_an_op(x):
    whole, part = nd.zeros((2, 3)), nd.zeros((2, 3))
    fraction, _ = hosted(lambda: np.modf(x / 2))
    same(fraction, np.modf(HOST / 2)[0])
    got = hosted(lambda: np.modf(x / 2, out=(part, whole)))
    assert got[0] is part
    assert (whole.asnumpy() == np.modf(HOST / 2)[1]).all()
    assert (hosted(lambda: np.multiply(x, np.array([1j, 1, 1]))) == HOST * np.array([1j, 1, 1])).all()


def test_functions(x, native):
    same(np.sum(x), HOST.sum())
    same(np.sum(x, 0), HOST.sum(0))
    same(np.sum(a=x, axis=1, keepdims=True), HOST.sum(1, keepdims=True))
    same(np.mean(x, axis=1), HOST.mean(1))
    same(np.concatenate([x, HOST]), np.concatenate([HOST, HOST]))
    same(np.concatenate((HOST, x), axis=1), np.concatenate([HOST, HOST], axis=1))
    same(np.stack([x, x], axis=-1), np.stack([HOST, HOST], axis=-1))
    same(np.where(x > 2, x, 0), np.where(HOST > 2, HOST, 0))
    same(np.clip(x, 2, 4), HOST.clip(2, 4))
    same(np.transpose(x), HOST.T)
    same(np.dot(x, HOST.T), HOST @ HOST.T)
    same(np.zeros_like(x), np.zeros_like(HOST))
    assert np.shape(x) == (2, 3)
    assert np.ndim(x) == 2
    assert np.size(x) == 6


def test_functions_without_an_op(x):
    same(hosted(lambda: np.sum(x, initial=5.0)), HOST.sum() + 5)
    same(hosted(lambda: np.median(x, axis=0)), np.median(HOST, axis=0))
    assert hosted(lambda: np.allclose(x, HOST)) is True
    same(hosted(lambda: np.linalg.norm(x)), np.linalg.norm(HOST))
    target = np.zeros((2, 3))
    hosted(lambda: np.copyto(target, x))
    assert (target == HOST).all()
    hosted(lambda: np.copyto(x, 5))
    assert (x.asnumpy() == 5).all()


def test_the_warning_names_the_function_once_and_the_callers_line(x):
    with pytest.warns(NumpyFallbackWarning, match="numpy.nextafter has no native op") as caught:
        np.nextafter(x, x)
    assert caught[0].filename == __file__
    np.nextafter(x, x)  # a warning would be an error


def test_gradients_flow_through_native_functions_only(x):
    x.attach_grad()
    with mx.autograd.record():
        y = np.sum(np.exp(x) * HOST)
        with pytest.raises(GradientError, match="no native op"):
            np.nextafter(x, x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(HOST) * HOST, rtol=1e-6)


def test_other_classes_may_answer(x):
    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return "other"

        def __array_function__(self, func, types, args, kwargs):
            return "other"

    assert np.add(x, Other()) == "other"
    assert np.concatenate([x, Other()]) == "other"


def test_lists_of_arrays_become_one(x):
    for make in (nd.array, mx.np.array):
        assert make([x, x]).shape == (2, 2, 3)
        assert make([x[0], [7, 8, 9]]).tolist() == [[1, 2, 3], [7, 8, 9]]
        with pytest.raises(ValueError, match="must have one shape"):
            make([x, x[0]])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.np.array([x[0], x[1] * 2])
    y.backward()
    assert x.grad.tolist() == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.parametrize("source", [3, True, 2.5, [1, 2], ((1, 2), (3, 4)), range(3), bytearray(b"ab"),
                                    memoryview(b"ab"), np.float64(2), np.arange(3)[::-1], [], [[]]])  # fmt: skip
def test_array_likes(source):
    want = np.asarray(source)
    for make in (nd.array, mx.np.array, mx.np.asarray, mx.np.asanyarray, mx.np.copy):
        got = make(source)
        assert got.shape == want.shape
        assert (got.asnumpy() == want).all()
    assert nd.array(source).dtype == "float32"


@pytest.mark.parametrize(("source", "says"), [([1, [2, 3]], "inhomogeneous"), ("text", "<U4"), (b"ab", "S2"),
                                              ([None], "object"), (2j, "complex128"), ({}, "object")])  # fmt: skip
def test_what_is_no_array(source, says):
    for make in (nd.array, mx.np.array):
        with pytest.raises((TypeError, ValueError), match=says):
            make(source)


def test_copies():
    x = nd.ones(2)
    for y in (mx.np.copy(x), mx.np.array(x), nd.array(x)):
        y[:] = 5
    assert x.tolist() == [1, 1]
    assert mx.np.asanyarray(x) is x
