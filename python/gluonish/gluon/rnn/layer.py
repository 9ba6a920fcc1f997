"""Recurrent layers: whole sequences in one fused op."""

from collections.abc import Callable, Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish._types import DTypeLike
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import whole
from gluonish.gluon.parameter import Parameter
from gluonish.gluon.rnn._sequence import CellError
from gluonish.gluon.rnn.cell import GRUCell, LSTMCell, RNNCell, StateInfo
from gluonish.gluon.rnn.modifier import DropoutCell, probability
from gluonish.gluon.rnn.stack import BidirectionalCell, HybridSequentialRNNCell

__all__ = ["GRU", "LSTM", "RNN"]

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
Output = NDArray | tuple[NDArray, list[NDArray]]


class _RNNLayer(HybridBlock):
    """What the layers share: parameters for each layer and direction, which the op gets in one vector."""

    l0_i2h_weight: Parameter

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        initializers: dict[str, Any],
        dtype: DTypeLike,
        use_sequence_length: bool,
        prefix: str | None,
        params: Any,
        projection_size: int | None = None,
        clip: tuple[float | None, float | None, bool] = (None, None, False),
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        kind = type(self).__name__
        if layout not in ("TNC", "NTC"):
            raise CellError(f"{kind}: layout={layout!r} must be 'TNC' or 'NTC'")
        self._mode = mode
        self._hidden_size = whole(kind, "hidden_size", hidden_size)
        self._projection_size = None
        if projection_size is not None:  # 0 is none too
            self._projection_size = whole(kind, "projection_size", projection_size, least=0) or None
        self._num_layers = whole(kind, "num_layers", num_layers)
        self._layout = layout
        self._dropout = probability(dropout, f"{kind}: dropout")
        self._dir = 2 if bidirectional else 1
        self._input_size = whole(kind, "input_size", input_size, least=0)
        self.__initializers = initializers
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        self.__clip = clip
        self._gates = _GATES[mode]
        self.__make_parameters()
        # The order in which the op has them: all weights, then all biases.
        self.__packed = [name for name in self._reg_params if name.endswith("weight")]
        self.__packed += [name for name in self._reg_params if name.endswith("bias")]

    def __make_parameters(self) -> None:
        rows, width = self._gates * self._hidden_size, self._input_size
        state = self._projection_size or self._hidden_size
        for layer in range(self._num_layers):
            for direction in "lr"[: self._dir]:
                shapes: dict[str, tuple[int, ...]] = {"i2h_weight": (rows, width), "h2h_weight": (rows, state)}
                shapes |= {"i2h_bias": (rows,), "h2h_bias": (rows,)}
                if self._projection_size:
                    shapes["h2r_weight"] = (state, self._hidden_size)  # behind the biases, as in MXNet
                for part, shape in shapes.items():
                    name, init = f"{direction}{layer}_{part}", self.__initializers[part]
                    parameter = self.params.get(
                        name, shape=shape, init=init, dtype=self._dtype, allow_deferred_init=True
                    )
                    setattr(self, name, parameter)
            width = state * self._dir

    def __repr__(self) -> str:
        parts = [f"{self.__width() or None} -> {self._hidden_size}", self._layout]
        parts += [f"num_layers={self._num_layers}"] if self._num_layers != 1 else []
        parts += [f"dropout={self._dropout}"] if self._dropout else []
        parts += ["bidirectional"] if self._dir == 2 else []
        return f"{type(self).__name__}({', '.join(parts)})"

    def __width(self) -> int:
        """That of the input; 0 if it is not known yet."""
        return (self.l0_i2h_weight.shape or (0, 0))[1]

    def cast(self, dtype: DTypeLike) -> None:
        """Makes all parameters another type, and the states that ``begin_state`` makes."""
        super().cast(dtype)
        self._dtype = dtype

    def state_info(self, batch_size: int = 0) -> StateInfo:
        """For each state a dict with its shape, (num_layers * directions, batch, width), and its type."""
        widths = [self._projection_size or self._hidden_size]
        if self._mode == "lstm":
            widths.append(self._hidden_size)
        count = self._num_layers * self._dir
        return [{"shape": (count, batch_size, w), "__layout__": "LNC", "dtype": self._dtype} for w in widths]

    def begin_state(self, batch_size: int = 0, func: Callable[..., NDArray] = nd.zeros, **kwargs: Any) -> list[NDArray]:
        """The states before the first step: ``func(shape=..., dtype=..., **kwargs)`` for each, zeros by default."""
        infos = self.state_info(batch_size)
        return [func(**{"shape": info["shape"], "dtype": info["dtype"], **kwargs}) for info in infos]

    def __call__(
        self,
        inputs: NDArray,
        states: NDArray | Sequence[NDArray] | None = None,
        sequence_length: NDArray | None = None,
    ) -> Output:
        if (sequence_length is not None) != self._use_sequence_length:
            given = "is" if sequence_length is not None else "is not"
            raise ArgumentError(
                f"{type(self).__name__}: sequence_length {given} given, and the layer was made with "
                f"use_sequence_length={self._use_sequence_length}"
            )
        args = [inputs, [states] if isinstance(states, NDArray) else states, sequence_length]
        while args[-1] is None:
            args.pop()
        output: Output = super().__call__(*args)
        return output

    def infer_shape(self, *args: Any) -> None:
        """The width of the input is that of the first layer's weights."""
        inputs: NDArray = args[0]
        if inputs.ndim != 3:
            raise self.__not_a_sequence(inputs)
        for direction in "lr"[: self._dir]:
            weight = getattr(self, f"{direction}0_i2h_weight")
            weight.shape = (weight.shape[0], inputs.shape[2])

    def __not_a_sequence(self, inputs: NDArray) -> ShapeError:
        axes = {"T": "steps", "N": "batch", "C": "width"}
        wanted = ", ".join(axes[c] for c in self._layout)
        return ShapeError(f"{type(self).__name__}: inputs of shape {inputs.shape} must be ({wanted})")

    def hybrid_forward(  # type: ignore[override] # an argument and parameters by name
        self,
        F: Any,
        inputs: NDArray,
        states: Sequence[NDArray] | None = None,
        sequence_length: NDArray | None = None,
        **params: NDArray,
    ) -> Output:
        if inputs.ndim != 3:
            raise self.__not_a_sequence(inputs)
        if inputs.shape[2] != self.__width():
            raise ShapeError(
                f"{type(self).__name__}: inputs of shape {inputs.shape} have the width {inputs.shape[2]}, but the "
                f"layer's is {self.__width()}: that of l0_i2h_weight, {self.l0_i2h_weight.shape}"
            )
        batch = inputs.shape[self._layout.index("N")]
        if states is None:
            begin = self.begin_state(batch, ctx=inputs.context, dtype=inputs.dtype)
        else:
            begin = self.__checked(states, batch)
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, 0, 1)
        vector = F.concat(*[F.reshape(params[name], (-1,)) for name in self.__packed], dim=0)
        lengths = {"sequence_length": sequence_length, "use_sequence_length": True} if self._use_sequence_length else {}
        low, high, nan = self.__clip
        output, *after = F.RNN(
            inputs,
            vector,
            *begin,
            state_size=self._hidden_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            mode=self._mode,
            p=self._dropout,
            state_outputs=True,
            projection_size=self._projection_size,
            lstm_state_clip_min=low,
            lstm_state_clip_max=high,
            lstm_state_clip_nan=nan,
            **lengths,
        )
        if self._layout == "NTC":
            output = F.swapaxes(output, 0, 1)
        return output if states is None else (output, after)

    def __checked(self, states: Sequence[NDArray], batch: int) -> list[NDArray]:
        infos = self.state_info(batch)
        if len(states) != len(infos):
            raise CellError(f"{type(self).__name__}: states must be a list of {len(infos)}, got {len(states)}")
        for state, info in zip(states, infos, strict=True):
            if state.shape != info["shape"]:
                raise ShapeError(
                    f"{type(self).__name__}: a state of shape {state.shape} does not fit: {info['shape']} is needed, "
                    "(layers * directions, batch, width)"
                )
        return list(states)

    def _unfuse(self) -> HybridSequentialRNNCell:
        """The same network as a stack of cells, which share the layer's parameters. Gluon's name for it."""
        if self._projection_size or self.__clip != (None, None, False):
            raise ArgumentError(f"{type(self).__name__}: there are no cells with a projection and bounds of states")
        make: dict[str, Callable[..., Any]] = {
            "rnn_relu": lambda **how: RNNCell(self._hidden_size, "relu", **how),
            "rnn_tanh": lambda **how: RNNCell(self._hidden_size, "tanh", **how),
            "lstm": lambda **how: LSTMCell(self._hidden_size, **how),
            "gru": lambda **how: GRUCell(self._hidden_size, **how),
        }
        width = self.__width()
        how = {f"{part}_initializer": init for part, init in self.__initializers.items() if part != "h2r_weight"}
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells = [make[self._mode](prefix=f"{d}{layer}_", input_size=width, **how) for d in "lr"[: self._dir]]
                stack.add(BidirectionalCell(*cells) if self._dir == 2 else cells[0])
                if self._dropout and layer < self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                width = self._hidden_size * self._dir
        return stack


def _initializers(i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any, h2r_weight: Any = None) -> Any:
    return {
        "i2h_weight": i2h_weight,
        "h2h_weight": h2h_weight,
        "i2h_bias": i2h_bias,
        "h2h_bias": h2h_bias,
        "h2r_weight": h2r_weight,
    }


class RNN(_RNNLayer):
    """Layers of an Elman network: ``h' = activation(i2h_weight x + i2h_bias + h2h_weight h + h2h_bias)``.

    Parameters
    ----------
    hidden_size : int
        The width of states and outputs, of each direction.
    num_layers : int
        How many layers, each with the output of the one before as its input.
    activation : "relu" or "tanh"
        The activation.
    layout : "TNC" or "NTC"
        The axes of input and output: steps T, batch N, width C.
    dropout : float
        What part of a layer's outputs the next layer does not see in training, from 0 to 1.
    bidirectional : bool
        Whether each layer also goes through the steps backwards; outputs of both directions stand side by side.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of the parameters: for layer 0 ``l0_i2h_weight`` (hidden_size, input_size), ``l0_h2h_weight``
        (hidden_size, hidden_size), ``l0_i2h_bias`` and ``l0_h2h_bias`` (hidden_size,), and ``r0_...`` of the other
        direction; and so on for the next layers.
    input_size : int
        The width of the input; 0: the first call tells it.
    dtype
        The type of the parameters.
    use_sequence_length : bool
        Whether calls say how many steps of each sequence count: outputs are 0 after them, states stay, and the other
        direction begins at the last one.

    Call: ``layer(inputs)`` gives the output, ``layer(inputs, states)`` the output and the new states;
    ``sequence_length=`` (batch,) goes with ``use_sequence_length``. ``inputs``: (steps, batch, input_size); output:
    (steps, batch, directions * hidden_size); the state: (num_layers * directions, batch, hidden_size).

    >>> import gluonish as mx
    >>> layer = mx.gluon.rnn.RNN(4, num_layers=2, bidirectional=True)
    >>> layer.initialize()
    >>> x = mx.nd.ones((5, 3, 6))
    >>> layer(x).shape
    (5, 3, 8)
    >>> output, states = layer(x, layer.begin_state(batch_size=3))
    >>> output.shape, [s.shape for s in states], layer
    ((5, 3, 8), [(4, 3, 4)], RNN(6 -> 4, TNC, num_layers=2, bidirectional))
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        if activation not in ("relu", "tanh"):
            raise ArgumentError(f"RNN: activation={activation!r} must be 'relu' or 'tanh'; RNNCell takes others")
        parts = _initializers(
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        )
        shape = (f"rnn_{activation}", hidden_size, num_layers, layout, dropout, bidirectional, input_size)
        super().__init__(*shape, parts, dtype, use_sequence_length, prefix, params)


class LSTM(_RNNLayer):
    """Layers of long short-term memory (Hochreiter and Schmidhuber 1997), with forget gates.

    The gates i, f, g, o are the four parts of ``i2h_weight x + i2h_bias + h2h_weight h + h2h_bias``:
    ``c' = sigmoid(f) * c + sigmoid(i) * tanh(g)``, ``h' = sigmoid(o) * tanh(c')``; with a projection
    ``h' = h2r_weight (sigmoid(o) * tanh(c'))`` (Sak et al. 2014).

    Parameters
    ----------
    hidden_size, num_layers, layout, dropout, bidirectional, input_size, dtype, use_sequence_length
        As of :class:`RNN`; parameters have 4 hidden_size rows.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        As of :class:`RNN`; ``init.LSTMBias`` lets the forget gate begin open.
    projection_size : int or None
        The width of h and of outputs, where they are projections.
    h2r_weight_initializer
        Of the projection, ``l0_h2r_weight`` (projection_size, hidden_size).
    state_clip_min, state_clip_max : float or None
        Bounds of c, both or none.
    state_clip_nan : bool
        Whether a c of NaN becomes the lower bound.

    Call: as of :class:`RNN`, with the states [h, c]: (num_layers * directions, batch, projection_size or hidden_size)
    and (num_layers * directions, batch, hidden_size).

    >>> import gluonish as mx
    >>> layer = mx.gluon.rnn.LSTM(4, layout="NTC", projection_size=2)
    >>> layer.initialize()
    >>> output, (h, c) = layer(mx.nd.ones((3, 5, 6)), layer.begin_state(batch_size=3))
    >>> output.shape, h.shape, c.shape, layer.l0_i2h_weight.shape
    ((3, 5, 2), (1, 3, 2), (1, 3, 4), (16, 6))
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Any = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        clip = (state_clip_min, state_clip_max, state_clip_nan)
        if (state_clip_min is None) != (state_clip_max is None) or (state_clip_nan and state_clip_min is None):
            raise ArgumentError(
                f"LSTM: state_clip_min={state_clip_min}, state_clip_max={state_clip_max}, "
                f"state_clip_nan={state_clip_nan}: both bounds are needed, or none and no state_clip_nan"
            )
        parts = _initializers(
            *(i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer),
            h2r_weight_initializer,
        )
        shape = ("lstm", hidden_size, num_layers, layout, dropout, bidirectional, input_size)
        super().__init__(*shape, parts, dtype, use_sequence_length, prefix, params, projection_size, clip)


class GRU(_RNNLayer):
    """Layers of gated recurrent units (Cho et al. 2014), with the reset gate after the product.

    With the parts r, z, n of ``i2h_weight x + i2h_bias`` and of ``h2h_weight h + h2h_bias``:
    ``r = sigmoid(i2h_r + h2h_r)``, ``z = sigmoid(i2h_z + h2h_z)``, ``n = tanh(i2h_n + r * h2h_n)``,
    ``h' = (1 - z) * n + z * h``.

    Parameters and calls are those of :class:`RNN`; parameters have 3 hidden_size rows.

    >>> import gluonish as mx
    >>> layer = mx.gluon.rnn.GRU(4, use_sequence_length=True)
    >>> layer.initialize()
    >>> output = layer(mx.nd.ones((5, 2, 3)), sequence_length=mx.nd.array([5, 2]))
    >>> output.shape, (output != 0).any(axis=2).sum(axis=0).tolist()
    ((5, 2, 4), [5, 2])
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        parts = _initializers(
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        )
        shape = ("gru", hidden_size, num_layers, layout, dropout, bidirectional, input_size)
        super().__init__(*shape, parts, dtype, use_sequence_length, prefix, params)
