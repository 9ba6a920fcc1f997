"""Names of blocks and parameters as Gluon 1.x gives them."""

import re
import threading

from unit.gluon_layers import Dense, Net

import gluonish as mx
from gluonish import gluon
from gluonish.gluon import nn


def number(name):
    """The counter in ``dense7_``."""
    return int(re.fullmatch(r"[a-z]+(\d+)_", name).group(1))


def test_outside_of_scopes_one_counter_for_each_class():
    first, second, other = Dense(1), Dense(1), gluon.Block()
    assert number(second.prefix) == number(first.prefix) + 1
    assert other.prefix.startswith("block")
    assert first.weight.name == f"{first.prefix}weight"
    assert first.name == first.prefix[:-1]


def test_inside_of_a_scope_the_parent_counts():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(Dense(1), Dense(1))
        with net.name_scope():
            net.add(Dense(1))
    assert net.prefix.startswith("hybridsequential")
    assert [child.prefix for child in net] == [f"{net.prefix}dense{i}_" for i in range(3)]


def test_nested():
    net = Net(prefix="net_")
    assert list(net.collect_params()) == [
        *("net_dense0_weight", "net_dense0_bias"),
        "net_scale0_factor",
        *("net_dense1_weight", "net_dense1_bias"),
    ]


def test_a_prefix_replaces_the_name_and_follows_that_of_the_parent():
    assert Dense(1, prefix="my_").weight.name == "my_weight"
    parent = gluon.Block(prefix="parent_")
    with parent.name_scope():
        assert Dense(1, prefix="my_").weight.name == "parent_my_weight"


def test_an_empty_prefix_makes_no_scope():
    parent = gluon.Block(prefix="")
    before = Dense(1)
    with parent.name_scope():
        child = Dense(1)
    assert parent.prefix == ""
    assert number(child.prefix) == number(before.prefix) + 1


def test_managers_of_names():
    with mx.name.NameManager():
        assert [Dense(1).prefix, Dense(1).prefix] == ["dense0_", "dense1_"]
        with mx.name.Prefix("stage1_"):
            assert Dense(1).weight.name == "stage1_dense0_weight"
            with gluon.Block(prefix="net_").name_scope():
                assert Dense(1).prefix == "net_dense0_"


def test_scopes_end_also_after_an_error():
    parent = gluon.Block(prefix="parent_")
    try:
        with parent.name_scope():
            raise KeyError
    except KeyError:
        pass
    assert not Dense(1).prefix.startswith("parent_")


def test_scopes_belong_to_a_thread():
    parent = gluon.Block(prefix="parent_")
    names = []
    with parent.name_scope():
        thread = threading.Thread(target=lambda: names.append(Dense(1).prefix))
        thread.start()
        thread.join()
    assert not names[0].startswith("parent_")


def test_another_word_than_the_class():
    class Conv2D(gluon.HybridBlock):
        def _alias(self):
            return "conv"

    assert re.fullmatch(r"conv\d+_", Conv2D().prefix)


def test_shared_parameters_keep_the_first_owners_names():
    first = Dense(2, in_units=3, prefix="s_")
    second = Dense(2, in_units=3, prefix="t_", params=first.params)
    assert second.prefix == "t_"
    assert second.weight is first.weight
    assert list(second.collect_params()) == ["s_weight", "s_bias"]


def test_children_share_the_parameters_of_the_other_parents_children():
    class Two(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.a, self.b = Dense(2), Dense(3)

    first = Two(prefix="first_")
    second = Two(prefix="second_", params=first.collect_params())
    assert second.a.weight is first.a.weight
    assert second.b.bias is first.b.bias


def test_a_parameter_without_an_owner_is_named_after_the_attribute():
    block = gluon.Block(prefix="b_")
    block.gain = gluon.Parameter()
    block.other = block.gain
    assert block.gain.name == "b_gain"
    assert list(block.collect_params()) == ["b_gain"]
