"""Cells of gluon.contrib: convolutions against loops in NumPy, projections against the layer, masks that stay."""

import copy
import itertools

import numpy as np
import pytest
from unit.recurrent_reference import sigmoid, step

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ShapeError
from gluonish.gluon import rnn
from gluonish.gluon.contrib import rnn as contrib

RNG = np.random.default_rng(4)
BATCH, STEPS = 2, 3
IMAGES = {1: (7,), 2: (5, 6), 3: (4, 3, 5)}
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
CONVOLUTIONAL = [(dims, kind) for dims in (1, 2, 3) for kind in ("RNN", "LSTM", "GRU")]


def array(values):
    return nd.array(values, dtype="float64")


def filled(cell):
    cell.initialize()
    cell.cast("float64")
    for parameter in cell.collect_params().values():
        parameter.set_data(array(RNG.normal(size=parameter.shape) * 0.4))
    return cell


def convolution(x, weight, bias, pad, dilate):
    """Of (batch, channels, ...) by (filters, channels, ...), one window after the other."""
    dims = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]])
    kernel = weight.shape[2:]
    size = [x.shape[2 + d] - dilate[d] * (kernel[d] - 1) for d in range(dims)]
    out = np.zeros((len(x), len(weight), *size))
    for at in itertools.product(*map(range, size)):
        window = x[(..., *[slice(at[d], at[d] + dilate[d] * (kernel[d] - 1) + 1, dilate[d]) for d in range(dims)])]
        out[(..., *at)] = np.tensordot(window, weight, (range(1, x.ndim), range(1, x.ndim))) + bias
    return out


def reference(kind, x, states, w, how):
    """A step; everything with the channels first."""
    i2h = convolution(x, w["i2h_weight"], w["i2h_bias"], how["i2h_pad"], how["i2h_dilate"])
    h2h = convolution(states[0], w["h2h_weight"], w["h2h_bias"], how["h2h_pad"], how["h2h_dilate"])
    if kind == "RNN":
        h = np.tanh(i2h + h2h)
        return [h]
    if kind == "LSTM":
        i, f, g, o = np.split(i2h + h2h, 4, axis=1)
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(c), c]
    (ir, iz, new), (hr, hz, hn) = np.split(i2h, 3, axis=1), np.split(h2h, 3, axis=1)
    z = sigmoid(iz + hz)
    return [(1 - z) * np.tanh(new + sigmoid(ir + hr) * hn) + z * states[0]]


def to_last(x):
    return np.moveaxis(x, 1, -1)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("dims", "kind"), CONVOLUTIONAL)
def test_convolutional_cells(dims, kind, last):
    channels, hidden, image = 2, 3, IMAGES[dims]
    how = {"i2h_pad": (1,) * dims, "i2h_dilate": (1,) * dims, "h2h_dilate": (2,) * dims}
    shape = (*image, channels) if last else (channels, *image)
    make = getattr(contrib, f"Conv{dims}D{kind}Cell")
    cell = filled(make(shape, hidden, 3, 3, conv_layout=LAYOUTS[dims][last], **how))
    turned = to_last if last else np.asarray
    x = RNG.normal(size=(BATCH, STEPS, channels, *image))
    count = 2 if kind == "LSTM" else 1
    states = [RNG.normal(size=(BATCH, hidden, *image)) for _ in range(count)]
    assert [info["shape"] for info in cell.state_info(BATCH)] == [turned(s).shape for s in states]
    w = {name: p.data().asnumpy() for name, p in cell.named_parameters()}
    if last:
        w = {name: np.moveaxis(v, -1, 1) if v.ndim > 1 else v for name, v in w.items()}
    given = np.stack([turned(x[:, t]) for t in range(STEPS)], axis=1)
    outputs, new = cell.unroll(STEPS, array(given), [array(turned(s)) for s in states], merge_outputs=True)
    for t in range(STEPS):
        states = reference(kind, x[:, t], states, w, {**how, "h2h_pad": (2,) * dims})
        np.testing.assert_allclose(outputs.asnumpy()[:, t], turned(states[0]), rtol=1e-9, atol=1e-12)
    for a, b in zip(new, states, strict=True):
        np.testing.assert_allclose(a.asnumpy(), turned(b), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("dims", "kind"), CONVOLUTIONAL)
def test_states_have_the_size_that_the_input_makes(dims, kind):
    cell = getattr(contrib, f"Conv{dims}D{kind}Cell")((2, *[8] * dims), 3, i2h_kernel=3, h2h_kernel=(1,) * dims)
    cell.initialize()
    output, states = cell(nd.ones((1, 2, *[8] * dims)), cell.begin_state(batch_size=1))
    assert {a.shape for a in (output, *states)} == {(1, 3, *[6] * dims)}
    rows = 3 * {"RNN": 1, "LSTM": 4, "GRU": 3}[kind]
    assert cell.i2h_weight.shape == (rows, 2, *[3] * dims)
    assert repr(cell) == f"Conv{dims}D{kind}Cell(2 -> {rows}, tanh, {LAYOUTS[dims][0]})"
    assert cell.prefix.startswith(f"conv_{kind.lower()}")


def test_activation_of_convolutional_cells():
    cell = filled(contrib.Conv1DRNNCell((2, 5), 3, 3, 3, activation="relu"))
    assert (
        cell(array(RNG.normal(size=(1, 2, 5))), cell.begin_state(batch_size=1, dtype="float64"))[0].asnumpy() >= 0
    ).all()


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (lambda: contrib.Conv2DRNNCell((3, 8, 8), 4, 3, 2), ValueError, "h2h_kernel=2 must be odd"),
        (lambda: contrib.Conv2DRNNCell((3, 8, 8), 4, (3,), 3), ValueError, r"i2h_kernel=\(3,\) must be one number"),
        (lambda: contrib.Conv2DRNNCell((3, 8), 4, 3, 3), ShapeError, r"input_shape=\(3, 8\) must have 3 numbers"),
        (lambda: contrib.Conv2DRNNCell((3, 2, 8), 4, 3, 3), ShapeError, "smaller than i2h_kernel"),
        (lambda: contrib.Conv2DRNNCell((3, 8, 8), 4, 3, 3, conv_layout="NCW"), ValueError, "conv_layout='NCW'"),
        (lambda: contrib.LSTMPCell(3, 0), ValueError, "LSTMPCell: projection_size=0"),
        (lambda: contrib.VariationalDropoutCell(rnn.GRUCell(2), drop_inputs=2), ValueError, "drop_inputs=2"),
    ],
)  # fmt: skip
def test_arguments(make, kind, says):
    with pytest.raises(kind, match=says):
        make()


class TestProjection:
    def test_a_step(self):
        cell = filled(contrib.LSTMPCell(6, 2, input_size=4))
        x, states = RNG.normal(size=(3, 4)), [RNG.normal(size=(3, n)) for n in (2, 6)]
        output, new = cell(array(x), [array(s) for s in states])
        want, last = step("lstm", x, states, {name: p.data().asnumpy() for name, p in cell.named_parameters()})
        for a, b in zip([output, *new], [want, *last], strict=True):
            np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-9)

    def test_the_layer_is_the_same(self):
        layer = filled(rnn.LSTM(6, projection_size=2, input_size=4, layout="NTC"))
        cell = filled(contrib.LSTMPCell(6, 2, input_size=4))
        for name, parameter in cell.named_parameters():
            parameter.set_data(getattr(layer, f"l0_{name}").data())
        x = array(RNG.normal(size=(3, 5, 4)))
        outputs, _ = cell.unroll(5, x, merge_outputs=True)
        np.testing.assert_allclose(outputs.asnumpy(), layer(x).asnumpy(), rtol=1e-10)

    def test_text_and_width(self):
        cell = contrib.LSTMPCell(6, 2)
        assert repr(cell) == "LSTMPCell(None -> 24 -> 2)"
        cell.initialize()
        cell(nd.ones((1, 4)), cell.begin_state(batch_size=1))
        assert repr(cell) == "LSTMPCell(4 -> 24 -> 2)"


class TestVariationalDropout:
    def test_one_mask_for_all_steps(self):
        base = rnn.RNNCell(
            50, "relu", i2h_weight_initializer="zeros", h2h_weight_initializer="zeros", i2h_bias_initializer="ones"
        )
        for how in ({"drop_outputs": 0.4}, {"drop_outputs": 0.4, "drop_states": 0.5}):
            cell = contrib.VariationalDropoutCell(copy.deepcopy(base), **how)
            cell.initialize()
            with autograd.train_mode():
                first, second = (cell.unroll(4, nd.ones((9, 4, 2)), merge_outputs=True)[0].asnumpy() for _ in range(2))
            assert (first == first[:, :1]).all()
            assert abs((first == 0).mean() - 0.4) < 0.1
            assert not np.array_equal(first, second)  # each sequence has its own

    def test_of_states_and_inputs(self):
        # The state is what was there after the mask, and the input is not looked at; and the other way round.
        for name, weight in (("drop_states", "h2h_weight"), ("drop_inputs", "i2h_weight")):
            base = rnn.RNNCell(40, lambda v: v, input_size=40)
            cell = contrib.VariationalDropoutCell(base, **{name: 0.5})
            cell.initialize(mx.init.Zero())
            getattr(base, weight).set_data(nd.array(np.eye(40)))
            state = nd.ones((3, 40))
            with autograd.train_mode():
                masks = []
                for _ in range(3):
                    output, _ = cell(nd.ones((3, 40)), [state])
                    masks.append(output.asnumpy())
            assert set(np.unique(masks[0])) == {0, 2}
            assert all(np.array_equal(mask, masks[0]) for mask in masks)
            cell.reset()
            with autograd.train_mode():
                assert not np.array_equal(cell(nd.ones((3, 40)), [state])[0].asnumpy(), masks[0])

    @pytest.mark.parametrize("how", [{}, {"drop_states": 0.5}])
    @pytest.mark.parametrize("merge", [True, False, None])
    @pytest.mark.parametrize("lengths", [None, [1, 4]])
    def test_outside_of_training_it_is_the_base_cell(self, how, merge, lengths):
        base = rnn.LSTMCell(3, input_size=2)
        twin = copy.deepcopy(base)
        cell = filled(contrib.VariationalDropoutCell(base, drop_inputs=0.5, drop_outputs=0.5, **how))
        for name, parameter in base.named_parameters():
            getattr(twin, name).initialize()
            getattr(twin, name).cast("float64")
            getattr(twin, name).set_data(parameter.data())
        x = array(RNG.normal(size=(2, 4, 2)))
        valid = None if lengths is None else nd.array(lengths)
        outputs, states = cell.unroll(4, x, merge_outputs=merge, valid_length=valid)
        want, last = twin.unroll(4, x, merge_outputs=True, valid_length=valid)
        got = outputs if isinstance(outputs, nd.NDArray) else nd.stack(*outputs, axis=1)
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-12)
        for a, b in zip(states, last, strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-12)

    def test_gradients_see_the_mask(self):
        base = rnn.RNNCell(3, lambda v: v, input_size=3)
        cell = contrib.VariationalDropoutCell(base, drop_outputs=0.5)
        cell.initialize(mx.init.Zero())
        base.i2h_weight.set_data(nd.array(np.eye(3)))
        x = nd.ones((4, 1, 3))
        x.attach_grad()
        with autograd.record():
            y, _ = cell.unroll(1, x, merge_outputs=True)
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), y.asnumpy())

    def test_around_other_cells(self):
        both = rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))
        with pytest.raises(AssertionError, match="no single step"):
            contrib.VariationalDropoutCell(both, drop_states=0.5)
        cell = contrib.VariationalDropoutCell(both, drop_inputs=0.5)
        cell.initialize()
        with autograd.train_mode():
            outputs, _ = cell.unroll(3, nd.ones((2, 3, 2)), merge_outputs=True)
        assert outputs.shape == (2, 3, 4)
        assert repr(cell) == "VariationalDropoutCell(p_out = 0.0, p_state = 0.0)"
