"""Metrics of two classes, from the four counts of right and wrong."""

from collections.abc import Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.metric._arrays import double, predicted
from gluonish.metric.base import PairMetric, register

__all__ = ["F1", "MCC"]


class _Binary(PairMetric):
    """A score of (true positives, false positives, false negatives, true negatives), class 1 being the positive one.

    "macro" is the mean over batches of the score of each, "micro" the score of all batches together.
    """

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        if average not in {"macro", "micro"}:
            raise ArgumentError(f"{name}: average={average!r} is not valid: expected 'macro' or 'micro'")
        self.average = average
        super().__init__(name, output_names, label_names, average=average)

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        label, pred = predicted(label, pred, 1, self.name)
        known = nd.abs(label) <= 1  # -1 and 0 are the negative class; NaN is nothing
        self._refuse(nd.logical_not(known), "labels are not 0 or 1, and the metric is for two classes")
        kind = (label == 1) * 2 + (pred == 1)
        counts = double(nd.stack(*((kind == code).sum() for code in (3, 1, 2, 0))))
        return (counts, label.size) if self.average == "micro" else (self.score(counts), 1)

    def _value(self, total: Any, count: Any) -> float:
        if self.average == "micro" and isinstance(total, NDArray):
            return float(self.score(total).item())
        return super()._value(total, count)

    def score(self, counts: NDArray) -> NDArray:
        """The score of the four counts, on their device."""
        raise NotImplementedError


@register
class F1(_Binary):
    """The harmonic mean of precision and recall of class 1, for labels 0 and 1; 0 if there are no true positives.

    Predictions: scores (N, 2), or classes (N,). ``average="macro"`` is the mean over batches, "micro" that of all
    examples together.

    >>> metric = F1(average="micro")
    >>> metric.update([1, 1, 0, 0], [1, 0, 1, 0])
    >>> metric.get()
    ('f1', 0.5)
    """

    def __init__(
        self,
        name: str = "f1",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def score(self, counts: NDArray) -> NDArray:
        right, wrong = 2 * counts[0], counts[1] + counts[2]
        score: NDArray = right / nd.maximum(right + wrong, 1)
        return score


@register
class MCC(_Binary):
    """Matthews' correlation of labels 0 and 1 with predictions: 1 is perfect, 0 chance, -1 always wrong.

    Predictions and averages are those of :class:`F1`.

    >>> metric = MCC()
    >>> metric.update([1, 1, 0, 0], [1, 0, 0, 0])
    >>> round(metric.get()[1], 4)
    0.5774
    """

    def __init__(
        self,
        name: str = "mcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def score(self, counts: NDArray) -> NDArray:
        tp, fp, fn, tn = (counts[i] for i in range(4))
        sides = nd.stack(tp + fp, tp + fn, tn + fp, tn + fn)
        # A side of no examples is left out, as it makes the numerator 0. Roots first: the product could overflow.
        score: NDArray = (tp * tn - fp * fn) / nd.maximum(sides, 1).sqrt().prod()
        return score
