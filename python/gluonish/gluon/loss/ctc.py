"""The loss of sequences whose labels are not aligned with them."""

from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.loss.base import Loss

__all__ = ["CTCLoss"]


class CTCLoss(Loss):
    """Connectionist temporal classification (Graves et al. 2006): labels shorter than the sequences that they name.

    The last class is the blank; labels are the other classes, and -1 fills up short ones where no ``label_lengths`` are
    given. A label that its sequence cannot spell has an infinite loss and no gradient.

    Parameters
    ----------
    layout : "NTC" or "TNC"
        The axes of predictions: batch N, steps T, classes C.
    label_layout : "NT" or "TN"
        The axes of labels.
    weight : float or None
        What every loss is multiplied with.

    Call: ``(pred, label, pred_lengths=None, label_lengths=None, sample_weight=None)``. ``pred``: before the softmax;
    both lengths and ``sample_weight``: (batch,). Result: (batch,).

    >>> import gluonish as mx
    >>> loss = mx.gluon.loss.CTCLoss()
    >>> pred = mx.nd.zeros((2, 20, 4))  # all classes alike
    >>> loss(pred, mx.nd.array([[1, 0, -1, -1], [2, 1, 1, -1]])).asnumpy().round(3)
    array([18.828, 16.506], dtype=float32)
    """

    def __init__(
        self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any
    ) -> None:
        if layout not in ("NTC", "TNC"):
            raise ArgumentError(f"CTCLoss: layout={layout!r} must be 'NTC' or 'TNC'")
        if label_layout not in ("NT", "TN"):
            raise ArgumentError(f"CTCLoss: label_layout={label_layout!r} must be 'NT' or 'TN'")
        super().__init__(weight, label_layout.index("N"), **kwargs)
        self._layout = layout
        self._label_layout = label_layout

    def hybrid_forward(
        self,
        F: Any,
        pred: NDArray,
        label: NDArray,
        pred_lengths: NDArray | None = None,
        label_lengths: NDArray | None = None,
        sample_weight: NDArray | None = None,
    ) -> NDArray:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._label_layout == "TN":
            label = F.swapaxes(label, 0, 1)
        loss = F.CTCLoss(
            self.floating(pred),
            label,
            pred_lengths,
            label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return self.weighted(F, loss, sample_weight)
