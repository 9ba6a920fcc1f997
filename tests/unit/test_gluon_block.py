"""Blocks: attributes, children, buffers, calls, hooks, modes, errors, copies, torch's words."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.errors import ArgumentError, MXNetError, ShapeError, UnsupportedError
from gluonish.gluon import nn
from unit.gluon_layers import Dense, Net, Scale

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
        assert not block._saved()
        block.child = 5

    def test_missing(self):
        with pytest.raises(AttributeError, match="Block has no attribute 'nothing'"):
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
        with pytest.warns(UserWarning):
            block.collect_params()
        block.layers.pop(0)
        with pytest.warns(UserWarning):
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

    def test_one_name_for_two_parameters(self):
        block = gluon.Block()
        block.a, block.b = Dense(2, prefix="x_"), Dense(2, prefix="x_")
        with pytest.raises(AssertionError, match="two parameters are called 'x_weight'"):
            block.collect_params()

    def test_parameters_that_are_no_attributes(self):
        block = gluon.Block(prefix="b_")
        block.params.get("hidden", shape=(1,))
        assert [path for path, _ in block.named_parameters()] == ["hidden"]

    def test_blocks_that_hold_each_other(self):
        a, b = gluon.Block(prefix="a_"), gluon.Block(prefix="b_")
        a.b = b
        a.again = b
        assert len(list(a.modules())) == 2


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
        assert "steps" in net._saved()
        assert "cache" not in net._saved()

    def test_on_several_devices(self):
        block = gluon.Block()
        block.register_buffer("steps", [1.0])
        block.initialize(ctx=TWO)
        with mx.cpu(1):
            assert block.steps.ctx == mx.cpu(1)
        block.steps = [3.0]
        assert [copy.item() for copy in block._buffers["steps"].list_data()] == [3, 3]

    def test_shape_is_kept(self):
        block = gluon.Block()
        block.register_buffer("steps", [1.0])
        with pytest.raises(AssertionError, match="does not fit"):
            block.steps = [1.0, 2.0]

    def test_names_that_are_taken(self, net):
        for name in ("hidden", "forward", "not a name"):
            with pytest.raises(ArgumentError, match=name):
                net.register_buffer(name, [1])
        net.register_buffer("steps", [1])
        net.register_buffer("steps", [[2]])
        assert net.steps.shape == (1, 1)

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


class TestCalls:
    def test_positional_only(self, net):
        with pytest.raises(TypeError):
            net(x=nd.ones((2, 3)))

    def test_no_forward(self):
        with pytest.raises(NotImplementedError, match="define forward"):
            gluon.Block()(1)

    def test_values(self):
        layer = Dense(2, in_units=3)
        layer.initialize()
        x = np.random.randn(4, 3).astype("float32")
        expected = x @ layer.weight.data().asnumpy().T
        np.testing.assert_allclose(layer(nd.array(x)).asnumpy(), expected, rtol=1e-5, atol=1e-6)

    def test_not_initialized(self):
        with pytest.raises(RuntimeError, match=r"'n_dense0_weight' has not been initialized.*\n.*n\.hidden \(Dense\)"):
            run(Net(prefix="n_"))


class TestForwardHooks:
    def test_order_and_arguments(self, net):
        seen = []
        before = net.register_forward_pre_hook(lambda block, inputs: seen.append(("before", block, inputs)))
        after = net.register_forward_hook(lambda block, inputs, output: seen.append(("after", block, inputs, output)))
        x = nd.ones((2, 3))
        y = net(x)
        assert [s[0] for s in seen] == ["before", "after"]
        assert seen[0][1] is seen[1][1] is net
        assert seen[0][2][0] is x
        assert seen[1][3] is y
        before.detach()
        after.remove()
        after.detach()
        net(x)
        assert len(seen) == 2

    def test_a_handle_is_a_scope(self, net):
        calls = []
        with net.hidden.register_forward_hook(lambda *_: calls.append(1)):
            run(net)
        run(net)
        assert calls == [1]

    def test_what_a_hook_returns_does_not_matter(self, net):
        expected = run(net).tolist()
        net.register_forward_hook(lambda *_: 5)
        assert run(net).tolist() == expected

    def test_a_hook_that_removes_itself(self, net):
        handle = net.register_forward_hook(lambda *_: handle.detach())
        run(net)
        run(net)


class TestBackwardHooks:
    def test_gradients_of_inputs_and_outputs(self):
        layer = Dense(2, in_units=3, use_bias=False)
        layer.initialize()
        seen = []
        layer.register_backward_hook(lambda *given: seen.append(given))
        x = nd.random.normal(shape=(4, 3))
        x.attach_grad()
        head = nd.random.normal(shape=(4, 2))
        with autograd.record():
            y = layer(x) * 2
            other = x * 3  # does not belong to the layer
        autograd.backward([y, other], [head, None])
        ((block, inputs, outputs),) = seen
        weight = layer.weight.data().asnumpy()
        assert block is layer
        np.testing.assert_allclose(outputs[0].asnumpy(), 2 * head.asnumpy(), rtol=1e-6)
        np.testing.assert_allclose(inputs[0].asnumpy(), 2 * head.asnumpy() @ weight, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(x.grad.asnumpy(), inputs[0].asnumpy() + 3, rtol=1e-4, atol=1e-5)

    def test_replaced(self):
        block = nn.Identity()
        block.register_backward_hook(lambda block, inputs, outputs: (inputs[0] * 10,))
        x = nd.ones(2)
        x.attach_grad()
        with autograd.record():
            y = block(x)
        y.backward()
        assert x.grad.tolist() == [10, 10]

    def test_inputs_without_gradients(self):
        layer = Dense(2, in_units=3)
        layer.initialize()
        seen = []
        handle = layer.register_backward_hook(lambda block, inputs, outputs: seen.append((inputs, outputs)))
        with autograd.record():
            y = run(layer)
        y.backward()
        ((inputs, outputs),) = seen
        assert inputs == (None,)
        assert outputs[0].tolist() == [[1, 1], [1, 1]]
        assert layer.bias.grad().tolist() == [2, 2]
        run(layer)  # not recorded
        handle.detach()
        assert len(seen) == 1

    def test_several_outputs(self):
        class Both(gluon.Block):
            def forward(self, x, y):
                return x * 2, [y * 3]

        block, seen = Both(), []
        block.register_backward_hook(lambda *given: seen.append(given))
        x, y = nd.ones(1), nd.ones(1)
        x.attach_grad()
        y.attach_grad()
        with autograd.record():
            a, (b,) = block(x, y)
            loss = a * 5 + b * 7
        loss.backward()
        ((_, inputs, outputs),) = seen
        assert [g.item() for g in outputs] == [5, 7]
        assert [g.item() for g in inputs] == [10, 21]


class TestModes:
    class Mode(gluon.Block):
        def forward(self, _):
            return autograd.is_training()

    def test_eval_pins_until_train(self):
        block = nn.Sequential()
        block.add(self.Mode())
        assert block.eval() is block
        with autograd.record():
            assert block(1) is False
            assert autograd.is_training()
            assert block[0](1) is False
        assert block.training is False
        assert block.train() is block
        assert block(1) is False  # as outside of record()
        with autograd.record():
            assert block(1) is True
            assert block.training is True

    def test_children_of_their_own(self):
        block = nn.Sequential()
        block.add(self.Mode(), self.Mode())
        block[0].eval()
        with autograd.train_mode():
            assert block[0](1) is False
            assert block[1](1) is True

    def test_the_mode_comes_back_after_an_error(self):
        class Broken(gluon.Block):
            def forward(self, _):
                raise KeyError("broken")

        block = Broken().eval()
        with autograd.train_mode():
            with pytest.raises(KeyError):
                block(1)
            assert autograd.is_training()


class TestErrors:
    def test_the_path_of_the_block(self):
        class Outer(gluon.HybridBlock):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                self.features = nn.HybridSequential()
                self.features.add(Dense(4, in_units=3), Dense(4, in_units=5))

            def forward(self, x):
                return self.features(x)

        block = Outer()
        block.initialize()
        with pytest.raises(ShapeError, match=r"in block outer\.features\.1 \(Dense\)$") as e:
            run(block)
        assert str(e.value).count("in block") == 1
        with pytest.raises(ShapeError, match=r"in block outer\.features\.1 \(Dense\)$"):
            block.features[1](nd.ones((2, 3)))

    def test_a_child_that_is_used_twice(self):
        child = Dense(4, in_units=4)
        child.initialize()
        block = nn.Sequential(prefix="net_")
        block.add(child)
        other = nn.Sequential(prefix="other_")
        other.inner = child
        with pytest.raises(ShapeError, match=r"in block net\.0 \(Dense\)"):
            run(block)

    def test_errors_of_others_get_a_note(self):
        class Broken(gluon.Block):
            def forward(self, _):
                raise KeyError("broken")

        block = nn.Sequential(prefix="net_")
        block.add(Broken())
        with pytest.raises(KeyError, match="broken") as e:
            block(1)
        if hasattr(e.value, "add_note"):
            assert e.value.__notes__ == ["in block net.0 (Broken)"]
        assert e.value.args == ("broken",)

    def test_of_work_that_runs_later(self, queued):
        class Root(gluon.Block):
            def forward(self, x):
                return nd.linalg.potrf(x)

        block = nn.Sequential(prefix="net_")
        block.add(Root())
        y = block(nd.array([[1, 2], [2, 1]]))
        with pytest.raises(MXNetError, match=r"in block net\.0 \(Root\)"):
            y.asnumpy()

    def test_the_type_stays_and_so_do_files(self):
        class Loading(gluon.Block):
            def forward(self, x):
                return nd.load("/nowhere/at/all")

        with pytest.raises(FileNotFoundError, match="nowhere"):
            Loading()(1)


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
