"""Arrays of Python's objects: nested lists with arrays inside, lists that are too deep, numbers that do not fit."""

import numpy  # noqa: ICN001 - np is ours
import pytest

import gluonish as mx
from gluonish import nd, np
from gluonish.errors import ShapeError


@pytest.mark.parametrize("make", [nd.array, np.array])
def test_gradients_flow_out_of_nested_lists(make):
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = make([[x[0], 1.0], [x[1], 2.0]])
        z = (y * nd.array([[3, 100], [5, 100]])).sum()
    z.backward()
    assert y.tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert x.grad.tolist() == [3.0, 5.0]


def test_deeper_lists_of_arrays():
    x = np.ones((2,))
    assert np.array([[[x], [x * 2]], (([3, 3],), [x])]).tolist() == [[[[1, 1]], [[2, 2]]], [[[3, 3]], [[1, 1]]]]
    with pytest.raises(ShapeError, match=r"one shape, got \(2,\), \(1,\)"):
        nd.array([[x[0], 1.0], [x[1]]])


@pytest.mark.parametrize("inside", [1.0, "array"])
def test_lists_that_are_too_deep(inside):
    nested = [nd.ones(2) if inside == "array" else inside]
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ValueError, match=r"^array: cannot make an array"):
        nd.array(nested)


@pytest.mark.parametrize("make", [nd.array, np.array])
@pytest.mark.parametrize(
    ("value", "dtype"),
    [(300, "uint8"), (-1, "uint8"), (2**63, "int64"), (2**64, "int64"), (2**64, "uint64"), (1e10, "int32"),
     (float("inf"), "int8")],
)  # fmt: skip
def test_numbers_that_do_not_fit(make, value, dtype):
    with pytest.raises(OverflowError, match=f"does not fit in {dtype}"):
        make([1, value], dtype=dtype)
    with pytest.raises(OverflowError, match=f"does not fit in {dtype}"):
        make(value, dtype=dtype)


def test_nan_is_no_integer():
    nan = float("nan")
    for call in (lambda: nd.array([1, nan], dtype="int32"), lambda: np.array(nan, dtype="int8"),
                 lambda: nd.full((2,), nan, dtype="int32"), lambda: np.full_like(np.array([1]), nan)):  # fmt: skip
        with pytest.raises(ValueError, match="NaN cannot become int"):
            call()


def test_numbers_that_fit():
    assert nd.array([2**64 - 1], dtype="uint64").tolist() == [2**64 - 1]
    assert nd.array([-0.5, 255.9], dtype="uint8").tolist() == [0, 255]
    assert nd.array([2**64], dtype="float64").tolist() == [2.0**64]
    assert nd.full((1,), 2**70, dtype="float64").tolist() == [2.0**70]
    assert np.full(1, 5, dtype=bool).tolist() == [True]
    assert nd.array(numpy.array([300]), dtype="uint8").tolist() == [44]  # as NumPy casts its own arrays


def test_ctx_may_be_text():
    assert nd.random.normal(shape=2, ctx="cpu(1)").ctx == nd.random.randn(2, ctx="cpu(1)").ctx == mx.cpu(1)
