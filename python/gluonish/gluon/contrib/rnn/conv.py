"""Cells whose products are convolutions: recurrent networks of images and volumes (Shi et al. 2015)."""

from collections.abc import Sequence
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon.rnn.cell import HybridRecurrentCell, StateInfo, activate, gru_step, lstm_step, states_of

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]

Size = int | Sequence[int]


class _ConvCell(HybridRecurrentCell):
    """What the cells share: two convolutions, of the input and of the state, with the gates along the channels."""

    dims = 0
    gates = 1
    alias = ""

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        kernels: tuple[Size, Size],
        i2h_pad: Size,
        dilates: tuple[Size, Size],
        initializers: tuple[Any, Any, Any, Any],
        conv_layout: str,
        activation: Any,
        prefix: str | None,
        params: Any,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if conv_layout not in (self.__layouts()):
            raise ArgumentError(f"{type(self).__name__}: conv_layout={conv_layout!r} must be one of {self.__layouts()}")
        self._hidden_channels = hidden_channels
        self._input_shape = tuple(input_shape)
        self._conv_layout = conv_layout
        self._activation = activation
        self._channel_axis = conv_layout.index("C")
        self._i2h_kernel, self._h2h_kernel = (
            self.__size(kernels[0], "i2h_kernel"),
            self.__size(kernels[1], "h2h_kernel"),
        )
        self._i2h_pad = self.__size(i2h_pad, "i2h_pad")
        self._i2h_dilate, self._h2h_dilate = (
            self.__size(dilates[0], "i2h_dilate"),
            self.__size(dilates[1], "h2h_dilate"),
        )
        if any(k % 2 == 0 for k in self._h2h_kernel):
            raise ArgumentError(
                f"{type(self).__name__}: h2h_kernel={kernels[1]} must be odd, so that states keep their size"
            )
        self._h2h_pad = tuple(d * (k - 1) // 2 for d, k in zip(self._h2h_dilate, self._h2h_kernel, strict=True))
        channels, self._state_shape = self.__shapes()
        rows = self.gates * hidden_channels
        shapes = (
            self.__with_channels(rows, channels, self._i2h_kernel),
            self.__with_channels(rows, hidden_channels, self._h2h_kernel),
            *((rows,), (rows,)),
        )
        names = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
        for name, shape, init in zip(names, shapes, initializers, strict=True):
            setattr(self, name, self.params.get(name, shape=shape, init=init))

    def __layouts(self) -> tuple[str, str]:
        axes = "DHW"[3 - self.dims :]
        return f"NC{axes}", f"N{axes}C"

    def __size(self, given: Size, name: str) -> tuple[int, ...]:
        """A number for each axis of an image."""
        sizes = (given,) * self.dims if isinstance(given, int) else tuple(given)
        if len(sizes) != self.dims:
            raise ArgumentError(f"{type(self).__name__}: {name}={given} must be one number, or {self.dims}")
        return sizes

    def __shapes(self) -> tuple[int, tuple[int, ...]]:
        """The number of channels of the input, and the shape of a state."""
        if len(self._input_shape) != self.dims + 1:
            raise ShapeError(
                f"{type(self).__name__}: input_shape={self._input_shape} must have {self.dims + 1} numbers, those of "
                f"{self._conv_layout[1:]}"
            )
        images = list(self._input_shape)
        channels = images.pop(self._channel_axis - 1)
        window = zip(images, self._i2h_kernel, self._i2h_pad, self._i2h_dilate, strict=True)
        out = [n + 2 * pad - dilate * (kernel - 1) for n, kernel, pad, dilate in window]
        if min(out) < 1:
            raise ShapeError(
                f"{type(self).__name__}: input_shape={self._input_shape} is smaller than i2h_kernel={self._i2h_kernel}"
            )
        out.insert(self._channel_axis - 1, self._hidden_channels)
        return channels, tuple(out)

    def __with_channels(self, rows: int, channels: int, kernel: tuple[int, ...]) -> tuple[int, ...]:
        return (rows, channels, *kernel) if self._channel_axis == 1 else (rows, *kernel, channels)

    def _alias(self) -> str:
        return self.alias

    def __repr__(self) -> str:
        channels, rows = self._input_shape[self._channel_axis - 1], self.gates * self._hidden_channels
        return f"{type(self).__name__}({channels} -> {rows}, {self._activation}, {self._conv_layout})"

    def state_info(self, batch_size: int = 0) -> StateInfo:
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}]


def _products(
    cell: _ConvCell, F: Any, inputs: NDArray, h: NDArray, weights: tuple[NDArray, NDArray, NDArray, NDArray]
) -> tuple[NDArray, NDArray]:
    """From the input and from the state, each with gates * hidden_channels channels."""
    i2h_weight, h2h_weight, i2h_bias, h2h_bias = weights
    how = {"num_filter": cell.gates * cell._hidden_channels, "layout": cell._conv_layout}
    of_input = {"kernel": cell._i2h_kernel, "pad": cell._i2h_pad, "dilate": cell._i2h_dilate}
    of_state = {"kernel": cell._h2h_kernel, "pad": cell._h2h_pad, "dilate": cell._h2h_dilate}
    i2h = F.Convolution(inputs, i2h_weight, i2h_bias, **of_input, **how)
    return i2h, F.Convolution(h, h2h_weight, h2h_bias, **of_state, **how)


class _RNN(_ConvCell):
    alias = "conv_rnn"

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
        i2h, h2h = _products(self, F, inputs, h, (i2h_weight, h2h_weight, i2h_bias, h2h_bias))
        output = activate(F, i2h + h2h, self._activation)
        return output, [output]


class _LSTM(_ConvCell):
    gates = 4
    alias = "conv_lstm"

    def state_info(self, batch_size: int = 0) -> StateInfo:
        return super().state_info(batch_size) * 2

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
        i2h, h2h = _products(self, F, inputs, h, (i2h_weight, h2h_weight, i2h_bias, h2h_bias))
        h, c = lstm_step(F, i2h + h2h, c, self._channel_axis, self._activation)
        return h, [h, c]


class _GRU(_ConvCell):
    gates = 3
    alias = "conv_gru"

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
        i2h, h2h = _products(self, F, inputs, h, (i2h_weight, h2h_weight, i2h_bias, h2h_bias))
        output = gru_step(F, i2h, h2h, h, self._channel_axis, self._activation)
        return output, [output]


class _OneD(_ConvCell):
    dims = 1

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Size,
        h2h_kernel: Size,
        i2h_pad: Size = (0,),
        i2h_dilate: Size = (1,),
        h2h_dilate: Size = (1,),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        kernels, dilates = (i2h_kernel, h2h_kernel), (i2h_dilate, h2h_dilate)
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        shape = (input_shape, hidden_channels, kernels, i2h_pad, dilates)
        super().__init__(*shape, inits, conv_layout, activation, prefix, params)


class _TwoD(_ConvCell):
    dims = 2

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Size,
        h2h_kernel: Size,
        i2h_pad: Size = (0, 0),
        i2h_dilate: Size = (1, 1),
        h2h_dilate: Size = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        kernels, dilates = (i2h_kernel, h2h_kernel), (i2h_dilate, h2h_dilate)
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        shape = (input_shape, hidden_channels, kernels, i2h_pad, dilates)
        super().__init__(*shape, inits, conv_layout, activation, prefix, params)


class _ThreeD(_ConvCell):
    dims = 3

    def __init__(
        self,
        input_shape: Sequence[int],
        hidden_channels: int,
        i2h_kernel: Size,
        h2h_kernel: Size,
        i2h_pad: Size = (0, 0, 0),
        i2h_dilate: Size = (1, 1, 1),
        h2h_dilate: Size = (1, 1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = "NCDHW",
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        kernels, dilates = (i2h_kernel, h2h_kernel), (i2h_dilate, h2h_dilate)
        inits = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        shape = (input_shape, hidden_channels, kernels, i2h_pad, dilates)
        super().__init__(*shape, inits, conv_layout, activation, prefix, params)


class Conv2DRNNCell(_RNN, _TwoD):
    """A step of an Elman network of images: ``h' = activation(conv(x) + conv(h))``.

    Parameters
    ----------
    input_shape : tuple of int
        The shape of an input without the batch, (channels, height, width) for "NCHW".
    hidden_channels : int
        The number of channels of states and outputs.
    i2h_kernel, i2h_pad, i2h_dilate : int or tuple of int
        The convolution of the input; states have the size that it makes.
    h2h_kernel, h2h_dilate : int or tuple of int
        The convolution of the state, whose kernel is odd; its padding keeps the size.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        Initializers of ``i2h_weight`` (gates * hidden_channels, channels, height, width), ``h2h_weight`` and both
        biases (gates * hidden_channels,).
    conv_layout : str
        "NCHW" or "NHWC".
    activation : str, block or function
        "tanh", "relu", ..., or a block.

    Call: ``(inputs, states)`` with (batch, *input_shape) and [(batch, hidden_channels, height', width')]. Result: the
    output, of the same shape, and the new states.

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv2DRNNCell((3, 8, 8), 4, i2h_kernel=3, h2h_kernel=3)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 8, 8)), cell.begin_state(batch_size=2))
    >>> output.shape, cell
    ((2, 4, 6, 6), Conv2DRNNCell(3 -> 4, tanh, NCHW))
    """


class Conv2DLSTMCell(_LSTM, _TwoD):
    """A step of an LSTM of images (Shi et al. 2015): :class:`~gluonish.gluon.rnn.LSTMCell` with convolutions.

    Arguments are those of :class:`Conv2DRNNCell`, with 4 gates; the states are [h, c].

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv2DLSTMCell((3, 8, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3, 8, 8)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states), cell.i2h_weight.shape
    ((2, 4, 8, 8), 2, (16, 3, 3, 3))
    """


class Conv2DGRUCell(_GRU, _TwoD):
    """A step of gated recurrent units of images: :class:`~gluonish.gluon.rnn.GRUCell` with convolutions.

    Arguments are those of :class:`Conv2DRNNCell`, with 3 gates.

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv2DGRUCell((8, 8, 3), 4, 3, 3, i2h_pad=1, conv_layout="NHWC")
    >>> cell.initialize()
    >>> cell(mx.nd.ones((2, 8, 8, 3)), cell.begin_state(batch_size=2))[0].shape
    (2, 8, 8, 4)
    """


class Conv1DRNNCell(_RNN, _OneD):
    """:class:`Conv2DRNNCell` of rows: an input is (channels, width), the layout "NCW" or "NWC".

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv1DRNNCell((3, 8), 4, i2h_kernel=3, h2h_kernel=3)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((2, 3, 8)), cell.begin_state(batch_size=2))[0].shape
    (2, 4, 6)
    """


class Conv1DLSTMCell(_LSTM, _OneD):
    """:class:`Conv2DLSTMCell` of rows: an input is (channels, width), the layout "NCW" or "NWC".

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv1DLSTMCell((3, 8), 4, i2h_kernel=3, h2h_kernel=3)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((2, 3, 8)), cell.begin_state(batch_size=2))[0].shape
    (2, 4, 6)
    """


class Conv1DGRUCell(_GRU, _OneD):
    """:class:`Conv2DGRUCell` of rows: an input is (channels, width), the layout "NCW" or "NWC".

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv1DGRUCell((3, 8), 4, i2h_kernel=3, h2h_kernel=3)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((2, 3, 8)), cell.begin_state(batch_size=2))[0].shape
    (2, 4, 6)
    """


class Conv3DRNNCell(_RNN, _ThreeD):
    """:class:`Conv2DRNNCell` of volumes: an input is (channels, depth, height, width), the layout "NCDHW" or "NDHWC".

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv3DRNNCell((3, 5, 5, 5), 4, i2h_kernel=3, h2h_kernel=3)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((2, 3, 5, 5, 5)), cell.begin_state(batch_size=2))[0].shape
    (2, 4, 3, 3, 3)
    """


class Conv3DLSTMCell(_LSTM, _ThreeD):
    """:class:`Conv2DLSTMCell` of volumes: an input is (channels, depth, height, width), the layout "NCDHW" or "NDHWC".

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv3DLSTMCell((3, 5, 5, 5), 4, i2h_kernel=3, h2h_kernel=3)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((2, 3, 5, 5, 5)), cell.begin_state(batch_size=2))[0].shape
    (2, 4, 3, 3, 3)
    """


class Conv3DGRUCell(_GRU, _ThreeD):
    """:class:`Conv2DGRUCell` of volumes: an input is (channels, depth, height, width), the layout "NCDHW" or "NDHWC".

    >>> import gluonish as mx
    >>> cell = mx.gluon.contrib.rnn.Conv3DGRUCell((3, 5, 5, 5), 4, i2h_kernel=3, h2h_kernel=3)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((2, 3, 5, 5, 5)), cell.begin_state(batch_size=2))[0].shape
    (2, 4, 3, 3, 3)
    """
