"""The monitor: which arrays it sees, in which batches, and that nothing waits before `toc`."""

from __future__ import annotations

import logging
import threading

import pytest

import gluonish as mx
from gluonish import nd
from gluonish.gluon import HybridBlock, nn


class Scale(HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(0,), init="ones", allow_deferred_init=True)

    def infer_shape(self, x):
        self.weight.shape = (x.shape[-1],)

    def hybrid_forward(self, F, x, weight):
        return x * weight


@pytest.fixture
def net():
    block = nn.Sequential(prefix="net_")
    block.add(Scale(prefix="a_"), nn.Identity(prefix="b_"))
    block.initialize()
    return block


def largest(x):
    return x.max()


def test_outputs_and_parameters(net):
    monitor = mx.mon.Monitor(2, largest)
    monitor.install(net)
    seen = []
    for batch in range(3):
        monitor.tic()
        net(nd.array([[1, 5 + batch]]))
        seen.append(monitor.toc())
    assert seen[0] == [(1, "a_output0", "5.0\t"), (1, "b_output0", "5.0\t"), (1, "net_output0", "5.0\t"),
                       (1, "a_weight", "1.0\t")]  # fmt: skip
    assert seen[1] == []
    assert [entry[0] for entry in seen[2]] == [3] * 4
    assert seen[2][0][2] == "7.0\t"


def test_pattern_order_and_inputs(net):
    monitor = mx.monitor.Monitor(1, largest, pattern="(b|a)_", sort=True, monitor_all=True)
    monitor.install(net)
    monitor.tic()
    net(nd.array([[1, 2]]))
    assert [name for _, name, _ in monitor.toc()] == ["a_input0", "a_output0", "a_weight", "b_input0", "b_output0"]


def test_default_statistic_and_lists(net, caplog):
    monitor = mx.monitor.Monitor(1, pattern="b_")
    monitor.install(net)
    monitor.tic()
    net(nd.array([[3, 4]]))
    ((_, _, text),) = monitor.toc()
    assert float(text) == pytest.approx(5 / 2**0.5)
    several = mx.monitor.Monitor(1, lambda x: [x.min(), x], pattern="b_")
    several.install(net)
    several.tic()
    net(nd.array([[3, 4]]))
    with caplog.at_level(logging.INFO):
        several.toc_print()
    assert caplog.messages == ["Batch:       1 b_output0                      3.0\t[[3. 4.]]\t"]


def test_parameters_that_wait_for_their_shape_are_left_out(net):
    monitor = mx.monitor.Monitor(1)
    monitor.install(net)
    monitor.tic()
    assert monitor.toc() == []


def test_nothing_waits_before_toc(net, threaded):
    net(nd.ones((1, 2)))
    gate = threading.Event()

    def fill(_, outputs):
        assert gate.wait(60)
        outputs[0][...] = 3

    (x,) = mx.operator.callback(fill, [], [((1, 2), "float32")])
    monitor = mx.monitor.Monitor(1, largest, pattern="net_")
    monitor.install(net)
    monitor.tic()
    net(x)
    gate.set()
    assert monitor.toc() == [(1, "net_output0", "3.0\t")]


def test_nothing_is_recorded(net):
    net(nd.ones((1, 2)))
    monitor = mx.monitor.Monitor(1)
    monitor.install(net)
    monitor.tic()
    with mx.autograd.record():
        y = net(nd.array([[1, 2]]))
    y.backward()
    assert net[0].weight.grad().tolist() == [1, 2]
    assert len(monitor.toc()) == 4


def test_bad_arguments():
    with pytest.raises(ValueError, match="interval=0"):
        mx.monitor.Monitor(0)
    with pytest.raises(TypeError, match="a Block is needed, got int"):
        mx.monitor.Monitor(1).install(3)
