"""Metrics of predictions that are true above a threshold, as MXNet 2 has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.metric._arrays import double
from gluonish.metric.base import PairMetric, alias, register

__all__ = ["BinaryAccuracy", "Fbeta"]


@alias("binary_accuracy")
class BinaryAccuracy(PairMetric):
    """The share of predictions that are above ``threshold`` exactly where the label is 1. Both have as many elements.

    >>> metric = BinaryAccuracy(threshold=0.6)
    >>> metric.update([0, 1, 0], [0.7, 1, 0.55])
    >>> round(metric.get()[1], 4)
    0.6667
    """

    def __init__(
        self,
        name: str = "binary_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        threshold: float = 0.5,
    ) -> None:
        super().__init__(name, output_names, label_names, threshold=threshold)
        self.threshold = threshold

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        if label.size != pred.size:
            raise ShapeError(f"{self.name}: labels of shape {label.shape} do not fit predictions of shape {pred.shape}")
        right = nd.equal(pred.reshape(-1) > self.threshold, label.reshape(-1))
        return right.sum(), label.size


@register
class Fbeta(PairMetric):
    """The F score of all batches together: recall counts ``beta`` times as much as precision.

    Parameters
    ----------
    class_type
        "binary": labels 0 and 1, predictions of as many elements, or (N, 2) scores. "multiclass": labels (N,), scores
        (N, classes). "multilabel": labels and predictions (N, classes).
    threshold
        Predictions above it are true, where they are no scores of several classes.
    average
        "micro": of all classes together; "macro": the mean over classes; None: an array with that of each.

    >>> metric = Fbeta(beta=2)
    >>> metric.update([1, 1, 1, 0], [0.9, 0.2, 0.3, 0.1])
    >>> round(metric.get()[1], 4)
    0.3846
    """

    def __init__(
        self,
        name: str = "fbeta",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        class_type: str = "binary",
        beta: float = 1,
        threshold: float = 0.5,
        average: str | None = "micro",
    ) -> None:
        if class_type not in {"binary", "multiclass", "multilabel"}:
            raise ArgumentError(
                f"{name}: class_type={class_type!r} is not valid: expected 'binary', 'multiclass' or 'multilabel'"
            )
        if average not in {"micro", "macro", None}:
            raise ArgumentError(f"{name}: average={average!r} is not valid: expected 'micro', 'macro' or None")
        if beta <= 0:
            raise ArgumentError(f"{name}: beta={beta} is not valid: expected a number above 0")
        kwargs = {"class_type": class_type, "beta": beta, "threshold": threshold, "average": average}
        super().__init__(name, output_names, label_names, **kwargs)
        self.class_type, self.beta, self.threshold, self.average = class_type, beta, threshold, average

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        truth, found = self._marked(label, pred)
        both = truth * found
        counts = nd.stack(both.sum(axis=0), truth.sum(axis=0), found.sum(axis=0))
        return double(counts), label.size

    def _marked(self, label: NDArray, pred: NDArray) -> tuple[NDArray, NDArray]:
        """Labels and predictions as (N, classes) of true and false."""
        scores = pred.ndim == 2 and label.size * pred.shape[1] == pred.size and pred.shape[1] > 1
        if self.class_type == "multiclass" and scores:
            number = pred.shape[1]
            inside = nd.logical_and(label >= 0, label < number)
            self._refuse(nd.logical_not(inside), "labels are no class of the predictions")
            marks = nd.arange(number, ctx=pred.context)
            return label.reshape((-1, 1)) == marks, pred.argmax(axis=1).reshape((-1, 1)) == marks
        if self.class_type == "multilabel" and label.shape == pred.shape and pred.ndim == 2:
            return label == 1, pred > self.threshold
        if self.class_type == "binary" and scores and pred.shape[1] == 2:
            return label.reshape((-1, 1)) == 1, (pred.argmax(axis=1) == 1).reshape((-1, 1))
        if self.class_type == "binary" and label.size == pred.size:
            return label.reshape((-1, 1)) == 1, (pred > self.threshold).reshape((-1, 1))
        raise ShapeError(
            f"{self.name}: labels of shape {label.shape} do not fit predictions of shape {pred.shape} with "
            f"class_type={self.class_type!r}"
        )

    def _value(self, total: Any, count: Any) -> Any:
        if not isinstance(total, NDArray):
            return super()._value(total, count)
        right, truth, found = total.asnumpy()
        if self.average == "micro":
            right, truth, found = (part.sum(keepdims=True) for part in (right, truth, found))
        weight = self.beta**2
        below = weight * truth + found
        scores = np.divide((1 + weight) * right, below, out=np.zeros_like(right), where=below > 0)
        return scores if self.average is None else float(scores.mean())
