"""Dropout and embeddings: which values are dropped, and when; which indices are refused, and how."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd


def _train(x, **attrs):
    with autograd.train_mode():
        return mx.nd.Dropout(x, **attrs)


def test_only_in_training():
    x = mx.nd.random.normal(shape=(40, 50))
    assert (mx.nd.Dropout(x).asnumpy() == x.asnumpy()).all()
    assert (_train(x).asnumpy() != x.asnumpy()).any()
    assert (mx.nd.Dropout(x, mode="always").asnumpy() != x.asnumpy()).any()


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_share_and_scale(p):
    y = _train(mx.nd.ones((300, 400)), p=p).asnumpy()
    dropped = (y == 0).mean()
    assert abs(dropped - p) < 5 * np.sqrt(p * (1 - p) / y.size)
    np.testing.assert_allclose(y[y != 0], 1 / (1 - p), rtol=1e-6)


def test_every_call_drops_others_and_a_seed_repeats_them():
    x = mx.nd.ones((100,))
    mx.random.seed(5)
    first, second = _train(x).asnumpy(), _train(x).asnumpy()
    assert (first != second).any()
    mx.random.seed(5)
    assert (_train(x).asnumpy() == first).all()


def test_gradient_drops_the_same():
    for attrs in ({}, {"p": 0.3, "axes": (1,)}):
        x = mx.nd.random.uniform(1, 2, shape=(30, 40))
        x.attach_grad()
        with autograd.record():
            y = mx.nd.Dropout(x, **attrs)
        y.backward(mx.nd.ones((30, 40)) * 3)
        np.testing.assert_allclose(x.grad.asnumpy(), 3 * y.asnumpy() / x.asnumpy(), rtol=1e-6)


def test_axes_share_their_fate():
    y = _train(mx.nd.ones((50, 20, 6)), axes=(1,)).asnumpy()
    assert (y == y[:, :1]).all()
    assert 0 < (y[:, 0] == 0).mean() < 1


def test_nothing_of_the_mask_is_kept():
    from gluonish import _core as core

    x = mx.nd.ones((1000, 1000))
    x.attach_grad()
    with autograd.record():
        y = mx.nd.Dropout(x)
    assert core.kept_bytes(y) < 100


def test_what_is_dropped_is_zero_even_if_it_is_no_number():
    for attrs in ({}, {"axes": (1,)}):
        y = _train(mx.nd.full((200, 3), float("inf")), **attrs).asnumpy()
        assert set(np.unique(y)) == {0, np.inf}


def test_rrelu_in_training_draws_slopes():
    x = -mx.nd.ones((1000,))
    with autograd.train_mode():
        y = mx.nd.LeakyReLU(x, act_type="rrelu", lower_bound=0.1, upper_bound=0.5).asnumpy()
    assert ((-y >= 0.1) & (-y < 0.5)).all()
    assert y.std() > 0.05


def test_embedding_names_the_index_that_is_no_row():
    w = mx.nd.ones((5, 2))
    for bad, at in ((7, (1, 2)), (-1, (0, 1))):
        i = np.zeros((2, 3), np.int32)
        i[at] = bad
        with pytest.raises(IndexError) as e:
            mx.nd.Embedding(mx.nd.array(i, dtype="int32"), w, input_dim=5, output_dim=2).wait_to_read()
        for part in ("Embedding", f"index {bad}", f"position {at}", "5 rows"):
            assert part in str(e.value)


def test_cross_entropy_names_the_label_that_is_no_class():
    x = mx.nd.ones((2, 3, 4))
    for bad, at in ((4, (1, 2)), (-1, (0, 1)), (0.5, (1, 0))):
        label = np.zeros((2, 3), np.float32)
        label[at] = bad
        with pytest.raises(IndexError) as e:
            mx._core.invoke("_softmax_cross_entropy", [x, mx.nd.array(label)], {}).wait_to_read()
        for part in (f"label {bad}", f"position {at}", "there are 4"):
            assert part in str(e.value)


def test_cross_entropy_keeps_one_number_for_each_row():
    from gluonish import _core as core

    x, label = mx.nd.random.normal(shape=(100, 50)), mx.nd.zeros(100)
    x.attach_grad()
    with autograd.record():
        y = core.invoke("_softmax_cross_entropy", [x, label], {})
    assert core.kept_bytes(y) <= x.size * 4 + 3 * 100 * 4


def test_nan_makes_the_loss_of_its_row_nan():
    x = mx.nd.random.normal(shape=(3, 4))
    x[1, 2] = float("nan")
    got = mx._core.invoke("_softmax_cross_entropy", [x, mx.nd.zeros(3)], {}).asnumpy()
    assert np.isnan(got).tolist() == [False, True, False]
