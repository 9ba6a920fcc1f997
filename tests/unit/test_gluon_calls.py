"""Calls of blocks: hooks, modes, and errors that say where."""

import numpy as np
import pytest
from unit.gluon_layers import Dense, Net

from gluonish import autograd, gluon, nd
from gluonish.errors import MXNetError, ShapeError
from gluonish.gluon import nn


@pytest.fixture
def net():
    made = Net(prefix="net_")
    made.initialize()
    return made


def run(block, x=None):
    return block(nd.ones((2, 3)) if x is None else x)


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

    @pytest.mark.parametrize(
        ("returned", "message"),
        [
            (nd.ones(1), r"a gradient of shape \(1,\) for input 0, whose gradient has shape \(2, 3\)"),
            ((None, None), "returned 2 gradients, but the block has 1 inputs"),
            (3, "must return arrays or None, got int"),
            ((3,), "must return arrays or None"),
        ],
    )
    def test_what_does_not_fit(self, returned, message):
        block = nn.Sequential(prefix="net_")
        block.add(nn.Identity())
        block[0].register_backward_hook(lambda *_: returned)
        x = nd.ones((2, 3))
        x.attach_grad()
        with autograd.record():
            y = block(x)
        with pytest.raises(ValueError, match=rf"net\.0 \(Identity\).*{message}"):
            y.backward()


@pytest.mark.parametrize("method", ["register_forward_hook", "register_forward_pre_hook", "register_backward_hook"])
def test_hooks_are_functions(net, method):
    with pytest.raises(TypeError, match=rf"net \(Net\): {method}: a hook must be a function, got 3"):
        getattr(net, method)(3)
    run(net)


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

    def test_a_child_of_two_names(self, queued):
        class Root(gluon.Block):
            def forward(self, x):
                return nd.linalg.potrf(x)

        root = Root()
        block = nn.Sequential(prefix="net_")
        block.left = block.right = root
        with pytest.raises(MXNetError, match=r"in block net\.left or net\.right \(Root\)"):
            root(nd.ones(3))
        block.encoder = nn.Sequential()
        block.encoder.root = root
        y = root(nd.array([[1, 2], [2, 1]]))
        places = r"in block net\.left or net\.right or net\.encoder\.root \(Root\)"
        with pytest.raises(MXNetError, match=places):
            y.asnumpy()
        del block.left, block.right
        block.encoder = block.encoder  # it looks again
        with pytest.raises(MXNetError, match=r"in block net\.encoder\.root \(Root\)"):
            block.encoder(nd.ones(3))
        with pytest.raises(MXNetError, match=r"in block net\.encoder\.root \(Root\)"):
            root(nd.ones(3))

    def test_blocks_that_are_gone_are_no_places(self):
        child = Dense(4, in_units=4)
        child.initialize()
        for _ in range(3):
            nn.Sequential().add(child)
        with pytest.raises(ShapeError, match=r"in block sequential\.0 \(Dense\)"):
            run(child)
        nn.Sequential(prefix="last_").add(child)
        assert len(child._gluonish.holders) == 1

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

    def test_an_exception_that_is_raised_again(self):
        error, text = KeyError("broken"), MXNetError("broken")

        class Broken(gluon.Block):
            def forward(self, which):
                raise which

        for prefix in ("first_", "second_"):
            block = nn.Sequential(prefix=prefix)
            block.add(Broken())
            with pytest.raises(KeyError):
                block(error)
            with pytest.raises(MXNetError, match=r"^broken\n  in block first\.0 \(Broken\)$"):
                block(text)
        if hasattr(error, "add_note"):
            assert error.__notes__ == ["in block second.0 (Broken)"]

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
