"""Hybrid blocks: both forms, shapes that the first forward tells, what is not built."""

import numpy as np
import pytest
from unit.gluon_layers import Dense, Scale

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.errors import ArgumentError, ShapeError, UnsupportedError
from gluonish.gluon import DeferredInitializationError, nn

TWO = [mx.cpu(0), mx.cpu(1)]


def hybrid(function, shape=(0,), **kwargs):
    """A block with one parameter of a shape, whose hybrid_forward is a function of F, x and that."""

    class One(gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="one_")
            self.weight = self.params.get("weight", shape=shape, allow_deferred_init=True, init="ones", **kwargs)

        def hybrid_forward(self, F, x, weight):
            return function(F, x, weight)

    made = One()
    made.initialize()
    return made


class TestBothForms:
    def test_parameters_arrive_as_keywords_and_f_is_nd(self):
        seen = {}

        class Layer(gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                self.gain = self.params.get("gain", shape=(2,), init="ones")
                self.child = nn.Identity()

            def hybrid_forward(self, F, x, *args, **params):
                seen.update(F=F, args=args, params=params)
                return x

        layer = Layer()
        layer.initialize()
        layer(nd.ones(2), 5)
        layer(nd.ones(2), 5)
        assert seen["F"] is nd
        assert seen["args"] == (5,)
        assert list(seen["params"]) == ["gain"]
        assert seen["params"]["gain"] is layer.gain.data()

    def test_forward_with_data(self):
        layer = Scale()
        layer.initialize(mx.init.Constant(3))
        assert layer(nd.ones((2, 3))).tolist() == [[1] * 3] * 2  # its own initializer is "ones"
        assert layer.factor.shape == (3,)

    def test_neither(self):
        with pytest.raises(NotImplementedError, match="define hybrid_forward"):
            gluon.HybridBlock()(nd.ones(1))

    def test_no_array_is_a_valueerror(self):
        layer = Dense(1)
        layer.initialize()
        for given in (5, None, [1.0], np.ones((2, 3), "float32")):
            with pytest.raises(ValueError, match="NDArray is needed"):
                layer(given)

    def test_arrays_in_lists(self):
        class Sum(gluon.HybridBlock):
            def hybrid_forward(self, F, arrays, factor):
                return F.add_n(*arrays) * factor

        assert Sum()([nd.ones(2), nd.ones(2)], 3).tolist() == [6, 6]

    def test_non_hybrid_children_are_a_valueerror(self):
        block = gluon.HybridBlock()
        with pytest.raises(ValueError, match="children of a HybridBlock must be HybridBlocks, but child is a Block"):
            block.child = gluon.Block()
        with pytest.raises(ValueError, match="Sequential"):
            nn.HybridSequential().add(nn.Sequential())
        assert not block._children

    def test_the_inputs_device_is_current(self):
        class Where(gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                return F.zeros((1,)) + x

        assert Where()(nd.ones(1, ctx=mx.cpu(1))).ctx == mx.cpu(1)
        assert mx.current_context() == mx.cpu(0)

    def test_an_input_elsewhere_names_both_devices(self):
        layer = Dense(1, in_units=2)
        layer.initialize()
        with pytest.raises(RuntimeError, match=r"not initialized on context cpu\(1\), only on cpu\(0\)"):
            layer(nd.ones((1, 2), ctx=mx.cpu(1)))


class TestDeferred:
    @pytest.mark.parametrize("ctx", [None, TWO])
    def test_first_forward_tells_and_initializes(self, ctx):
        layer = Dense(4, prefix="d_")
        layer.initialize("ones", ctx=ctx)
        assert layer.weight.shape == (4, 0)
        with pytest.raises(DeferredInitializationError, match=r"'d_weight'.*dimension 1 of its shape \(4, 0\)"):
            layer.weight.data()
        y = layer(nd.ones((2, 3)))
        assert y.tolist() == [[3] * 4] * 2
        assert layer.weight.shape == (4, 3)
        assert len(layer.weight.list_data()) == (2 if ctx else 1)

    def test_the_first_forward_is_recorded_as_others(self):
        layer = Dense(2)
        layer.initialize("ones")
        x = nd.array([[1, 2, 3]])
        with autograd.record():
            y = layer(x)
        y.backward()
        assert layer.weight.grad().tolist() == [[1, 2, 3], [1, 2, 3]]

    def test_other_sizes_later(self):
        layer = Dense(2, prefix="d_")
        layer.initialize()
        layer(nd.ones((1, 3)))
        with pytest.raises(ShapeError, match=r"(?s)\(2, 4\).*\(2, 3\).*in block d \(Dense\)"):
            layer(nd.ones((1, 4)))

    def test_ops_by_keyword(self):
        block = hybrid(lambda F, x, w: F.FullyConnected(data=x, weight=w, num_hidden=2, no_bias=True), (2, 0))
        assert block(nd.ones((1, 3))).tolist() == [[3, 3]]

    def test_ops_of_several_parameters(self):
        class Norm(gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                for name, init in [("gamma", "ones"), ("beta", "zeros"), ("mean", "zeros"), ("var", "ones")]:
                    grad = "write" if name in ("gamma", "beta") else "null"
                    shape = {"shape": (0,), "allow_deferred_init": True}
                    setattr(self, name, self.params.get(name, init=init, grad_req=grad, **shape))

            def hybrid_forward(self, F, x, gamma, beta, mean, var):
                return F.BatchNorm(x, gamma, beta, mean, var, fix_gamma=False)

        norm = Norm()
        norm.initialize()
        x = np.random.randn(2, 3, 4, 4).astype("float32")
        np.testing.assert_allclose(norm(nd.array(x)).asnumpy(), x / np.sqrt(1 + 1e-3), rtol=1e-5)
        assert {p.shape for p in norm.collect_params().values()} == {(3,)}

    def test_a_parameter_that_is_used_again_after_it_is_known(self):
        block = hybrid(lambda F, x, w: F.dot(F.FullyConnected(x, w, num_hidden=2, no_bias=True), w), (2, 0))
        assert block(nd.ones((1, 3))).tolist() == [[6, 6, 6]]

    def test_operators_work_once_it_is_known(self):
        def forward(F, x, w):
            y = F.FullyConnected(x, w, num_hidden=2, no_bias=True)
            return (y + (2 * w).sum() + w.shape[1] - w[0, 0]) * F.stack(*[w, w]).size / len(w) + (w - w == 0).sum()

        block = hybrid(forward, (2, 0))
        first = block(nd.ones((1, 3))).tolist()
        assert first == block(nd.ones((1, 3))).tolist() == [[(3 + 12 + 3 - 1) * 12 / 2 + 6] * 2]

    def test_one_that_is_used_later(self):
        def forward(F, x, w):
            return F.FullyConnected(x, w, num_hidden=2, no_bias=True) if x.shape[0] > 1 else x

        block = hybrid(forward, (2, 0))
        for rows in (1, 1, 2, 1):
            assert block(nd.ones((rows, 3))).shape == (rows, 3 if rows == 1 else 2)
        assert block.weight.shape == (2, 3)

    def test_an_empty_batch_tells_it_too(self):
        layer = Dense(2)
        layer.initialize()
        assert layer(nd.zeros((0, 3))).shape == (0, 2)
        assert layer.weight.shape == (2, 3)

    def test_no_shape_at_all(self):
        block = hybrid(lambda F, x, w: F.FullyConnected(x, w, num_hidden=2, no_bias=True), None)
        assert block(nd.ones((1, 3))).tolist() == [[3, 3]]
        assert block.weight.shape == (2, 3)

    def test_lists_of_parameters(self):
        block = hybrid(lambda F, x, w: F.add_n([w, w]))
        with pytest.raises(DeferredInitializationError, match="one_weight"):
            block(nd.ones((1, 3)))

    def test_submodules_of_f(self):
        block = hybrid(lambda F, x, w: F.linalg.gemm2(x, F.identity(w)), (3, 2))
        assert block(nd.ones((1, 3))).tolist() == [[3, 3]]

    @pytest.mark.parametrize(
        ("function", "what"),
        [
            (lambda F, x, w: x * w, "operator"),
            (lambda F, x, w: w + 1, "operator"),
            (lambda F, x, w: w[0], "operator"),
            (lambda F, x, w: -w, "operator"),
            (lambda F, x, w: w == 0, "operator"),
            (lambda F, x, w: x + w.shape[0], "shape"),
            (lambda F, x, w: w.sum(), "sum"),
            (lambda F, x, w: F.dot(x, w), "F.dot cannot tell"),
            (lambda F, x, w: F.broadcast_mul(x, w), "F.broadcast_mul cannot tell"),
            (lambda F, x, w: F.moments(w, axes=(0,)), "F.moments"),
        ],
    )
    def test_what_cannot_tell_names_parameter_dimension_and_way_out(self, function, what):
        block = hybrid(function)
        with pytest.raises(DeferredInitializationError, match=r"'one_weight'.*dimension 0 of its shape \(0,\)") as e:
            block(nd.ones((2, 3)))
        assert what in str(e.value)
        assert "in block one (One)" in str(e.value)

    def test_wrong_input_at_the_first_forward_is_a_shape_error(self):
        def convolve(F, x, w):
            return F.Convolution(x, w, num_filter=4, kernel=(3, 3), no_bias=True)

        block = hybrid(convolve, (4, 0, 3, 3))
        with pytest.raises(ShapeError, match=r"data of shape \(2, 3\) must have 4 axes") as e:
            block(nd.ones((2, 3)))
        assert isinstance(e.value, DeferredInitializationError)
        assert block(nd.ones((1, 2, 5, 5))).shape == (1, 4, 3, 3)

    def test_known_part_that_does_not_fit(self):
        block = hybrid(lambda F, x, w: F.FullyConnected(x, w, num_hidden=2, no_bias=True), (3, 0))
        with pytest.raises(ShapeError, match=r"'one_weight' of shape \(2, 3\).*\(3, 0\)"):
            block(nd.ones((1, 3)))

    def test_set_data_before_the_first_forward(self):
        layer = Dense(2, use_bias=False)
        layer.initialize()
        layer.weight.set_data(nd.ones((2, 3)))
        assert layer(nd.ones((1, 3))).tolist() == [[3, 3]]

    def test_forward_without_infer_shape_says_what_to_define(self):
        class Plain(gluon.HybridBlock):
            def __init__(self):
                super().__init__(prefix="plain_")
                self.weight = gluon.Parameter(shape=(0,), allow_deferred_init=True)

            def forward(self, x):
                return x * self.weight.data()

        block = Plain()
        block.initialize()
        with pytest.raises(DeferredInitializationError, match=r"'plain_weight'.*define infer_shape"):
            block(nd.ones(3))
        block.weight.shape = (3,)
        assert block(nd.ones(3)).shape == (3,)

    def test_infer_shape_of_a_class_is_preferred(self):
        class Layer(Dense):
            def infer_shape(self, x):
                calls.append(x.shape)
                self.weight.shape = (self.units, x.shape[1])

        calls = []
        layer = Layer(2)
        layer.initialize()
        layer(nd.ones((1, 3)))
        layer(nd.ones((1, 3)))
        assert calls == [(1, 3)]

    def test_infer_shape_by_users(self):
        net = nn.HybridSequential()
        net.add(Dense(4), Dense(2))
        net.initialize()
        with autograd.record():
            net.infer_shape(nd.ones((1, 3)))
        assert [layer.weight.shape for layer in net] == [(4, 3), (2, 4)]

    def test_infer_shape_leaves_what_is_not_initialized(self):
        net = nn.HybridSequential()
        net.add(Dense(4), Scale(), Dense(2))
        net.infer_shape(nd.ones((1, 3), ctx=mx.cpu(1)))
        assert [layer.weight.shape for layer in (net[0], net[2])] == [(4, 3), (2, 4)]
        with pytest.raises(RuntimeError, match="has not been initialized"):
            net(nd.ones((1, 3)))
        net.initialize()
        assert net(nd.ones((1, 3))).shape == (1, 2)

    def test_shared_parameters(self):
        first = Dense(3)
        second = Dense(3, params=first.params)
        first.initialize()
        x = nd.ones((1, 3))
        assert second(x).tolist() == first(x).tolist()

    def test_a_new_parameter_is_prepared_too(self):
        layer = Scale()
        layer.initialize()
        layer(nd.ones(2))
        layer.factor = gluon.Parameter(shape=(0,), allow_deferred_init=True, init="ones")
        layer.initialize()
        assert layer(nd.ones(3)).shape == (3,)


@pytest.mark.parametrize(
    "call",
    [
        lambda block: block.hybridize(),
        lambda block: block.hybridize(static_alloc=True, something_else=1),
        lambda block: block.export("model"),
        lambda block: block.optimize_for(nd.ones((1, 3)), backend="MKLDNN"),
    ],
)
def test_compiling_says_that_it_is_not_built(call):
    with pytest.raises(UnsupportedError, match="compiling is not built yet"):
        call(Dense(1))


def test_hybridize_false_is_what_blocks_are():
    net = nn.HybridSequential()
    net.add(Dense(1))
    net.hybridize(False)
    net.hybridize(active=False)


def test_infer_type():
    with pytest.raises(UnsupportedError, match="cast"):
        Dense(1).infer_type(nd.ones(1))


def test_arguments_are_errors_of_the_package():
    with pytest.raises(ArgumentError):
        gluon.HybridBlock().register_child(3)


class Product(gluon.Block):
    """A plain block whose parameter has an unknown dimension."""

    def __init__(self):
        super().__init__()
        self.factor = gluon.Parameter(shape=(0,), init="ones", allow_deferred_init=True)

    def forward(self, x):
        return x * self.factor.data()


class TestPlainBlocks:
    def test_infer_shape_is_called(self):
        class Told(Product):
            def infer_shape(self, x):
                self.factor.shape = x.shape[-1:]

        block = Told()
        block.initialize()
        assert block(nd.ones((2, 3))).shape == (2, 3)
        assert block.factor.shape == (3,)

    def test_a_forward_may_do_it_itself(self):
        class ByItself(Product):
            def forward(self, x):
                if 0 in self.factor.shape:
                    self.factor.shape = x.shape[-1:]
                    self.factor._finish_deferred_init()
                return super().forward(x)

        block = ByItself()
        block.initialize()
        assert block(nd.ones((2, 3))).shape == (2, 3)

    def test_infer_shape_that_does_not(self):
        class Silent(Product):
            def infer_shape(self, x):
                self.calls = 1

        block = Silent()
        block.initialize()
        with pytest.raises(DeferredInitializationError, match="infer_shape of its block has not set it; give"):
            block(nd.ones((2, 3)))


class TestWhatToDo:
    """The error of values that are not there yet says what helps where it is raised."""

    def test_before_the_first_forward(self):
        layer = Dense(4)
        layer.initialize()
        with pytest.raises(DeferredInitializationError, match="no forward has used it yet: call the block that has it"):
            layer.weight.data()

    def test_in_a_forward(self):
        block = Product()
        block.initialize()
        text = r"a forward asks for it before.*define infer_shape\(self, x\).*\n  in block product \(Product\)"
        with pytest.raises(DeferredInitializationError, match=text):
            block(nd.ones((2, 3)))

    def test_where_the_call_did_not_use_it(self):
        block = gluon.Block()
        block.used, block.other = Dense(4), Dense(4)
        block.initialize()
        block.used(nd.ones((2, 3)))
        with pytest.raises(DeferredInitializationError, match="no forward has used it yet"):
            block.other.weight.data()

    def test_where_functions_cannot_tell(self):
        class Times(gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                self.factor = gluon.Parameter(shape=(0,), allow_deferred_init=True)

            def hybrid_forward(self, F, x, factor):
                return x * factor

        block = Times()
        block.initialize()
        with pytest.raises(DeferredInitializationError, match="cannot tell it") as e:
            block(nd.ones((2, 3)))
        assert "call the block" not in str(e.value)
