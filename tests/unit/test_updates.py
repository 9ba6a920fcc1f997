"""State that an op updates: written once, in training only, after success only."""

import numpy as np
import pytest
from helpers import array, core


@pytest.fixture
def training():
    before = core.set_training(True)
    yield
    core.set_training(before)


def accumulate(data, total):
    return core.invoke("_test_accumulate", [data, total], {})


def test_training_updates(training):
    total = array([1.0, 2.0])
    y = accumulate(array([10.0, 20.0]), total)
    assert core.to_numpy(y).tolist() == [11, 22]
    assert core.to_numpy(total).tolist() == [11, 22]


def test_prediction_does_not():
    total = array([1.0, 2.0])
    accumulate(array([10.0, 20.0]), total)
    assert core.to_numpy(total).tolist() == [1, 2]


@pytest.mark.parametrize("how", ["error", "panic"])
def test_failure_leaves_the_state(training, how):
    total = array([1.0, 2.0])
    bad = core.invoke("_test_fail", [array([10.0, 20.0])], {"delay_us": 1000, "how": how})
    y = accumulate(bad, total)
    with pytest.raises(core.MXNetError):
        core.wait(y)
    assert core.to_numpy(total).tolist() == [1, 2]
    accumulate(array([10.0, 20.0]), total)
    assert core.to_numpy(total).tolist() == [11, 22]
    with pytest.raises(core.MXNetError):
        core.wait(bad)


def test_bad_shapes_change_nothing(training):
    total = array([1.0, 2.0])
    with pytest.raises(core.ShapeError, match="must be alike"):
        accumulate(array([1.0, 2.0, 3.0]), total)
    np.testing.assert_array_equal(core.to_numpy(total), [1, 2])
