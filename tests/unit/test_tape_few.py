"""Gradients of a few values, which run in the caller and are added in place: the same numbers as for many, and no array
that somebody else has is ever written."""

import threading

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, nd

FORMULAS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "square": lambda a, b: a * a + b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "hypot": nd.broadcast_hypot,
    "maximum": nd.maximum,
    "number": lambda a, b: (2.5 * a - 1) / (3 - b) ** 2,
    "sigmoid": lambda a, b: nd.sigmoid(a) * nd.tanh(b),
    "logarithm": lambda a, b: nd.log(a) * nd.sqrt(b) - nd.exp(-a),
    "relu": lambda a, b: nd.relu(a - b) + nd.abs(b - a),
    "clip": lambda a, b: nd.clip(a, 0.5, 1.0) * b,
    "reuse": lambda a, b: (a * b) * (a * b) + a * b * a,
    "one of them": lambda a, b: a.detach() * b,
}


def slopes(f, a, b):
    """The gradients of both inputs, and how the result was weighted."""
    a, b = nd.array(a, dtype=a.dtype), nd.array(b, dtype=b.dtype)
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        y = f(a, b)
    y.backward(nd.array(np.linspace(-1, 2, 4).repeat(a.size // 4), dtype=a.dtype))
    return a.grad.asnumpy(), b.grad.asnumpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_same_bits_as_for_many(name, dtype):
    a, b = np.array([0.3, 0.7, 1.1, 1.9], dtype), np.array([1.3, 0.2, 1.1, 0.6], dtype)
    few = slopes(FORMULAS[name], a, b)
    many = slopes(FORMULAS[name], a.repeat(300), b.repeat(300))
    for x, y in zip(few, many, strict=True):
        assert x.repeat(300).tobytes() == y.tobytes()


def test_the_given_gradient_is_not_written():
    x, weights = nd.array([1, 2, 3]), nd.array([4, 5, 6])
    x.attach_grad()
    with autograd.record():
        y = x + x + x  # the gradient that is given arrives at x three times
    y.backward(weights)
    assert weights.tolist() == [4, 5, 6]
    assert x.grad.tolist() == [12, 15, 18]


def test_what_a_hook_keeps_is_not_written():
    x = nd.array([1, 2, 3])
    x.attach_grad()
    seen = []
    with autograd.record():
        a = x * 2
        b = a + x  # passes its gradient on to `a` and to `x`
        for y in (a, b):
            y.register_hook(lambda g: seen.append((g, g.tolist())))
        loss = (b * b + a).sum()
    loss.backward()
    assert len(seen) == 2
    assert all(g.tolist() == then for g, then in seen)
    assert x.grad.tolist() == [20, 38, 56]


def test_gradients_as_values_are_apart():
    x = nd.array([1, 2])
    x.attach_grad()
    with autograd.record():
        a = x + 0
        y = a + x
        z = (y + a).sum()
    of_x, of_y, of_a = autograd.grad(z, [x, y, a])
    assert (of_x.tolist(), of_y.tolist(), of_a.tolist()) == ([3, 3], [1, 1], [2, 2])
    of_a[:] = 7
    of_y[:] = 8
    assert of_x.tolist() == [3, 3]


def test_several_heads_and_requests():
    x, w = nd.array([1, 2]), nd.array([3, 4])
    x.attach_grad("add")
    w.attach_grad()
    for n in (1, 2):
        with autograd.record():
            y, z = x * w, x * x
        autograd.backward([y, z], retain_graph=True)
        autograd.backward([z])
        assert x.grad.tolist() == [n * (3 + 2 + 2), n * (4 + 4 + 4)]
        assert w.grad.tolist() == [1, 2]


def test_an_error_goes_on_through_a_few_values():
    def fail(inputs, outputs):
        raise ValueError("no such luck")

    (bad,) = mx.operator.callback(fail, [], [((2,), "float32")])
    x = nd.array([1, 2])
    x.attach_grad()
    with autograd.record():
        y = x * 2 * bad
    y.backward()
    with pytest.raises(mx.errors.MXNetError, match="no such luck"):
        x.grad.asnumpy()
    with autograd.record():
        y = x * x
    y.backward()
    assert x.grad.tolist() == [2, 4]


def test_a_gradient_that_lies_otherwise_is_added():
    values, weights = np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3) ** 2
    x = nd.array(values)
    x.attach_grad()
    with autograd.record():
        y = x * 2
        z = y * y + y.T * nd.array(weights) + y
    z.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 8 * values + 2 * weights.T + 2)


def test_one_variable_in_many_threads():
    """Every thread records on the same variable, whose place in the graph hands out its counts to all of them."""
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    failed = []

    def work():
        try:
            for _ in range(30):
                with autograd.record():
                    y = x
                    for _ in range(50):
                        y = y * x
                (g,) = autograd.grad(y, x)
                np.testing.assert_array_equal(g.asnumpy(), [51, 51 * 2.0**50])
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed
