"""Losses of classes: how little of a prediction stands where the truth is."""

from math import prod
from typing import Any

from gluonish._core import NDArray
from gluonish._rows import call
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon.loss.base import Fixed, Loss, smallest

__all__ = ["KLDivLoss", "SoftmaxCELoss", "SoftmaxCrossEntropyLoss"]


class SoftmaxCrossEntropyLoss(Loss):
    """Cross-entropy of the softmax and the labels: ``-log_softmax(pred)[label]``, in one pass over the predictions.

    Parameters
    ----------
    axis : int
        The axis of the classes.
    sparse_label : bool
        Whether a label is the number of a class; else labels have the shape of ``pred`` and say how much of each class
        is right.
    from_logits : bool
        Whether ``pred`` is a ``log_softmax`` already. Gluon's word: what others call logits is the default here.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.
    class_weight : vector or None
        A factor for each class: ``-sum(class_weight * target * log_softmax(pred))``.
    cost_matrix : matrix or None
        What each mistake costs: the expected cost ``sum_j(cost_matrix[label, j] * softmax(pred)[j])`` is added.
    label_smoothing : float
        What part of each label goes to all classes alike, from 0 to 1 (Szegedy et al. 2016).
    ignore_label : int or None
        Samples of this label cost nothing and have no gradient. They count in the mean, as with a weight of 0.

    Call: ``(pred, label, sample_weight=None)``. ``pred``: any shape with an axis of classes. ``label``: the same
    without that axis (or with 1 there), of any type whose values are whole; or, not sparse, as many elements as
    ``pred``. ``sample_weight``: broadcasts to the shape of ``pred`` with 1 for the classes. Result: (batch,).

    A label that is not a class (out of range, a fraction, NaN) raises IndexError when the loss is computed, with the
    label, its position and the number of classes.

    >>> import gluonish as mx
    >>> pred, label = mx.nd.array([[2, 0, 0], [0, 0, 0]]), mx.nd.array([0, 2])
    >>> mx.gluon.loss.SoftmaxCrossEntropyLoss()(pred, label).asnumpy().round(2)
    array([0.24, 1.1 ], dtype=float32)
    >>> loss = mx.gluon.loss.SoftmaxCrossEntropyLoss(class_weight=[1, 1, 10], ignore_label=-1)
    >>> loss(pred, mx.nd.array([-1, 2])).asnumpy().round(2)
    array([ 0.  , 10.99], dtype=float32)
    >>> mx.gluon.loss.SoftmaxCrossEntropyLoss()(pred, mx.nd.array([0, 3])).wait_to_read()
    Traceback (most recent call last):
        ...
    gluonish.errors.IndexOutOfRange: ...label 3 at position (1,) is not a class: there are 3, from 0 on...
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        class_weight: Any = None,
        cost_matrix: Any = None,
        label_smoothing: float = 0.0,
        ignore_label: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if not 0 <= label_smoothing <= 1:
            raise ArgumentError(f"SoftmaxCrossEntropyLoss: label_smoothing={label_smoothing!r} must be from 0 to 1")
        if ignore_label is not None and not sparse_label:
            raise ArgumentError(
                f"SoftmaxCrossEntropyLoss: ignore_label={ignore_label!r} is for sparse labels; "
                "a sample_weight of 0 does the same for others"
            )
        if ignore_label is not None and ignore_label % 1 != 0:  # so is NaN
            raise ArgumentError(f"SoftmaxCrossEntropyLoss: ignore_label={ignore_label!r} must be a whole number")
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits
        self.__smoothing = float(label_smoothing)
        self.__ignore = ignore_label
        self.__class_weight = _numbers(class_weight, "class_weight", 1)
        self.__cost = _numbers(cost_matrix, "cost_matrix", 2)

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        at = self.__class_axis(self.floating(pred))
        label = self.__one_for_each(F, label, pred, at) if self._sparse_label else self.fitted(F, label, pred)
        loss = self.__of_logs(F, pred, label, at) if self._from_logits else self.__fused(F, pred, label, at)
        if self.__cost is not None:
            loss = loss + self.__expected_cost(F, pred, label, at)
        if pred.ndim == 2 and at != self._batch_axis % 2 and sample_weight is None:
            return self.weighted(F, loss)
        return self.averaged(F, F.expand_dims(loss, at), sample_weight)

    def __class_axis(self, pred: NDArray) -> int:
        """The axis of the classes, counted from the first one."""
        if not -pred.ndim <= self._axis < pred.ndim:
            raise ShapeError(f"SoftmaxCrossEntropyLoss: pred of shape {pred.shape} has no axis {self._axis} of classes")
        at = self._axis % pred.ndim
        for fixed, name in ((self.__class_weight, "class_weight"), (self.__cost, "cost_matrix")):
            if fixed is not None and fixed.values.shape[0] != pred.shape[at]:
                raise ShapeError(
                    f"SoftmaxCrossEntropyLoss: {name} is for {fixed.values.shape[0]} classes, "
                    f"pred of shape {pred.shape} has {pred.shape[at]}"
                )
        return at

    def __one_for_each(self, F: Any, label: NDArray, pred: NDArray, at: int) -> NDArray:
        """Sparse labels in the shape of the predictions without their axis of classes."""
        wanted = pred.shape[:at] + pred.shape[at + 1 :]
        if self.array(label).shape == wanted:
            return label
        if label.size != prod(wanted):
            raise ShapeError(
                f"SoftmaxCrossEntropyLoss: label of shape {label.shape} does not fit pred of shape {pred.shape}: "
                f"{wanted} is needed, a class for each; labels that are shares of classes need sparse_label=False"
            )
        # To a reshape, 0 is the size that was there.
        each: NDArray = F.reshape(label, wanted) if label.size else F.zeros(wanted, ctx=label.ctx, dtype=label.dtype)
        return each

    def __fused(self, F: Any, pred: NDArray, label: NDArray, at: int) -> NDArray:
        how: dict[str, Any] = {"axis": at, "sparse_label": self._sparse_label, "smoothing": self.__smoothing}
        if self.__ignore is not None:
            how |= {"use_ignore": True, "ignore_label": float(self.__ignore)}
        inputs = [pred, label]
        if self.__class_weight is not None:
            inputs.append(self.__class_weight.like(F, pred))
        loss: NDArray = call("SoftmaxCrossEntropyLoss", "_softmax_cross_entropy", inputs, how)
        return loss

    def __of_logs(self, F: Any, log: NDArray, label: NDArray, at: int) -> NDArray:
        """The same of a ``log_softmax``."""
        loss: NDArray
        log = F.moveaxis(log, at, -1)
        weights = F.ones((log.shape[-1],), ctx=log.context, dtype=log.dtype)
        if self.__class_weight is not None:
            weights = self.__class_weight.like(F, log)
        share = self.__smoothing / max(log.shape[-1], 1)
        if not self._sparse_label:
            target = F.moveaxis(label, at, -1) * (1.0 - self.__smoothing) + share
            loss = -F.sum(target * weights * log, axis=-1)
            return loss
        label, counts = self.__counted(F, label)
        # A look into a table says which label is no class; a pick would take the nearest one.
        weight = F.squeeze(_row(F, F.expand_dims(weights, 1), label), -1)
        loss = weight * F.pick(log, label) * (self.__smoothing - 1.0)
        if share:
            loss = loss - F.sum(weights * log, axis=-1) * share
        return loss if counts is None else F.where(counts, loss, F.zeros_like(loss))

    def __expected_cost(self, F: Any, pred: NDArray, label: NDArray, at: int) -> NDArray:
        """``sum_ij(target[i] * cost[i, j] * softmax(pred)[j])``."""
        assert self.__cost is not None
        matrix, counts = self.__cost.like(F, pred), None
        if self._sparse_label:
            label, counts = self.__counted(F, label)
        if counts is not None:  # what does not count has no gradient, whatever it is
            pred = F.where(F.expand_dims(counts, at), pred, F.zeros_like(pred))
        p = F.moveaxis(F.exp(pred) if self._from_logits else F.softmax(pred, axis=at), at, -1)
        costs = _row(F, matrix, label) if self._sparse_label else F.dot(F.moveaxis(label, at, -1), matrix)
        cost: NDArray = F.sum(costs * p, axis=-1)
        return cost if counts is None else F.where(counts, cost, F.zeros_like(cost))

    def __counted(self, F: Any, label: NDArray) -> tuple[NDArray, NDArray | None]:
        """Labels with a class in place of the one that is ignored, and which of them count, unless all do."""
        if self.__ignore is None:
            return label, None
        counts = label != self.__ignore
        return F.where(counts, label, F.zeros_like(label)), counts


SoftmaxCELoss = SoftmaxCrossEntropyLoss


def _row(F: Any, table: NDArray, label: NDArray) -> NDArray:
    """A row of the table for each label; one that has none is an error with its position."""
    found: NDArray = F.Embedding(label, table, input_dim=table.shape[0], output_dim=table.shape[1])
    return found


def _numbers(values: Any, name: str, ndim: int) -> Fixed | None:
    """Numbers for classes: a vector, or a square matrix."""
    if values is None:
        return None
    fixed = Fixed(values)
    shape = fixed.values.shape
    if len(shape) != ndim or len(set(shape)) != 1:
        what = "a vector, one number for each class" if ndim == 1 else "a square matrix, a row for each class"
        raise ShapeError(f"SoftmaxCrossEntropyLoss: {name} of shape {shape} must be {what}")
    return fixed


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence of distributions: ``sum(label * (log(label) - log(p)))``.

    Parameters
    ----------
    from_logits : bool
        Whether ``pred`` is the logarithm of the probabilities ``p``; else ``p`` is its softmax.
    axis : int
        The axis of that softmax.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.

    Call: ``(pred, label, sample_weight=None)``. ``label``: probabilities, as many as ``pred``. Result: (batch,), the
    sum over all other axes, not their mean, as in MXNet 1.9.

    >>> import gluonish as mx
    >>> label = mx.nd.array([[0.5, 0.5], [1, 0]])
    >>> loss = mx.gluon.loss.KLDivLoss(from_logits=False)
    >>> loss(mx.nd.zeros((2, 2)), label).asnumpy().round(3)
    array([0.   , 0.693], dtype=float32)
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        label = self.fitted(F, label, self.floating(pred))
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = self.weighted(F, label * (F.log(label + smallest(label, 1e-12)) - pred), sample_weight)
        total: NDArray = F.sum(loss, axis=self._batch_axis, exclude=True)
        return total
