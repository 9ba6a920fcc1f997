"""Metrics of scores that rank examples."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonish import nd
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, ShapeError
from gluonish.metric._arrays import double, paired
from gluonish.metric.base import EvalMetric, alias

__all__ = ["ROCAUC"]


@alias("auc", "roc_auc")
class ROCAUC(EvalMetric):
    """The area under the ROC curve: how likely an example of class 1 has a higher score than one of class 0.

    Equal scores count half. Labels are 0 and 1; scores have their shape, or (N, 2) with those of class 1 in the second
    column. All scores are kept until ``reset``; NaN if one of the classes is missing.

    >>> metric = ROCAUC()
    >>> metric.update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> metric.get()
    ('roc_auc', 0.75)
    """

    _is_mean = False

    def __init__(
        self,
        name: str = "roc_auc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def reset(self) -> None:
        self._earlier: list[NDArray] = []
        self._kept: list[NDArray] = []
        super().reset()

    def reset_local(self) -> None:
        self._earlier, self._kept = self._earlier + self._kept, []
        super().reset_local()

    def update(self, labels: Any, preds: Any) -> None:
        with pause():
            for label, pred in paired(labels, preds, self.name):
                if pred.size == 2 * label.size and pred.ndim >= 2 and pred.shape[-1] == 2:
                    pred = pred[..., 1]
                if pred.size != label.size:
                    raise ShapeError(
                        f"{self.name}: labels of shape {label.shape} do not fit scores of shape {pred.shape}: expected "
                        "one score each, or two in the last axis"
                    )
                self._kept.append(nd.stack(double(label).reshape(-1), double(pred).reshape(-1)))
                self.num_inst += label.size
                self.global_num_inst += label.size

    def get(self) -> tuple[Any, Any]:
        return self.name, self._area(self._kept)

    def get_global(self) -> tuple[Any, Any]:
        return self.name, self._area(self._earlier + self._kept)

    def _area(self, kept: list[NDArray]) -> float:
        if not kept:
            return float("nan")
        label, score = np.concatenate([part.asnumpy() for part in kept], axis=1)
        wrong = int((~np.isin(label, (0, 1))).sum())
        if wrong:
            raise ArgumentError(f"{self.name}: {wrong} labels are not 0 or 1, and the metric is for two classes")
        if np.isnan(score).any():
            return float("nan")
        values, place, counts = np.unique(score, return_inverse=True, return_counts=True)
        ranks = (counts.cumsum() - (counts - 1) / 2)[place.reshape(-1)]  # equal scores share the mean of their ranks
        positive = int(label.sum())
        negative = len(label) - positive
        if not positive or not negative or not len(values):
            return float("nan")
        return float((ranks[label == 1].sum() - positive * (positive + 1) / 2) / (positive * negative))
