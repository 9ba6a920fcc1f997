"""How often the predicted class is right."""

from collections.abc import Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.metric._arrays import classes, predicted
from gluonish.metric.base import PairMetric, alias

__all__ = ["Accuracy", "TopKAccuracy"]


@alias("acc")
class Accuracy(PairMetric):
    """The share of right predictions.

    Predictions are scores (the class is that of the largest along ``axis``), or classes if they have the labels' shape.
    A label that is NaN counts as wrong.

    >>> metric = Accuracy()
    >>> metric.update([0, 1], [[0.3, 0.7], [0.4, 0.6]])
    >>> metric.get()
    ('accuracy', 0.5)
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        label, pred = predicted(label, pred, self.axis, self.name)
        return (label == pred).sum(), label.size


@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(PairMetric):
    """The share of labels that are among the ``top_k`` highest scores. Scores: labels' shape and an axis of classes.

    >>> metric = TopKAccuracy(top_k=2)
    >>> metric.update([0, 1], [[0.1, 0.7, 0.2], [0.3, 0.2, 0.5]])
    >>> metric.get()
    ('top_k_accuracy_2', 0.0)
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if top_k < 1:
            raise ArgumentError(f"TopKAccuracy: top_k={top_k} is not valid: expected at least 1")
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        self.name += f"_{top_k}"

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        if pred.ndim < 2 or label.size * pred.shape[-1] != pred.size:
            raise ShapeError(
                f"{self.name}: labels of shape {label.shape} do not fit scores of shape {pred.shape}: expected the "
                "shape of the labels and one axis more, of classes"
            )
        scores = pred.reshape((-1, pred.shape[-1]))
        best = scores.topk(k=min(self.top_k, pred.shape[-1]), ret_typ="indices", axis=1)
        right = nd.equal(best, classes(label).reshape((-1, 1)))
        return right.sum(), label.size
