"""Cells around a cell, and dropout as a cell."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.rnn._sequence import (
    CellError,
    Lengths,
    Steps,
    check_length,
    lengths,
    masked,
    merged,
    split,
    time_axis,
)
from gluonish.gluon.rnn.cell import HybridRecurrentCell, RecurrentCell, StateInfo, Unrolled, refuse_if_modified
from gluonish.gluon.rnn.stack import steps_alone

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(HybridRecurrentCell):
    """Dropout of inputs, as a cell of a stack: in training, each becomes 0 with a probability.

    Parameters
    ----------
    rate : float
        The probability, from 0 to 1.
    axes : tuple of int
        Axes along which all elements share a mask.

    Call: ``(inputs, states)`` gives the inputs after dropout, and the states as they are; it has none of its own.

    >>> import gluonish as mx
    >>> cell = mx.gluon.rnn.DropoutCell(0.5)
    >>> cell, cell.state_info()
    (DropoutCell(rate=0.5, axes=()), [])
    >>> cell(mx.nd.ones((1, 2)), [])[0].tolist()  # outside of training
    [[1.0, 1.0]]
    """

    def __init__(self, rate: float, axes: Sequence[int] = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._rate = probability(rate, "DropoutCell: rate")
        self._axes = tuple(axes)

    def _alias(self) -> str:
        return "dropout"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> StateInfo:
        return []

    def hybrid_forward(self, F: Any, inputs: NDArray, states: Sequence[NDArray]) -> tuple[NDArray, Sequence[NDArray]]:
        return self.__dropped(F, inputs), states

    def __dropped(self, F: Any, inputs: NDArray) -> NDArray:
        return F.Dropout(inputs, p=self._rate, axes=self._axes) if self._rate > 0 else inputs

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: Sequence[NDArray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Lengths = None,
    ) -> Unrolled:
        """As of one cell. A sequence that is one array, and stays one, has one mask; ``axes`` are its."""
        if not isinstance(inputs, NDArray) or merge_outputs is False:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        check_length(length, inputs, layout)
        outputs = self.__dropped(nd, inputs)
        if valid_length is not None:
            outputs = masked(outputs, lengths(valid_length, inputs, 1 - time_axis(layout)), layout)
        return outputs, list(begin_state or [])


class ModifierCell(HybridRecurrentCell):
    """The base of cells that change what another cell does. That one can no longer be begun by itself.

    Its parameters are those of the base cell.

    >>> import gluonish as mx
    >>> class Twice(mx.gluon.rnn.ModifierCell):
    ...     def hybrid_forward(self, F, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return 2 * output, states
    >>> base = mx.gluon.rnn.GRUCell(4)
    >>> cell = Twice(base)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> bool((output == 2 * states[0]).all())
    True
    >>> base.begin_state(batch_size=2)
    Traceback (most recent call last):
        ...
    gluonish.gluon.rnn.CellError: GRUCell 'gru...' is inside of a modifier...
    """

    def __init__(self, base_cell: RecurrentCell) -> None:
        if not isinstance(base_cell, RecurrentCell):
            raise ArgumentError(f"{type(self).__name__}: a cell is needed, got {type(base_cell).__name__}")
        if base_cell._modified:
            raise CellError(
                f"{type(self).__name__}: {type(base_cell).__name__} {base_cell.name!r} is inside of a modifier "
                "already; give that one, or make another cell"
            )
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell
        base_cell._modified = True

    @property
    def params(self) -> Any:
        """The parameters of the base cell."""
        return self.base_cell.params

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"

    def state_info(self, batch_size: int = 0) -> StateInfo:
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Callable[..., NDArray] = nd.zeros, **kwargs: Any) -> list[NDArray]:  # type: ignore[override] # Gluon's signature
        """The states of the base cell before the first step."""
        refuse_if_modified(self)
        with freed(self.base_cell):
            return self.base_cell.begin_state(func=func, **kwargs)


@contextmanager
def freed(cell: RecurrentCell) -> Iterator[None]:
    """Lets a cell be begun by the modifier around it."""
    cell._modified = False
    try:
        yield
    finally:
        cell._modified = True


class ZoneoutCell(ModifierCell):
    """Zoneout (Krueger et al. 2016): in training, outputs and states keep some of their values of the step before.

    Parameters
    ----------
    base_cell : cell
        The cell inside.
    zoneout_outputs, zoneout_states : float
        The probability that an element stays as it was, from 0 to 1.

    The output before the first step is 0. Call ``reset`` before a new sequence; ``unroll`` does.

    >>> import gluonish as mx
    >>> cell = mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.GRUCell(4), zoneout_states=1)
    >>> cell.initialize()
    >>> with mx.autograd.train_mode():
    ...     output, states = cell(mx.nd.ones((1, 3)), cell.begin_state(batch_size=1))
    >>> states[0].tolist()
    [[0.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if not steps_alone(base_cell):
            raise CellError(
                "ZoneoutCell: a BidirectionalCell has no single step; put the zoneout around the cells in it"
            )
        super().__init__(base_cell)
        self.zoneout_outputs = probability(zoneout_outputs, "ZoneoutCell: zoneout_outputs")
        self.zoneout_states = probability(zoneout_states, "ZoneoutCell: zoneout_states")
        self._prev_output: NDArray | None = None

    def _alias(self) -> str:
        return "zoneout"

    def __repr__(self) -> str:
        rates = f"p_out={self.zoneout_outputs}, p_state={self.zoneout_states}"
        return f"{type(self).__name__}({rates}, {self.base_cell})"

    def reset(self) -> None:
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Any, inputs: NDArray, states: Sequence[NDArray]) -> tuple[NDArray, list[NDArray]]:
        output, new = self.base_cell(inputs, states)
        if self.zoneout_outputs:
            before = F.zeros_like(output) if self._prev_output is None else self._prev_output
            output = _mixed(F, self.zoneout_outputs, output, before)
        if self.zoneout_states:
            new = [_mixed(F, self.zoneout_states, now, before) for now, before in zip(new, states, strict=True)]
        self._prev_output = output
        return output, list(new)


def _mixed(F: Any, p: float, now: NDArray, before: NDArray) -> NDArray:
    """Each element of now, or with a probability that of before."""
    mask = F.Dropout(F.ones_like(now), p=p)
    mixed: NDArray = F.where(mask, now, before)
    return mixed


class ResidualCell(ModifierCell):
    """Adds the input to the output (Wu et al. 2016): the base cell's output must be as wide as its input.

    >>> import gluonish as mx
    >>> cell = mx.gluon.rnn.ResidualCell(mx.gluon.rnn.RNNCell(3, i2h_weight_initializer="zeros"))
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 3)), cell.begin_state(batch_size=1))[0].tolist()
    [[1.0, 1.0, 1.0]]
    """

    def hybrid_forward(self, F: Any, inputs: NDArray, states: Sequence[NDArray]) -> tuple[NDArray, list[NDArray]]:
        output, new = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs), new

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: Sequence[NDArray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Lengths = None,
    ) -> Unrolled:
        """As of one cell. The base cell is unrolled by itself, so it may be a :class:`BidirectionalCell`."""
        self.reset()
        steps = split(length, inputs, layout)
        valid = lengths(valid_length, steps[0])
        with freed(self.base_cell):
            outputs, states = self.base_cell.unroll(length, steps, begin_state, layout, merge_outputs, valid)
        if isinstance(outputs, NDArray):
            whole = inputs if isinstance(inputs, NDArray) else merged(inputs, layout)
            return outputs + (whole if valid is None else masked(whole, valid, layout)), states
        if valid is not None:
            steps = split(length, masked(steps, valid, layout), layout)
        return [a + b for a, b in zip(outputs, steps, strict=True)], states


def probability(value: float, name: str) -> float:
    if not 0 <= value <= 1:
        raise ArgumentError(f"{name}={value!r} must be from 0 to 1")
    return value
