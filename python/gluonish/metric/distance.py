"""Metrics of vectors: how far, and in which direction, predictions are from labels; MXNet 2 has them."""

from collections.abc import Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.metric._arrays import double
from gluonish.metric.base import PairMetric, alias

__all__ = ["MeanCosineSimilarity", "MeanPairwiseDistance"]


@alias("mpd")
class MeanPairwiseDistance(PairMetric):
    """The mean over examples of the distance, in the norm ``p``, of a label and its prediction: both (N, ...).

    >>> metric = MeanPairwiseDistance()
    >>> metric.update([[0, 0], [1, 1]], [[3, 4], [1, 1]])
    >>> metric.get()
    ('mpd', 2.5)
    """

    def __init__(
        self,
        name: str = "mpd",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        p: float = 2,
    ) -> None:
        if p <= 0:
            raise ArgumentError(f"{name}: p={p} is not valid: expected a number above 0")
        super().__init__(name, output_names, label_names, p=p)
        self.p = p

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        _same_shape(label, pred, self.name)
        difference = (double(label) - double(pred)).abs().reshape((label.shape[0], -1))
        return ((difference**self.p).sum(axis=1) ** (1 / self.p)).sum(), label.shape[0]


@alias("cos_sim")
class MeanCosineSimilarity(PairMetric):
    """The mean of the cosine of the angle between a label and its prediction, vectors in the last axis of both.

    >>> metric = MeanCosineSimilarity()
    >>> metric.update([[1, 0], [0, 2]], [[3, 0], [5, 0]])
    >>> metric.get()
    ('cos_sim', 0.5)
    """

    def __init__(
        self,
        name: str = "cos_sim",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        _same_shape(label, pred, self.name)
        x, y = double(label), double(pred)
        lengths = (x * x).sum(axis=-1).sqrt() * (y * y).sum(axis=-1).sqrt()
        cosines = (x * y).sum(axis=-1) / nd.maximum(lengths, self.eps)
        return cosines.sum(), cosines.size


def _same_shape(label: NDArray, pred: NDArray, metric: str) -> None:
    if label.shape != pred.shape or label.ndim == 0:
        raise ShapeError(f"{metric}: labels of shape {label.shape} do not fit predictions of shape {pred.shape}")
