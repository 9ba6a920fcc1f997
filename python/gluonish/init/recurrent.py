"""Initializers of recurrent layers."""

from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.init.base import InitDesc, Initializer, create, register

__all__ = ["FusedRNN", "LSTMBias"]

# Names of the gates, in the order in which their rows stand.
_GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}


@register
class LSTMBias(Initializer):
    """The biases of an LSTM: 0, but ``forget_bias`` for the forget gate, which is the second quarter.

    >>> from gluonish import nd
    >>> x = nd.ones(8)
    >>> LSTMBias(1.5).fill("lstm_i2h_bias", x)
    >>> x.tolist()
    [0.0, 0.0, 1.5, 1.5, 0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim == 0 or arr.shape[0] % 4:
            raise ShapeError(
                f"LSTMBias: cannot fill '{name}' of shape {arr.shape}: the biases of an LSTM are four times as many "
                "as its hidden units"
            )
        hidden = arr.shape[0] // 4
        arr[...] = 0
        arr[hidden : 2 * hidden] = self.forget_bias

    _init_bias = _init_weight  # called directly with a bias, it is still what was asked for


@register
class FusedRNN(Initializer):
    """The one vector of all parameters that ``nd.RNN`` takes: each gate's weights and biases are filled on their own.

    Parameters
    ----------
    init
        An initializer, its name or its JSON, called with names such as ``l0_i2h_f_weight``; None: the one that
        ``InitDesc.global_init`` says.
    mode
        "rnn_relu", "rnn_tanh", "lstm" or "gru".
    forget_bias
        The biases of the forget gate of an LSTM.

    >>> from gluonish import nd
    >>> x = nd.zeros((2 * (3 + 2) + 2 * 2) * 4)  # 3 inputs, 2 hidden units, 4 gates
    >>> FusedRNN("ones", num_hidden=2, num_layers=1, mode="lstm", forget_bias=5).fill("parameters", x)
    >>> x[:40].min().item(), x[40:48].tolist()
    (1.0, [0.0, 0.0, 5.0, 5.0, 0.0, 0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        if mode not in _GATES:
            raise ArgumentError(f"FusedRNN: mode={mode!r} is not valid: expected one of {', '.join(map(repr, _GATES))}")
        if num_hidden < 1 or num_layers < 1:
            raise ArgumentError(
                f"FusedRNN: num_hidden={num_hidden} and num_layers={num_layers} are not valid: expected at least 1"
            )
        self._init = None if init is None else create(init)
        super().__init__(
            init=None if self._init is None else self._init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._hidden, self._layers, self._mode = num_hidden, num_layers, mode
        self._directions = ("l", "r") if bidirectional else ("l",)
        self._forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        inner = self._init or getattr(name, "global_init", None)
        if inner is None or inner is self:
            raise ArgumentError(f"FusedRNN: nothing says how to fill '{name}': give init, or InitDesc.global_init")
        at = 0
        for part, shape in self._parts(name, arr):
            size = shape[0] * (shape[1] if len(shape) == 2 else 1)
            view = arr[at : at + size].reshape(shape)
            if self._mode == "lstm" and part.endswith("_f_bias"):
                view[...] = self._forget_bias
            else:
                inner(InitDesc(part, global_init=inner), view)
            at += size

    def _parts(self, name: str, arr: NDArray) -> list[tuple[str, tuple[int, ...]]]:
        """The gates' weights and biases, in the order in which they stand."""
        hidden, gates = self._hidden, _GATES[self._mode]
        cells = [(f"{side}{layer}", layer) for layer in range(self._layers) for side in self._directions]
        width = self._input_width(name, arr)
        found: list[tuple[str, tuple[int, ...]]] = []
        for cell, layer in cells:
            given = width if layer == 0 else hidden * len(self._directions)
            for group, columns in (("i2h", given), ("h2h", hidden)):
                found += [(f"{cell}_{group}{gate}_weight", (hidden, columns)) for gate in gates]
        for cell, _ in cells:
            found += [(f"{cell}_{group}{gate}_bias", (hidden,)) for group in ("i2h", "h2h") for gate in gates]
        return found

    def _input_width(self, name: str, arr: NDArray) -> int:
        """How many inputs the first layer has, as the length of the vector says."""
        sides, rows = len(self._directions), self._hidden * len(_GATES[self._mode])
        later = (self._layers - 1) * sides * rows * (self._hidden * sides + self._hidden + 2)
        width, left = divmod(arr.size - later, sides * rows)
        width -= self._hidden + 2
        if arr.ndim != 1 or left or width < 1:
            raise ShapeError(
                f"FusedRNN: '{name}' of shape {arr.shape} is not the vector of {self._layers} {self._mode} layers of "
                f"{self._hidden} hidden units in {sides} directions"
            )
        return width
