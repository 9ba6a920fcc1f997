"""Recurrent layers against NumPy and against their cells: layouts, directions, lengths, states, parameters, devices."""

import copy
import pickle

import numpy as np
import pytest
from unit.recurrent_reference import network

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ShapeError
from gluonish.gluon import rnn

STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6
RNG = np.random.default_rng(2)
# A constructor, and its mode in the reference.
KINDS = {
    "rnn_relu": (lambda **how: rnn.RNN(HIDDEN, **how), "relu"),
    "rnn_tanh": (lambda **how: rnn.RNN(HIDDEN, activation="tanh", **how), "tanh"),
    "lstm": (lambda **how: rnn.LSTM(HIDDEN, **how), "lstm"),
    "gru": (lambda **how: rnn.GRU(HIDDEN, **how), "gru"),
}
STACKS = [(1, False), (1, True), (3, False), (2, True)]


def built(kind, dtype="float64", ctx=None, **how):
    """A layer with random parameters, all of them, also the biases."""
    layer = KINDS[kind][0](dtype=dtype, input_size=WIDTH, **how)
    layer.initialize(ctx=ctx)
    for parameter in layer.collect_params().values():
        parameter.set_data(nd.array(RNG.normal(size=parameter.shape) * 0.4, dtype=dtype))
    return layer


def weights_of(layer, layers, bidirectional):
    """The parameters, by layer and direction."""
    named = {name: p.data(p.list_ctx()[0]).asnumpy() for name, p in layer.named_parameters()}
    return {
        (i, d): {n.partition("_")[2]: v for n, v in named.items() if n.startswith(f"{side}{i}_")}
        for i in range(layers)
        for d, side in enumerate("lr"[: 1 + bidirectional])
    }


def some_input():
    return RNG.normal(size=(STEPS, BATCH, WIDTH))


def some_states(layer):
    return [RNG.normal(size=info["shape"]) for info in layer.state_info(BATCH)]


def arrays(values):
    return [nd.array(v, dtype="float64") for v in values]


def check(layer, kind, layers, bidirectional, lengths=None, clip=None, layout="TNC"):
    x, states = some_input(), some_states(layer)
    given = nd.array(x if layout == "TNC" else x.swapaxes(0, 1), dtype="float64")
    extra = [] if lengths is None else [nd.array(lengths)]
    y, new = layer(given, arrays(states), *extra)
    weights = weights_of(layer, layers, bidirectional)
    want, last = network(KINDS[kind][1], x, states, weights, layers, 1 + bidirectional, lengths, clip)
    got = y.asnumpy() if layout == "TNC" else y.asnumpy().swapaxes(0, 1)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert len(new) == len(last) == len(layer.state_info())
    for a, b in zip(new, last, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("layers", "bidirectional"), STACKS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_values(kind, layers, bidirectional, layout):
    layer = built(kind, num_layers=layers, bidirectional=bidirectional, layout=layout)
    check(layer, kind, layers, bidirectional, layout=layout)


@pytest.mark.parametrize(("layers", "bidirectional"), STACKS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[5, 2, 4], [0, 1, 5]])
def test_lengths(kind, layers, bidirectional, lengths):
    layer = built(kind, num_layers=layers, bidirectional=bidirectional, use_sequence_length=True)
    check(layer, kind, layers, bidirectional, lengths)


@pytest.mark.parametrize(("kind", "projection_size"), [*((kind, None) for kind in KINDS), ("lstm", 2)])
def test_what_stands_behind_the_end_of_a_sequence_does_not_count(kind, projection_size):
    how = {"projection_size": projection_size} if projection_size else {}
    layer = built(kind, num_layers=2, bidirectional=True, use_sequence_length=True, **how)
    x = some_input()
    lengths, gradients = nd.array([5, 2, 4]), []
    for behind in (0.0, np.nan):
        x[2:, 1] = x[4:, 2] = behind
        with mx.autograd.record():
            y = layer(nd.array(x, dtype="float64"), sequence_length=lengths)
        y.backward()
        gradients.append([p.grad().asnumpy() for p in layer.collect_params().values()])
    for clean, given in zip(*gradients, strict=True):
        np.testing.assert_array_equal(clean, given)


@pytest.mark.parametrize(("layers", "bidirectional"), STACKS)
def test_projections(layers, bidirectional):
    layer = built("lstm", num_layers=layers, bidirectional=bidirectional, projection_size=2)
    assert layer.l0_h2r_weight.shape == (2, HIDDEN)
    assert [info["shape"][2] for info in layer.state_info()] == [2, HIDDEN]
    check(layer, "lstm", layers, bidirectional)


def test_bounds_of_cells():
    layer = built("lstm", num_layers=2, state_clip_min=-0.3, state_clip_max=0.2)
    check(layer, "lstm", 2, False, clip=(-0.3, 0.2))
    layer = built("lstm", state_clip_min=-1, state_clip_max=1, state_clip_nan=True)
    h, c = some_states(layer)
    c[0, 0, 0] = np.nan
    _, (_, new) = layer(nd.array(some_input(), dtype="float64"), arrays([h, c]))
    assert np.isfinite(new.asnumpy()).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_output_alone(kind):
    layer = built(kind, bidirectional=True)
    x = nd.array(some_input(), dtype="float64")
    y, states = layer(x, layer.begin_state(BATCH))
    np.testing.assert_array_equal(layer(x).asnumpy(), y.asnumpy())
    if kind != "lstm":  # one state need not be in a list
        np.testing.assert_array_equal(layer(x, states[0])[0].asnumpy(), layer(x, states)[0].asnumpy())
    np.testing.assert_array_equal(layer(x, states=states)[0].asnumpy(), layer(x, states)[0].asnumpy())


@pytest.mark.parametrize("how", [{}, {"bidirectional": True, "num_layers": 2}, {"projection_size": 2}])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind, how):
    if "projection_size" in how and kind != "lstm":
        how = {"use_sequence_length": True}
    layer = built(kind, **how)
    x, states = nd.array(some_input(), dtype="float64"), arrays(some_states(layer))
    extra = [nd.array([5, 2, 4])] if "use_sequence_length" in how else []
    heads = None

    def run():
        y, new = layer(x, states, *extra)
        return [y, *new]

    for v in (x, *states):
        v.attach_grad()
    with autograd.record():
        outputs = run()
    heads = arrays(RNG.normal(size=y.shape) for y in outputs)
    autograd.backward(outputs, heads)

    def total():
        return sum(float((y * h).sum().asscalar()) for y, h in zip(run(), heads, strict=True))

    variables = [(x, x.grad), *((s, s.grad) for s in states)]
    variables += [(p.data(), p.grad()) for p in layer.collect_params().values()]
    for value, gradient in variables:
        before, move = value.asnumpy(), RNG.normal(size=value.shape) * 1e-6
        ends = []
        for sign in (1, -1):
            value[:] = before + sign * move
            ends.append(total())
        value[:] = before
        assert float((gradient.asnumpy() * move).sum()) * 2 == pytest.approx(ends[0] - ends[1], rel=1e-5, abs=1e-11)


@pytest.mark.parametrize(("layers", "bidirectional"), STACKS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_cells_of_a_layer_are_the_same_network(kind, layers, bidirectional):
    layer = built(kind, num_layers=layers, bidirectional=bidirectional, layout="NTC", dropout=0.3)
    cells = layer._unfuse()
    x = nd.array(some_input().swapaxes(0, 1), dtype="float64")
    y, states = layer(x, layer.begin_state(BATCH))
    outputs, after = cells.unroll(STEPS, x, merge_outputs=True)
    np.testing.assert_allclose(outputs.asnumpy(), y.asnumpy(), rtol=1e-10)
    count = len(states)
    for k, state in enumerate(states):
        np.testing.assert_allclose(np.stack([s.asnumpy() for s in after[k::count]]), state.asnumpy(), rtol=1e-10)
    assert {id(p) for p in cells.collect_params().values()} == {id(p) for p in layer.collect_params().values()}
    gradients = []
    for net in (lambda: layer(x), lambda: cells.unroll(STEPS, x, merge_outputs=True)[0]):
        with autograd.record(train_mode=False):
            y = net()
        y.backward()
        gradients.append([p.grad().asnumpy() for p in layer.collect_params().values()])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", [{"projection_size": 2}, {"state_clip_min": -1, "state_clip_max": 1}])
def test_what_no_cell_does(how):
    with pytest.raises(ValueError, match="no cells with a projection"):
        built("lstm", **how)._unfuse()


class TestParameters:
    def test_names_and_shapes(self):
        layer = rnn.LSTM(HIDDEN, 2, bidirectional=True, input_size=WIDTH, prefix="lstm_")
        rows = 4 * HIDDEN
        want = {}
        for side in ("l", "r"):
            for i, width in ((0, WIDTH), (1, 2 * HIDDEN)):
                want[f"lstm_{side}{i}_i2h_weight"] = (rows, width)
                want[f"lstm_{side}{i}_h2h_weight"] = (rows, HIDDEN)
                want[f"lstm_{side}{i}_i2h_bias"] = want[f"lstm_{side}{i}_h2h_bias"] = (rows,)
        assert {name: p.shape for name, p in layer.collect_params().items()} == want
        assert next(iter(layer.collect_params())) == "lstm_l0_i2h_weight"

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_first_call_tells_the_width(self, kind):
        layer = KINDS[kind][0](bidirectional=True)
        layer.initialize()
        assert layer.l0_i2h_weight.shape[1] == layer.r0_i2h_weight.shape[1] == 0
        assert "None -> 6" in repr(layer)
        assert layer(nd.ones((2, 3, 7))).shape == (2, 3, 2 * HIDDEN)
        assert layer.l0_i2h_weight.shape[1] == layer.r0_i2h_weight.shape[1] == 7
        with pytest.raises(ShapeError, match=r"inputs of shape \(2, 3, 8\) have the width 8, but the layer's is 7"):
            layer(nd.ones((2, 3, 8)))

    def test_initializers(self):
        layer = rnn.LSTM(
            HIDDEN,
            input_size=WIDTH,
            projection_size=2,
            i2h_weight_initializer="ones",
            h2h_weight_initializer="zeros",
            h2r_weight_initializer="ones",
            i2h_bias_initializer=mx.init.LSTMBias(3),
            h2h_bias_initializer=mx.init.Constant(2),
        )
        layer.initialize()
        parts = {name: np.unique(p.data().asnumpy()).tolist() for name, p in layer.named_parameters()}
        assert parts == {
            "l0_i2h_weight": [1],
            "l0_h2h_weight": [0],
            "l0_h2r_weight": [1],
            "l0_i2h_bias": [0, 3],
            "l0_h2h_bias": [2],
        }
        forget = layer.l0_i2h_bias.data().asnumpy()[HIDDEN : 2 * HIDDEN]
        assert set(forget) == {3}

    @pytest.mark.parametrize("suffix", [".safetensors", ".params", ".npz"])
    def test_save_and_load(self, tmp_path, suffix):
        layer = built("gru", bidirectional=True, num_layers=2)
        layer.save_parameters(tmp_path / f"layer{suffix}")
        other = KINDS["gru"][0](dtype="float64", bidirectional=True, num_layers=2)
        other.load_parameters(tmp_path / f"layer{suffix}")
        x = nd.array(some_input(), dtype="float64")
        np.testing.assert_array_equal(other(x).asnumpy(), layer(x).asnumpy())

    @pytest.mark.parametrize("kind", KINDS)
    def test_copies(self, kind):
        layer = built(kind, bidirectional=True)
        x = nd.array(some_input(), dtype="float64")
        want = layer(x).asnumpy()
        for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            np.testing.assert_array_equal(other(x).asnumpy(), want)
            other.l0_i2h_weight.set_data(nd.zeros(other.l0_i2h_weight.shape, dtype="float64"))
            assert not np.array_equal(other(x).asnumpy(), want)
        np.testing.assert_array_equal(layer(x).asnumpy(), want)

    def test_sharing(self):
        one = built("gru", prefix="one_")
        two = rnn.GRU(HIDDEN, input_size=WIDTH, dtype="float64", prefix="two_", params=one.params)
        x = nd.array(some_input(), dtype="float64")
        np.testing.assert_array_equal(two(x).asnumpy(), one(x).asnumpy())

    def test_cast(self):
        layer = built("lstm", "float32")
        layer.cast("float16")
        assert {str(s.dtype) for s in layer.begin_state(2)} == {"float16"}
        assert layer(nd.ones((2, 3, WIDTH), dtype="float16")).dtype == np.float16

    @pytest.mark.parametrize("kind", KINDS)
    def test_two_devices(self, kind):
        layer = built(kind, ctx=[mx.cpu(0), mx.cpu(1)], num_layers=2)
        x = some_input()
        outputs = []
        for ctx in (mx.cpu(0), mx.cpu(1)):
            with autograd.record():
                y = layer(nd.array(x, dtype="float64", ctx=ctx))
            y.backward()
            assert y.context == ctx
            outputs.append(y.asnumpy())
        np.testing.assert_array_equal(*outputs)
        for p in layer.collect_params().values():
            np.testing.assert_array_equal(*(g.asnumpy() for g in p.list_grad()))


class TestStates:
    def test_information(self):
        assert rnn.GRU(HIDDEN, 2).state_info(3) == [{"shape": (2, 3, 6), "__layout__": "LNC", "dtype": "float32"}]
        shapes = [i["shape"] for i in rnn.LSTM(HIDDEN, 2, bidirectional=True, projection_size=5).state_info(3)]
        assert shapes == [(4, 3, 5), (4, 3, 6)]

    def test_begin(self):
        layer = rnn.LSTM(HIDDEN, dtype="float64")
        states = layer.begin_state(batch_size=2)
        assert [(s.shape, str(s.dtype), s.asnumpy().any()) for s in states] == [((1, 2, 6), "float64", False)] * 2
        ones = layer.begin_state(batch_size=2, func=nd.ones, ctx=mx.cpu(1), dtype="float32")
        assert [(s.context, str(s.dtype), s.asnumpy().all()) for s in ones] == [(mx.cpu(1), "float32", True)] * 2
        drawn = layer.begin_state(batch_size=2, func=nd.random.uniform, low=1, high=2)
        assert all((s.asnumpy() >= 1).all() for s in drawn)

    def test_of_another_shape(self):
        layer = built("lstm")
        x = nd.array(some_input(), dtype="float64")
        with pytest.raises(ValueError, match=r"state of shape \(1, 2, 6\) does not fit: \(1, 3, 6\) is needed"):
            layer(x, layer.begin_state(batch_size=2))
        with pytest.raises(ValueError, match="states must be a list of 2, got 1"):
            layer(x, layer.begin_state(batch_size=3)[:1])

    def test_they_carry_on(self):
        """Two halves of a sequence are the whole."""
        layer = built("lstm", num_layers=2)
        x = nd.array(some_input(), dtype="float64")
        y, last = layer(x, layer.begin_state(BATCH))
        first, states = layer(x[:2], layer.begin_state(BATCH))
        second, states = layer(x[2:], states)
        np.testing.assert_allclose(nd.concat(first, second, dim=0).asnumpy(), y.asnumpy(), rtol=1e-12)
        np.testing.assert_allclose(states[1].asnumpy(), last[1].asnumpy(), rtol=1e-12)


class TestDropout:
    def test_in_training_alone_and_between_layers_alone(self):
        layer = built("lstm", num_layers=2, dropout=0.5)
        x = nd.array(some_input(), dtype="float64")
        plain = layer(x).asnumpy()
        np.testing.assert_array_equal(layer(x).asnumpy(), plain)
        with autograd.train_mode():
            first, second = layer(x).asnumpy(), layer(x).asnumpy()
        assert not np.array_equal(first, plain)
        assert not np.array_equal(first, second)
        single = built("lstm", dropout=0.5)
        with autograd.train_mode():
            first = single(x).asnumpy()
        np.testing.assert_array_equal(first, single(x).asnumpy())


class TestErrors:
    @pytest.mark.parametrize(
        ("make", "kind", "says"),
        [
            (lambda: rnn.LSTM(4, layout="NCT"), AssertionError, "layout='NCT' must be 'TNC' or 'NTC'"),
            (lambda: rnn.RNN(4, activation="sigmoid"), ValueError, "activation='sigmoid' must be 'relu' or 'tanh'"),
            (lambda: rnn.GRU(0), ValueError, "hidden_size=0"),
            (lambda: rnn.GRU(4, num_layers=0), ValueError, "num_layers=0"),
            (lambda: rnn.GRU(4, dropout=2), ValueError, "dropout=2 must be from 0 to 1"),
            (lambda: rnn.LSTM(4, state_clip_min=1), ValueError, "state_clip_min=1, state_clip_max=None"),
            (lambda: rnn.LSTM(4, state_clip_nan=True), ValueError, "both bounds are needed"),
            (lambda: rnn.LSTM(4, projection_size=-1), ValueError, "projection_size=-1 must be a whole number"),
            (lambda: rnn.LSTM(4, projection_size=0.0), ValueError, "projection_size=0.0 must be a whole number"),
            (lambda: rnn.GRU(3.5), ValueError, "GRU: hidden_size=3.5 must be a whole number"),
            (lambda: rnn.RNN(4, num_layers=1.5), ValueError, "num_layers=1.5 must be a whole number"),
            (lambda: rnn.GRU(4, input_size="3"), ValueError, "input_size='3' must be a whole number, at least 0"),
            (lambda: rnn.LSTM(4, num_layers=10**30), ValueError, f"num_layers={10**30} is more than an axis can have"),
            (lambda: rnn.LSTMCell(3.5), ValueError, "LSTMCell: hidden_size=3.5 must be a whole number"),
            (lambda: rnn.GRU(4, projection_size=3), TypeError, "projection_size"),
        ],
    )
    def test_arguments(self, make, kind, says):
        with pytest.raises(kind, match=says):
            make()

    def test_inputs(self):
        layer = rnn.LSTM(4, layout="NTC")
        layer.initialize()
        for shape in [(2, 3), (2, 3, 4, 5)]:
            with pytest.raises(ShapeError, match=r"LSTM: inputs of shape .* must be \(batch, steps, width\)"):
                layer(nd.ones(shape))
        layer(nd.ones((2, 3, 4)))
        with pytest.raises(ShapeError, match=r"LSTM: inputs of shape .* must be \(batch, steps, width\)"):
            layer(nd.ones((2, 3)))
        with pytest.raises(ShapeError, match="at least one step"):
            layer(nd.ones((2, 0, 4)))

    def test_lengths(self):
        with pytest.raises(ValueError, match=r"sequence_length is given, .* use_sequence_length=False"):
            built("gru")(nd.ones((2, 3, WIDTH)), sequence_length=nd.ones(3))
        layer = built("gru", "float32", use_sequence_length=True)
        with pytest.raises(ValueError, match=r"sequence_length is not given, .* use_sequence_length=True"):
            layer(nd.ones((2, 3, WIDTH)))
        with pytest.raises(ShapeError, match=r"sequence_length must have shape \(3,\)"):
            layer(nd.ones((2, 3, WIDTH)), None, nd.ones(2))
        with pytest.raises(mx.MXNetError, match="sequence_length holds 3"):
            layer(nd.ones((2, 3, WIDTH)), None, nd.array([1, 3, 2])).asnumpy()

    def test_before_initialize(self):
        with pytest.raises(RuntimeError, match="initialize"):
            rnn.GRU(4)(nd.ones((2, 3, 4)))


def test_an_empty_batch():
    layer = built("lstm", "float32", bidirectional=True)
    with autograd.record():
        y, (h, c) = layer(nd.ones((2, 0, WIDTH)), layer.begin_state(0))
    y.backward()
    assert (y.shape, h.shape, c.shape) == ((2, 0, 12), (2, 0, 6), (2, 0, 6))
    assert not layer.l0_i2h_weight.grad().asnumpy().any()


def test_text():
    assert repr(rnn.LSTM(4, 2, dropout=0.5, bidirectional=True, input_size=3)) == (
        "LSTM(3 -> 4, TNC, num_layers=2, dropout=0.5, bidirectional)"
    )
    assert repr(rnn.RNN(4, layout="NTC")) == "RNN(None -> 4, NTC)"


def test_hooks_see_what_was_given():
    layer = built("gru")
    seen = []
    layer.register_forward_hook(lambda block, inputs, output: seen.append((len(inputs), type(output))))
    x = nd.array(some_input(), dtype="float64")
    layer(x)
    layer(x, layer.begin_state(BATCH))
    assert seen == [(1, type(x)), (2, tuple)]


def test_inside_of_a_network():
    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="net_")
            with self.name_scope():
                self.rnn = rnn.GRU(4)

        def hybrid_forward(self, F, x):
            return F.sum(self.rnn(x))

    net = Net()
    net.initialize()
    assert net(nd.ones((3, 2, 5))).shape == ()
    assert next(iter(net.collect_params())) == "net_gru0_l0_i2h_weight"
