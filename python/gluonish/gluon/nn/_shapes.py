"""Arguments that many layers have: sizes, a number for each spatial axis, the order of the axes, probabilities."""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from gluonish.errors import ArgumentError

__all__ = ["LAYOUTS", "PerAxis", "channels_last", "per_axis", "share", "whole"]

PerAxis = int | Sequence[int]

# What an axis can have.
MOST = 2**63 - 1

# The orders of axes, by the number of spatial axes: channels second, and channels last.
LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def whole(layer: str, name: str, value: int, least: int = 1) -> int:
    """A whole number that is large enough: a size that an input may tell is 0 until then.

    >>> whole("Dense", "units", 3)
    3
    >>> whole("Dense", "units", 0)
    Traceback (most recent call last):
        ...
    gluonish.errors.ArgumentError: Dense: units=0 must be a whole number, at least 1
    """
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise ArgumentError(f"{layer}: {name}={value!r} must be a whole number, at least {least}")
    if number > MOST:
        raise ArgumentError(f"{layer}: {name}={value!r} is more than an axis can have: {MOST}")
    return number


def per_axis(layer: str, name: str, value: PerAxis, axes: int, least: int = 0) -> tuple[int, ...]:
    """One number for all spatial axes, or one for each, as a tuple.

    >>> per_axis("Conv2D", "strides", 2, axes=2)
    (2, 2)
    >>> per_axis("Conv2D", "strides", (1, 2, 3), axes=2)
    Traceback (most recent call last):
        ...
    gluonish.errors.ArgumentError: Conv2D: strides=(1, 2, 3) must be one whole number, or 2 of them
    """
    try:
        given: Any = value
        numbers = tuple(map(index, given)) if np.ndim(given) else (index(given),) * axes
        numbers = () if any(isinstance(n, bool) for n in np.ravel(np.asarray(given, object))) else numbers
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != axes:
        many = "" if axes == 1 else f", or {axes} of them"
        raise ArgumentError(f"{layer}: {name}={value!r} must be one whole number{many}")
    if any(n < least for n in numbers):
        raise ArgumentError(f"{layer}: {name}={value!r} must be at least {least}")
    if any(n > MOST for n in numbers):
        raise ArgumentError(f"{layer}: {name}={value!r} is more than an axis can have: {MOST}")
    return numbers


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
    try:
        fits = 0 <= value <= 1
    except TypeError:
        fits = False
    if not fits:
        raise ArgumentError(f"{layer}: {name}={value!r} must be from 0 to 1")
    return value
