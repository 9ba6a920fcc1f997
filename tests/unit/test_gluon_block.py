"""Blocks: attributes, children, buffers, calls, hooks, modes, errors, copies, torch's words."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from unit.gluon_layers import Dense, Net, Scale

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.gluon._walk import saved

TWO = [mx.cpu(0), mx.cpu(1)]


@pytest.fixture
def net():
    made = Net(prefix="net_")
    made.initialize()
    return made


def run(block, x=None):
    return block(nd.ones((2, 3)) if x is None else x)


class TestAttributes:
    def test_before_super_init(self):
        class Early(gluon.Block):
            def __init__(self):
                self.number = 5
                self.child = Dense(1)

        with pytest.raises(AttributeError, match="super"):
            Early()

    def test_plain_ones_change_freely(self):
        block = gluon.Block()
        block.a = None
        block.a = 1
        assert block.a == 1

    def test_blocks_and_parameters_do_not_become_something_else(self):
        block = gluon.Block()
        block.child, block.weight = Dense(1), gluon.Parameter(shape=(1,))
        for name, value in [("child", (2,)), ("child", gluon.Parameter()), ("weight", None), ("weight", Dense(1))]:
            with pytest.raises(TypeError, match=f"'{name}'"):
                setattr(block, name, value)
        assert list(block._children) == ["child"]

    def test_a_child_is_replaced_by_another(self):
        block = gluon.Block()
        block.child = Dense(1)
        block.child = other = Scale()
        assert dict(block.named_children()) == {"child": other}

    def test_a_parameter_is_replaced_by_another(self):
        first, second = Dense(2, in_units=2, prefix="a_"), Dense(2, in_units=2, prefix="b_")
        second.weight = first.weight
        assert list(second.collect_params()) == ["a_weight", "b_bias"]
        assert [path for path, _ in second.named_parameters()] == ["weight", "bias"]

    def test_deleted(self):
        block = gluon.Block()
        block.child, block.weight = Dense(1), gluon.Parameter(shape=(1,))
        block.register_buffer("steps", [1])
        del block.child, block.weight, block.steps
        assert not block._children
        assert len(block.collect_params()) == 0
        assert not saved(block)
        block.child = 5

    def test_missing(self):
        with pytest.raises(AttributeError, match="'Block' object has no attribute 'nothing'"):
            gluon.Block().nothing

    def test_register_child_takes_blocks_only(self):
        with pytest.raises(ArgumentError, match="int"):
            gluon.Block().register_child(5)


class TestContainers:
    def test_blocks_in_lists_and_dicts_are_registered_with_a_warning(self):
        class Lists(gluon.Block):
            def __init__(self):
                super().__init__()
                self.layers = []
                self.heads = {"left": Dense(1), "right": [Dense(2)]}
                for units in (3, 4):
                    self.layers.append(Dense(units))

        block = Lists()
        with pytest.warns(UserWarning, match=r"'layers' is a plain container.*layers\.0, layers\.1, heads\.left"):
            assert len(block.collect_params()) == 8
        paths = [path for path, _ in block.named_parameters()]
        assert paths[:3] == ["layers.0.weight", "layers.0.bias", "layers.1.weight"]
        assert "heads.right.0.weight" in paths
        block.initialize()
        assert run(block.heads["left"]).shape == (2, 1)

    def test_what_leaves_the_list_leaves_the_block(self):
        block = gluon.Block()
        block.layers = [Dense(1), Dense(2)]
        with pytest.warns(UserWarning, match="plain container"):
            block.collect_params()
        block.layers.pop(0)
        with pytest.warns(UserWarning, match="plain container"):
            assert [p.shape for p in block.collect_params().values()] == [(2, 0), (2,)]
        assert list(block._children) == ["layers.0"]

    def test_registered_ones_do_not_warn(self):
        block = gluon.Block()
        block.layers = [Dense(1)]
        block.register_child(block.layers[0])
        assert list(dict(block.named_parameters())) == ["0.weight", "0.bias"]

    def test_circles_and_other_lists(self):
        block = gluon.Block()
        circle = [1]
        circle.append(circle)
        block.circle, block.words = circle, ["a"] * 1000
        assert len(block.collect_params()) == 0

    def test_parameters_in_lists(self):
        block = gluon.Block(prefix="b_")
        block.weights = [gluon.Parameter(shape=(1,)), gluon.Parameter(shape=(2,))]
        assert list(block.collect_params()) == ["b_weights_0", "b_weights_1"]
        assert [path for path, _ in block.named_parameters()] == ["weights_0", "weights_1"]

    def test_hybrid_blocks_refuse_others_in_lists(self):
        block = gluon.HybridBlock()
        block.layers = [gluon.Block()]
        with pytest.raises(ValueError, match="HybridBlock"):
            block.collect_params()


class TestCollecting:
    def test_select_matches_full_names(self, net):
        assert list(net.collect_params(".*weight")) == ["net_dense0_weight", "net_dense1_weight"]
        assert list(net.collect_params("weight")) == []
        assert list(net.params) == []

    def test_paths(self, net):
        assert [path for path, _ in net.named_parameters()] == [
            *("hidden.weight", "hidden.bias", "scale.factor", "output.weight", "output.bias")
        ]

    def test_shared_parameters_come_once(self):
        block = gluon.Block()
        block.a = Dense(2)
        block.b = Dense(2, params=block.a.params)
        assert len(block.collect_params()) == len(dict(block.named_parameters())) == 2
        assert len(dict(block.named_parameters(remove_duplicate=False))) == 4

    def test_of_two_parameters_of_one_name_the_later_is_called_after_its_path(self):
        block = gluon.Block(prefix="net_")
        block.a, block.b = Dense(2, prefix="x_"), Dense(2, prefix="x_")
        block.c = gluon.Parameter(shape=(1,))
        block.c.name = "net_b_bias"  # which the name after the path must not take
        params = block.collect_params()
        assert list(params) == ["net_b_bias", "x_weight", "x_bias", "net_b_weight", "net_b_bias1"]
        assert params["x_weight"] is block.a.weight
        assert params["net_b_weight"] is block.b.weight
        assert params["net_b_bias1"] is block.b.bias
        assert list(block.collect_params("net_b_w")) == ["net_b_weight"]
        assert "\n  net_b_weight: Parameter x_weight (" in repr(params)

    def test_a_block_and_its_copy_in_one_network(self, tmp_path):
        class Agent(gluon.Block):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    self.online = Dense(2, in_units=3)
                self.online.initialize()
                self.target = copy.deepcopy(self.online)

            def forward(self, x):
                return self.online(x) - self.target(x)

        agent, x = Agent(), nd.ones((1, 3))
        agent.target.setattr("grad_req", "null")
        assert len(agent.collect_params()) == 4
        trainer = gluon.Trainer(agent, "sgd", {"learning_rate": 1})
        assert agent(x).tolist() == [[0, 0]]
        with autograd.record():
            loss = agent(x).sum()
        loss.backward()
        trainer.step(1)
        stepped = agent(x)
        np.testing.assert_allclose(stepped.asnumpy(), [[-4, -4]], rtol=1e-5)
        for save, load in (("save_parameters", "load_parameters"), ("save_params", "load_params")):
            other = Agent()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                getattr(agent, save)(tmp_path / "agent")
                getattr(other, load)(tmp_path / "agent")
            assert other(x).tolist() == stepped.tolist()
        agent.initialize("zeros", force_reinit=True)
        assert agent.target.weight.data().sum().item() == 0

    def test_parameters_that_are_no_attributes(self):
        block = gluon.Block(prefix="b_")
        block.params.get("hidden", shape=(1,))
        assert [path for path, _ in block.named_parameters()] == ["hidden"]

    def test_a_block_that_comes_twice(self):
        a, b = gluon.Block(prefix="a_"), gluon.Block(prefix="b_")
        a.b = b
        a.again = b
        assert len(list(a.modules())) == 2

    def test_a_block_is_not_below_itself(self):
        a, b = gluon.Block(prefix="a_"), gluon.Block(prefix="b_")
        a.b = b
        for block in (a, b):
            with pytest.raises(ArgumentError, match="below itself"):
                b.parent = block
        assert not b._children


class TestAll:
    def test_apply_goes_from_the_leaves(self, net):
        names = []
        assert net.apply(lambda block: names.append(type(block).__name__)) is net
        assert names == ["Dense", "Scale", "Dense", "Net"]

    def test_cast(self, net):
        run(net)
        net.register_buffer("steps", nd.zeros(1, dtype="int32"))
        net.register_buffer("mean", [0.5])
        net.cast("float16")
        assert {p.dtype.name for p in net.collect_params().values()} == {"float16"}
        assert (net.steps.dtype, net.mean.dtype) == (np.int32, np.float16)
        assert run(net, nd.ones((2, 3), dtype="float16")).dtype == np.float16

    def test_several_devices_compute_the_same(self):
        block = Net()
        block.initialize(ctx=TWO)
        first, second = (run(block, nd.ones((2, 3), ctx=ctx)) for ctx in TWO)
        assert second.ctx == mx.cpu(1)
        assert first.tolist() == second.tolist()
        block.reset_ctx(mx.cpu(2))
        assert run(block, nd.ones((2, 3), ctx=mx.cpu(2))).tolist() == first.tolist()

    def test_zero_grad_and_setattr(self, net):
        with autograd.record():
            loss = run(net)
        loss.backward()
        assert any(p.grad().asnumpy().any() for p in net.parameters())
        net.zero_grad()
        assert not any(p.grad().asnumpy().any() for p in net.parameters())
        net.setattr("grad_req", "null")
        assert {p.grad_req for p in net.parameters()} == {"null"}

    def test_share_parameters(self):
        first, second = Net(prefix="a_"), Net(prefix="b_")
        first.initialize()
        assert second.share_parameters(dict(first.named_parameters())) is second
        assert run(second).tolist() == run(first).tolist()
        assert second.hidden.weight is first.hidden.weight
        with pytest.raises(ArgumentError, match=r"'hidden\.gamma'"):
            second.share_parameters({"hidden.gamma": first.hidden.weight})
        with pytest.raises(AssertionError, match="does not fit"):
            second.share_parameters({"hidden.weight": first.output.weight})

    def test_initialize_again(self, net):
        run(net)
        with pytest.warns(UserWarning, match="already initialized"):
            net.initialize()
        net.initialize("zeros", force_reinit=True)
        assert run(net).tolist() == [[0, 0], [0, 0]]


class TestBuffers:
    def test_no_parameters_but_saved_moved_and_assigned(self, net):
        net.register_buffer("steps", [0.0])
        net.register_buffer("cache", [0.0], persistent=False)
        net.steps += 2
        net.steps = net.steps * 2
        assert net.steps.tolist() == [4]
        assert "steps" not in dict(net.named_parameters())
        assert dict(net.named_buffers()).keys() == {"steps", "cache"}
        assert "steps" in saved(net)
        assert "cache" not in saved(net)

    def test_on_several_devices(self):
        block = gluon.Block()
        block.register_buffer("steps", [1.0])
        block.initialize(ctx=TWO)
        with mx.cpu(1):
            assert block.steps.ctx == mx.cpu(1)
        block.steps = [3.0]
        assert [copy.item() for copy in block._gluonish.buffers["steps"].list_data()] == [3, 3]

    def test_where_the_parameters_are(self):
        layer = Scale(2)
        layer.register_buffer("steps", [1.0])
        with mx.cpu(1):
            layer.initialize()
        assert layer.steps.ctx == mx.cpu(1)
        with pytest.warns(UserWarning, match="already initialized"):
            layer.initialize()
        assert layer.steps.ctx == mx.cpu(1)

    def test_shape_is_kept(self):
        block = gluon.Block()
        block.register_buffer("steps", [1.0])
        with pytest.raises(AssertionError, match="does not fit"):
            block.steps = [1.0, 2.0]

    def test_other_blocks_of_the_class_do_not_have_it(self):
        first, second = Scale(), Scale()
        first.register_buffer("seen", [1.0])
        with pytest.raises(AttributeError, match="'Scale' object has no attribute 'seen'"):
            second.seen
        second.seen = 5
        assert (first.seen.tolist(), second.seen) == ([1], 5)
        assert pickle.loads(pickle.dumps(first)).seen.tolist() == [1]

    def test_names_that_are_taken(self, net):
        for name in ("hidden", "forward", "not a name"):
            with pytest.raises(ArgumentError, match=name):
                net.register_buffer(name, [1])
        net.register_buffer("steps", [1])
        net.register_buffer("steps", [[2]])
        assert net.steps.shape == (1, 1)

    def test_no_parameter_and_no_block_takes_its_name(self):
        block = gluon.Block()
        block.register_buffer("steps", [1])
        for other in (gluon.Parameter("p", shape=(1,)), Dense(1)):
            with pytest.raises(TypeError, match=f"'steps' is a buffer, and cannot become a {type(other).__name__}"):
                block.steps = other
        assert block.steps.tolist() == [1]
        assert not block.collect_params()
        del block.steps
        block.steps = gluon.Parameter("p", shape=(1,))
        assert [path for path, _ in block.named_parameters()] == ["steps"]

    def test_written_while_recording(self):
        class Counting(gluon.Block):
            def __init__(self):
                super().__init__()
                self.register_buffer("steps", [0.0])

            def forward(self, x):
                self.steps += 1
                return x * 2

        block, x = Counting(), nd.ones(2)
        x.attach_grad()
        for _ in range(2):
            with autograd.record():
                y = block(x)
            y.backward()
        assert block.steps.tolist() == [2]
        assert x.grad.tolist() == [2, 2]


class TestCopies:
    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])
    def test_networks(self, copied, net):
        net.register_buffer("steps", [3.0])
        expected = run(net).tolist()
        other = copied(net)
        assert run(other).tolist() == expected
        assert (other.prefix, other.steps.tolist()) == ("net_", [3])
        other.hidden.weight.set_data(nd.zeros((4, 3)))
        assert run(net).tolist() == expected
        with autograd.record():
            loss = run(other)
        loss.backward()
        assert other.output.bias.grad().tolist() == [2, 2]
        assert net.output.bias.grad().tolist() == [0, 0]

    def test_shared_parameters_stay_shared(self):
        block = gluon.Block()
        block.a = Dense(2, in_units=2)
        block.b = Dense(2, in_units=2, params=block.a.params)
        other = copy.deepcopy(block)
        assert other.a.weight is other.b.weight is not block.a.weight

    def test_before_the_first_forward(self, net):
        other = pickle.loads(pickle.dumps(net))
        assert run(other).shape == (2, 2)


class TestTorchWords:
    def test_state_dict(self, net):
        run(net)
        net.register_buffer("steps", [3.0])
        state = net.state_dict()
        assert list(state)[-1] == "output.bias"
        assert state["steps"].tolist() == [3]
        other = Net()
        other.register_buffer("steps", [0.0])
        other.load_state_dict(state)
        assert run(other).tolist() == run(net).tolist()
        del state["steps"]
        with pytest.raises(ValueError, match="'steps' is missing"):
            other.load_state_dict(state)
        other.load_state_dict({**state, "more": nd.ones(1)}, strict=False)

    def test_walking(self, net):
        assert [name for name, _ in net.named_children()] == ["hidden", "scale", "output"]
        assert len(list(net.children())) == 3
        assert [name for name, _ in net.named_modules()] == ["", "hidden", "scale", "output"]
        assert len(list(net.modules())) == 4
        assert len(list(net.parameters())) == 5
        assert list(net.buffers()) == []

    def test_to(self, net):
        run(net)
        assert net.to(mx.cpu(1)) is net
        assert net.hidden.weight.list_ctx() == [mx.cpu(1)]
        net.to("float16", device="cpu(0)")
        assert (net.hidden.weight.dtype, net.hidden.weight.list_ctx()) == (np.float16, [mx.cpu(0)])
        assert net.to(dtype=np.float32).hidden.weight.dtype == np.float32
        for word, dtype in [("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32")]:
            assert str(getattr(net, word)().hidden.weight.dtype) == dtype

    def test_requires_grad(self, net):
        assert net.requires_grad_(False) is net
        assert {p.grad_req for p in net.parameters()} == {"null"}
        net.requires_grad_()
        assert {p.grad_req for p in net.parameters()} == {"write"}

    def test_add_module(self):
        block = gluon.Block()
        block.add_module("layer", Dense(1))
        assert isinstance(block.layer, Dense)


@pytest.mark.parametrize(
    "call",
    [
        lambda net: net.hybridize(),
        lambda net: net.save("x"),
        lambda net: net.load("x"),
        lambda net: net.register_op_hook(print),
    ],
)
def test_what_waits_for_compiling_says_so(call, net):
    with pytest.raises(UnsupportedError, match="compil"):
        call(net)
    net.hybridize(False)


def test_text(net):
    assert repr(net) == "Net(\n  (hidden): Dense()\n  (scale): Scale()\n  (output): Dense()\n)"


def test_no_warnings_in_ordinary_use(net):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(net)
        net.collect_params()
