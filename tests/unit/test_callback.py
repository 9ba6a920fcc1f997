"""Callbacks of training loops: what they log, and when they save."""

from __future__ import annotations

import logging
import re

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.callback import BatchEndParam


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO)
    return lambda: [record.getMessage() for record in caplog.records]


def scored():
    metric = mx.metric.Accuracy()
    metric.update([0, 1], [0, 0])
    return metric


def test_speedometer(log):
    meter, metric = mx.callback.Speedometer(batch_size=4, frequent=2), scored()
    for batch in range(5):
        meter(BatchEndParam(1, batch, metric, None))
    first, second = log()
    speed = r"Speed: [\d.]+ samples/sec"
    assert re.fullmatch(rf"Epoch\[1\] Batch \[0-2\]\t{speed}\taccuracy=0\.500000", first)
    assert re.fullmatch(rf"Epoch\[1\] Batch \[2-4\]\t{speed}\taccuracy=nan", second)  # it was reset
    assert metric.get_global() == ("accuracy", 0.5)


def test_speedometer_that_resets_nothing(log):
    meter, metric = mx.callback.Speedometer(4, 2, auto_reset=False), scored()
    for batch in range(5):
        meter(BatchEndParam(0, batch, metric, None))
    assert [m.split("\t")[0] for m in log()] == ["Epoch[0] Batch [0-2]", "Epoch[0] Batch [0-4]"]
    assert all("accuracy=0.5" in m for m in log())


def test_speedometer_starts_anew_with_each_epoch(log):
    meter = mx.callback.Speedometer(4, 1)
    for epoch, batch in ((0, 0), (0, 1), (1, 0), (1, 1)):
        meter(BatchEndParam(epoch, batch, None, None))
    assert [m.split("\t")[0] for m in log()] == ["Epoch[0] Batch [0-1]", "Epoch[1] Batch [0-1]"]


def test_log_train_metric(log):
    callback, metric = mx.callback.log_train_metric(2, auto_reset=True), scored()
    for batch in range(3):
        callback(BatchEndParam(0, batch, metric, None))
    callback(BatchEndParam(0, 4, None, None))
    assert log() == ["Iter[0] Batch[0] Train-accuracy=0.500000", "Iter[0] Batch[2] Train-accuracy=nan"]


def test_progress_bar(log):
    bar = mx.callback.ProgressBar(total=4, length=8)
    for batch in (0, 1, 4, 9):
        bar(BatchEndParam(0, batch, None, None))
    assert log() == ["[--------] 0%\r", "[==------] 25%\r", "[========] 100%\r", "[========] 100%\r"]


def test_validation_metrics(log):
    mx.callback.LogValidationMetricsCallback()(BatchEndParam(3, 0, scored(), None))
    assert log() == ["Epoch[3] Validation-accuracy=0.500000"]


class Symbol:
    def __init__(self):
        self.saved = []

    def save(self, path):
        self.saved.append(path)


def test_do_checkpoint(tmp_path):
    prefix, symbol = str(tmp_path / "net"), Symbol()
    save = mx.callback.do_checkpoint(prefix, period=2)
    for epoch in range(4):
        save(epoch, symbol, {"w": nd.full(2, epoch)}, {"mean": nd.ones(1)})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net-0002.params", "net-0004.params"]
    assert symbol.saved == [f"{prefix}-symbol.json"] * 2
    loaded = nd.load(f"{prefix}-0004.params")
    np.testing.assert_equal({k: v.tolist() for k, v in loaded.items()}, {"arg:w": [3, 3], "aux:mean": [1]})


def test_module_checkpoint():
    calls = []

    class Module:
        def save_checkpoint(self, *args):
            calls.append(args)

    save = mx.callback.module_checkpoint(Module(), "net", 3, save_optimizer_states=True)
    for epoch in range(6):
        save(epoch, None, None, None)
    assert calls == [("net", 3, True), ("net", 6, True)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: mx.callback.Speedometer(4, 0),
        lambda: mx.callback.ProgressBar(0),
        lambda: mx.callback.do_checkpoint("net", 0),
        lambda: mx.callback.module_checkpoint(None, "net", -1),
        lambda: mx.callback.log_train_metric(0),
    ],
)
def test_bad_periods(make):
    with pytest.raises(ValueError, match="expected at least 1"):
        make()


def test_module_and_function_are_two_things():
    assert mx.callback.__name__ == "gluonish.callback"
    (y,) = mx.operator.callback(lambda _, out: out[0].__setitem__(slice(None), 7), [], [((2,), "float32")])
    assert y.tolist() == [7, 7]
