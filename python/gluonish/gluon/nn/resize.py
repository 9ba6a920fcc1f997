"""Layers that bring images to another size: adaptive pooling, margins, enlargement."""

from collections.abc import Callable, Sequence
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import PerAxis, per_axis

__all__ = [
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "ReflectionPad2D",
    "Upsample",
]


def _spatial_axes(layer: str, x: NDArray, axes: int) -> tuple[int, ...]:
    """The spatial size of an input, which must have so many axes."""
    if x.ndim != axes + 2:
        raise ShapeError(
            f"{layer}: input of shape {x.shape} must have {axes + 2} axes: batch, channels, {axes} of space"
        )
    return x.shape[2:]


def _each_plane(resize: Callable[[NDArray, tuple[int, ...]], NDArray], x: NDArray, size: Sequence[int]) -> NDArray:
    """Applies ``resize(images, (height, width))``, which treats axes one by one, over one to three of them."""
    batch, channels, *old = x.shape
    if len(size) == 1:
        return resize(x.reshape(batch, channels, 1, *old), (1, *size)).reshape(batch, channels, *size)
    if len(size) == 2:
        return resize(x, tuple(size))
    depth, height, width = size
    planes = resize(x.reshape(batch, channels * old[0], *old[1:]), (height, width))
    columns = resize(planes.reshape(batch, channels, old[0], height * width), (depth, height * width))
    return columns.reshape(batch, channels, *size)


class _AdaptivePool(HybridBlock):
    """What adaptive pooling has in common. A subclass says over how many axes it goes, and what becomes of a window."""

    _axes: int

    def __init__(self, output_size: PerAxis = 1, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._size = per_axis(type(self).__name__, "output_size", output_size, self._axes, 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(output_size={self._size})"


class _AdaptiveAvgPool(_AdaptivePool):
    """Means: the row knows images, and means of means of equal windows are means."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        _spatial_axes(type(self).__name__, x, self._axes)
        return _each_plane(lambda v, size: F.contrib.AdaptiveAvgPooling2D(v, output_size=size), x, self._size)


class _AdaptiveMaxPool(_AdaptivePool):
    """Largest values, axis by axis."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        old = _spatial_axes(type(self).__name__, x, self._axes)
        for axis, (size, count) in enumerate(zip(old, self._size, strict=True)):
            x = self._along(F, x, axis, size, count)
        return x

    def _along(self, F: Any, x: NDArray, axis: int, size: int, count: int) -> NDArray:
        """The largest values of the windows along one axis: at once where they have one length, else one by one."""

        def pooled(v: NDArray, length: int) -> NDArray:
            window = tuple(length if i == axis else 1 for i in range(self._axes))
            y: NDArray = F.Pooling(v, kernel=window, stride=window, pool_type="max")
            return y

        if size % count == 0:
            return pooled(x, size // count)
        ends = [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
        parts = [pooled(F.slice_axis(x, axis=axis + 2, begin=a, end=b), b - a) for a, b in ends]
        joined: NDArray = F.concat(*parts, dim=axis + 2)
        return joined


class AdaptiveAvgPool1D(_AdaptiveAvgPool):
    """An axis is divided evenly into ``output_size`` windows; each becomes its mean. Windows overlap by a value where
    the sizes do not divide.

    Input ``(batch, channels, width)``, output ``(batch, channels, output_size)``.

    >>> from gluonish import nd
    >>> AdaptiveAvgPool1D(2)(nd.array([[[1, 2, 3, 4]]])).tolist()
    [[[1.5, 3.5]]]
    """

    _axes = 1


class AdaptiveAvgPool2D(_AdaptiveAvgPool):
    """Images are divided evenly into ``output_size`` windows (one number, or one for each axis); each becomes its mean.

    Input ``(batch, channels, height, width)``, output ``(batch, channels, *output_size)``.

    >>> from gluonish import nd
    >>> AdaptiveAvgPool2D((2, 3))(nd.ones((1, 4, 7, 7))).shape
    (1, 4, 2, 3)
    """

    _axes = 2


class AdaptiveAvgPool3D(_AdaptiveAvgPool):
    """Volumes are divided evenly into ``output_size`` windows (one number, or one for each axis), which become means.

    Input ``(batch, channels, depth, height, width)``, output ``(batch, channels, *output_size)``.

    >>> from gluonish import nd
    >>> AdaptiveAvgPool3D(2)(nd.ones((1, 4, 5, 7, 7))).shape
    (1, 4, 2, 2, 2)
    """

    _axes = 3


class AdaptiveMaxPool1D(_AdaptiveMaxPool):
    """As :class:`AdaptiveAvgPool1D`, with the largest value of each window.

    Input ``(batch, channels, width)``, output ``(batch, channels, output_size)``.

    >>> from gluonish import nd
    >>> AdaptiveMaxPool1D(2)(nd.array([[[1, 2, 3, 4]]])).tolist()
    [[[2.0, 4.0]]]
    """

    _axes = 1


class AdaptiveMaxPool2D(_AdaptiveMaxPool):
    """As :class:`AdaptiveAvgPool2D`, with the largest value of each window.

    Input ``(batch, channels, height, width)``, output ``(batch, channels, *output_size)``.

    >>> from gluonish import nd
    >>> AdaptiveMaxPool2D((2, 3))(nd.ones((1, 4, 7, 7))).shape
    (1, 4, 2, 3)
    """

    _axes = 2


class AdaptiveMaxPool3D(_AdaptiveMaxPool):
    """As :class:`AdaptiveAvgPool3D`, with the largest value of each window.

    Input ``(batch, channels, depth, height, width)``, output ``(batch, channels, *output_size)``.

    >>> from gluonish import nd
    >>> AdaptiveMaxPool3D(2)(nd.ones((1, 4, 5, 7, 7))).shape
    (1, 4, 2, 2, 2)
    """

    _axes = 3


class ReflectionPad2D(HybridBlock):
    """Images with a margin in which they are reflected, without their outermost values.

    Parameters
    ----------
    padding
        Width of the margin; or eight numbers, before and after each axis, of which the first four (batch and channels)
        are 0.

    Input ``(batch, channels, height, width)``, output ``(batch, channels, height + 2 * padding, width + 2 * padding)``.

    >>> from gluonish import nd
    >>> ReflectionPad2D(1)(nd.array([[[[1, 2], [3, 4]]]])).tolist()[0][0][0]
    [4.0, 3.0, 4.0, 3.0]
    """

    def __init__(self, padding: PerAxis = 0, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        one = not isinstance(padding, Sequence)
        widths = per_axis("ReflectionPad2D", "padding", padding, 1 if one else 8)
        if not one and any(widths[:4]):
            raise ArgumentError(
                f"ReflectionPad2D: padding={padding!r} must be 0 for batch and channels, its first four"
            )
        self.__widths = (0, 0, 0, 0, *widths * 4) if one else widths

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        _spatial_axes("ReflectionPad2D", x, 2)
        y: NDArray = F.pad(x, mode="reflect", pad_width=self.__widths)
        return y


_MODES = {"nearest": (1, 2, 3), "linear": (1, 2, 3), "bilinear": (2,), "trilinear": (3,)}


class Upsample(HybridBlock):
    """Images brought to another size, over one to three axes.

    Parameters
    ----------
    size
        Spatial size of the output, one number or one for each axis. Give this or ``scale_factor``.
    scale_factor
        What the size is multiplied by, one number or one for each axis; fractions are cut off.
    mode
        'nearest' repeats values; 'linear' (also 'bilinear' and 'trilinear') mixes neighbouring ones.
    align_corners
        Of 'linear': whether the centres of the corners lie upon each other, not their edges.

    Input ``(batch, channels, ...)``, output the same with the new size.

    >>> from gluonish import nd
    >>> Upsample(scale_factor=2)(nd.array([[[1, 2]]])).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    >>> Upsample(size=(5, 7), mode="bilinear")(nd.ones((1, 3, 4, 4))).shape
    (1, 3, 5, 7)
    """

    def __init__(
        self,
        size: PerAxis | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool = False,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if (size is None) == (scale_factor is None):
            raise ArgumentError(
                f"Upsample: give size or scale_factor, not size={size!r} and scale_factor={scale_factor!r}"
            )
        if mode not in _MODES:
            raise ArgumentError(f"Upsample: mode={mode!r} is not one of {', '.join(_MODES)}")
        if align_corners and mode == "nearest":
            raise ArgumentError("Upsample: align_corners=True goes with mode='linear'; 'nearest' mixes no values")
        self._size, self._scale, self._mode, self._corners = size, scale_factor, mode, align_corners

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        axes = x.ndim - 2
        if axes not in _MODES[self._mode]:
            raise ShapeError(f"Upsample: mode={self._mode!r} does not fit an input of shape {x.shape}")
        size = self._new_size(x)
        if self._mode == "nearest":
            return _repeated(F, x, size)
        how = {"align_corners": self._corners}
        return _each_plane(lambda v, to: F.contrib.BilinearResize2D(v, height=to[0], width=to[1], **how), x, size)

    def _new_size(self, x: NDArray) -> tuple[int, ...]:
        axes = x.ndim - 2
        if self._size is not None:
            return per_axis("Upsample", "size", self._size, axes, 1)
        scales = self._scale if isinstance(self._scale, Sequence) else (self._scale,) * axes
        if len(scales) != axes:
            raise ShapeError(f"Upsample: scale_factor={self._scale!r} has not {axes} numbers, for input {x.shape}")
        size = tuple(int(n * s) for n, s in zip(x.shape[2:], scales, strict=True) if s is not None)
        if min(size) < 1:
            raise ShapeError(f"Upsample: scale_factor={self._scale!r} leaves nothing of input {x.shape}")
        return size

    def __repr__(self) -> str:
        what = f"size={self._size}" if self._size is not None else f"scale_factor={self._scale}"
        return f"{type(self).__name__}({what}, mode={self._mode})"


def _repeated(F: Any, x: NDArray, size: tuple[int, ...]) -> NDArray:
    """The nearest value of each place: of old sizes ``n`` and new ones ``m``, value ``i * n // m``."""
    for axis, (old, new) in enumerate(zip(x.shape[2:], size, strict=True), 2):
        if old == 0:
            raise ShapeError(f"Upsample: input of shape {x.shape} has no values to repeat")
        if new == old:
            continue
        if new % old == 0:
            x = F.repeat(x, repeats=new // old, axis=axis)
        else:
            nearest = F.array([i * old // new for i in range(new)], ctx=x.context, dtype="int64")
            x = F.take(x, nearest, axis=axis)
    return x
