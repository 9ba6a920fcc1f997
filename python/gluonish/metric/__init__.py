"""Metrics: how good predictions are, over many batches. ``mx.metric`` and ``gluon.metric`` are this module.

``update(labels, preds)`` queues its work and returns: sums stay on the device where the predictions are, and only
``get`` waits. So a metric costs a training loop next to nothing. Arrays of NumPy and lists of numbers are taken too; a
list of arrays is several outputs, each with its labels.

>>> import gluonish as mx
>>> metric = mx.metric.Accuracy()
>>> metric.update(mx.nd.array([0, 1, 1]), mx.nd.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]))
>>> metric.get()
('accuracy', 0.6666666666666666)
>>> mx.metric.create(["acc", "mse"]).get()
(['accuracy', 'mse'], [nan, nan])

``get`` covers all since ``reset_local``, ``get_global`` all since ``reset``. A batch of no elements counts for nothing.
"""

from gluonish.metric.accuracy import Accuracy, TopKAccuracy
from gluonish.metric.base import EvalMetric, alias, check_label_shapes, register
from gluonish.metric.binary import F1, MCC
from gluonish.metric.combined import CompositeEvalMetric, CustomMetric, create, np
from gluonish.metric.confusion import PCC, ConfusionMatrix, MeanIoU, Precision, Recall
from gluonish.metric.distance import MeanCosineSimilarity, MeanPairwiseDistance
from gluonish.metric.likelihood import Caffe, CrossEntropy, Loss, NegativeLogLikelihood, Perplexity, Torch
from gluonish.metric.ranking import ROCAUC
from gluonish.metric.regression import MAE, MSE, RMSE, PearsonCorrelation
from gluonish.metric.text import BLEU
from gluonish.metric.threshold import BinaryAccuracy, Fbeta

__all__ = [
    "BLEU",
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "ROCAUC",
    "Accuracy",
    "BinaryAccuracy",
    "Caffe",
    "CompositeEvalMetric",
    "ConfusionMatrix",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Fbeta",
    "Loss",
    "MeanCosineSimilarity",
    "MeanIoU",
    "MeanPairwiseDistance",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "Precision",
    "Recall",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]
