"""Recurrent networks, attention and CTC where samples do not reach: dropout, lengths and labels by value, memory."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, npx

SEED = 11


def loss_of(f, arrays, head):
    """`sum(head * f(arrays))` in training, always with the same random numbers."""
    mx.random.seed(SEED)
    with autograd.train_mode():
        return float((f(*arrays) * head).sum().asscalar())


def check_slopes(f, arrays):
    """Gradients of both orders against finite differences, with dropout."""
    for x in arrays:
        x.attach_grad()
    mx.random.seed(SEED)
    with autograd.record():
        y = f(*arrays)
    head = mx.nd.random.normal(shape=y.shape, dtype="float64")
    y.backward(head)
    rng = np.random.default_rng(3)
    for i, x in enumerate(arrays):
        step = mx.nd.array(rng.normal(size=x.shape) * 1e-6, dtype="float64")
        ends = [loss_of(f, [*arrays[:i], x + sign * step, *arrays[i + 1 :]], head) for sign in (1, -1)]
        got = float((x.grad * step).sum().asscalar()) * 2
        assert got == pytest.approx(ends[0] - ends[1], rel=1e-6, abs=1e-11)
    mx.random.seed(SEED)
    with autograd.record():
        y = f(*arrays)
        again = autograd.grad(y, arrays, [head], create_graph=True)
    for x, g in zip(arrays, again, strict=True):
        np.testing.assert_allclose(g.asnumpy(), x.grad.asnumpy(), rtol=1e-10, atol=1e-12)


@pytest.fixture(autouse=True)
def fixed():
    mx.random.seed(SEED)


def normal(*shape):
    return mx.nd.random.normal(scale=0.5, shape=shape, dtype="float64")


def test_dropout_between_layers():
    n, layers = 6, 3
    arrays = [normal(4, 3, n), normal(layers * 4 * n * (2 * n + 2)), normal(layers, 3, n), normal(layers, 3, n)]
    how = {"state_size": n, "num_layers": layers, "mode": "lstm", "p": 0.4}
    check_slopes(lambda *a: mx.nd.RNN(*a, **how), arrays)
    plain = mx.nd.RNN(*arrays, **{**how, "p": 0.0}).asnumpy()
    np.testing.assert_array_equal(mx.nd.RNN(*arrays, **how).asnumpy(), plain)
    with autograd.train_mode():
        first, second = (mx.nd.RNN(*arrays, **how).asnumpy() for _ in range(2))
    assert not np.array_equal(first, plain)
    assert not np.array_equal(first, second)


def test_dropout_of_attention():
    arrays = [normal(2, 4, 5, 3), normal(2, 2, 7, 3), normal(2, 2, 7, 3), normal(5, 7)]
    check_slopes(lambda *a: npx.scaled_dot_product_attention(*a, dropout=0.3, causal=True), arrays)
    values = mx.nd.ones((1, 1, 4000, 4))
    with autograd.train_mode():
        y = npx.scaled_dot_product_attention(mx.nd.zeros((1, 1, 2, 4)), values, values, dropout=0.25)
    np.testing.assert_allclose(y.asnumpy(), 1, atol=0.05)
    assert len(np.unique(y.asnumpy())) == 2


def test_mask_must_be_bool_or_floating():
    x = mx.nd.ones((1, 1, 2, 2))
    with pytest.raises(TypeError, match="mask of int32 is neither bool nor floating"):
        npx.scaled_dot_product_attention(x, x, x, mx.nd.ones((2, 2), dtype="int32"))


def test_queries_that_see_nothing_give_zeros():
    q, k, v = (normal(1, 2, 3, 4) for _ in range(3))
    seen = mx.nd.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]]).astype("bool")
    added = mx.nd.array(np.where(seen.asnumpy(), 0, -np.inf), dtype="float64")
    for mask in (seen, added):
        for x in (q, k, v):
            x.attach_grad()
        with autograd.record():
            y = npx.scaled_dot_product_attention(q, k, v, mask)
        y.backward()
        assert (y.asnumpy()[:, :, 1] == 0).all()
        assert (q.grad.asnumpy()[:, :, 1] == 0).all()
        assert all(np.isfinite(x.grad.asnumpy()).all() for x in (q, k, v))
        with autograd.record():
            y = npx.scaled_dot_product_attention(q, k, v, mask)
            (dq,) = autograd.grad(y, [q], create_graph=True)
        np.testing.assert_allclose(dq.asnumpy(), q.grad.asnumpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("wrong", [5, -1, 1.5, float("nan")])
def test_lengths_beyond_the_sequence(wrong):
    x, lengths = mx.nd.ones((4, 2, 3)), mx.nd.array([2, wrong])
    calls = [
        lambda: mx.nd.SequenceMask(x, lengths, use_sequence_length=True),
        lambda: mx.nd.SequenceReverse(x, lengths, use_sequence_length=True),
        lambda: mx.nd.SequenceLast(x, lengths, use_sequence_length=True),
        lambda: mx.nd.RNN(x, mx.nd.ones((24,)), mx.nd.ones((1, 2, 3)), sequence_length=lengths, state_size=3,
                          num_layers=1, mode="rnn_tanh", use_sequence_length=True),
        lambda: mx.nd.CTCLoss(x, mx.nd.ones((2, 1)), lengths, use_data_lengths=True),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match=r"_length.* at position 1.* to 4 are needed"):
            call().wait_to_read()
    with pytest.raises(ValueError, match="from 1 to 4"):
        mx.nd.SequenceLast(x, mx.nd.array([0, 1]), use_sequence_length=True).wait_to_read()


def test_labels_out_of_range():
    x = mx.nd.ones((4, 2, 3))
    for label, blank, allowed in (
        ([1, 3], "first", "1 to 2"),
        ([0, 2], "last", "0 to 1"),
        ([1, -1], "first", "1 to 2"),
    ):
        with pytest.raises(ValueError, match=rf"position \(1, 0\): classes from {allowed} are allowed"):
            mx.nd.CTCLoss(x, mx.nd.array(label).reshape((2, 1)), blank_label=blank).wait_to_read()


def test_label_that_does_not_fit_the_frames():
    x = mx.nd.ones((2, 1, 3))
    x.attach_grad()
    with autograd.record():
        y = mx.nd.CTCLoss(x, mx.nd.array([[1, 1]]))
    y.backward()
    assert y.asnumpy().tolist() == [float("inf")]
    assert (x.grad.asnumpy() == 0).all()


def test_values_of_mxnet():
    """Recorded with MXNet 1.9.1."""
    x = mx.nd.array(np.arange(24).reshape(3, 2, 4) % 5)
    for names in (mx.nd, mx.nd.contrib):
        for name in ("CTCLoss", "ctc_loss"):
            y = getattr(names, name)(x, mx.nd.array([[1, 2], [3, 0]]))
            np.testing.assert_allclose(y.asnumpy(), [3.6788747, 2.8897629], rtol=1e-6)
    y = mx.nd.CTCLoss(x, mx.nd.array([[1, 2], [0, -1]]), blank_label="last")
    np.testing.assert_allclose(y.asnumpy(), [2.1013455, 2.7613337], rtol=1e-6)
    data = mx.nd.array((np.arange(12) % 5 - 2).reshape(2, 2, 3) / 4)
    state = mx.nd.ones((2, 2, 4)) / 8
    for mode, inputs, how, output, last in (
        ("gru", [state], {"bidirectional": True}, [0.023014, -0.064308, 0.055272], [-0.000237, -0.194682, 0.025977]),
        ("lstm", [state[:1], state[:1]], {}, [0.001562, -0.002829, 0.083936], [-0.020548, -0.035410, 0.088196]),
    ):
        parameters = mx.nd.array((np.arange(216 if mode == "gru" else 144) % 7 - 3) / 10)
        y, h, *_ = mx.nd.RNN(
            data, parameters, *inputs, state_size=4, num_layers=1, mode=mode, state_outputs=True, **how
        )
        np.testing.assert_allclose(y.asnumpy().ravel()[:3], output, atol=1e-6)
        np.testing.assert_allclose(h.asnumpy().ravel()[:3], last, atol=1e-6)
