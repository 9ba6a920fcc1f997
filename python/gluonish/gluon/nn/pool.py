"""Pooling: windows slide over images, and each becomes one value.

An input of size ``n`` has ``(n + 2 * padding - pool_size) // strides + 1`` windows along each spatial axis; with
``ceil_mode`` the division rounds up, and the last window may stick out.
"""

from typing import Any

from gluonish._core import NDArray
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import PerAxis, channels_last, per_axis

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
]


class _Pooling(HybridBlock):
    """What all of them have in common. A subclass says over how many axes it goes, and what becomes of a window."""

    __axes: int
    __type: str

    def __init_subclass__(cls, axes: int | None = None, type: str = "max", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if axes is not None:  # a subclass of a subclass does not say it again
            cls.__axes, cls.__type = axes, type

    def __init__(
        self,
        pool_size: PerAxis,
        strides: PerAxis | None,
        padding: PerAxis,
        ceil_mode: bool,
        layout: str,
        prefix: str | None,
        params: Any,
        count_include_pad: bool = True,
        everything: bool = False,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name, axes = type(self).__name__, self.__axes
        channels_last(name, layout, axes)
        self._kwargs = {
            "kernel": per_axis(name, "pool_size", pool_size, axes, 1),
            "stride": per_axis(name, "strides", pool_size if strides is None else strides, axes, 1),
            "pad": per_axis(name, "padding", padding, axes),
            "global_pool": everything,
            "pool_type": self.__type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
            "count_include_pad": count_include_pad,
        }

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y: NDArray = F.Pooling(x, **self._kwargs)
        return y

    def __repr__(self) -> str:
        how = self._kwargs
        return (
            f"{type(self).__name__}(size={how['kernel']}, stride={how['stride']}, padding={how['pad']}, "
            f"ceil_mode={how['pooling_convention'] == 'full'}, global_pool={how['global_pool']}, "
            f"pool_type={how['pool_type']}, layout={how['layout']})"
        )


class MaxPool1D(_Pooling, axes=1, type="max"):
    """The largest value of each window over one axis.

    Parameters
    ----------
    strides
        Distance between two windows; ``pool_size`` when None.
    padding
        What is added on both sides of the axis: values below all others.
    ceil_mode
        Whether the last window may stick out.
    layout
        'NCW', or 'NWC' with channels last.

    Input ``(batch, channels, width)``, output the same with a place for each window.

    >>> from gluonish import nd
    >>> MaxPool1D()(nd.ones((2, 3, 8))).shape
    (2, 3, 4)
    """

    def __init__(
        self,
        pool_size: PerAxis = 2,
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, prefix, params)


class MaxPool2D(_Pooling, axes=2, type="max"):
    """The largest value of each window over images.

    The arguments are those of :class:`MaxPool1D`, with one number or one for each axis.

    Parameters
    ----------
    layout
        'NCHW', or 'NHWC' with channels last.

    Input ``(batch, channels, height, width)``, output the same with a place for each window.

    >>> from gluonish import nd
    >>> MaxPool2D()(nd.ones((2, 3, 8, 8))).shape
    (2, 3, 4, 4)
    """

    def __init__(
        self,
        pool_size: PerAxis = (2, 2),
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, prefix, params)


class MaxPool3D(_Pooling, axes=3, type="max"):
    """The largest value of each window over volumes.

    The arguments are those of :class:`MaxPool1D`, with one number or one for each axis, in another order.

    Parameters
    ----------
    layout
        'NCDHW', or 'NDHWC' with channels last.

    Input ``(batch, channels, depth, height, width)``, output the same with a place for each window.

    >>> from gluonish import nd
    >>> MaxPool3D()(nd.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 4, 4, 4)
    """

    def __init__(
        self,
        pool_size: PerAxis = (2, 2, 2),
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, prefix, params)


class AvgPool1D(_Pooling, axes=1, type="avg"):
    """The mean of each window over one axis.

    Parameters
    ----------
    strides
        Distance between two windows; ``pool_size`` when None.
    padding
        What is added on both sides of the axis: zeros.
    ceil_mode
        Whether the last window may stick out.
    count_include_pad
        Whether a mean counts what was added.
    layout
        'NCW', or 'NWC' with channels last.

    Input ``(batch, channels, width)``, output the same with a place for each window.

    >>> from gluonish import nd
    >>> AvgPool1D()(nd.ones((2, 3, 8))).shape
    (2, 3, 4)
    """

    def __init__(
        self,
        pool_size: PerAxis = 2,
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, prefix, params, count_include_pad)


class AvgPool2D(_Pooling, axes=2, type="avg"):
    """The mean of each window over images.

    The arguments are those of :class:`AvgPool1D`, with one number or one for each axis, in another order.

    Parameters
    ----------
    layout
        'NCHW', or 'NHWC' with channels last.

    Input ``(batch, channels, height, width)``, output the same with a place for each window.

    >>> from gluonish import nd
    >>> AvgPool2D()(nd.ones((2, 3, 8, 8))).shape
    (2, 3, 4, 4)
    """

    def __init__(
        self,
        pool_size: PerAxis = (2, 2),
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, prefix, params, count_include_pad)


class AvgPool3D(_Pooling, axes=3, type="avg"):
    """The mean of each window over volumes.

    The arguments are those of :class:`AvgPool1D`, with one number or one for each axis, in another order.

    Parameters
    ----------
    layout
        'NCDHW', or 'NDHWC' with channels last.

    Input ``(batch, channels, depth, height, width)``, output the same with a place for each window.

    >>> from gluonish import nd
    >>> AvgPool3D()(nd.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 4, 4, 4)
    """

    def __init__(
        self,
        pool_size: PerAxis = (2, 2, 2),
        strides: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, prefix, params, count_include_pad)


class GlobalMaxPool1D(_Pooling, axes=1, type="max"):
    """The largest value of each channel.

    Parameters
    ----------
    layout
        'NCW', or 'NWC' with channels last.

    Input ``(batch, channels, width)``, output ``(batch, channels, 1)``.

    >>> from gluonish import nd
    >>> GlobalMaxPool1D()(nd.ones((2, 3, 8))).shape
    (2, 3, 1)
    """

    def __init__(self, layout: str = "NCW", prefix: str | None = None, params: Any = None) -> None:
        super().__init__(1, 1, 0, True, layout, prefix, params, everything=True)


class GlobalMaxPool2D(_Pooling, axes=2, type="max"):
    """The largest value of each channel.

    Parameters
    ----------
    layout
        'NCHW', or 'NHWC' with channels last.

    Input ``(batch, channels, height, width)``, output ``(batch, channels, 1, 1)``.

    >>> from gluonish import nd
    >>> GlobalMaxPool2D()(nd.ones((2, 3, 8, 8))).shape
    (2, 3, 1, 1)
    """

    def __init__(self, layout: str = "NCHW", prefix: str | None = None, params: Any = None) -> None:
        super().__init__(1, 1, 0, True, layout, prefix, params, everything=True)


class GlobalMaxPool3D(_Pooling, axes=3, type="max"):
    """The largest value of each channel.

    Parameters
    ----------
    layout
        'NCDHW', or 'NDHWC' with channels last.

    Input ``(batch, channels, depth, height, width)``, output ``(batch, channels, 1, 1, 1)``.

    >>> from gluonish import nd
    >>> GlobalMaxPool3D()(nd.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 1, 1, 1)
    """

    def __init__(self, layout: str = "NCDHW", prefix: str | None = None, params: Any = None) -> None:
        super().__init__(1, 1, 0, True, layout, prefix, params, everything=True)


class GlobalAvgPool1D(_Pooling, axes=1, type="avg"):
    """The mean of each channel.

    Parameters
    ----------
    layout
        'NCW', or 'NWC' with channels last.

    Input ``(batch, channels, width)``, output ``(batch, channels, 1)``.

    >>> from gluonish import nd
    >>> GlobalAvgPool1D()(nd.ones((2, 3, 8))).shape
    (2, 3, 1)
    """

    def __init__(self, layout: str = "NCW", prefix: str | None = None, params: Any = None) -> None:
        super().__init__(1, 1, 0, True, layout, prefix, params, everything=True)


class GlobalAvgPool2D(_Pooling, axes=2, type="avg"):
    """The mean of each channel.

    Parameters
    ----------
    layout
        'NCHW', or 'NHWC' with channels last.

    Input ``(batch, channels, height, width)``, output ``(batch, channels, 1, 1)``.

    >>> from gluonish import nd
    >>> GlobalAvgPool2D()(nd.ones((2, 3, 8, 8))).shape
    (2, 3, 1, 1)
    """

    def __init__(self, layout: str = "NCHW", prefix: str | None = None, params: Any = None) -> None:
        super().__init__(1, 1, 0, True, layout, prefix, params, everything=True)


class GlobalAvgPool3D(_Pooling, axes=3, type="avg"):
    """The mean of each channel.

    Parameters
    ----------
    layout
        'NCDHW', or 'NDHWC' with channels last.

    Input ``(batch, channels, depth, height, width)``, output ``(batch, channels, 1, 1, 1)``.

    >>> from gluonish import nd
    >>> GlobalAvgPool3D()(nd.ones((2, 3, 8, 8, 8))).shape
    (2, 3, 1, 1, 1)
    """

    def __init__(self, layout: str = "NCDHW", prefix: str | None = None, params: Any = None) -> None:
        super().__init__(1, 1, 0, True, layout, prefix, params, everything=True)
