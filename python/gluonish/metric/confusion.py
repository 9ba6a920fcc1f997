"""Metrics of which class was taken for which: all come from one matrix of counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gluonish import nd
from gluonish._core import NDArray
from gluonish._rows import call
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, ShapeError
from gluonish.metric._arrays import double, paired, predicted
from gluonish.metric.base import EvalMetric, alias, register

__all__ = ["PCC", "ConfusionMatrix", "MeanIoU", "Precision", "Recall"]

Matrix = Any


class _Counts:
    """How often each class was taken for each. Counts of a known number of classes are made on the device; pairs of
    classes are kept as they are until somebody asks, where the number is not known."""

    def __init__(self) -> None:
        self._counted: dict[int, NDArray] = {}
        self._pairs: list[NDArray] = []

    def add(self, label: NDArray, pred: NDArray, number: int | None, ignore: float | None) -> None:
        if number is None:
            self._pairs.append(nd.stack(double(label), double(pred)))
            return
        bad = number * number  # the place for what is no class; one more for what is ignored
        known = nd.logical_and(nd.logical_and(label >= 0, label < number), nd.logical_and(pred >= 0, pred < number))
        code = double(label) * number + double(pred)
        code = nd.where(known, code, bad)
        if ignore is not None:
            code = nd.where(label == ignore, bad + 1, code)
        counts = call("metric", "_bincount", [nd.cast(code, dtype="int64")], {"n": bad + 2})
        before = self._counted.get(number)
        self._counted[number] = counts if before is None else before + counts.as_in_context(before.context)

    def joined(self, other: "_Counts") -> "_Counts":
        both = _Counts()
        both._counted = dict(self._counted)
        for number, counts in other._counted.items():
            before = both._counted.get(number)
            both._counted[number] = counts if before is None else before + counts.as_in_context(before.context)
        both._pairs = self._pairs + other._pairs
        return both

    def matrix(self, ignore: float | None, metric: str) -> Matrix:
        """Counts by label (rows) and prediction (columns), as wide as the largest number of classes."""
        parts = []
        for number, counts in self._counted.items():
            host = counts.asnumpy()
            _none_outside(int(host[-2]), number, metric)
            parts.append(host[:-2].reshape(number, number))
        for pairs in self._pairs:
            host = pairs.asnumpy()
            host = host if ignore is None else host[:, host[0] != ignore]
            _none_outside(int((~(host >= 0)).any(axis=0).sum()), None, metric)
            number = int(host.max(initial=-1)) + 1
            codes = (host[0] * number + host[1]).astype("int64")
            parts.append(np.bincount(codes, minlength=number * number).reshape(number, number))
        width = max((len(part) for part in parts), default=0)
        whole = np.zeros((width, width), "int64")
        for part in parts:
            whole[: len(part), : len(part)] += part
        return whole


def _none_outside(count: int, number: int | None, metric: str) -> None:
    if count:
        classes = f"from 0 to {number - 1}" if number else "of at least 0"
        raise ArgumentError(f"{metric}: {count} examples have a label or a prediction that is no class {classes}")


class ClassMetric(EvalMetric):
    """A metric that is a function of the confusion matrix. Nothing waits but ``get``.

    Predictions: scores along ``axis``, or classes if they have the labels' shape; their number is then that of
    ``num_classes``, or else the largest that occurs. Examples with the label ``ignore_label`` are left out.
    """

    _is_mean = False

    def __init__(
        self,
        name: str,
        output_names: Sequence[str] | None,
        label_names: Sequence[str] | None,
        **kwargs: Any,
    ) -> None:
        self.num_classes: int | None = kwargs.get("num_classes")
        self.axis: int = kwargs.get("axis", 1)
        self.ignore_label: float | None = kwargs.get("ignore_label")
        if self.num_classes is not None and self.num_classes < 1:
            raise ArgumentError(f"{name}: num_classes={self.num_classes} is not valid: expected at least 1")
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def reset(self) -> None:
        self._earlier, self._counts = _Counts(), _Counts()
        super().reset()

    def reset_local(self) -> None:
        self._earlier, self._counts = self._earlier.joined(self._counts), _Counts()
        super().reset_local()

    def update(self, labels: Any, preds: Any) -> None:
        with pause():
            for label, pred in paired(labels, preds, self.name):
                number = self.num_classes if pred.shape == label.shape else self._columns(pred)
                label, pred = predicted(label, pred, self.axis, self.name)
                self._counts.add(label, pred, number, self.ignore_label)
                self.num_inst += 1
                self.global_num_inst += 1

    def _columns(self, pred: NDArray) -> int | None:
        if not -pred.ndim <= self.axis < pred.ndim:
            raise ShapeError(f"{self.name}: axis={self.axis} is not an axis of predictions of shape {pred.shape}")
        columns = pred.shape[self.axis]
        if self.num_classes is not None and columns != self.num_classes:
            raise ShapeError(
                f"{self.name}: predictions of shape {pred.shape} are scores of {columns} classes, not of "
                f"num_classes={self.num_classes}"
            )
        return columns

    def get(self) -> tuple[Any, Any]:
        return self.name, self._of(self._counts)

    def get_global(self) -> tuple[Any, Any]:
        return self.name, self._of(self._earlier.joined(self._counts))

    def _of(self, counts: _Counts) -> Any:
        matrix = counts.matrix(self.ignore_label, self.name)
        return self.value(matrix) if matrix.sum() else self.nothing()

    def value(self, matrix: Matrix) -> Any:
        """The metric of a matrix of at least one example."""
        raise NotImplementedError

    def nothing(self) -> Any:
        """The metric of no examples."""
        return float("nan")


@register
class ConfusionMatrix(ClassMetric):
    """How often each class (rows) was taken for each (columns), as a NumPy array.

    ``normalize="true"`` divides each row by its sum, "pred" each column, "all" the whole; rows of nothing stay 0.

    >>> metric = ConfusionMatrix()
    >>> metric.update([0, 1, 2, 2], [0, 2, 2, 2])
    >>> metric.get()[1].tolist()
    [[1, 0, 0], [0, 0, 1], [0, 0, 2]]
    """

    def __init__(
        self,
        num_classes: int | None = None,
        normalize: str | None = None,
        axis: int = 1,
        ignore_label: float | None = None,
        name: str = "confusion_matrix",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if normalize not in {None, "true", "pred", "all"}:
            raise ArgumentError(
                f"ConfusionMatrix: normalize={normalize!r} is not valid: expected None, 'true', 'pred' or 'all'"
            )
        self.normalize = normalize
        kwargs = {"num_classes": num_classes, "normalize": normalize, "axis": axis, "ignore_label": ignore_label}
        super().__init__(name, output_names, label_names, **kwargs)

    def value(self, matrix: Matrix) -> Matrix:
        if self.normalize is None:
            return matrix
        axis = {"true": 1, "pred": 0, "all": None}[self.normalize]
        return matrix / np.maximum(matrix.sum(axis=axis, keepdims=True), 1)

    def nothing(self) -> Matrix:
        return np.zeros((self.num_classes or 0,) * 2, "int64" if self.normalize is None else "float64")


@register
class PCC(ClassMetric):
    """Matthews' correlation of labels and predictions of any number of classes: 1 is perfect, 0 chance.

    >>> metric = PCC()
    >>> metric.update([0, 1, 2, 2], [0, 1, 2, 1])
    >>> round(metric.get()[1], 4)
    0.7
    """

    def __init__(
        self,
        name: str = "pcc",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        has_global_stats: bool = True,
    ) -> None:
        super().__init__(name, output_names, label_names)
        self._has_global_stats = has_global_stats

    def get_global(self) -> tuple[Any, Any]:
        return super().get_global() if self._has_global_stats else self.get()

    def value(self, matrix: Matrix) -> float:
        counts = matrix.astype("float64")
        n, x, y = counts.sum(), counts.sum(axis=0), counts.sum(axis=1)
        spread = np.sqrt((x * (n - x)).sum()) * np.sqrt((y * (n - y)).sum())
        return float((counts.diagonal() * n - x * y).sum() / spread) if spread else float("nan")


class _ByClass(ClassMetric):
    """A ratio for each class, and its averages."""

    _AVERAGES: tuple[str | None, ...] = ("binary", "micro", "macro", "weighted", None)

    def __init__(
        self,
        average: str | None,
        num_classes: int | None,
        axis: int,
        ignore_label: float | None,
        name: str,
        output_names: Sequence[str] | None,
        label_names: Sequence[str] | None,
    ) -> None:
        if average not in self._AVERAGES:
            expected = ", ".join(map(repr, self._AVERAGES))
            raise ArgumentError(f"{name}: average={average!r} is not valid: expected one of {expected}")
        self.average = average
        kwargs = {"num_classes": num_classes, "average": average, "axis": axis, "ignore_label": ignore_label}
        super().__init__(name, output_names, label_names, **kwargs)

    def value(self, matrix: Matrix) -> Any:
        if self.average == "binary" and len(matrix) > 2:
            raise ArgumentError(
                f"{self.name}: there are {len(matrix)} classes, and average='binary' is for two: choose another"
            )
        over, under = self.parts(matrix)
        if self.average == "micro":
            return float(over.sum() / under.sum()) if under.sum() else 0.0
        ratios = np.divide(over, under, out=np.zeros(len(over)), where=under > 0)
        if self.average is None:
            return ratios
        if self.average == "binary":
            return float(ratios[1]) if len(ratios) > 1 else 0.0
        weights = self.weights(matrix)
        return float((ratios * weights).sum() / weights.sum())

    def parts(self, matrix: Matrix) -> tuple[Matrix, Matrix]:
        """Numerators and denominators, class by class."""
        raise NotImplementedError

    def weights(self, matrix: Matrix) -> Matrix:
        """What each class weighs in the mean: classes that neither a label nor a prediction has weigh nothing."""
        if self.average == "weighted":
            return matrix.sum(axis=1)
        return (matrix.sum(axis=0) + matrix.sum(axis=1) > 0).astype("float64")


@register
class Precision(_ByClass):
    """The share of right ones among the predictions of a class; 0 where there are none.

    ``average``: "binary" is that of class 1; "micro" of all classes together; "macro" the mean over classes that occur;
    "weighted" that weighted by how often they are labels; None an array of all.

    >>> metric = Precision()
    >>> metric.update([1, 0, 1, 1], [1, 1, 0, 1])
    >>> round(metric.get()[1], 4)
    0.6667
    """

    def __init__(
        self,
        average: str | None = "binary",
        num_classes: int | None = None,
        axis: int = 1,
        ignore_label: float | None = None,
        name: str = "precision",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(average, num_classes, axis, ignore_label, name, output_names, label_names)

    def parts(self, matrix: Matrix) -> tuple[Matrix, Matrix]:
        return matrix.diagonal(), matrix.sum(axis=0)


@register
class Recall(_ByClass):
    """The share of found ones among the examples of a class; 0 where there are none. Averages: :class:`Precision`'s.

    >>> metric = Recall(average=None)
    >>> metric.update([1, 0, 1, 1], [1, 1, 0, 1])
    >>> metric.get()[1].round(4).tolist()
    [0.0, 0.6667]
    """

    def __init__(
        self,
        average: str | None = "binary",
        num_classes: int | None = None,
        axis: int = 1,
        ignore_label: float | None = None,
        name: str = "recall",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(average, num_classes, axis, ignore_label, name, output_names, label_names)

    def parts(self, matrix: Matrix) -> tuple[Matrix, Matrix]:
        return matrix.diagonal(), matrix.sum(axis=1)


@alias("iou", "miou", "mean_iou")
class MeanIoU(_ByClass):
    """Intersection over union of what is and what was predicted, class by class, as in segmentation.

    Labels (N, H, W) and scores (N, classes, H, W), for example. ``average="macro"`` is the mean over classes that
    occur, "weighted" that weighted by how often they are labels, "micro" of all together, None an array of all.

    >>> metric = MeanIoU()
    >>> metric.update([[0, 0], [1, 1]], [[0, 0], [0, 1]])
    >>> round(metric.get()[1], 4)
    0.5833
    """

    _AVERAGES = ("micro", "macro", "weighted", None)

    def __init__(
        self,
        num_classes: int | None = None,
        average: str | None = "macro",
        axis: int = 1,
        ignore_label: float | None = None,
        name: str = "mean_iou",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(average, num_classes, axis, ignore_label, name, output_names, label_names)

    def parts(self, matrix: Matrix) -> tuple[Matrix, Matrix]:
        both = matrix.diagonal()
        return both, matrix.sum(axis=0) + matrix.sum(axis=1) - both
