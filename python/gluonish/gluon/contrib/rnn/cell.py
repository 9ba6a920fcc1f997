"""An LSTM whose output is a projection, and dropout with one mask for a whole sequence."""

from collections.abc import Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.gluon.rnn._sequence import CellError, Lengths, Steps, merged, split, time_axis
from gluonish.gluon.rnn.cell import GatedCell, RecurrentCell, StateInfo, Unrolled, lstm_step, products, states_of
from gluonish.gluon.rnn.modifier import ModifierCell, freed, probability
from gluonish.gluon.rnn.stack import steps_alone

__all__ = ["LSTMPCell", "VariationalDropoutCell"]


class LSTMPCell(GatedCell):
    """A step of an LSTM whose state and output are a projection of its hidden units (Sak et al. 2014).

    With the gates of :class:`~gluonish.gluon.rnn.LSTMCell`, ``r' = h2r_weight (sigmoid(o) * tanh(c'))`` stands for
    ``h'``.

    Parameters
    ----------
    hidden_size : int
        The width of c.
    projection_size : int
        The width of r and of the output.
    i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of ``i2h_weight`` (4 hidden_size, input_size), ``h2h_weight`` (4 hidden_size, projection_size),
        ``h2r_weight`` (projection_size, hidden_size) and both biases (4 hidden_size,).
    input_size : int
        The width of the input; 0: the first call tells it.

    Call: ``(inputs, states)`` with (batch, input_size) and [r, c], (batch, projection_size) and (batch, hidden_size).
    Result: the output ``r'`` and [r', c'].

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.LSTMPCell(4, 2)
    >>> cell.initialize()
    >>> output, (r, c) = cell(mx.nd.ones((3, 5)), cell.begin_state(batch_size=3))
    >>> output.shape, r.shape, c.shape, cell
    ((3, 2), (3, 2), (3, 4), LSTMPCell(5 -> 16 -> 2))
    """

    gates = 4
    alias = "lstmp"

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        h2r_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        projection = (h2r_weight_initializer,)
        super().__init__(hidden_size, projection_size, input_size, initializers, prefix, params, projection)
        self._projection_size = int(projection_size)

    def state_info(self, batch_size: int = 0) -> StateInfo:
        widths = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, width), "__layout__": "NC"} for width in widths]

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]} -> {self._projection_size})"

    def hybrid_forward(
        self,
        F: Any,
        inputs: NDArray,
        states: Sequence[NDArray],
        i2h_weight: NDArray,
        h2h_weight: NDArray,
        h2r_weight: NDArray,
        i2h_bias: NDArray,
        h2h_bias: NDArray,
    ) -> tuple[NDArray, list[NDArray]]:
        r, c = states_of(self, inputs, states)
        i2h, h2h = products(self, F, inputs, r, (i2h_weight, h2h_weight, i2h_bias, h2h_bias))
        h, c = lstm_step(F, i2h + h2h, c, 1, "tanh")
        r = F.FullyConnected(h, h2r_weight, num_hidden=self._projection_size, no_bias=True)
        return r, [r, c]


class VariationalDropoutCell(ModifierCell):
    """Dropout with the same mask at every step of a sequence (Gal and Ghahramani 2016), in training.

    Parameters
    ----------
    base_cell : cell
        The cell inside.
    drop_inputs, drop_states, drop_outputs : float
        The probability that an element is dropped, from 0 to 1; of the states, the first one (h) alone.

    The masks stay until ``reset``, which ``unroll`` calls before a sequence.

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.VariationalDropoutCell(mx.gluon.rnn.GRUCell(4), drop_outputs=0.5)
    >>> cell.initialize()
    >>> with mx.autograd.train_mode():
    ...     outputs, states = cell.unroll(5, mx.nd.ones((2, 5, 3)), merge_outputs=True)
    >>> steps = (outputs != 0).astype("int32").sum(axis=1)
    >>> bool(((steps == 0) | (steps == 5)).all())  # dropped at every step, or at none
    True
    """

    def __init__(
        self, base_cell: RecurrentCell, drop_inputs: float = 0.0, drop_states: float = 0.0, drop_outputs: float = 0.0
    ) -> None:
        if drop_states and not steps_alone(base_cell):
            raise CellError(
                "VariationalDropoutCell: a BidirectionalCell has no single step, so its states cannot be dropped; put "
                "the dropout around the cells in it"
            )
        super().__init__(base_cell)
        self.drop_inputs = probability(drop_inputs, "VariationalDropoutCell: drop_inputs")
        self.drop_states = probability(drop_states, "VariationalDropoutCell: drop_states")
        self.drop_outputs = probability(drop_outputs, "VariationalDropoutCell: drop_outputs")
        self.__masks: dict[str, NDArray] = {}

    def _alias(self) -> str:
        return "vardrop"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def reset(self) -> None:
        super().reset()
        self.__masks = {}

    def hybrid_forward(self, F: Any, inputs: NDArray, states: Sequence[NDArray]) -> tuple[NDArray, list[NDArray]]:
        if states:
            states = [self.__dropped(F, "states", states[0], self.drop_states), *states[1:]]
        output, new = self.base_cell(self.__dropped(F, "inputs", inputs, self.drop_inputs), states)
        return self.__dropped(F, "outputs", output, self.drop_outputs), new

    def __dropped(self, F: Any, name: str, x: NDArray, p: float) -> NDArray:
        """``x`` times the mask of this sequence, which the first step makes."""
        if not p:
            return x
        if name not in self.__masks:
            self.__masks[name] = F.Dropout(F.ones_like(x), p=p)
        return x * self.__masks[name]

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: Sequence[NDArray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Lengths = None,
    ) -> Unrolled:
        """As of one cell. Where no states are dropped, the base cell is unrolled by itself."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        whole = self.__dropped_alike(inputs, self.drop_inputs, layout)
        merge = merge_outputs is not False
        with freed(self.base_cell):
            outputs, states = self.base_cell.unroll(length, whole, begin_state, layout, merge, valid_length)
        if self.drop_outputs:
            outputs = self.__dropped_alike(outputs, self.drop_outputs, layout)
            outputs = outputs if merge else split(length, outputs, layout)
        return outputs, states

    def __dropped_alike(self, steps: Steps, p: float, layout: str) -> Steps:
        """A sequence after dropout with one mask for all of its steps."""
        if not p:
            return steps
        whole = steps if isinstance(steps, NDArray) else merged(steps, layout)
        result: NDArray = nd.Dropout(whole, p=p, axes=(time_axis(layout),))
        return result
