"""Cells: steps and whole sequences against NumPy, stacks, directions, lengths, modifiers, cells of one's own."""

import numpy as np
import pytest
from unit.recurrent_reference import network, one_way, step

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import rnn

STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6
RNG = np.random.default_rng(3)
KINDS = {"tanh": rnn.RNNCell, "lstm": rnn.LSTMCell, "gru": rnn.GRUCell}
LENGTHS = [None, [5, 2, 4], [0, 1, 5]]


def filled(cell, dtype="float64", ctx=None):
    """The cell with random parameters."""
    cell.initialize(ctx=ctx)
    cell.cast(dtype)
    for parameter in cell.collect_params().values():
        parameter.set_data(nd.array(RNG.normal(size=parameter.shape) * 0.5, dtype=dtype))
    return cell


def weights(cell):
    return {name: p.data(p.list_ctx()[0]).asnumpy() for name, p in cell.named_parameters()}


def array(values):
    return nd.array(values, dtype="float64")


def sequence(width=WIDTH):
    return RNG.normal(size=(BATCH, STEPS, width))


def states_for(cell):
    return [RNG.normal(size=info["shape"]) for info in cell.state_info(BATCH)]


def numbers(outputs, axis=1):
    """Outputs as one array (batch, steps, width)."""
    whole = outputs.asnumpy() if isinstance(outputs, nd.NDArray) else np.stack([o.asnumpy() for o in outputs], axis)
    return whole if axis == 1 else whole.swapaxes(0, 1)


def same(arrays, wanted):
    assert len(arrays) == len(wanted)
    for a, b in zip(arrays, wanted, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-9, atol=1e-12)


def expected(kind, cell, x, states, lengths=None):
    """Outputs (batch, steps, width) and states of one cell over sequences."""
    stacked = [s[None] for s in states]
    y, new = network(kind, x.swapaxes(0, 1), stacked, {(0, 0): weights(cell)}, lengths=lengths)
    return y.swapaxes(0, 1), [s[0] for s in new]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step(kind):
    cell = filled(KINDS[kind](HIDDEN, input_size=WIDTH))
    x, states = RNG.normal(size=(BATCH, WIDTH)), states_for(cell)
    output, new = cell(array(x), [array(s) for s in states])
    want, last = step(kind, x, states, weights(cell))
    same([output, *new], [want, *last])


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("merge", [True, False, None])
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence(kind, layout, merge, lengths):
    cell = filled(KINDS[kind](HIDDEN, input_size=WIDTH))
    x, states = sequence(), states_for(cell)
    given = array(x if layout == "NTC" else x.swapaxes(0, 1))
    valid = None if lengths is None else nd.array(lengths)
    outputs, new = cell.unroll(STEPS, given, [array(s) for s in states], layout, merge, valid)
    assert isinstance(outputs, nd.NDArray) == bool(merge or (merge is None and lengths))
    want, last = expected(kind, cell, x, states, lengths)
    np.testing.assert_allclose(numbers(outputs, layout.index("T")), want, rtol=1e-9, atol=1e-12)
    same(new, last)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_may_be_a_list(kind):
    cell = filled(KINDS[kind](HIDDEN, input_size=WIDTH))
    x = sequence()
    one, states = cell.unroll(STEPS, array(x))
    two, others = cell.unroll(STEPS, [array(x[:, t]) for t in range(STEPS)])
    np.testing.assert_array_equal(numbers(one), numbers(two))
    same(states, [s.asnumpy() for s in others])
    single, _ = cell.unroll(1, array(x[:, :1]), merge_outputs=True)
    np.testing.assert_allclose(single.asnumpy(), numbers(one)[:, :1], rtol=1e-12)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind, lengths):
    cell = filled(KINDS[kind](HIDDEN, input_size=WIDTH))
    x, begin = array(sequence()), [array(s) for s in states_for(cell)]
    valid = None if lengths is None else nd.array(lengths)

    def run():
        outputs, states = cell.unroll(STEPS, x, begin, merge_outputs=True, valid_length=valid)
        return [outputs, *states]

    for v in (x, *begin):
        v.attach_grad()
    with autograd.record():
        outputs = run()
    heads = [array(RNG.normal(size=y.shape)) for y in outputs]
    autograd.backward(outputs, heads)
    pairs = [(v, v.grad) for v in (x, *begin)] + [(p.data(), p.grad()) for p in cell.collect_params().values()]
    for value, gradient in pairs:
        before, move, ends = value.asnumpy(), RNG.normal(size=value.shape) * 1e-6, []
        for sign in (1, -1):
            value[:] = before + sign * move
            ends.append(sum(float((y * h).sum().asscalar()) for y, h in zip(run(), heads, strict=True)))
        value[:] = before
        assert float((gradient.asnumpy() * move).sum()) * 2 == pytest.approx(ends[0] - ends[1], rel=1e-5, abs=1e-11)


class TestBasicCells:
    def test_names_shapes_and_text(self):
        cell = rnn.LSTMCell(100, prefix="rnn_")
        assert sorted(cell.collect_params()) == ["rnn_h2h_bias", "rnn_h2h_weight", "rnn_i2h_bias", "rnn_i2h_weight"]
        assert (cell.i2h_weight.shape, cell.h2h_weight.shape, cell.i2h_bias.shape) == ((400, 0), (400, 100), (400,))
        assert repr(cell) == "LSTMCell(None -> 400)"
        assert repr(rnn.RNNCell(3, "relu", input_size=2)) == "RNNCell(2 -> 3, relu)"
        assert rnn.GRUCell(3).prefix.startswith("gru")

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_first_step_tells_the_width(self, kind):
        cell = KINDS[kind](HIDDEN)
        cell.initialize()
        output, _ = cell(nd.ones((2, 7)), cell.begin_state(batch_size=2))
        assert output.shape == (2, HIDDEN)
        assert cell.i2h_weight.shape[1] == 7
        with pytest.raises(mx.MXNetError, match=r"\(2, 8\)"):
            cell(nd.ones((2, 8)), cell.begin_state(batch_size=2))

    def test_activations(self):
        x, states = RNG.normal(size=(BATCH, WIDTH)), RNG.normal(size=(BATCH, HIDDEN))
        cell = filled(rnn.RNNCell(HIDDEN, "softrelu", input_size=WIDTH))
        w = weights(cell)
        z = x @ w["i2h_weight"].T + w["i2h_bias"] + states @ w["h2h_weight"].T + w["h2h_bias"]
        same([cell(array(x), [array(states)])[0]], [np.log1p(np.exp(z))])
        cell._activation = lambda v: v * 3
        same([cell(array(x), [array(states)])[0]], [z * 3])

    def test_activations_of_an_lstm(self):
        cell = filled(rnn.LSTMCell(HIDDEN, input_size=WIDTH, activation="softsign", recurrent_activation="relu"))
        x, (h, c) = RNG.normal(size=(BATCH, WIDTH)), states_for(cell)
        w = weights(cell)
        gates = x @ w["i2h_weight"].T + w["i2h_bias"] + h @ w["h2h_weight"].T + w["h2h_bias"]
        i, f, g, o = np.split(gates, 4, axis=1)
        new_c = np.maximum(f, 0) * c + np.maximum(i, 0) * g / (1 + abs(g))
        new_h = np.maximum(o, 0) * new_c / (1 + abs(new_c))
        output, states = cell(array(x), [array(h), array(c)])
        same([output, *states], [new_h, new_h, new_c])

    def test_a_single_state_need_not_be_in_a_list(self):
        cell = filled(rnn.GRUCell(HIDDEN, input_size=WIDTH))
        x, h = array(RNG.normal(size=(BATCH, WIDTH))), array(RNG.normal(size=(BATCH, HIDDEN)))
        np.testing.assert_array_equal(cell(x, h)[0].asnumpy(), cell(x, [h])[0].asnumpy())
        one, other = (cell.unroll(1, [x], begin)[0][0].asnumpy() for begin in (h, [h]))
        np.testing.assert_array_equal(one, other)

    def test_states(self):
        cell = rnn.LSTMCell(HIDDEN)
        assert cell.state_info(3) == [{"shape": (3, 6), "__layout__": "NC"}] * 2
        ones = cell.begin_state(batch_size=3, func=nd.ones, dtype="float16", ctx=mx.cpu(1))
        assert [(s.shape, str(s.dtype), s.context) for s in ones] == [((3, 6), "float16", mx.cpu(1))] * 2
        cell.initialize()
        with pytest.raises(ValueError, match="LSTMCell: states must be a list of 2, got 1"):
            cell(nd.ones((3, 4)), [nd.zeros((3, 6))])
        with pytest.raises(ValueError, match=r"LSTMCell: a state of shape \(3, 5\) does not fit: \(3, 6\) is needed"):
            cell(nd.ones((3, 4)), [nd.zeros((3, 6)), nd.zeros((3, 5))])

    def test_arguments(self):
        with pytest.raises(ValueError, match="hidden_size=0"):
            rnn.GRUCell(0)
        cell = filled(rnn.GRUCell(HIDDEN, input_size=WIDTH), "float32")
        with pytest.raises(
            AssertionError, match=r"length=4, but inputs of shape \(3, 5, 4\) in layout 'NTC' are 5 steps"
        ):
            cell.unroll(4, nd.ones((BATCH, STEPS, WIDTH)))
        with pytest.raises(AssertionError, match="length=4, but inputs are 2 steps"):
            cell.unroll(4, [nd.ones((BATCH, WIDTH))] * 2)
        with pytest.raises(ValueError, match="at least 1"):
            cell.unroll(0, [])
        with pytest.raises(ValueError, match="layout='CTN'"):
            cell.unroll(5, nd.ones((BATCH, STEPS, WIDTH)), layout="CTN")
        with pytest.raises(ValueError, match="got None"):
            cell.unroll(5, None)
        with pytest.raises(ValueError, match="axes for batch and steps"):
            cell.unroll(5, nd.ones(5))
        with pytest.raises(mx.MXNetError, match="6"):
            cell.unroll(5, nd.ones((BATCH, STEPS, WIDTH)), valid_length=nd.array([1, 6, 2]))[0].asnumpy()


class TestStacks:
    @pytest.mark.parametrize("make", [rnn.SequentialRNNCell, rnn.HybridSequentialRNNCell])
    @pytest.mark.parametrize("lengths", LENGTHS)
    def test_one_after_the_other(self, make, lengths):
        stack = make()
        stack.add(rnn.LSTMCell(HIDDEN, input_size=WIDTH))
        stack.add(rnn.GRUCell(3, input_size=HIDDEN))
        filled(stack)
        x = sequence()
        valid = None if lengths is None else nd.array(lengths)
        outputs, states = stack.unroll(STEPS, array(x), merge_outputs=True, valid_length=valid)
        middle, first = expected("lstm", stack[0], x, [np.zeros((BATCH, HIDDEN))] * 2, lengths)
        want, second = expected("gru", stack[1], middle, [np.zeros((BATCH, 3))], lengths)
        np.testing.assert_allclose(outputs.asnumpy(), want, rtol=1e-9, atol=1e-12)
        same(states, [*first, *second])
        if lengths is None:  # step by step is the same
            states = stack.begin_state(batch_size=BATCH, dtype="float64")
            for t in range(STEPS):
                output, states = stack(array(x[:, t]), states)
            same([output, *states], [want[:, -1], *first, *second])

    def test_length_items_and_text(self):
        stack = rnn.SequentialRNNCell()
        stack.add(rnn.LSTMCell(3, input_size=2))
        stack.add(rnn.DropoutCell(0.5))
        assert len(stack) == 2
        assert isinstance(stack[1], rnn.DropoutCell)
        assert repr(stack) == "SequentialRNNCell(\n  (0): LSTMCell(2 -> 12)\n  (1): DropoutCell(rate=0.5, axes=())\n)"
        with pytest.raises(TypeError, match="a cell is needed, got LSTM"):
            stack.add(rnn.LSTM(3))
        with pytest.raises(ValueError, match="states must be a list of 2, got 1"):
            stack(nd.ones((1, 2)), [nd.ones((1, 3))])

    @pytest.mark.parametrize("merge", [True, False])
    def test_empty(self, merge):
        x = sequence()
        outputs, states = rnn.SequentialRNNCell().unroll(STEPS, array(x), merge_outputs=merge)
        np.testing.assert_array_equal(numbers(outputs), x)
        assert states == []

    def test_of_stacks(self):
        outer, inner = rnn.HybridSequentialRNNCell(), rnn.HybridSequentialRNNCell()
        inner.add(rnn.GRUCell(3))
        outer.add(inner)
        outer.add(rnn.LSTMCell(2))
        outer.initialize()
        outputs, states = outer.unroll(2, nd.ones((BATCH, 2, WIDTH)), merge_outputs=True)
        assert (outputs.shape, len(states)) == ((BATCH, 2, 2), 3)


class TestBothDirections:
    @pytest.mark.parametrize("merge", [True, False, None])
    @pytest.mark.parametrize("layout", ["NTC", "TNC"])
    @pytest.mark.parametrize("lengths", LENGTHS)
    def test_values(self, lengths, layout, merge):
        left, right = rnn.LSTMCell(HIDDEN, input_size=WIDTH), rnn.GRUCell(2, input_size=WIDTH)
        cell = filled(rnn.BidirectionalCell(left, right))
        x, states = sequence(), states_for(cell)
        given = array(x if layout == "NTC" else x.swapaxes(0, 1))
        valid = None if lengths is None else nd.array(lengths)
        outputs, new = cell.unroll(STEPS, given, [array(s) for s in states], layout, merge, valid)
        want, last = np.zeros((BATCH, STEPS, HIDDEN + 2)), []
        for n, count in enumerate(lengths or [STEPS] * BATCH):
            row = x[n, :count]
            forwards, one = one_way("lstm", row, [s[n] for s in states[:2]], weights(left))
            backwards, two = one_way("gru", row[::-1], [states[2][n]], weights(right))
            want[n, :count] = np.concatenate([forwards, backwards[::-1]], axis=1)
            last.append([*one, *two])
        np.testing.assert_allclose(numbers(outputs, layout.index("T")), want, rtol=1e-9, atol=1e-12)
        same(new, [np.array([s[k] for s in last]) for k in range(3)])

    def test_no_single_step(self):
        cell = rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))
        with pytest.raises(NotImplementedError, match="use unroll"):
            cell(nd.ones((1, 2)), [])
        assert repr(cell) == "BidirectionalCell(forward=GRUCell(None -> 6), backward=GRUCell(None -> 6))"
        assert cell.prefix == ""

    def test_in_a_stack(self):
        stack = rnn.SequentialRNNCell()
        stack.add(rnn.BidirectionalCell(rnn.GRUCell(3), rnn.GRUCell(3)))
        stack.add(rnn.BidirectionalCell(rnn.LSTMCell(2), rnn.LSTMCell(2)))
        stack.initialize()
        outputs, states = stack.unroll(STEPS, nd.ones((BATCH, STEPS, WIDTH)), merge_outputs=True)
        assert (outputs.shape, len(states)) == ((BATCH, STEPS, 4), 6)
        with pytest.raises(NotImplementedError, match="use unroll"):
            stack(nd.ones((1, WIDTH)), stack.begin_state(batch_size=1))


class TestModifiers:
    def test_the_base_cell_is_no_longer_begun(self):
        base = rnn.GRUCell(3)
        cell = rnn.ResidualCell(base)
        with pytest.raises(AssertionError, match="inside of a modifier"):
            base.begin_state(batch_size=1)
        with pytest.raises(AssertionError, match="inside of a modifier already"):
            rnn.ZoneoutCell(base)
        with pytest.raises(TypeError, match="a cell is needed, got GRU"):
            rnn.ResidualCell(rnn.GRU(3))
        assert len(cell.begin_state(batch_size=1)) == 1
        with pytest.raises(AssertionError, match="inside of a modifier"):
            base.begin_state(batch_size=1)  # still
        outer = rnn.ResidualCell(cell)
        with pytest.raises(AssertionError, match="inside of a modifier"):
            cell.begin_state(batch_size=1)
        assert len(outer.begin_state(batch_size=1)) == 1

    def test_cells_that_are_not_hybrid_are_left_alone(self):
        class Plain(rnn.RecurrentCell):
            def state_info(self, batch_size=0):
                return []

        for around in (rnn.ResidualCell, lambda c: stacked(rnn.HybridSequentialRNNCell, c)):
            cell = Plain()
            with pytest.raises(ValueError, match="must be HybridBlocks"):
                around(cell)
            assert cell.begin_state(batch_size=1) == []

    def test_after_an_error_it_is_still_inside(self):
        base = rnn.GRUCell(3)
        cell = rnn.ResidualCell(base)
        with pytest.raises(RuntimeError, match="initialize"):
            cell.unroll(2, nd.ones((1, 2, 3)))
        with pytest.raises(AssertionError, match="inside of a modifier"):
            base.begin_state(batch_size=1)

    def test_parameters_are_the_base_cells(self):
        base = rnn.GRUCell(3, prefix="gru_")
        cell = rnn.ZoneoutCell(base)
        assert cell.params is base.params
        assert cell.prefix == "gru_zoneout"
        assert sorted(cell.collect_params()) == ["gru_h2h_bias", "gru_h2h_weight", "gru_i2h_bias", "gru_i2h_weight"]
        assert repr(cell) == "ZoneoutCell(p_out=0.0, p_state=0.0, GRUCell(None -> 9))"
        assert repr(rnn.ResidualCell(rnn.GRUCell(3))) == "ResidualCell(GRUCell(None -> 9))"

    @pytest.mark.parametrize("merge", [True, False, None])
    @pytest.mark.parametrize("lengths", LENGTHS)
    def test_residual(self, merge, lengths):
        base = rnn.GRUCell(WIDTH, input_size=WIDTH)
        cell = filled(rnn.ResidualCell(base))
        x, states = sequence(), states_for(cell)
        valid = None if lengths is None else nd.array(lengths)
        outputs, new = cell.unroll(STEPS, array(x), [array(s) for s in states], "NTC", merge, valid)
        want, last = expected("gru", base, x, states, lengths)
        kept = np.arange(STEPS) < np.array(lengths or [STEPS] * BATCH)[:, None]
        np.testing.assert_allclose(numbers(outputs), want + x * kept[..., None], rtol=1e-9, atol=1e-12)
        same(new, last)
        output, _ = cell(array(x[:, 0]), [array(s) for s in states])
        np.testing.assert_allclose(
            output.asnumpy(), step("gru", x[:, 0], states, weights(base))[0] + x[:, 0], rtol=1e-9
        )

    def test_residual_of_both_directions(self):
        cell = rnn.ResidualCell(rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2)))
        cell.initialize()
        outputs, _ = cell.unroll(STEPS, nd.ones((BATCH, STEPS, 4)))
        assert len(outputs) == STEPS
        assert outputs[0].shape == (BATCH, 4)

    def test_zoneout_keeps_some(self):
        cell = filled(rnn.ZoneoutCell(rnn.RNNCell(400, input_size=WIDTH), zoneout_outputs=0.3, zoneout_states=0.6))
        x = array(sequence())
        with autograd.train_mode():
            states = cell.begin_state(batch_size=BATCH, dtype="float64")
            first, states = cell(x[:, 0], states)
            assert abs((states[0].asnumpy() == 0).mean() - 0.6) < 0.05
            assert abs((first.asnumpy() == 0).mean() - 0.3) < 0.05
            second, new = cell(x[:, 1], states)
        assert abs((new[0].asnumpy() == states[0].asnumpy()).mean() - 0.6) < 0.05
        assert abs((second.asnumpy() == first.asnumpy()).mean() - 0.3) < 0.05
        cell.reset()
        with autograd.train_mode():
            again, _ = cell(x[:, 0], cell.begin_state(batch_size=BATCH, dtype="float64"))
        assert abs((again.asnumpy() == 0).mean() - 0.3) < 0.05

    def test_zoneout_is_for_training(self):
        base = rnn.GRUCell(HIDDEN, input_size=WIDTH)
        cell = filled(rnn.ZoneoutCell(base, 0.5, 0.5))
        x, states = sequence(), states_for(cell)
        outputs, new = cell.unroll(STEPS, array(x), [array(s) for s in states], merge_outputs=True)
        want, last = expected("gru", base, x, states)
        np.testing.assert_allclose(outputs.asnumpy(), want, rtol=1e-9)
        same(new, last)

    def test_zoneout_of_everything(self):
        cell = filled(rnn.ZoneoutCell(rnn.GRUCell(HIDDEN, input_size=WIDTH), 1.0, 1.0))
        states = states_for(cell)
        with autograd.train_mode():
            outputs, new = cell.unroll(STEPS, array(sequence()), [array(s) for s in states], merge_outputs=True)
        assert not outputs.asnumpy().any()
        same(new, states)

    @pytest.mark.parametrize("around", [None, rnn.SequentialRNNCell, rnn.HybridSequentialRNNCell])
    def test_zoneout_needs_steps(self, around):
        both = rnn.BidirectionalCell(rnn.GRUCell(2), rnn.GRUCell(2))
        both = stacked(around, both) if around else both
        with pytest.raises(AssertionError, match="no single step"):
            rnn.ZoneoutCell(both)
        with pytest.raises(ValueError, match="zoneout_states=2"):
            rnn.ZoneoutCell(rnn.GRUCell(2), zoneout_states=2)


def stacked(make, *cells):
    stack = make()
    for cell in cells:
        stack.add(cell)
    return stack


class TestDropout:
    @pytest.mark.parametrize("merge", [True, False, None])
    def test_in_training(self, merge):
        cell, x = rnn.DropoutCell(0.25), nd.ones((20, STEPS, 50))
        with autograd.train_mode():
            outputs, states = cell.unroll(STEPS, x, merge_outputs=merge)
        y = numbers(outputs)
        assert states == []
        assert sorted(np.unique(y.round(4)).tolist()) == [0, pytest.approx(1 / 0.75, rel=1e-3)]
        assert abs((y == 0).mean() - 0.25) < 0.03
        np.testing.assert_array_equal(numbers(cell.unroll(STEPS, x, merge_outputs=merge)[0]), 1)
        assert isinstance(outputs, nd.NDArray) == (merge is not False)

    def test_one_mask_for_all_steps(self):
        with autograd.train_mode():
            y = rnn.DropoutCell(0.5, axes=(1,)).unroll(STEPS, nd.ones((20, STEPS, 50)))[0].asnumpy()
        assert (y == y[:, :1]).all()
        assert 0.4 < (y == 0).mean() < 0.6

    def test_lengths(self):
        outputs, _ = rnn.DropoutCell(0.5).unroll(3, nd.ones((2, 3, 1)), valid_length=nd.array([1, 3]))
        assert outputs[:, :, 0].tolist() == [[1, 0, 0], [1, 1, 1]]

    def test_arguments(self):
        with pytest.raises(ValueError, match=r"DropoutCell: rate=1.5 must be from 0 to 1"):
            rnn.DropoutCell(1.5)
        with pytest.raises(AssertionError, match="length=4"):
            rnn.DropoutCell(0.5).unroll(4, nd.ones((2, 3, 1)))


class TestCellsOfOnesOwn:
    def test_with_a_layer_inside(self):
        class Gate(rnn.HybridRecurrentCell):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    self.dense = gluon.nn.HybridSequential()
                    self.cell = rnn.ZoneoutCell(rnn.GRUCell(3))

            def state_info(self, batch_size=0):
                return self.cell.state_info(batch_size)

            def hybrid_forward(self, F, inputs, states):
                return self.cell(self.dense(inputs), states)

        cell = Gate()
        cell.initialize()
        outputs, _ = cell.unroll(4, nd.ones((2, 4, 5)))
        assert cell.cell._prev_output is outputs[-1] or np.array_equal(
            cell.cell._prev_output.asnumpy(), outputs[-1].asnumpy()
        )
        cell.reset()  # goes through layers that have nothing to reset
        assert cell.cell._prev_output is None

    def test_what_is_missing_is_said(self):
        with pytest.raises(NotImplementedError, match="must define state_info"):
            rnn.RecurrentCell().begin_state()
        with pytest.raises(NotImplementedError, match="hybrid_forward"):
            rnn.HybridRecurrentCell()(nd.ones(1), [])
        with pytest.raises(NotImplementedError, match="hybrid_forward"):
            rnn.ModifierCell(rnn.GRUCell(2))(nd.ones((1, 2)), [])
