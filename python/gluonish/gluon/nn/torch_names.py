"""Torch's names and argument orders for layers that Gluon calls otherwise. Each is Gluon's layer, nothing more.

Sizes of inputs are given, so nothing is deferred; parameters still get their values from ``initialize()``.
"""

from typing import Any

from gluonish.gluon.nn._shapes import PerAxis
from gluonish.gluon.nn.activations import Activation
from gluonish.gluon.nn.basic import Dense
from gluonish.gluon.nn.conv import (
    Conv1D,
    Conv1DTranspose,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
)
from gluonish.gluon.nn.norm import BatchNorm

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Linear",
    "ReLU",
    "Sigmoid",
    "Tanh",
]


class Linear(Dense):
    """:class:`Dense` on the last axis: ``(..., in_features)`` to ``(..., out_features)``.

    >>> from gluonish import nd
    >>> layer = Linear(3, 4)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 5, 3))).shape
    (2, 5, 4)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, **kwargs: Any) -> None:
        super().__init__(out_features, use_bias=bias, flatten=False, in_units=in_features, **kwargs)


class _Convolution:
    """Torch's order of the arguments of a convolution; stands before Gluon's layer among the bases."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: PerAxis,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        window = (kernel_size, stride, padding, dilation, groups)
        super().__init__(out_channels, *window, use_bias=bias, in_channels=in_channels, **kwargs)  # type: ignore[call-arg]


class _ConvolutionTransposed:
    """Torch's order of the arguments of a transposed convolution; stands before Gluon's layer among the bases."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: PerAxis,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        output_padding: PerAxis = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: PerAxis = 1,
        **kwargs: Any,
    ) -> None:
        window = (kernel_size, stride, padding, output_padding, dilation, groups)
        super().__init__(out_channels, *window, use_bias=bias, in_channels=in_channels, **kwargs)  # type: ignore[call-arg]


class Conv1d(_Convolution, Conv1D):
    """:class:`Conv1D`: ``(batch, in_channels, width)`` to ``(batch, out_channels, places)``.

    >>> from gluonish import nd
    >>> layer = Conv1d(3, 4, 3, padding=1)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8))).shape
    (2, 4, 8)
    """


class Conv2d(_Convolution, Conv2D):
    """:class:`Conv2D`: ``(batch, in_channels, height, width)`` to ``(batch, out_channels, rows, columns)``.

    >>> from gluonish import nd
    >>> layer = Conv2d(3, 4, 3, stride=2, bias=False)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 9, 9))).shape
    (2, 4, 4, 4)
    """


class Conv3d(_Convolution, Conv3D):
    """:class:`Conv3D`: ``(batch, in_channels, depth, height, width)`` to ``(batch, out_channels, ...)``.

    >>> from gluonish import nd
    >>> layer = Conv3d(3, 4, 3)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 5, 5, 5))).shape
    (2, 4, 3, 3, 3)
    """


class ConvTranspose1d(_ConvolutionTransposed, Conv1DTranspose):
    """:class:`Conv1DTranspose`: ``(batch, in_channels, width)`` to ``(batch, out_channels, places)``.

    >>> from gluonish import nd
    >>> layer = ConvTranspose1d(3, 4, 2, stride=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 8))).shape
    (2, 4, 16)
    """


class ConvTranspose2d(_ConvolutionTransposed, Conv2DTranspose):
    """:class:`Conv2DTranspose`: ``(batch, in_channels, height, width)`` to ``(batch, out_channels, rows, columns)``.

    >>> from gluonish import nd
    >>> layer = ConvTranspose2d(3, 4, 2, stride=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 4, 4))).shape
    (2, 4, 8, 8)
    """


class ConvTranspose3d(_ConvolutionTransposed, Conv3DTranspose):
    """:class:`Conv3DTranspose`: ``(batch, in_channels, depth, height, width)`` to ``(batch, out_channels, ...)``.

    >>> from gluonish import nd
    >>> layer = ConvTranspose3d(3, 4, 2, stride=2)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 2, 2, 2))).shape
    (2, 4, 4, 4, 4)
    """


class _TorchBatchNorm(BatchNorm):
    """Torch's momentum is the share of the new statistics, Gluon's that of the old ones."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True, **kwargs: Any
    ) -> None:
        how: dict[str, Any] = {"center": affine, "scale": affine, "in_channels": num_features, **kwargs}
        super().__init__(momentum=1 - momentum, epsilon=eps, **how)


class BatchNorm1d(_TorchBatchNorm):
    """:class:`BatchNorm` of ``(batch, num_features)`` or ``(batch, num_features, width)``. The running variance is the
    biased one, where torch's is not.

    >>> from gluonish import nd
    >>> layer = BatchNorm1d(3)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3))).shape
    (2, 3)
    """


class BatchNorm2d(_TorchBatchNorm):
    """:class:`BatchNorm` of ``(batch, num_features, height, width)``. The running variance is the biased one, where
    torch's is not.

    >>> from gluonish import nd
    >>> layer = BatchNorm2d(3)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """


class BatchNorm3d(_TorchBatchNorm):
    """:class:`BatchNorm` of ``(batch, num_features, depth, height, width)``. The running variance is the biased one,
    where torch's is not.

    >>> from gluonish import nd
    >>> layer = BatchNorm3d(3)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """


class ReLU(Activation):
    """``Activation("relu")``, of any shape.

    >>> from gluonish import nd
    >>> ReLU()(nd.array([-1, 2])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__("relu", prefix, params)


class Sigmoid(Activation):
    """``Activation("sigmoid")``, of any shape.

    >>> from gluonish import nd
    >>> Sigmoid()(nd.array([0])).tolist()
    [0.5]
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__("sigmoid", prefix, params)


class Tanh(Activation):
    """``Activation("tanh")``, of any shape.

    >>> from gluonish import nd
    >>> Tanh()(nd.array([0])).tolist()
    [0.0]
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__("tanh", prefix, params)
