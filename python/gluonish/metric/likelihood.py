"""Metrics of predicted probabilities, and of losses."""

import math
from collections.abc import Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, ShapeError
from gluonish.metric._arrays import double, listed
from gluonish.metric.base import EvalMetric, PairMetric, alias, register

__all__ = ["Caffe", "CrossEntropy", "Loss", "NegativeLogLikelihood", "Perplexity", "Torch"]

_OUTSIDE = "labels are no class of the predictions"


class _OfTheLabel(PairMetric):
    """Metrics that look at the probability of the label alone."""

    def probability(
        self, label: NDArray, pred: NDArray, axis: int = -1, ignore: float | None = None
    ) -> tuple[NDArray, NDArray | None]:
        """What was predicted for each label, in double precision, and which labels count; None: all."""
        if pred.ndim == 0 or not -pred.ndim <= axis < pred.ndim or label.size * pred.shape[axis] != pred.size:
            raise ShapeError(
                f"{self.name}: labels of shape {label.shape} do not fit probabilities of shape {pred.shape}: expected "
                f"the shape of the labels and one axis more, of classes (axis {axis})"
            )
        number = pred.shape[axis]
        shape = [size for i, size in enumerate(pred.shape) if i != axis % pred.ndim]
        label = label.reshape(shape)
        counts = None if ignore is None else label != ignore
        known = nd.logical_and(label >= 0, label < number)
        wrong = nd.logical_not(known)
        self._refuse(wrong if counts is None else nd.logical_and(wrong, counts), _OUTSIDE)
        safe = nd.where(known, label, 0)
        return double(nd.pick(pred, safe, axis=axis)), counts


class _LogLikelihood(_OfTheLabel):
    """The mean of ``-log(p + eps)``, p being the probability of the label."""

    def __init__(
        self, eps: float, name: str, output_names: Sequence[str] | None, label_names: Sequence[str] | None
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        p, _ = self.probability(label, pred)
        return -(p + self.eps).log().sum(), label.size


@alias("ce")
class CrossEntropy(_LogLikelihood):
    """The mean of ``-log(p + eps)``, where p is the probability predicted for the label.

    Labels: classes, of any shape. Predictions: their shape and a last axis of probabilities.

    >>> metric = CrossEntropy()
    >>> metric.update([0, 1], [[0.5, 0.5], [0.5, 0.5]])
    >>> round(metric.get()[1], 6)
    0.693147
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@alias("nll_loss")
class NegativeLogLikelihood(_LogLikelihood):
    """The same as :class:`CrossEntropy`, under another name.

    >>> NegativeLogLikelihood().name
    'nll-loss'
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(_OfTheLabel):
    """The exponential of the mean of ``-log(p)``: among how many equally likely classes the network seems to choose.

    Parameters
    ----------
    ignore_label
        A label that is left out, such as padding; None: there is none.
    axis
        The axis of the classes.

    >>> metric = Perplexity(ignore_label=-1)
    >>> metric.update([0, 1, -1], [[0.25, 0.75], [0.75, 0.25], [0.0, 1.0]])
    >>> metric.get()
    ('perplexity', 4.0)
    """

    def __init__(
        self,
        ignore_label: float | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, axis=axis)
        self.ignore_label, self.axis = ignore_label, axis

    def measure(self, label: NDArray, pred: NDArray) -> tuple[Any, Any]:
        p, counts = self.probability(label, pred, self.axis, self.ignore_label)
        surprise = -nd.maximum(p, 1e-10).log()
        if counts is None:
            return surprise.sum(), label.size
        return nd.where(counts, surprise, 0).sum(), counts.sum()

    def _value(self, total: Any, count: Any) -> float:
        mean = super()._value(total, count)
        return math.exp(mean) if mean < 709 else mean if math.isnan(mean) else math.inf


@register
class Loss(EvalMetric):
    """The mean of the values of a loss; labels are not looked at.

    >>> metric = Loss()
    >>> metric.update(None, [[1, 2], [3, 6]])
    >>> metric.get()
    ('loss', 3.0)
    """

    def __init__(
        self,
        name: str = "loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _: Any, preds: Any) -> None:
        if preds is None:
            raise ArgumentError(f"{self.name}: predictions are needed, got None")
        with pause():
            for pred in listed(preds, self.name):
                self._add(double(pred).sum(), pred.size)


@register
class Torch(Loss):
    """MXNet's :class:`Loss` under the name of a criterion of Torch.

    >>> Torch().get()
    ('torch', nan)
    """

    def __init__(
        self,
        name: str = "torch",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """MXNet's :class:`Loss` under the name of a criterion of Caffe.

    >>> Caffe().get()
    ('caffe', nan)
    """

    def __init__(
        self,
        name: str = "caffe",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)
