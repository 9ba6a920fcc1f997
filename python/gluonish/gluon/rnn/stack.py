"""Cells made of cells: one after the other, or in both directions."""

from collections.abc import Callable, Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.gluon.rnn._sequence import CellError, Lengths, Steps, lengths, merged, reversed_steps, split
from gluonish.gluon.rnn.cell import (
    HybridRecurrentCell,
    RecurrentCell,
    StateInfo,
    Unrolled,
    refuse_if_modified,
    states_before,
)

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell", "steps_alone"]


class CellGroup(RecurrentCell):
    """Cells whose states stand one after the other in one list."""

    def state_info(self, batch_size: int = 0) -> StateInfo:
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, batch_size: int = 0, func: Callable[..., NDArray] = nd.zeros, **kwargs: Any) -> list[NDArray]:
        """The states of all cells before the first step; arguments are those of a single cell's."""
        refuse_if_modified(self)
        cells = self._children.values()
        return [one for cell in cells for one in cell.begin_state(batch_size=batch_size, func=func, **kwargs)]


def _shared_out(group: CellGroup, states: Sequence[NDArray]) -> list[list[NDArray]]:
    """The states of each cell."""
    counts = [len(cell.state_info()) for cell in group._children.values()]
    if len(states) != sum(counts):
        raise CellError(
            f"{type(group).__name__}: states must be a list of {sum(counts)}, got {len(states)}; begin_state makes one"
        )
    rest = iter(states)
    return [[next(rest) for _ in range(count)] for count in counts]


class CellStack(CellGroup):
    """Cells one after the other: each has the output of the one before as its input."""

    def __repr__(self) -> str:
        lines = (f"  ({name}): {repr(cell).replace(chr(10), chr(10) + '  ')}" for name, cell in self._children.items())
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])

    def __len__(self) -> int:
        return len(self._children)

    def __getitem__(self, i: int) -> RecurrentCell:
        cell: RecurrentCell = list(self._children.values())[i]
        return cell

    def add(self, cell: RecurrentCell) -> None:
        """Puts a cell behind the last one."""
        if not isinstance(cell, RecurrentCell):
            raise ArgumentError(f"{type(self).__name__}.add: a cell is needed, got {type(cell).__name__}")
        self.register_child(cell)

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: Sequence[NDArray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Lengths = None,
    ) -> Unrolled:
        """As of one cell. Each cell runs over the whole sequence, then the next one over its outputs."""
        self.reset()
        steps = split(length, inputs, layout)
        valid = lengths(valid_length, steps[0])
        states = _shared_out(self, states_before(self, begin_state, steps[0]))
        if not states:
            return merged(steps, layout) if merge_outputs else steps, []
        outputs: Steps = steps
        new: list[NDArray] = []
        for i, (cell, own) in enumerate(zip(self._children.values(), states, strict=True)):
            last = i == len(self) - 1
            merge = merge_outputs if last else None
            outputs, own = cell.unroll(length, outputs, own, layout, merge, valid)
            new.extend(own)
        return outputs, new


def _step(stack: CellStack, inputs: NDArray, states: Sequence[NDArray]) -> tuple[NDArray, list[NDArray]]:
    new: list[NDArray] = []
    for cell, own in zip(stack._children.values(), _shared_out(stack, states), strict=True):
        inputs, own = cell(inputs, own)
        new.extend(own)
    return inputs, new


class SequentialRNNCell(CellStack):
    """Cells one after the other: each has the output of the one before as its input.

    >>> import gluonish as mx
    >>> stack = mx.gluon.rnn.SequentialRNNCell()
    >>> stack.add(mx.gluon.rnn.LSTMCell(4))
    >>> stack.add(mx.gluon.rnn.GRUCell(5))
    >>> stack.initialize()
    >>> output, states = stack(mx.nd.ones((2, 3)), stack.begin_state(batch_size=2))
    >>> output.shape, [s.shape for s in states]  # h and c of the LSTM, h of the GRU
    ((2, 5), [(2, 4), (2, 4), (2, 5)])
    """

    def forward(self, inputs: NDArray, states: Sequence[NDArray]) -> tuple[NDArray, list[NDArray]]:
        return _step(self, inputs, states)


class HybridSequentialRNNCell(CellStack, HybridRecurrentCell):
    """The same of hybrid cells, which can be compiled together.

    >>> import gluonish as mx
    >>> stack = mx.gluon.rnn.HybridSequentialRNNCell()
    >>> stack.add(mx.gluon.rnn.GRUCell(4))
    >>> stack.add(mx.gluon.rnn.DropoutCell(0.5))
    >>> stack.initialize()
    >>> outputs, states = stack.unroll(7, mx.nd.ones((2, 7, 3)), merge_outputs=True)
    >>> outputs.shape, [s.shape for s in states]
    ((2, 7, 4), [(2, 4)])
    """

    def hybrid_forward(self, F: Any, inputs: NDArray, states: Sequence[NDArray]) -> tuple[NDArray, list[NDArray]]:
        return _step(self, inputs, states)


class BidirectionalCell(CellGroup, HybridRecurrentCell):
    """Two cells over the same sequence, one of them backwards; their outputs stand side by side.

    It has no single step, only ``unroll``.

    Parameters
    ----------
    l_cell, r_cell : cells
        The one that goes forwards and the one that goes backwards.
    output_prefix : str
        What MXNet names symbols after; here there are none to name.

    >>> import gluonish as mx
    >>> cell = mx.gluon.rnn.BidirectionalCell(mx.gluon.rnn.GRUCell(4), mx.gluon.rnn.GRUCell(6))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(7, mx.nd.ones((2, 7, 3)), merge_outputs=True)
    >>> outputs.shape, [s.shape for s in states]
    ((2, 7, 10), [(2, 4), (2, 6)])
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __repr__(self) -> str:
        forward, backward = self._children.values()
        return f"{type(self).__name__}(forward={forward}, backward={backward})"

    def __call__(self, *args: Any) -> Any:
        raise UnsupportedError("BidirectionalCell: one step at a time cannot go backwards; use unroll")

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: Sequence[NDArray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Lengths = None,
    ) -> Unrolled:
        """As of one cell. The second cell begins at the last valid step of each sequence."""
        self.reset()
        steps = split(length, inputs, layout)
        valid = lengths(valid_length, steps[0])
        of_left, of_right = _shared_out(self, states_before(self, begin_state, steps[0]))
        left, right = self._children.values()
        outputs, of_left = left.unroll(length, steps, of_left, layout, False, valid)
        backwards = reversed_steps(steps, valid)
        others, of_right = right.unroll(length, backwards, of_right, layout, False, valid)
        others = reversed_steps(others, valid)
        states = of_left + of_right
        if merge_outputs:
            return nd.concat(merged(outputs, layout), merged(others, layout), dim=2), states
        return [nd.concat(a, b, dim=1) for a, b in zip(outputs, others, strict=True)], states


def steps_alone(cell: RecurrentCell) -> bool:
    """Whether a cell can go one step: there is no :class:`BidirectionalCell` in it."""
    inside = (child for child in cell._children.values() if isinstance(child, RecurrentCell))
    return not isinstance(cell, BidirectionalCell) and all(steps_alone(child) for child in inside)
