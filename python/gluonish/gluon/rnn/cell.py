"""Cells: one step of a recurrent network."""

from collections.abc import Callable, Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish._dtype import dtype_name
from gluonish.errors import ShapeError
from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import whole
from gluonish.gluon.parameter import Parameter
from gluonish.gluon.rnn._sequence import CellError, Lengths, Steps, last_valid, lengths, masked, merged, split

__all__ = ["GRUCell", "HybridRecurrentCell", "LSTMCell", "RNNCell", "RecurrentCell"]

StateInfo = list[dict[str, Any]]
Unrolled = tuple[Steps, list[NDArray]]


class RecurrentCell(Block):
    """The base of cells: what goes from one step to the next is a list of states.

    A cell of one's own says which states it has, and what a step does:

    >>> import gluonish as mx
    >>> class Sum(mx.gluon.rnn.RecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 1), "__layout__": "NC"}]
    ...
    ...     def forward(self, inputs, states):
    ...         total = states[0] + inputs
    ...         return total, [total]
    >>> x = mx.nd.array([[1, 2, 3]]).expand_dims(-1)  # (1, 3, 1): batch, steps, width
    >>> outputs, states = Sum().unroll(3, x, merge_outputs=True)
    >>> outputs.shape, outputs.reshape(-1).tolist(), states[0].tolist()
    ((1, 3, 1), [1.0, 3.0, 6.0], [[6.0]])
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False

    def reset(self) -> None:
        """Forgets what was kept from step to step beside the states, in this cell and in those inside of it.

        ``unroll`` does so; before a new sequence, code that steps by itself must.
        """
        for child in self._children.values():
            if isinstance(child, RecurrentCell):
                child.reset()

    def state_info(self, batch_size: int = 0) -> StateInfo:
        """For each state a dict with its shape."""
        raise NotImplementedError(f"{type(self).__name__} must define state_info(batch_size)")

    def begin_state(self, batch_size: int = 0, func: Callable[..., NDArray] = nd.zeros, **kwargs: Any) -> list[NDArray]:
        """The states before the first step: ``func(shape=..., **kwargs)`` for each, zeros unless told otherwise.

        ``kwargs`` are for instance ``ctx`` and ``dtype``.
        """
        refuse_if_modified(self)
        infos = ({k: v for k, v in (info or {}).items() if k != "__layout__"} for info in self.state_info(batch_size))
        return [func(**{**info, **kwargs}) for info in infos]

    def unroll(
        self,
        length: int,
        inputs: Steps,
        begin_state: Sequence[NDArray] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Lengths = None,
    ) -> Unrolled:
        """The outputs of all steps of a sequence, and the states after the last.

        Parameters
        ----------
        length : int
            The number of steps.
        inputs : array or list of arrays
            The sequence: an array whose axes ``layout`` names, or an array (batch, ...) for each step.
        begin_state : list of arrays or None
            The states before the first step; None: zeros.
        layout : "NTC" or "TNC"
            The axes of inputs and merged outputs: batch N, steps T, then those of a step.
        merge_outputs : bool or None
            True: outputs are one array. False: they are a list. None: what costs less, as in MXNet; a list, or an array
            where ``valid_length`` is given.
        valid_length : array, list of int or None
            How many steps of each sequence are valid, (batch,): outputs are 0 after them, and the states are those
            after the last valid one.
        """
        self.reset()
        steps = split(length, inputs, layout)
        valid = lengths(valid_length, steps[0])
        states = states_before(self, begin_state, steps[0])
        seen, outputs = [states], []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
            if valid is not None:  # else they need not stay in memory
                seen.append(states)
        if valid is not None:
            states = last_valid(seen, valid)
        return _shaped(outputs, layout, merge_outputs, valid), states


def refuse_if_modified(cell: RecurrentCell) -> None:
    """A cell inside of a modifier is begun by that one."""
    if cell._modified:
        raise CellError(
            f"{type(cell).__name__} {cell.name!r} is inside of a modifier (ZoneoutCell, ResidualCell, ...): "
            "call that one instead"
        )


def states_before(cell: RecurrentCell, begin_state: NDArray | Sequence[NDArray] | None, step: NDArray) -> list[NDArray]:
    """States of zeros where a step's input is, unless they are given."""
    if begin_state is not None:
        return [begin_state] if isinstance(begin_state, NDArray) else list(begin_state)
    dtype = step.dtype if "float" in dtype_name(step.dtype) else "float32"
    return cell.begin_state(batch_size=step.shape[0], func=nd.zeros, ctx=step.context, dtype=dtype)


def _shaped(outputs: Sequence[NDArray], layout: str, merge_outputs: bool | None, valid_length: NDArray | None) -> Steps:
    """Outputs as they were asked for: one array or a list, with zeros where they are not valid."""
    if valid_length is None:
        return merged(outputs, layout) if merge_outputs else list(outputs)
    whole = masked(outputs, valid_length, layout)
    return split(len(outputs), whole, layout) if merge_outputs is False else whole


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """The base of cells that define ``hybrid_forward(F, inputs, states, **params)``.

    >>> import gluonish as mx
    >>> class Scale(mx.gluon.rnn.HybridRecurrentCell):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.factor = self.params.get("factor", shape=(1,), init="ones")
    ...
    ...     def state_info(self, batch_size=0):
    ...         return []
    ...
    ...     def hybrid_forward(self, F, inputs, states, factor):
    ...         return inputs * factor * 2, states
    >>> cell = Scale()
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2)), [])
    ([[2. 2.]]
    <NDArray 1x2 @cpu(0)>, [])
    """


class GatedCell(HybridRecurrentCell):
    """What cells made of two products share: from the input, and from the state; each gate has its rows in both.

    ``projection`` has the initializer of ``h2r_weight``, where the state is a projection.
    """

    gates = 1
    alias = ""
    i2h_weight: Parameter

    def __init__(
        self,
        hidden_size: int,
        state_size: int,
        input_size: int,
        initializers: tuple[Any, Any, Any, Any],
        prefix: str | None,
        params: Any,
        projection: tuple[Any, ...] = (),
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        kind = type(self).__name__
        hidden_size = self._hidden_size = whole(kind, "hidden_size", hidden_size)
        state_size = whole(kind, "projection_size" if projection else "hidden_size", state_size)
        input_size = self._input_size = whole(kind, "input_size", input_size, least=0)
        rows = self.gates * hidden_size
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = initializers
        made: list[tuple[str, tuple[int, ...], Any]] = []
        made += [("i2h_weight", (rows, input_size), i2h_weight), ("h2h_weight", (rows, state_size), h2h_weight)]
        made += [("h2r_weight", (state_size, hidden_size), init) for init in projection]  # in MXNet's order
        made += [("i2h_bias", (rows,), i2h_bias), ("h2h_bias", (rows,), h2h_bias)]
        for name, shape, init in made:
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _alias(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        rows, width = self.i2h_weight.shape or (0, 0)
        return f"{type(self).__name__}({width or None} -> {rows})"


def products(
    cell: GatedCell, F: Any, inputs: NDArray, h: NDArray, weights: tuple[NDArray, NDArray, NDArray, NDArray]
) -> tuple[NDArray, NDArray]:
    """From the input and from the state, each (batch, gates * hidden_size)."""
    rows = cell.gates * cell._hidden_size
    i2h_weight, h2h_weight, i2h_bias, h2h_bias = weights
    i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows)
    return i2h, F.FullyConnected(h, h2h_weight, h2h_bias, num_hidden=rows)


def states_of(cell: RecurrentCell, inputs: NDArray, states: NDArray | Sequence[NDArray]) -> Sequence[NDArray]:
    """The states of a step, which must be those that the cell has; one array is a list of one."""
    given = [states] if isinstance(states, NDArray) else states
    infos = cell.state_info(inputs.shape[0])
    if len(given) != len(infos):
        raise CellError(
            f"{type(cell).__name__}: states must be a list of {len(infos)}, got {len(given)}; begin_state makes one"
        )
    for state, info in zip(given, infos, strict=True):
        if state.shape != info["shape"]:
            raise ShapeError(
                f"{type(cell).__name__}: a state of shape {state.shape} does not fit: {info['shape']} is needed for "
                f"inputs of shape {inputs.shape}"
            )
    return given


def activate(F: Any, x: NDArray, activation: Any) -> NDArray:
    """An activation given by its name, or as a block or a function."""
    result: NDArray
    if activation in ("tanh", "sigmoid", "relu", "softsign"):
        result = getattr(F, activation)(x)
        return result
    result = F.Activation(x, act_type=activation) if isinstance(activation, str) else activation(x)
    return result


class RNNCell(GatedCell):
    """A step of an Elman network: ``h' = activation(i2h_weight x + i2h_bias + h2h_weight h + h2h_bias)``.

    Parameters
    ----------
    hidden_size : int
        The width of state and output.
    activation : str, block or function
        "tanh", "relu", "sigmoid", "softrelu", "softsign", or a block.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of ``i2h_weight`` (hidden_size, input_size), ``h2h_weight`` (hidden_size, hidden_size) and both
        biases (hidden_size,).
    input_size : int
        The width of the input; 0: the first call tells it.

    Call: ``(inputs, states)`` with (batch, input_size) and [(batch, hidden_size)]. Result: the output
    (batch, hidden_size) and the new states.

    >>> import gluonish as mx
    >>> cell = mx.gluon.rnn.RNNCell(4)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, [s.shape for s in states], cell
    ((2, 4), [(2, 4)], RNNCell(3 -> 4, tanh))
    """

    alias = "rnn"

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, hidden_size, input_size, initializers, prefix, params)
        self._activation = activation

    def state_info(self, batch_size: int = 0) -> StateInfo:
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._activation})"

    def hybrid_forward(
        self,
        F: Any,
        inputs: NDArray,
        states: Sequence[NDArray],
        i2h_weight: NDArray,
        h2h_weight: NDArray,
        i2h_bias: NDArray,
        h2h_bias: NDArray,
    ) -> tuple[NDArray, list[NDArray]]:
        (h,) = states_of(self, inputs, states)
        i2h, h2h = products(self, F, inputs, h, (i2h_weight, h2h_weight, i2h_bias, h2h_bias))
        output = activate(F, i2h + h2h, self._activation)
        return output, [output]


class LSTMCell(GatedCell):
    """A step of long short-term memory (Hochreiter and Schmidhuber 1997), with a forget gate.

    The gates i, f, g, o are the four parts of ``i2h_weight x + i2h_bias + h2h_weight h + h2h_bias``:
    ``c' = sigmoid(f) * c + sigmoid(i) * tanh(g)``, ``h' = sigmoid(o) * tanh(c')``.

    Parameters
    ----------
    hidden_size : int
        The width of both states and of the output.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of ``i2h_weight`` (4 hidden_size, input_size), ``h2h_weight`` (4 hidden_size, hidden_size) and both
        biases (4 hidden_size,); ``init.LSTMBias`` lets the forget gate begin open.
    input_size : int
        The width of the input; 0: the first call tells it.
    activation, recurrent_activation : str, block or function
        What stands for tanh and for sigmoid.

    Call: ``(inputs, states)`` with (batch, input_size) and [h, c], each (batch, hidden_size). Result: the output ``h'``
    and [h', c'].

    >>> import gluonish as mx
    >>> cell = mx.gluon.rnn.LSTMCell(4)
    >>> cell.initialize()
    >>> output, (h, c) = cell(mx.nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, h.shape, c.shape, cell
    ((2, 4), (2, 4), (2, 4), LSTMCell(3 -> 16))
    """

    gates = 4
    alias = "lstm"

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, hidden_size, input_size, initializers, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def state_info(self, batch_size: int = 0) -> StateInfo:
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(2)]

    def hybrid_forward(
        self,
        F: Any,
        inputs: NDArray,
        states: Sequence[NDArray],
        i2h_weight: NDArray,
        h2h_weight: NDArray,
        i2h_bias: NDArray,
        h2h_bias: NDArray,
    ) -> tuple[NDArray, list[NDArray]]:
        h, c = states_of(self, inputs, states)
        i2h, h2h = products(self, F, inputs, h, (i2h_weight, h2h_weight, i2h_bias, h2h_bias))
        h, c = lstm_step(F, i2h + h2h, c, 1, self._activation, self._recurrent_activation)
        return h, [h, c]


def lstm_step(
    F: Any, gates: NDArray, c: NDArray, axis: int, activation: Any, recurrent_activation: Any = "sigmoid"
) -> tuple[NDArray, NDArray]:
    """The new h and c of an LSTM whose gates stand one after the other along an axis."""
    i, f, g, o = F.split(gates, num_outputs=4, axis=axis)
    i, f, o = (activate(F, gate, recurrent_activation) for gate in (i, f, o))
    c = f * c + i * activate(F, g, activation)
    return o * activate(F, c, activation), c


class GRUCell(GatedCell):
    """A step of a gated recurrent unit (Cho et al. 2014), with the reset gate after the product.

    With the parts r, z, n of ``i2h_weight x + i2h_bias`` and of ``h2h_weight h + h2h_bias``:
    ``r = sigmoid(i2h_r + h2h_r)``, ``z = sigmoid(i2h_z + h2h_z)``, ``n = tanh(i2h_n + r * h2h_n)``,
    ``h' = (1 - z) * n + z * h``.

    Parameters
    ----------
    hidden_size : int
        The width of state and output.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of ``i2h_weight`` (3 hidden_size, input_size), ``h2h_weight`` (3 hidden_size, hidden_size) and both
        biases (3 hidden_size,).
    input_size : int
        The width of the input; 0: the first call tells it.

    Call: ``(inputs, states)`` with (batch, input_size) and [(batch, hidden_size)]. Result: the output
    (batch, hidden_size) and the new states.

    >>> import gluonish as mx
    >>> cell = mx.gluon.rnn.GRUCell(4, input_size=3)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, [s.shape for s in states], cell.i2h_weight.shape
    ((2, 4), [(2, 4)], (12, 3))
    """

    gates = 3
    alias = "gru"

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(hidden_size, hidden_size, input_size, initializers, prefix, params)

    def state_info(self, batch_size: int = 0) -> StateInfo:
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def hybrid_forward(
        self,
        F: Any,
        inputs: NDArray,
        states: Sequence[NDArray],
        i2h_weight: NDArray,
        h2h_weight: NDArray,
        i2h_bias: NDArray,
        h2h_bias: NDArray,
    ) -> tuple[NDArray, list[NDArray]]:
        (h,) = states_of(self, inputs, states)
        i2h, h2h = products(self, F, inputs, h, (i2h_weight, h2h_weight, i2h_bias, h2h_bias))
        output = gru_step(F, i2h, h2h, h, 1, "tanh")
        return output, [output]


def gru_step(F: Any, i2h: NDArray, h2h: NDArray, h: NDArray, axis: int, activation: Any) -> NDArray:
    """The new h of a GRU whose gates stand one after the other along an axis."""
    of_input, of_state = F.split(i2h, num_outputs=3, axis=axis), F.split(h2h, num_outputs=3, axis=axis)
    r, z = (F.sigmoid(of_input[k] + of_state[k]) for k in range(2))
    n = activate(F, of_input[2] + r * of_state[2], activation)
    new: NDArray = (1.0 - z) * n + z * h
    return new
