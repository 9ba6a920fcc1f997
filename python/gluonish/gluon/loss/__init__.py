"""Losses: what a network is trained to make small. Each is a block: ``loss(pred, label, sample_weight)``.

The result has one number for each sample, shape (batch,): the mean over all other axes, with the type of the
prediction. ``backward`` on it sums, and ``Trainer.step(batch_size)`` divides by the batch. Exceptions to the shape:
:class:`PoissonNLLLoss` gives (1,), :class:`CosineEmbeddingLoss` (batch, 1).

===================  ===================================================================================
numbers              :class:`L1Loss` :class:`L2Loss` :class:`HuberLoss` :class:`PoissonNLLLoss`
classes              :class:`SoftmaxCrossEntropyLoss` :class:`KLDivLoss`
yes or no            :class:`SigmoidBinaryCrossEntropyLoss` :class:`LogisticLoss` :class:`HingeLoss`
                     :class:`SquaredHingeLoss` :class:`FocalLoss` :class:`DiceLoss`
vectors              :class:`TripletLoss` :class:`CosineEmbeddingLoss` :class:`SDMLLoss` :class:`InfoNCELoss`
sequences            :class:`CTCLoss`
===================  ===================================================================================

>>> import gluonish as mx
>>> loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
>>> pred = mx.nd.array([[2, 0, 0], [0, 0, 0]])
>>> pred.attach_grad()
>>> with mx.autograd.record():
...     y = loss(pred, mx.nd.array([0, 2]))
>>> y.backward()
>>> y.asnumpy().round(3), pred.grad.asnumpy().round(3)[1]
(array([0.24 , 1.099], dtype=float32), array([ 0.333,  0.333, -0.667], dtype=float32))
"""

from gluonish.gluon.loss.base import Loss, _apply_weighting, _reshape_like  # noqa: F401 - MXNet's users import them
from gluonish.gluon.loss.binary import (
    DiceLoss,
    FocalLoss,
    HingeLoss,
    LogisticLoss,
    SigmoidBCELoss,
    SigmoidBinaryCrossEntropyLoss,
    SquaredHingeLoss,
)
from gluonish.gluon.loss.classification import KLDivLoss, SoftmaxCELoss, SoftmaxCrossEntropyLoss
from gluonish.gluon.loss.ctc import CTCLoss
from gluonish.gluon.loss.ranking import CosineEmbeddingLoss, InfoNCELoss, SDMLLoss, TripletLoss
from gluonish.gluon.loss.regression import HuberLoss, L1Loss, L2Loss, PoissonNLLLoss

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "DiceLoss",
    "FocalLoss",
    "HingeLoss",
    "HuberLoss",
    "InfoNCELoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]
