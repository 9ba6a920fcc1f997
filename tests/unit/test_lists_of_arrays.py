"""Lists with arrays inside, as operands and as assigned values: gradients go through. And numbers that do not fit."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, nd


def variable(*values):
    x = nd.array(values)
    x.attach_grad()
    return x


def test_operand_gets_gradients():
    x = variable(1, 2, 3)
    with autograd.record():
        y = (x * [x[2], x[0], 10]).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [3 + 2, 1, 10 + 1])


def test_function_gets_gradients():
    x = variable(1, 2, 3)
    with autograd.record():
        y = mx.np.add(x, [[x[0]] * 3, [1, 2, 3]]).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2 + 3, 2, 2])


def test_assigned_list_gets_gradients():
    x = variable(1, 2, 3)
    with autograd.record():
        z = nd.zeros(3)
        z[:] = [x[2], 7, x[0]]
        y = (z * nd.array([1, 10, 100])).sum()
    y.backward()
    np.testing.assert_array_equal(z.asnumpy(), [3, 7, 1])
    np.testing.assert_array_equal(x.grad.asnumpy(), [100, 0, 1])


@pytest.mark.parametrize(("dtype", "value"), [("uint8", 300), ("uint8", -1), ("int8", 128), ("int32", 2**31)])
def test_integers_that_do_not_fit(dtype, value):
    x = nd.ones(2, dtype=dtype)
    with pytest.raises(OverflowError, match=rf"{value} does not fit in {dtype}"):
        x[0] = value
    assert x.tolist() == [1, 1]


def test_what_is_no_number_does_not_become_one():
    x = nd.ones(2, dtype="int32")
    with pytest.raises(ValueError, match="NaN cannot be an element of int32"):
        x[:] = float("nan")
    with pytest.raises(OverflowError, match="inf does not fit in int32"):
        x[0] = float("inf")
    assert x.tolist() == [1, 1]
    truth = nd.zeros(2, dtype="bool")
    truth[0] = 5
    assert truth.tolist() == [True, False]


def test_contexts_by_name():
    assert nd.random_normal(shape=(2,), ctx="cpu(1)").context == mx.cpu(1)
    with pytest.raises(mx.errors.ArgumentError, match="nowhere"):
        nd.random_normal(shape=(2,), ctx="nowhere")
