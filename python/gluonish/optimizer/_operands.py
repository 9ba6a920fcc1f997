"""What a step takes beside weights and gradients: numbers as arrays, and the factor of the gradients."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish.context import Context
from gluonish.errors import ArgumentError

__all__ = ["NARROW", "Factors", "Joint", "as_type", "global_norm", "numbers", "scaled_rates"]

NARROW = ("float16", "bfloat16")


def numbers(values: Any, device: Context) -> NDArray:
    """Numbers in double precision, as Python's are. By the shortest way: every step makes some."""
    host = np.array(values, dtype="float64")
    return _core.from_buffer(host, "float64", host.shape, device._index)


class Factors:
    """Arrays of numbers that seldom change from one step to the next: the last ones are kept for each device.

    >>> import gluonish as mx
    >>> Factors().factor(0.5, None, [mx.nd.ones(2)], mx.cpu()).tolist()
    [0.5]
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Context], tuple[tuple[float, ...], NDArray]] = {}

    def kept(self, slot: str, values: tuple[float, ...], device: Context) -> NDArray:
        """The array of these numbers."""
        known = self._kept.get((slot, device))
        if known is None or known[0] != values:
            known = self._kept[slot, device] = (values, numbers(values, device))
        return known[1]

    def factor(
        self, rescale: float | NDArray, bound: float | None, grads: Sequence[NDArray], device: Context
    ) -> NDArray:
        """What gradients are multiplied with: ``rescale``, and less where their norm would exceed the bound.

        It is NaN, which skips the step, where that norm is not finite.
        """
        if isinstance(rescale, NDArray):
            if rescale.size != 1:
                raise ArgumentError(f"rescale_grad must be one number, got an array of shape {rescale.shape}")
            made: NDArray = rescale.as_in_context(device).astype("float64").reshape(-1)
        else:
            made = self.kept("factor", (float(rescale),), device)
        if bound is None:
            return made
        norm = global_norm(grads, device) * made.abs()
        low = nd.where(norm > bound, bound / norm, nd.ones_like(norm))
        return _valid(norm, made * low)


class Joint:
    """The factor of all gradients of a step, where a step is several calls: it fails where one of them has failed.

    So nothing is written anywhere then, as where one call does the step. It costs one element of each gradient.

    >>> import gluonish as mx
    >>> Joint(Factors(), 0.5, None, [mx.nd.ones(2), mx.nd.ones((2, 3))]).on(mx.cpu()).tolist()
    [0.5]
    """

    def __init__(
        self, factors: Factors, rescale: float | NDArray, bound: float | None, grads: Sequence[NDArray]
    ) -> None:
        self._factors, self._rescale, self._bound, self._grads = factors, rescale, bound, grads
        self._made: dict[Context, tuple[NDArray, bool | NDArray]] = {}
        self._typed: dict[tuple[Context, Any], NDArray] = {}

    def on(self, device: Context) -> NDArray:
        """The factor on a device."""
        return self._on(device)[0]

    def typed(self, device: Context, dtype: Any) -> NDArray:
        """The factor on a device as a number of a type."""
        known = self._typed.get((device, dtype))
        if known is None:
            known = self._typed[device, dtype] = self.on(device).reshape(()).astype(dtype)
        return known

    def valid(self, device: Context) -> bool | NDArray:
        """Whether it is finite; an array where only the device knows it."""
        return self._on(device)[1]

    def _on(self, device: Context) -> tuple[NDArray, bool | NDArray]:
        known = self._made.get(device)
        if known is None:
            factor = self._factors.factor(self._rescale, self._bound, self._grads, device)
            for first in self._first():
                factor = factor + 0 * nd.contrib.isnan(first).astype("float64").sum().as_in_context(device)
            number = self._bound is None and not isinstance(self._rescale, NDArray)
            valid = math.isfinite(self._rescale) if number else nd.contrib.isfinite(factor).reshape(())
            known = self._made[device] = factor, valid
        return known

    def _first(self) -> list[NDArray]:
        """The first element of each gradient, together those that can be."""
        alike: dict[tuple[Context, str], list[NDArray]] = {}
        for grad in self._grads:
            if grad.size:
                alike.setdefault((grad.context, str(grad.dtype)), []).append(grad.reshape(-1)[:1])
        return [nd.concat(*some, dim=0) for some in alike.values()]


def as_type(state: Any, dtype: Any) -> Any:
    """A state with its arrays in another type."""
    if isinstance(state, NDArray):
        return state.astype(dtype, copy=False)
    if isinstance(state, tuple | list):
        return type(state)(as_type(one, dtype) for one in state)
    return state


def _valid(norm: NDArray, factor: NDArray) -> NDArray:
    made: NDArray = nd.where(nd.contrib.isfinite(norm), factor, norm * float("nan"))
    return made


def global_norm(arrays: Sequence[NDArray], device: Context) -> NDArray:
    """The norm of all arrays together, in double precision, on a device."""
    by_device: dict[Context, list[NDArray]] = {}
    for array in arrays:
        by_device.setdefault(array.context, []).append(array)
    sums = [nd.multi_sum_sq(*own, num_arrays=len(own)).astype("float64").sum() for own in by_device.values()]
    total: NDArray = sums[0].as_in_context(device)
    for more in sums[1:]:
        total = total + more.as_in_context(device)
    made: NDArray = total.reshape(-1).sqrt()
    return made


def scaled_rates(rates: NDArray, by: NDArray) -> NDArray:
    """Rows of learning rate, decay and update, with other learning rates."""
    made: NDArray = nd.concat((rates[:, 0] * by).reshape((-1, 1)), rates[:, 1:], dim=1)
    return made
