"""The table of layers."""

import pytest
from unit.gluon_layers import Dense, Scale

from gluonish import amp, autograd, gluon, nd
from gluonish.gluon import nn
from gluonish.gluon._summary import rows


class Conv(gluon.HybridBlock):
    def __init__(self, channels):
        super().__init__()
        self.channels = channels
        self.weight = gluon.Parameter(shape=(channels, 0, 3, 3), allow_deferred_init=True)

    def hybrid_forward(self, F, x, weight):
        return F.relu(F.Convolution(x, weight, kernel=(3, 3), num_filter=self.channels, no_bias=True))


class Flatten(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.flatten(x)


def network():
    net = nn.HybridSequential()
    net.features = nn.HybridSequential()
    net.features.add(Conv(4), Flatten())
    net.output = Dense(10)
    net.initialize()
    return net


def test_rows():
    found = {row.path: row for row in rows(network(), (nd.ones((2, 3, 8, 8)),))}
    assert list(found) == ["", "features", "features.0", "features.1", "output"]
    conv, dense = found["features.0"], found["output"]
    assert (conv.kind, conv.output, conv.parameters) == ("Conv", "(2, 4, 6, 6)", 4 * 3 * 9)
    elements = 2 * 4 * 6 * 6
    assert conv.flops == elements * 2 * 27 + elements  # products and sums, and one for each relu
    assert conv.bytes == elements * 4
    assert dense.flops == 2 * 10 * (2 * 144 + 1)
    assert dense.parameters == 1450
    assert found["features.1"].flops == 0
    assert found[""].flops is None


def test_the_first_forward_may_be_this_one_and_nothing_stays(capsys):
    net = network()
    with autograd.record():
        net.summary(nd.ones((2, 3, 8, 8)))
    text = capsys.readouterr().out
    assert "features.0  Conv" in text
    assert "Parameters: 1,558, of which 1,558 are trained and 0 are not; 6.1 KiB" in text
    for block in net.modules():
        assert not block._forward_hooks
        assert block._gluonish.functions is None
    net(nd.ones((2, 3, 8, 8)))


def test_shared_parameters_count_once():
    net = nn.HybridSequential()
    layer = Dense(3, in_units=3)
    net.add(layer, Dense(3, in_units=3, params=layer.params), layer)
    net.initialize()
    found = rows(net, (nd.ones((1, 3)),))
    assert [row.parameters for row in found] == [0, 12, 0, 0]
    assert found[-1].path == "0"


def test_plain_forwards_are_not_counted(capsys):
    layer = Scale(3)
    layer.initialize()
    (row,) = rows(layer, (nd.ones((1, 3)),))
    assert row.flops is None
    assert row.parameters == 3
    layer.factor.grad_req = "null"
    layer.summary(nd.ones((1, 3)))
    assert "of which 0 are trained and 3 are not" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "inputs", "expected"),
    [
        (lambda F, a, b: F.dot(a, b), [(2, 3), (3, 4)], 2 * 2 * 3 * 4),
        (lambda F, a, b: F.dot(a, b, transpose_a=True), [(3, 2), (3, 4)], 2 * 2 * 3 * 4),
        (lambda F, a, b: F.batch_dot(a, b), [(5, 2, 3), (5, 3, 4)], 5 * 2 * 2 * 3 * 4),
        (lambda F, a, b: F.linalg.gemm2(a, b), [(2, 3), (3, 4)], 2 * 2 * 3 * 4),
        (
            lambda F, a, b: F.contrib.scaled_dot_product_attention(a, b, b),
            [(1, 2, 5, 8), (1, 2, 7, 8)],
            2 * 2 * 5 * 7 * 16,
        ),
        (lambda F, a, b: F.Pooling(a, kernel=(2, 2), stride=(2, 2)), [(1, 1, 4, 4), (1,)], 16),
        (lambda F, a, b: F.Pooling(a, global_pool=True), [(1, 1, 4, 4), (1,)], 16),
        (
            lambda F, a, b: F.Deconvolution(a, b, kernel=(2, 2), num_filter=3, no_bias=True),
            [(1, 2, 4, 4), (2, 3, 2, 2)],
            768,
        ),
        (lambda F, a, b: F.concat(a, b, dim=0), [(1, 4), (1, 4)], 0),
        (lambda F, a, b: F.broadcast_add(a, b), [(2, 4), (1, 4)], 8),
    ],
)
def test_flops(function, inputs, expected):
    class Op(gluon.HybridBlock):
        def hybrid_forward(self, F, a, b):
            return function(F, a, b)

    (row,) = rows(Op(), tuple(map(nd.ones, inputs)))
    assert row.flops == expected


def test_several_outputs_and_errors():
    class Two(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x, [F.relu(x)]

    (row,) = rows(Two(), (nd.ones((2, 2)),))
    assert row.output == "[(2, 2), [(2, 2)]]"
    assert row.bytes == 16  # the input is not new
    net = network()
    with pytest.raises(ValueError):
        net.summary(nd.ones((2, 3)))
    assert not any(block._forward_hooks for block in net.modules())


def test_a_network_that_casts_stays_one(capsys):
    net = nn.Dense(2, in_units=3)
    net.initialize()
    converted = amp.convert_hybrid_block(net, "bfloat16")
    converted.summary(nd.ones((1, 3)))
    assert "14" in capsys.readouterr().out  # two times three multiplications and additions, and the bias
    assert converted(nd.ones((1, 3))).dtype == "bfloat16"
