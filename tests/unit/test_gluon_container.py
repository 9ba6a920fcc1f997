"""Containers: one after the other, side by side."""

import copy
import pickle

import numpy as np
import pytest
from unit.gluon_layers import Dense

from gluonish import gluon, nd
from gluonish.errors import ArgumentError
from gluonish.gluon import nn

BOTH = pytest.mark.parametrize("kind", [nn.Sequential, nn.HybridSequential])


def stack(kind, *units, **kwargs):
    net = kind(**kwargs)
    net.add(*(Dense(u) for u in units))
    net.initialize()
    return net


@BOTH
class TestSequential:
    def test_one_after_the_other(self, kind):
        net = stack(kind, 4, 2)
        x = nd.random.normal(shape=(3, 5))
        assert net(x).tolist() == net[1](net[0](x)).tolist()

    def test_empty(self, kind):
        x = nd.ones(2)
        assert kind()(x) is x
        assert len(kind()) == 0
        assert repr(kind()) == f"{kind.__name__}()"

    def test_items_and_slices(self, kind):
        net = stack(kind, 4, 3, 2)
        x = nd.ones((1, 5))
        y = net(x)
        assert len(net) == 3
        assert net[-1].units == 2
        assert [layer.units for layer in net] == [4, 3, 2]
        part = net[1:]
        assert type(part) is kind
        assert part(net[0](x)).tolist() == y.tolist()
        assert part[0] is net[1]
        assert next(path for path, _ in part.named_parameters()) == "0.weight"
        assert [layer.units for layer in net[::-1]] == [2, 3, 4]
        with pytest.raises(IndexError):
            net[3]

    def test_slices_and_copies_are_apart(self, kind):
        net = stack(kind, 4, 3)
        calls = []
        net.register_forward_hook(lambda *_: calls.append(1))
        part, whole = net[:1], copy.copy(net)
        part(nd.ones((1, 5)))
        assert calls == []
        part.add(nn.Identity())
        whole.add(nn.Identity())
        part.register_forward_hook(lambda *_: calls.append(2))
        net(nd.ones((1, 5)))
        assert calls == [1]
        assert (len(net), len(part), len(whole)) == (2, 2, 3)
        assert whole[0] is net[0]

    def test_slices_of_classes_of_ones_own(self, kind):
        class Mine(kind):
            def __init__(self, factor):
                super().__init__()
                self.factor = factor

            def forward(self, x):
                return super().forward(x) * self.factor

        net = Mine(2)
        net.add(nn.Identity(), nn.Identity())
        assert net[:1](nd.ones(1)).item() == 2

    def test_several_outputs_are_arguments_of_the_next(self, kind):
        class Two(gluon.HybridBlock):
            def forward(self, x):
                return x, x * 2

        class Add(gluon.HybridBlock):
            def forward(self, x, y):
                return x + y

        net = kind()
        net.add(Two())
        assert [y.item() for y in net(nd.ones(1))] == [1, 2]
        net.add(Add())
        assert net(nd.ones(1)).item() == 3

    def test_names_and_text(self, kind):
        net = kind(prefix="net_")
        with net.name_scope():
            net.add(Dense(1), nn.Identity())
        assert list(net.collect_params()) == ["net_dense0_weight", "net_dense0_bias"]
        assert repr(net) == f"{kind.__name__}(\n  (0): Dense()\n  (1): Identity()\n)"

    def test_numbers_stay_free(self, kind):
        net = kind()
        net.add(nn.Identity(), nn.Identity())
        del net._children["0"]
        net.add(nn.Identity())
        assert list(net._children) == ["1", "2"]

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
    def test_copies(self, kind, copied):
        net = stack(kind, 3, 2)
        x = nd.ones((1, 4))
        assert copied(net)(x).shape == (1, 2)
        y = net(x)
        assert copied(net)(x).tolist() == y.tolist()

    def test_only_blocks(self, kind):
        with pytest.raises(ArgumentError):
            kind().add(nd.ones(1))


@pytest.mark.parametrize("kind", [nn.Concurrent, nn.HybridConcurrent])
class TestConcurrent:
    def test_side_by_side(self, kind):
        net = kind(axis=1)
        net.add(Dense(2), nn.Identity(), Dense(3))
        net.initialize()
        x = nd.random.normal(shape=(4, 5))
        expected = np.concatenate([block(x).asnumpy() for block in net], axis=1)
        assert net(x).asnumpy().tolist() == expected.tolist()
        assert net(x).shape == (4, 10)

    def test_last_axis_by_default(self, kind):
        net = kind()
        net.add(nn.Identity(), nn.Identity())
        assert net(nd.ones((2, 3, 4))).shape == (2, 3, 8)

    def test_concat_dim(self, kind):
        net = kind(concat_dim=0)
        net.add(nn.Identity(), nn.Identity())
        assert net(nd.ones((2, 3))).shape == (4, 3)
        assert net[:1](nd.ones((2, 3))).shape == (2, 3)
        with pytest.raises(ArgumentError, match="mean the same"):
            kind(axis=1, concat_dim=0)

    def test_kind(self, kind):
        assert issubclass(kind, nn.Sequential)
        assert isinstance(kind(), gluon.HybridBlock) == (kind is nn.HybridConcurrent)


def test_identity():
    x = nd.ones(2)
    assert nn.Identity()(x) is x
