import numpy as np
import pytest

import gluonish as mx
from gluonish import engine, errors


def test_naive_is_a_scope():
    before = engine.is_naive()
    with engine.naive():
        assert engine.is_naive()
        with engine.naive():
            pass
        assert engine.is_naive()
    assert engine.is_naive() == before


def test_naive_raises_at_its_own_line():
    bad = mx.nd.array([[1, 2], [2, 1]])  # not positive definite
    with engine.naive(), pytest.raises(errors.MXNetError, match="linalg_potrf"):
        mx.nd.linalg.potrf(bad).wait_to_read()


def test_threads():
    before = engine.num_threads()
    with engine.set_num_threads(1) as changed:
        assert (engine.num_threads(), changed.before) == (1, before)
        engine.set_num_threads(2)
    assert engine.num_threads() == before


def test_same_bits_for_any_number_of_threads_and_both_engines():
    x = mx.nd.random.normal(shape=(300, 700))

    def work():
        return (mx.nd.dot(x, x, transpose_b=True) / 100).tanh().sum(axis=1).asnumpy()

    wanted = work()
    with engine.set_num_threads(1):
        np.testing.assert_array_equal(work(), wanted)
    with engine.naive():
        np.testing.assert_array_equal(work(), wanted)


def test_bulk_as_in_mxnet():
    before = engine.set_bulk_size(7)
    with engine.bulk(3):
        assert engine.set_bulk_size(4) == 3
    assert engine.set_bulk_size(before) == 7


def test_inflight_bytes():
    with engine.set_inflight_bytes(1 << 16):
        y = mx.nd.ones((500, 500))
        for _ in range(20):
            y = y + 1
        assert y[0, 0].item() == 21


def test_instruction_set():
    assert isinstance(engine.instruction_set(), str)


@pytest.mark.parametrize("call", [engine.set_num_threads, engine.set_inflight_bytes, engine.set_bulk_size, engine.bulk])
@pytest.mark.parametrize("value", [-1, "two", 1.5, None])
def test_bad_counts(call, value):
    with pytest.raises(errors.ArgumentError, match="expected a number of at least 0"):
        call(value)
