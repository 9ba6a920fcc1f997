"""Convolutions and their transposes, over one to three spatial axes.

Along each spatial axis, of size ``n``, a convolution has ``(n + 2 * padding - dilation * (kernel - 1) - 1) // stride +
1`` places, and a transposed one ``(n - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1``.
"""

from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import PerAxis, channels_last, per_axis, whole
from gluonish.gluon.nn.activations import Activation

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]


class _Conv(HybridBlock):
    """What all of them have in common. A subclass says over how many axes it goes, and whether it is transposed."""

    __axes: int
    __transposed = False

    def __init_subclass__(cls, axes: int | None = None, transposed: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if axes is not None:  # a subclass of a subclass does not say it again
            cls.__axes, cls.__transposed = axes, transposed

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis,
        padding: PerAxis,
        dilation: PerAxis,
        groups: int,
        layout: str,
        activation: str | None,
        use_bias: bool,
        weight_initializer: Any,
        bias_initializer: Any,
        in_channels: int,
        prefix: str | None,
        params: Any,
        output_padding: PerAxis | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name, axes = type(self).__name__, self.__axes
        channels, groups = whole(name, "channels", channels), whole(name, "groups", groups)
        in_channels = whole(name, "in_channels", in_channels, 0)
        if channels % groups or in_channels % groups:
            known = f" and in_channels={in_channels}" if in_channels else ""
            text = f"groups={groups} must divide channels={channels}{known}"
            raise ArgumentError(f"{name}: {text}")
        kernel = per_axis(name, "kernel_size", kernel_size, axes, 1)
        self._channels, self._in_channels = channels, in_channels
        self.__channels_last = channels_last(name, layout, axes)
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": per_axis(name, "strides", strides, axes, 1),
            "dilate": per_axis(name, "dilation", dilation, axes, 1),
            "pad": per_axis(name, "padding", padding, axes),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if output_padding is not None:
            self._kwargs["adj"] = per_axis(name, "output_padding", output_padding, axes)
        rows, columns = (in_channels, channels // groups) if self.__transposed else (channels, in_channels // groups)
        shape = (rows, *kernel, columns) if self.__channels_last else (rows, columns, *kernel)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
            self.bias = (
                self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=f"{activation}_") if activation is not None else None

    def _alias(self) -> str:
        return "conv"

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> NDArray:
        row = F.Deconvolution if self.__transposed else F.Convolution
        y: NDArray = row(x, weight, bias, **self._kwargs)
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        """With groups, the first number is the channels that a filter sees, as in Gluon."""
        how, shape = self._kwargs, self.weight.shape or (0,) * (self.__axes + 2)
        seen = shape[0] if self.__transposed else shape[-1 if self.__channels_last else 1]
        parts = [f"{seen or None} -> {self._channels}", f"kernel_size={how['kernel']}", f"stride={how['stride']}"]
        named = [("pad", "padding", 0), ("dilate", "dilation", 1), ("adj", "output_padding", 0)]
        parts += [f"{word}={how[key]}" for key, word, usual in named if any(n != usual for n in how.get(key, ()))]
        parts += [f"groups={how['num_group']}"] if how["num_group"] != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [repr(self.act)] if self.act is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"


class Conv1D(_Conv, axes=1):
    """A convolution over one axis, for example of time.

    Parameters
    ----------
    channels
        Number of filters, and of channels of the output.
    padding
        Zeros on both sides of the axis.
    groups
        Groups of channels that do not see each other.
    layout
        'NCW', or 'NWC' with channels last.
    in_channels
        Channels of the input; 0 takes them from the first one.

    Input ``(batch, in_channels, width)``, output ``(batch, channels, places)``. Holds ``weight (channels,
    in_channels / groups, kernel)``, with channels last ``(channels, kernel, in_channels / groups)``; ``bias
    (channels,)``.

    >>> from gluonish import nd
    >>> layer = Conv1D(4, 3, padding=1)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8))).shape
    (2, 4, 8)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        window = (kernel_size, strides, padding, dilation, groups, layout)
        inits = (weight_initializer, bias_initializer)
        super().__init__(channels, *window, activation, use_bias, *inits, in_channels, prefix, params)


class Conv2D(_Conv, axes=2):
    """A convolution over images. The arguments are those of :class:`Conv1D`, with one number or one for each axis.

    Parameters
    ----------
    layout
        'NCHW', or 'NHWC' with channels last.

    Input ``(batch, in_channels, height, width)``, output ``(batch, channels, rows, columns)``. Holds ``weight
    (channels, in_channels / groups, *kernel)``, ``bias (channels,)``.

    >>> from gluonish import nd
    >>> layer = Conv2D(4, (3, 3), padding=(1, 1))
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8, 8))).shape
    (2, 4, 8, 8)
    >>> layer
    Conv2D(3 -> 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = (1, 1),
        padding: PerAxis = (0, 0),
        dilation: PerAxis = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        window = (kernel_size, strides, padding, dilation, groups, layout)
        inits = (weight_initializer, bias_initializer)
        super().__init__(channels, *window, activation, use_bias, *inits, in_channels, prefix, params)


class Conv3D(_Conv, axes=3):
    """A convolution over volumes. The arguments are those of :class:`Conv1D`, with one number or one for each axis.

    Parameters
    ----------
    layout
        'NCDHW', or 'NDHWC' with channels last.

    Input ``(batch, in_channels, depth, height, width)``, output ``(batch, channels, ...)``. Holds ``weight
    (channels, in_channels / groups, *kernel)``, ``bias (channels,)``.

    >>> from gluonish import nd
    >>> layer = Conv3D(4, 3)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8, 8, 8))).shape
    (2, 4, 6, 6, 6)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = (1, 1, 1),
        padding: PerAxis = (0, 0, 0),
        dilation: PerAxis = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        window = (kernel_size, strides, padding, dilation, groups, layout)
        inits = (weight_initializer, bias_initializer)
        super().__init__(channels, *window, activation, use_bias, *inits, in_channels, prefix, params)


class Conv1DTranspose(_Conv, axes=1, transposed=True):
    """The transpose of a convolution over one axis: what a :class:`Conv1D` makes smaller, this makes larger again.

    Parameters
    ----------
    output_padding
        What is added to the size of the output, less than the stride: convolutions of several input sizes have the same
        output size, and this says which one is meant.

    The other arguments are those of :class:`Conv1D`. Input ``(batch, in_channels, width)``, output ``(batch, channels,
    places)``. Holds ``weight (in_channels, channels / groups, kernel)``, with channels last ``(in_channels,
    kernel, channels / groups)``; ``bias (channels,)``.

    >>> from gluonish import nd
    >>> layer = Conv1DTranspose(4, 3, strides=2, padding=1, output_padding=1)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8))).shape
    (2, 4, 16)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = 1,
        padding: PerAxis = 0,
        output_padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        window = (kernel_size, strides, padding, dilation, groups, layout)
        inits = (weight_initializer, bias_initializer)
        super().__init__(channels, *window, activation, use_bias, *inits, in_channels, prefix, params, output_padding)


class Conv2DTranspose(_Conv, axes=2, transposed=True):
    """The transpose of a convolution over images; the arguments are those of :class:`Conv1DTranspose`, with one number
    or one for each axis.

    Parameters
    ----------
    layout
        'NCHW', or 'NHWC' with channels last.

    Input ``(batch, in_channels, height, width)``, output ``(batch, channels, rows, columns)``. Holds ``weight
    (in_channels, channels / groups, *kernel)``, ``bias (channels,)``.

    >>> from gluonish import nd
    >>> layer = Conv2DTranspose(4, 2, strides=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8, 8))).shape
    (2, 4, 16, 16)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = (1, 1),
        padding: PerAxis = (0, 0),
        output_padding: PerAxis = (0, 0),
        dilation: PerAxis = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        window = (kernel_size, strides, padding, dilation, groups, layout)
        inits = (weight_initializer, bias_initializer)
        super().__init__(channels, *window, activation, use_bias, *inits, in_channels, prefix, params, output_padding)


class Conv3DTranspose(_Conv, axes=3, transposed=True):
    """The transpose of a convolution over volumes; the arguments are those of :class:`Conv1DTranspose`, with one number
    or one for each axis.

    Parameters
    ----------
    layout
        'NCDHW', or 'NDHWC' with channels last.

    Input ``(batch, in_channels, depth, height, width)``, output ``(batch, channels, ...)``. Holds ``weight
    (in_channels, channels / groups, *kernel)``, ``bias (channels,)``.

    >>> from gluonish import nd
    >>> layer = Conv3DTranspose(4, 2, strides=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 4, 4, 4))).shape
    (2, 4, 8, 8, 8)
    """

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = (1, 1, 1),
        padding: PerAxis = (0, 0, 0),
        output_padding: PerAxis = (0, 0, 0),
        dilation: PerAxis = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        window = (kernel_size, strides, padding, dilation, groups, layout)
        inits = (weight_initializer, bias_initializer)
        super().__init__(channels, *window, activation, use_bias, *inits, in_channels, prefix, params, output_padding)
