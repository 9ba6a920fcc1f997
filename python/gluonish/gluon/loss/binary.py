"""Losses of answers that are yes or no, each by itself."""

from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.loss.base import Loss, smallest

__all__ = [
    "DiceLoss",
    "FocalLoss",
    "HingeLoss",
    "LogisticLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SquaredHingeLoss",
]


def _surprises(F: Any, pred: NDArray, from_sigmoid: bool) -> tuple[NDArray, NDArray]:
    """``-log(p)`` and ``-log(1 - p)`` of a probability, or of what the sigmoid makes one from."""
    if from_sigmoid:
        least = smallest(pred, 1e-12)
        return -F.log(pred + least), -F.log(1.0 - pred + least)
    # Neither overflows, and both slopes are right everywhere, also at 0.
    return F.Activation(-pred, act_type="softrelu"), F.Activation(pred, act_type="softrelu")


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross-entropy of answers that are yes or no: ``-(label * log(p) + (1 - label) * log(1 - p))``.

    ``p`` is the sigmoid of ``pred``. With ``pos_weight`` the first part is multiplied by it.

    Parameters
    ----------
    from_sigmoid : bool
        Whether ``pred`` is ``p`` already. Without, it is quicker and exact where ``p`` is near 0 or 1.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.

    Call: ``(pred, label, sample_weight=None, pos_weight=None)``. ``pred``: any shape; ``label``: as many elements, from
    0 to 1; ``sample_weight`` and ``pos_weight`` broadcast to ``pred``. Result: (batch,).

    >>> import gluonish as mx
    >>> loss = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
    >>> loss(mx.nd.array([0, 100, -100]), mx.nd.array([1, 1, 1])).asnumpy().round(4)
    array([  0.6931,   0.    , 100.    ], dtype=float32)
    """

    def __init__(
        self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self,
        F: Any,
        pred: NDArray,
        label: NDArray,
        sample_weight: NDArray | None = None,
        pos_weight: NDArray | None = None,
    ) -> NDArray:
        label = self.fitted(F, label, self.floating(pred))
        yes, no = _surprises(F, pred, self._from_sigmoid)
        if pos_weight is not None:
            yes = F.broadcast_mul(yes, pos_weight.astype(pred.dtype))
        return self.averaged(F, label * yes + (1.0 - label) * no, sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class LogisticLoss(Loss):
    """``log(1 + exp(-label * pred))`` for labels of -1 and 1.

    Parameters
    ----------
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.
    label_format : "signed" or "binary"
        Whether labels are -1 and 1, or 0 and 1.

    Call: ``(pred, label, sample_weight=None)``. ``pred``: any shape; ``label``: as many elements. Result: (batch,).

    >>> import gluonish as mx
    >>> pred = mx.nd.array([0, 100])
    >>> mx.gluon.loss.LogisticLoss()(pred, mx.nd.array([1, -1])).asnumpy().round(4)
    array([  0.6931, 100.    ], dtype=float32)
    """

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ArgumentError(f"LogisticLoss: label_format={label_format!r} must be 'signed' or 'binary'")
        self._label_format = label_format

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        label = self.fitted(F, label, self.floating(pred))
        if self._label_format == "signed":
            label = (label + 1.0) * 0.5
        yes, no = _surprises(F, pred, False)
        return self.averaged(F, label * yes + (1.0 - label) * no, sample_weight)


class HingeLoss(Loss):
    """``max(0, margin - label * pred)`` for labels of -1 and 1: the loss of support vector machines.

    Parameters
    ----------
    margin : float
        How far a prediction must be on the right side to cost nothing.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.

    Call: ``(pred, label, sample_weight=None)``. ``pred``: any shape; ``label``: as many elements. Result: (batch,).

    >>> import gluonish as mx
    >>> mx.gluon.loss.HingeLoss()(mx.nd.array([2, 0.5, 3]), mx.nd.array([1, 1, -1])).tolist()
    [0.0, 0.5, 4.0]
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        short = F.relu(self._margin - pred * self.fitted(F, label, self.floating(pred)))
        return self.averaged(F, short, sample_weight)


class SquaredHingeLoss(Loss):
    """``max(0, margin - label * pred)**2`` for labels of -1 and 1.

    Parameters and shapes are those of :class:`HingeLoss`.

    >>> import gluonish as mx
    >>> mx.gluon.loss.SquaredHingeLoss()(mx.nd.array([2, 0.5, 3]), mx.nd.array([1, 1, -1])).tolist()
    [0.0, 0.25, 16.0]
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        short = F.relu(self._margin - pred * self.fitted(F, label, self.floating(pred)))
        return self.averaged(F, F.square(short), sample_weight)


class FocalLoss(Loss):
    """Cross-entropy of yes or no in which what is easy counts little (Lin et al. 2017).

    ``-alpha * label * (1 - p)**gamma * log(p) - (1 - alpha) * (1 - label) * p**gamma * log(1 - p)``, where ``p`` is the
    sigmoid of ``pred``.

    Parameters
    ----------
    alpha : float or None
        The weight of yes, from 0 to 1; that of no is ``1 - alpha``. None: both are 1.
    gamma : float
        How much less the easy ones count, from 0 on; 0 is plain cross-entropy.
    from_sigmoid : bool
        Whether ``pred`` is ``p`` already.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.

    Call: ``(pred, label, sample_weight=None)``. ``pred``: any shape; ``label``: as many elements, from 0 to 1; of
    classes, ``nd.one_hot`` makes them. Result: (batch,).

    >>> import gluonish as mx
    >>> pred, label = mx.nd.array([4, 0, -4]), mx.nd.ones(3)
    >>> mx.gluon.loss.FocalLoss()(pred, label).asnumpy().round(3)
    array([0.   , 0.043, 0.969], dtype=float32)
    """

    def __init__(
        self,
        alpha: float | None = 0.25,
        gamma: float = 2.0,
        from_sigmoid: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if alpha is not None and not 0 <= alpha <= 1:
            raise ArgumentError(f"FocalLoss: alpha={alpha!r} must be from 0 to 1, or None")
        if not gamma >= 0:
            raise ArgumentError(f"FocalLoss: gamma={gamma!r} must be 0 or more")
        self._alpha = alpha
        self._gamma = gamma
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        label = self.fitted(F, label, self.floating(pred))
        yes, no = _surprises(F, pred, self._from_sigmoid)
        # Powers of probabilities by their logarithms, whose slopes stay finite.
        easy_no, easy_yes = F.exp(-self._gamma * no), F.exp(-self._gamma * yes)
        of_yes, of_no = label * easy_no * yes, (1.0 - label) * easy_yes * no
        if self._alpha is None:
            return self.averaged(F, of_yes + of_no, sample_weight)
        return self.averaged(F, self._alpha * of_yes + (1.0 - self._alpha) * of_no, sample_weight)


class DiceLoss(Loss):
    """How little two regions overlap: ``1 - (2 * sum(p * label) + smooth) / (sum(p) + sum(label) + smooth)``.

    The sums go over all axes of a sample, ``p`` is the sigmoid of ``pred`` (Dice 1945; Milletari et al. 2016).

    Parameters
    ----------
    smooth : float
        What keeps regions without any element apart from 0 / 0; such are alike.
    axis : int or None
        The axis of classes, if ``pred`` has one: then ``p`` is the softmax along it, and the result is the mean of the
        classes' losses.
    from_probabilities : bool
        Whether ``pred`` is ``p`` already.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.

    Call: ``(pred, label, sample_weight=None)``. ``pred``: any shape; ``label``: as many elements, from 0 to 1;
    ``sample_weight``: broadcasts to (batch,), or with ``axis`` to (batch, classes). Result: (batch,).

    >>> import gluonish as mx
    >>> loss = mx.gluon.loss.DiceLoss(smooth=0, from_probabilities=True)
    >>> mask = mx.nd.array([[1, 1, 0, 0], [1, 1, 0, 0]])
    >>> loss(mx.nd.array([[1, 1, 0, 0], [0, 1, 1, 0]]), mask).tolist()
    [0.0, 0.5]
    """

    def __init__(
        self,
        smooth: float = 1.0,
        axis: int | None = None,
        from_probabilities: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if axis == batch_axis:
            raise ArgumentError(f"DiceLoss: axis={axis} is the axis of the samples; that of classes is another")
        self._smooth = smooth
        self._axis = axis
        self._from_probabilities = from_probabilities

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        label = self.fitted(F, label, self.floating(pred))
        if not self._from_probabilities:
            pred = F.sigmoid(pred) if self._axis is None else F.softmax(pred, axis=self._axis)
        batch = self._batch_axis % pred.ndim
        kept = [batch] if self._axis is None else [batch, self._axis % pred.ndim]
        over = tuple(d for d in range(pred.ndim) if d not in kept)
        both, all_ = (F.sum(v, axis=over) if over else v for v in (pred * label, pred + label))
        if kept != sorted(kept):  # (batch, classes), as is said of sample_weight
            both, all_ = F.transpose(both), F.transpose(all_)
        loss = self.weighted(F, 1.0 - (2.0 * both + self._smooth) / (all_ + self._smooth), sample_weight)
        return loss if self._axis is None else F.mean(loss, axis=1)
