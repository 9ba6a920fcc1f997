"""Layers that look at windows, with filters of their own for every place."""

from math import prod
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import LAYOUTS, PerAxis, per_axis, whole
from gluonish.gluon.nn.activations import Activation

__all__ = ["LocallyConnected1D", "LocallyConnected2D"]


class _LocallyConnected(HybridBlock):
    """What both have in common. A subclass says over how many axes it goes."""

    _axes: int

    def __init__(
        self,
        channels: int,
        kernel_size: PerAxis,
        strides: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        in_size: PerAxis = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name, axes, first = type(self).__name__, self._axes, LAYOUTS[self._axes][0]
        if layout not in {None, first}:
            raise ArgumentError(f"{name}: layout={layout!r} must be {first!r}; transpose the input")
        channels, in_channels = whole(name, "channels", channels), whole(name, "in_channels", in_channels, 0)
        kernel = per_axis(name, "kernel_size", kernel_size, axes, 1)
        self._channels = channels
        self._kwargs: dict[str, Any] = {
            "kernel": kernel,
            "stride": per_axis(name, "strides", strides, axes, 1),
            "dilate": per_axis(name, "dilation", dilation, axes, 1),
            "pad": per_axis(name, "padding", padding, axes),
            "num_filter": channels,
            "no_bias": not use_bias,
        }
        places = self._places(per_axis(name, "in_size", in_size, axes))
        filters, offsets = (places, channels, in_channels * prod(kernel)), (channels, places)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=filters, init=weight_initializer, allow_deferred_init=True)
            self.bias = (
                self.params.get("bias", shape=offsets, init=bias_initializer, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=f"{activation}_") if activation is not None else None

    def _places(self, size: tuple[int, ...]) -> int:
        """How many places the windows have in an input of this size; 0 where it is unknown."""
        how, count = self._kwargs, 1
        if not all(size):
            return 0
        for n, k, s, d, p in zip(size, how["kernel"], how["stride"], how["dilate"], how["pad"], strict=True):
            along = (n + 2 * p - d * (k - 1) - 1) // s + 1
            if along < 1:
                raise ArgumentError(f"{type(self).__name__}: kernel_size={how['kernel']} is larger than in_size={size}")
            count *= along
        return count

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> NDArray:
        y: NDArray = F.contrib.LocallyConnected(x, weight, bias, **self._kwargs)
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        how = self._kwargs
        seen = (self.weight.shape or (0,))[-1] // prod(how["kernel"])
        parts = f"{seen or None} -> {self._channels}, kernel_size={how['kernel']}, stride={how['stride']}"
        return f"{type(self).__name__}({parts})"


class LocallyConnected1D(_LocallyConnected):
    """As :class:`Conv1D`, but with filters of their own for every place; so the width of the input is fixed.

    Parameters
    ----------
    in_channels, in_size
        Channels and width of the input; 0 takes them from the first one.

    Input ``(batch, in_channels, width)``, output ``(batch, channels, places)``. Holds ``weight (places, channels,
    in_channels * kernel)``, ``bias (channels, places)``.

    >>> from gluonish import nd
    >>> layer = LocallyConnected1D(4, 3)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 5, 8))).shape
    (2, 4, 6)
    """

    _axes = 1


class LocallyConnected2D(_LocallyConnected):
    """As :class:`Conv2D`, but with filters of their own for every place; so the size of the images is fixed.

    Parameters
    ----------
    in_channels, in_size
        Channels and size of the images; 0 takes them from the first ones.

    Input ``(batch, in_channels, height, width)``, output ``(batch, channels, rows, columns)``. Holds ``weight
    (rows * columns, channels, in_channels * kernel)``, ``bias (channels, rows * columns)``.

    >>> from gluonish import nd
    >>> layer = LocallyConnected2D(4, (3, 2))
    >>> layer.initialize()
    >>> layer(nd.ones((2, 5, 8, 8))).shape
    (2, 4, 6, 7)
    """

    _axes = 2
