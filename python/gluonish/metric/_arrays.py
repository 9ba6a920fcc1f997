"""What metrics do with the arrays that they are given."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish._create import from_host, host_array
from gluonish.errors import ArgumentError, ShapeError

__all__ = ["classes", "double", "listed", "number", "paired", "predicted"]


def listed(values: Any, metric: str) -> list[NDArray]:
    """Arrays on a device: one for an array or for nested lists of numbers, several for a list with arrays in it.

    >>> [x.shape for x in listed([[1, 2], [3, 4]], "accuracy")]
    [(2, 2)]
    >>> [x.shape for x in listed([np.ones(3), np.ones(4)], "accuracy")]
    [(3,), (4,)]
    """
    several = isinstance(values, list | tuple) and (
        not values or any(isinstance(value, NDArray | np.ndarray) for value in values)
    )
    return [_on_device(value, metric) for value in (values if several else [values])]


def _on_device(value: Any, metric: str) -> NDArray:
    if isinstance(value, NDArray):
        return value
    host = host_array(value, metric)
    return from_host(host, host.dtype.name, _core.current_device())


def paired(labels: Any, preds: Any, metric: str) -> Iterator[tuple[NDArray, NDArray]]:
    """Each prediction with its labels, on the device of the prediction; without those that have no elements."""
    labels, preds = listed(labels, metric), listed(preds, metric)
    if len(labels) != len(preds):
        raise ArgumentError(
            f"{metric}: {len(labels)} arrays of labels and {len(preds)} of predictions: expected as many"
        )
    for label, pred in zip(labels, preds, strict=True):
        if label.size or pred.size:
            yield label if label._device == pred._device else label.as_in_context(pred.context), pred


def classes(array: NDArray) -> NDArray:
    """Classes as whole numbers: a fraction is cut off, and what is not a number stays so and equals nothing."""
    return array.trunc()


def predicted(label: NDArray, pred: NDArray, axis: int, metric: str) -> tuple[NDArray, NDArray]:
    """Labels and predicted classes as vectors. Predictions that have not the labels' shape are scores along an axis."""
    given = pred.shape
    if given != label.shape:
        pred = pred.argmax(axis=_axis(pred, axis, metric))
    if pred.size != label.size:
        raise ShapeError(f"{metric}: labels of shape {label.shape} do not fit predictions of shape {given}")
    return classes(label).reshape(-1), classes(pred).reshape(-1)


def _axis(pred: NDArray, axis: int, metric: str) -> int:
    if not -pred.ndim <= axis < pred.ndim:
        raise ShapeError(f"{metric}: axis={axis} is not an axis of predictions of shape {pred.shape}")
    return axis


def double(array: NDArray) -> NDArray:
    """In double precision. The op is called by itself: ``astype`` costs many times as much."""
    cast: NDArray = nd.cast(array, dtype="float64")
    return cast


def number(value: Any) -> float:
    """A sum as a number of Python; waits if it is on a device."""
    return float(value.item() if isinstance(value, NDArray) else value)
