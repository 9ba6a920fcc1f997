"""Metrics of predicted numbers."""

from collections.abc import Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.metric._arrays import double
from gluonish.metric.base import PairMetric, alias, register

__all__ = ["MAE", "MSE", "RMSE", "PearsonCorrelation"]


class _Difference(PairMetric):
    """The mean over batches of what ``of`` makes of the differences of a batch."""

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        label, pred = (x.reshape((-1, 1)) if x.ndim == 1 else x for x in (label, pred))
        if label.shape != pred.shape:
            raise ShapeError(f"{self.name}: labels of shape {label.shape} do not fit predictions of shape {pred.shape}")
        return self.of(double(label) - double(pred)), 1

    def of(self, difference: NDArray) -> NDArray:
        raise NotImplementedError


@register
class MAE(_Difference):
    """The mean of absolute differences, averaged over batches. Vectors and columns fit each other.

    >>> metric = MAE()
    >>> metric.update([1, 2, 3], [1, 2, 6])
    >>> metric.get()
    ('mae', 1.0)
    """

    def __init__(
        self,
        name: str = "mae",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def of(self, difference: NDArray) -> NDArray:
        return difference.abs().mean()


@register
class MSE(_Difference):
    """The mean of squared differences, averaged over batches. Vectors and columns fit each other.

    >>> metric = MSE()
    >>> metric.update([1, 2, 3], [1, 2, 6])
    >>> metric.get()
    ('mse', 3.0)
    """

    def __init__(
        self,
        name: str = "mse",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def of(self, difference: NDArray) -> NDArray:
        return difference.square().mean()


@register
class RMSE(_Difference):
    """The root of the mean of squared differences, averaged over batches. Vectors and columns fit each other.

    >>> metric = RMSE()
    >>> metric.update([0, 0], [2, 2])
    >>> metric.get()
    ('rmse', 2.0)
    """

    def __init__(
        self,
        name: str = "rmse",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def of(self, difference: NDArray) -> NDArray:
        return difference.square().mean().sqrt()


@alias("pearsonr")
class PearsonCorrelation(PairMetric):
    """Pearson's correlation of labels and predictions, which have one shape.

    ``average="macro"`` is the mean over batches, "micro" the correlation of all examples together. Values that are all
    equal have none: NaN.

    >>> metric = PearsonCorrelation()
    >>> metric.update([1, 2, 3], [2, 4, 6])
    >>> round(metric.get()[1], 6)
    1.0
    """

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        average: str = "macro",
    ) -> None:
        if average not in {"macro", "micro"}:
            raise ArgumentError(f"{name}: average={average!r} is not valid: expected 'macro' or 'micro'")
        self.average = average
        super().__init__(name, output_names, label_names, average=average)

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        if label.shape != pred.shape:
            raise ShapeError(f"{self.name}: labels of shape {label.shape} do not fit predictions of shape {pred.shape}")
        moments = _moments(double(label).reshape(-1), double(pred).reshape(-1))
        return (moments, label.size) if self.average == "micro" else (_correlation(moments), 1)

    def _add(self, total: Any, count: Any) -> None:
        if self.average == "macro":
            super()._add(total, count)
            return
        self._held_sum, self._held_global_sum = _joined(self._held_sum, total), _joined(self._held_global_sum, total)
        self._held_count, self._held_global_count = self._held_count + count, self._held_global_count + count

    def _value(self, total: Any, count: Any) -> float:
        if self.average == "micro" and isinstance(total, NDArray):
            return float(_correlation(total).item())
        return super()._value(total, count)

    def reset_micro(self) -> None:
        """Forgets what ``get`` is about if ``average="micro"``."""
        if self.average == "micro":
            self.reset_local()


def _moments(x: NDArray, y: NDArray) -> NDArray:
    """How many; both means; and the sums of squares and of products of the deviations from them."""
    dx, dy = x - x.mean(), y - y.mean()
    count = nd.full((), x.size, dtype="float64", ctx=x.context)
    moments: NDArray = nd.stack(count, x.mean(), y.mean(), (dx * dx).sum(), (dy * dy).sum(), (dx * dy).sum())
    return moments


def _joined(a: Any, b: NDArray) -> NDArray:
    """The moments of two sets together, by the update of Chan, Golub and LeVeque, which cancels nothing."""
    if not isinstance(a, NDArray):
        return b
    b = b.as_in_context(a.context)
    count = a[0] + b[0]
    dx, dy = b[1] - a[1], b[2] - a[2]
    share, both = b[0] / count, a[0] * b[0] / count
    joined: NDArray = nd.stack(
        count,
        a[1] + dx * share,
        a[2] + dy * share,
        a[3] + b[3] + dx * dx * both,
        a[4] + b[4] + dy * dy * both,
        a[5] + b[5] + dx * dy * both,
    )
    return joined


def _correlation(moments: NDArray) -> NDArray:
    correlation: NDArray = moments[5] / (moments[3].sqrt() * moments[4].sqrt())
    return correlation
