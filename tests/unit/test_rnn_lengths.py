"""How many steps of each sequence count, and what groups of cells take."""

import pytest

from gluonish import nd
from gluonish.gluon import rnn


def stacked(*cells):
    stack = rnn.SequentialRNNCell()
    for cell in cells:
        stack.add(cell)
    return stack


CELLS = {
    "one": lambda: rnn.GRUCell(3, input_size=3),
    "stack": lambda: stacked(rnn.GRUCell(3, input_size=3), rnn.DropoutCell(0.5)),
    "both": lambda: rnn.BidirectionalCell(rnn.GRUCell(3, input_size=3), rnn.GRUCell(3, input_size=3)),
    "residual": lambda: rnn.ResidualCell(rnn.GRUCell(3, input_size=3)),
    "dropout": lambda: rnn.DropoutCell(0.5),
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("layout", ["NTC", "TNC"])
def test_lists(name, layout):
    cell = CELLS[name]()
    cell.initialize()
    x = nd.random.normal(shape=(2, 5, 3) if layout == "NTC" else (5, 2, 3))
    how = {"layout": layout, "merge_outputs": True}
    expected, _ = cell.unroll(5, x, valid_length=nd.array([5, 1]), **how)
    outputs, _ = cell.unroll(5, x, valid_length=[5, 1], **how)
    assert outputs.tolist() == expected.tolist()


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("wrong", [[5, 1], 3, nd.array([5, 1]), nd.array([[5, 1, 2]])])
def test_other_shapes(name, wrong):
    cell = CELLS[name]()
    cell.initialize()
    with pytest.raises(AssertionError, match=r"valid_length .*must have shape \(3,\).* each of the 3 sequences"):
        cell.unroll(5, nd.ones((3, 5, 3)), valid_length=wrong, merge_outputs=True)


def test_groups_of_cells_take_what_a_cell_takes():
    stack = stacked(rnn.LSTMCell(3), rnn.GRUCell(4))
    assert [state.shape for state in stack.begin_state(2)] == [(2, 3), (2, 3), (2, 4)]
    assert stack.begin_state(2, nd.ones)[0].sum().item() == 6
    with pytest.raises(TypeError, match=r"^(?!.*\b_[A-Z])"):  # no class that nobody knows
        stack.unroll()
