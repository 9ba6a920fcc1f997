"""Layers that networks for images are built of."""

from math import prod
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import PerAxis, channels_last, per_axis, share, whole
from gluonish.gluon.nn.basic import Dense
from gluonish.gluon.nn.conv import Conv2D

__all__ = ["PatchEmbed", "PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D", "SqueezeExcite", "StochasticDepth"]


class PatchEmbed(HybridBlock):
    """Cuts images into patches and makes a vector of each, as vision transformers do (Dosovitskiy et al., 2021).

    Parameters
    ----------
    units
        Length of the vectors.
    patch_size
        Size of a patch, one number or one for each axis; it must divide that of the images.
    layout
        'NCHW', or 'NHWC' with channels last.
    in_channels
        Channels of the images; 0 takes them from the first ones.

    Input ``(batch, in_channels, height, width)``, output ``(batch, patches, units)``, row by row. Holds the convolution
    ``projection``.

    >>> from gluonish import nd
    >>> layer = PatchEmbed(16, patch_size=4)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8, 12))).shape
    (2, 6, 16)
    """

    def __init__(
        self,
        units: int,
        patch_size: PerAxis = 16,
        use_bias: bool = True,
        layout: str = "NCHW",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._patch = per_axis("PatchEmbed", "patch_size", patch_size, 2, 1)
        self._channels_last = channels_last("PatchEmbed", layout, 2)
        self._units = units
        with self.name_scope():
            self.projection = Conv2D(
                units,
                self._patch,
                self._patch,
                layout=layout,
                use_bias=use_bias,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
                in_channels=in_channels,
                prefix="projection_",
            )

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        size = x.shape[1:3] if self._channels_last else x.shape[2:]
        if x.ndim != 4 or any(n % p for n, p in zip(size, self._patch, strict=True)):
            raise ShapeError(f"PatchEmbed: images of shape {x.shape} cannot be cut into patches of {self._patch}")
        patches: NDArray = self.projection(x)
        count = prod(n // p for n, p in zip(size, self._patch, strict=True))
        if self._channels_last:
            return patches.reshape(x.shape[0], count, self._units)
        return patches.reshape(x.shape[0], self._units, count).transpose(0, 2, 1)


class SqueezeExcite(HybridBlock):
    """Channels weighted by what their means say about all of them (Hu et al., 2018).

    Parameters
    ----------
    in_channels
        Number of channels.
    reduction
        How many times fewer values there are between the two fully connected layers, at least one.
    activation, gate
        Between the layers, and of the weights, as :class:`Activation` takes them.
    axis
        Axis of the channels.

    Input and output ``(batch, in_channels, ...)``. Holds the layers ``reduce`` and ``expand``.

    >>> from gluonish import nd
    >>> layer = SqueezeExcite(32)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 32, 4, 4))).shape
    (2, 32, 4, 4)
    """

    def __init__(
        self,
        in_channels: int,
        reduction: int = 16,
        activation: str = "relu",
        gate: str = "sigmoid",
        axis: int = 1,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        in_channels = whole("SqueezeExcite", "in_channels", in_channels)
        self._axis, hidden = axis, max(in_channels // whole("SqueezeExcite", "reduction", reduction), 1)
        inits = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
        with self.name_scope():
            self.reduce = Dense(hidden, activation, in_units=in_channels, prefix="reduce_", **inits)
            self.expand = Dense(in_channels, gate, in_units=hidden, prefix="expand_", **inits)

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        axis = self._axis % max(x.ndim, 1)
        if x.ndim < 3 or axis == 0:
            raise ShapeError(
                f"SqueezeExcite: input of shape {x.shape} must be (batch, channels, ...), axis={self._axis}"
            )
        means = x.mean(axis=tuple(i for i in range(1, x.ndim) if i != axis))
        weights: NDArray = self.expand(self.reduce(means))
        shape = [x.shape[0]] + [x.shape[i] if i == axis else 1 for i in range(1, x.ndim)]
        return x * weights.reshape(*shape)


class StochasticDepth(HybridBlock):
    """In training, whole samples become 0 with probability ``rate`` and the others are divided by ``1 - rate`` (Huang
    et al., 2016); in prediction nothing happens. It stands at the end of a branch that is added to its input.

    Parameters
    ----------
    mode
        'row' draws for each sample, 'batch' once for all.

    Input and output have the same shape, with the batch first.

    >>> from gluonish import autograd, nd
    >>> with autograd.train_mode():
    ...     y = StochasticDepth(0.5)(nd.ones((100, 3)))
    >>> sorted(set(map(tuple, y.tolist())))
    [(0.0, 0.0, 0.0), (2.0, 2.0, 2.0)]
    """

    def __init__(self, rate: float, mode: str = "row", prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        if mode not in {"row", "batch"}:
            raise ArgumentError(f"StochasticDepth: mode={mode!r} must be 'row' or 'batch'")
        self._rate, self._mode = share("StochasticDepth", "rate", rate), mode

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        if not self._rate:
            return x
        y: NDArray = F.Dropout(x, p=self._rate, axes=tuple(range(1 if self._mode == "row" else 0, x.ndim)))
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, mode={self._mode})"


class _PixelShuffle(HybridBlock):
    """Groups of channels become the places of larger images. A subclass says over how many axes."""

    __axes: int

    def __init_subclass__(cls, axes: int | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if axes is not None:  # a subclass of a subclass does not say it again
            cls.__axes = axes

    def __init__(self, factor: PerAxis, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.__factors = per_axis(type(self).__name__, "factor", factor, self.__axes, 1)

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        axes, group = self.__axes, prod(self.__factors)
        if x.ndim != axes + 2 or x.shape[1] % group:
            text = f"input of shape {x.shape} must have {axes + 2} axes, and channels that {group} divides"
            raise ShapeError(f"{type(self).__name__}: {text}")
        batch, channels, *size = x.shape
        parts = x.reshape(batch, channels // group, *self.__factors, *size)
        # Each factor comes to stand behind the axis that it makes longer.
        order = [i for axis in range(axes) for i in (2 + axes + axis, 2 + axis)]
        larger = [n * f for n, f in zip(size, self.__factors, strict=True)]
        return parts.transpose(0, 1, *order).reshape(batch, channels // group, *larger)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__factors[0] if self.__axes == 1 else self.__factors})"


class PixelShuffle1D(_PixelShuffle, axes=1):
    """Groups of ``factor`` channels become neighbouring places (Shi et al., 2016).

    Input ``(batch, factor * channels, width)``, output ``(batch, channels, factor * width)``.

    >>> from gluonish import nd
    >>> PixelShuffle1D(2)(nd.array([[[1, 2], [3, 4]]])).tolist()
    [[[1.0, 3.0, 2.0, 4.0]]]
    """


class PixelShuffle2D(_PixelShuffle, axes=2):
    """Groups of channels become the places of larger images (Shi et al., 2016).

    Parameters
    ----------
    factor
        How much larger, one number or one for each axis.

    Input ``(batch, f1 * f2 * channels, height, width)``, output ``(batch, channels, f1 * height, f2 * width)``.

    >>> from gluonish import nd
    >>> PixelShuffle2D((2, 3))(nd.ones((1, 12, 3, 5))).shape
    (1, 2, 6, 15)
    """


class PixelShuffle3D(_PixelShuffle, axes=3):
    """Groups of channels become the places of larger volumes (Shi et al., 2016).

    Parameters
    ----------
    factor
        How much larger, one number or one for each axis.

    Input ``(batch, f1 * f2 * f3 * channels, depth, height, width)``, output ``(batch, channels, f1 * depth, f2 *
    height, f3 * width)``.

    >>> from gluonish import nd
    >>> PixelShuffle3D((2, 3, 4))(nd.ones((1, 48, 3, 5, 7))).shape
    (1, 2, 6, 15, 28)
    """
