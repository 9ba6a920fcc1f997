"""Large gradients go straight into the variables' buffers: whatever looks at those buffers must not notice."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, nd

SHAPE = (60, 100)  # large enough that a rule may fill the buffer itself


def variable(req="write", seed=0):
    x = nd.array(np.random.default_rng(seed).normal(size=SHAPE))
    x.attach_grad(req)
    return x


def head(seed=9):
    return nd.array(np.random.default_rng(seed).normal(size=SHAPE))


FUNCTIONS = {
    "tanh": (nd.tanh, lambda x: 1 - np.tanh(x) ** 2),  # a chain of formulas
    "exp": (nd.exp, np.exp),  # one formula
    "view": (lambda x: nd.exp(x.T).T, np.exp),  # the last step is a view
    "sum": (lambda x: x.sum(axis=0) + nd.zeros(SHAPE), lambda x: None),  # a broadcast
    "identity": (lambda x: x + 1, np.ones_like),  # the gradient is the head's itself
}


@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_request(name, req):
    f, slope = FUNCTIONS[name]
    x, dy = variable(req), head()
    buffer = x.grad
    expected = np.zeros(SHAPE, np.float32)
    for _ in range(3):
        with autograd.record():
            y = f(x)
        y.backward(dy)
        g = np.tile(dy.asnumpy().sum(0), (60, 1)) if name == "sum" else dy.asnumpy() * slope(x.asnumpy())
        expected = expected + g if req == "add" else g
        np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(buffer.asnumpy(), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("req", ["write", "add"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_kernels_of_their_own(name, req, axis):
    x, dy = variable(req), head()
    with autograd.record():
        y = getattr(nd, name)(x, axis=axis)
    y.backward(dy, retain_graph=True)
    y.backward(dy)
    g, p = dy.asnumpy().astype(float), np.exp(x.asnumpy().astype(float))
    p /= p.sum(axis, keepdims=True)
    once = p * (g - (g * p).sum(axis, keepdims=True)) if name == "softmax" else g - p * g.sum(axis, keepdims=True)
    np.testing.assert_allclose(x.grad.asnumpy(), once * (2 if req == "add" else 1), rtol=1e-4, atol=1e-5)


def test_matrix_products_fill_both_buffers():
    a, b = variable(), variable(seed=1)
    with autograd.record():
        y = nd.dot(a, b.T)
    dy = nd.array(np.random.default_rng(5).normal(size=(60, 60)))
    y.backward(dy)
    np.testing.assert_allclose(a.grad.asnumpy(), dy.asnumpy() @ b.asnumpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(b.grad.asnumpy(), dy.asnumpy().T @ a.asnumpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("f", [nd.tanh, nd.softmax, nd.exp])
def test_a_head_gradient_that_is_the_buffer(f):
    x, w, dy = variable(), variable(seed=3), head()
    want = []
    for own in (False, True):
        for order in (0, 1):
            x.grad[:] = dy
            with autograd.record():
                y = f(x) + w if order else w + f(x)
            y.backward(x.grad if own else dy.copy())
            want.append((x.grad.asnumpy(), w.grad.asnumpy()))
    for got in want[1:]:
        np.testing.assert_array_equal(got[0], want[0][0])
        np.testing.assert_array_equal(got[1], want[0][1])
    np.testing.assert_array_equal(want[0][1], dy.asnumpy())


def test_a_hook_that_returns_a_buffer():
    x, w = variable(), variable(seed=3)
    old = head()
    x.grad[:] = old
    with autograd.record():
        h = w + nd.tanh(x)
        y = h * 1
        y.register_hook(lambda g: x.grad)
    y.backward()
    np.testing.assert_array_equal(w.grad.asnumpy(), old.asnumpy())
    np.testing.assert_allclose(x.grad.asnumpy(), old.asnumpy() * (1 - np.tanh(x.asnumpy()) ** 2), rtol=1e-4, atol=1e-6)


def test_a_function_that_returns_a_buffer():
    x, w = variable(), variable(seed=3)
    old = head()
    x.grad[:] = old

    class Hand(autograd.Function):
        def forward(self, a):
            return a * 1

        def backward(self, dy):
            return x.grad

    with autograd.record():
        y = Hand()(w + nd.tanh(x))
    y.backward()
    np.testing.assert_array_equal(w.grad.asnumpy(), old.asnumpy())


def test_a_hook_of_the_variable_sees_and_replaces_the_gradient():
    x, seen = variable(), []
    with autograd.record():
        y = nd.exp(x)
    x.register_hook(lambda g: (seen.append(g.asnumpy()), g * 2)[1])
    y.backward()
    np.testing.assert_allclose(seen[0], np.exp(x.asnumpy()), rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * seen[0], rtol=1e-6)


@pytest.mark.parametrize("req", ["write", "add"])
def test_a_buffer_that_the_graph_reads(req):
    """The old gradient is an operand: its value at the time counts, whatever is written to the buffer meanwhile."""
    x, q, old = variable(req), variable(seed=4), head()
    x.grad[:] = old
    with autograd.record():
        y = nd.exp(x) * nd.tanh(q * x.grad)
    y.backward()
    inner = np.tanh(q.asnumpy() * old.asnumpy())
    want = np.exp(x.asnumpy()) * inner + (old.asnumpy() if req == "add" else 0)
    np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        q.grad.asnumpy(), np.exp(x.asnumpy()) * (1 - inner**2) * old.asnumpy(), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("req", ["write", "add"])
def test_several_contributions(req):
    x = variable(req)
    x.grad[:] = 1
    with autograd.record():
        y = nd.tanh(x) * nd.exp(x) + x * x
    y.backward()
    v = x.asnumpy().astype(float)
    want = np.exp(v) * (1 - np.tanh(v) ** 2) + np.tanh(v) * np.exp(v) + 2 * v + (req == "add")
    np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_one_value_as_the_gradient_of_two_variables():
    a, b = variable(), variable(seed=1)
    with autograd.record():
        y = nd.exp(a + b)
    y.backward()
    np.testing.assert_array_equal(a.grad.asnumpy(), b.grad.asnumpy())
    np.testing.assert_allclose(a.grad.asnumpy(), y.asnumpy(), rtol=1e-6)


def test_readers_that_are_queued_see_the_old_gradient():
    x = variable()
    x.grad[:] = 7
    with autograd.record():
        y = nd.tanh(x)
    before = [x.grad * 1 for _ in range(5)]
    copies = [x.grad.copy() for _ in range(5)]
    y.backward()
    assert all((b.asnumpy() == 7).all() for b in before + copies)
    assert not (x.grad.asnumpy() == 7).any()


def test_variables_that_share_a_buffer():
    a, b = variable(), variable(seed=1)
    shared = nd.zeros(SHAPE)
    autograd.mark_variables([a, b], [shared, shared], ["add", "add"])
    with autograd.record():
        y = nd.exp(a) * nd.exp(b)
    y.backward()
    np.testing.assert_allclose(shared.asnumpy(), 2 * y.asnumpy(), rtol=1e-5)


def test_a_failure_stays_in_the_buffer_until_the_next_pass():
    x = variable()

    def fail():  # at the call or at the wait, as the engine has it
        bad = nd.linalg.potrf(nd.zeros((300, 300)) - 1)
        with autograd.record():
            y = nd.exp(x) * bad[0, 0]
        y.backward()
        return x.grad.asnumpy()

    with pytest.raises(mx.MXNetError, match="positive definite"):
        fail()
    with autograd.record():
        z = nd.exp(x)
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(x.asnumpy()), rtol=1e-6)


def test_other_orders_and_grad_leave_buffers_alone():
    x = variable()
    with autograd.record():
        y = nd.tanh(x)
        (g,) = autograd.grad(y, x, create_graph=True)
    assert (x.grad.asnumpy() == 0).all()
    g.backward()
    t = np.tanh(x.asnumpy().astype(float))
    np.testing.assert_allclose(x.grad.asnumpy(), -2 * t * (1 - t**2), rtol=1e-4, atol=1e-5)
