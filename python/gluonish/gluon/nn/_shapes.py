"""What layers over images have in common: a number for each spatial axis, and the order of the axes."""

from collections.abc import Sequence

from gluonish.errors import ArgumentError

__all__ = ["LAYOUTS", "PerAxis", "channels_last", "per_axis", "share"]

PerAxis = int | Sequence[int]

# The orders of axes, by the number of spatial axes: channels second, and channels last.
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def per_axis(layer: str, name: str, value: PerAxis, axes: int, least: int = 0) -> tuple[int, ...]:
    """One number for all spatial axes, or one for each, as a tuple.

    >>> per_axis("Conv2D", "strides", 2, axes=2)
    (2, 2)
    >>> per_axis("Conv2D", "strides", (1, 2, 3), axes=2)
    Traceback (most recent call last):
        ...
    gluonish.errors.ArgumentError: Conv2D: strides=(1, 2, 3) must be one whole number, or 2 of them
    """
    numbers = (value,) * axes if not isinstance(value, Sequence) else tuple(value)
    try:
        whole = tuple(n.__index__() for n in numbers)
    except AttributeError:
        whole = ()
    if len(whole) != axes:
        many = "" if axes == 1 else f", or {axes} of them"
        raise ArgumentError(f"{layer}: {name}={value!r} must be one whole number{many}")
    if any(n < least for n in whole):
        raise ArgumentError(f"{layer}: {name}={value!r} must be at least {least}")
    return whole


def channels_last(layer: str, layout: str, axes: int) -> bool:
    """Whether channels are the last axis of a layout for so many spatial axes; others than these two are refused.

    >>> channels_last("Conv2D", "NHWC", axes=2)
    True
    """
    if layout not in LAYOUTS[axes]:
        raise ArgumentError(f"{layer}: layout={layout!r} is not one of {LAYOUTS[axes]}; transpose the input")
    return layout == LAYOUTS[axes][1]


def share(layer: str, name: str, value: float) -> float:
    """A probability.

    >>> share("Dropout", "rate", 1.5)
    Traceback (most recent call last):
        ...
    gluonish.errors.ArgumentError: Dropout: rate=1.5 must be from 0 to 1
    """
    if not 0 <= value <= 1:
        raise ArgumentError(f"{layer}: {name}={value!r} must be from 0 to 1")
    return value
