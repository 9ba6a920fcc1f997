"""What a step takes beside weights and gradients: numbers as arrays, and the factor of the gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish.context import Context
from gluonish.errors import ArgumentError

__all__ = ["Factors", "global_norm", "numbers", "scaled_rates"]


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
