"""The length of a step along a line (Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6)."""

import math
from collections.abc import Callable
from typing import Any

__all__ = ["strong_wolfe"]

_ENOUGH, _FLAT = 1e-4, 0.9  # of the first slope: how much the loss must fall, how flat the line must get
_TRIES = 25

Point = tuple[float, float, float, Any]  # length, loss, slope, gradient


def strong_wolfe(
    at: Callable[[float], tuple[float, Any, float]], length: float, loss: float, gradient: Any, slope: float
) -> tuple[float, float, Any]:
    """A length that fulfils Wolfe's strong conditions, with loss and gradient there; else the best that was tried.

    ``at`` gives loss, gradient and slope of a length; ``loss``, ``gradient`` and ``slope`` are those of length 0.

    >>> length, loss, _ = strong_wolfe(lambda x: ((x - 3) ** 2, None, 2 * (x - 3)), 1.0, 9.0, None, -6.0)
    >>> abs(length - 3) < 2.7
    True
    """
    origin: Point = (0.0, loss, slope, gradient)
    before, tries = origin, 0
    while tries < _TRIES:
        point = _point(at, length)
        tries += 1
        if not math.isfinite(point[1]):
            length = (before[0] + length) / 2  # beyond where the loss is defined
            continue
        if _too_high(point, origin) or (before is not origin and point[1] >= before[1]):
            return _narrowed(at, before, point, origin, _TRIES - tries)
        if abs(point[2]) <= -_FLAT * slope:
            return point[0], point[1], point[3]
        if point[2] >= 0:
            return _narrowed(at, point, before, origin, _TRIES - tries)
        before, length = point, length * 2
    return before[0], before[1], before[3]


def _point(at: Callable[[float], tuple[float, Any, float]], length: float) -> Point:
    loss, gradient, slope = at(length)
    return length, loss, slope, gradient


def _too_high(point: Point, origin: Point) -> bool:
    return not point[1] <= origin[1] + _ENOUGH * point[0] * origin[2]


def _narrowed(
    at: Callable[[float], tuple[float, Any, float]], low: Point, high: Point, origin: Point, tries: int
) -> tuple[float, float, Any]:
    """The length between two, the lower of which falls towards the other."""
    for _ in range(tries):
        point = _point(at, _between(low, high))
        if _too_high(point, origin) or point[1] >= low[1]:
            high = point
        else:
            if abs(point[2]) <= -_FLAT * origin[2]:
                return point[0], point[1], point[3]
            if point[2] * (high[0] - low[0]) >= 0:
                high = low
            low = point
        if abs(high[0] - low[0]) < 1e-9:
            break
    return low[0], low[1], low[3]


def _between(low: Point, high: Point) -> float:
    """The least place of the parabola with the lower end's loss and slope and the other's loss, well inside."""
    width = high[0] - low[0]
    bend = high[1] - low[1] - low[2] * width
    share = -low[2] * width / (2 * bend) if bend > 0 else 0.5
    return low[0] + width * min(max(share, 0.1), 0.9)
