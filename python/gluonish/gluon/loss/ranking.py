"""Losses of vectors: what belongs together should be near, what does not far."""

from typing import Any

from gluonish._core import NDArray
from gluonish._rows import call
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon.loss.base import Loss, smallest

__all__ = ["CosineEmbeddingLoss", "InfoNCELoss", "SDMLLoss", "TripletLoss"]


class TripletLoss(Loss):
    """A positive sample should be nearer than a negative one, by a margin (Schroff et al. 2015).

    ``max(0, sum((positive - pred)**2) - sum((negative - pred)**2) + margin)``.

    Parameters
    ----------
    margin : float
        By how much.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.

    Call: ``(pred, positive, negative)`` of any shape, all with as many elements. Result: (batch,).

    >>> import gluonish as mx
    >>> anchor, near, far = mx.nd.zeros((2, 2)), mx.nd.array([[1, 0], [0, 2]]), mx.nd.array([[3, 0], [2, 0]])
    >>> mx.gluon.loss.TripletLoss()(anchor, near, far).tolist()
    [0.0, 1.0]
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: NDArray, positive: NDArray, negative: NDArray) -> NDArray:
        near = F.square(self.fitted(F, positive, self.floating(pred), "positive") - pred)
        far = F.square(self.fitted(F, negative, pred, "negative") - pred)
        return self.weighted(F, F.relu(F.sum(near - far, axis=self._batch_axis, exclude=True) + self._margin))


class CosineEmbeddingLoss(Loss):
    """Vectors that belong together should have the same direction.

    ``1 - cos(input1, input2)`` where the label is 1, ``max(0, cos(input1, input2) - margin)`` where it is -1, 0 where
    it is another number.

    Parameters
    ----------
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples: 0, as the last one is that of the vectors.
    margin : float
        How alike vectors that do not belong together may be, from -1 to 1.

    Call: ``(input1, input2, label, sample_weight=None)``. Inputs: (batch, width); ``label``: (batch,). Result:
    (batch, 1).

    >>> import gluonish as mx
    >>> a, b = mx.nd.array([[1, 0], [1, 0]]), mx.nd.array([[0, 1], [2, 0]])
    >>> mx.gluon.loss.CosineEmbeddingLoss()(a, b, mx.nd.array([1, -1])).tolist()
    [[1.0], [1.0]]
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any) -> None:
        super().__init__(weight, _first(batch_axis, "CosineEmbeddingLoss"), **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: Any, input1: NDArray, input2: NDArray, label: NDArray, sample_weight: NDArray | None = None
    ) -> NDArray:
        input1 = self.fitted(F, input1, self.floating(input2, "input2"), "input1", "input2")
        cosine = F.sum(_unit(F, input1) * _unit(F, input2), axis=-1, keepdims=True)
        cosine = F.reshape(cosine, (-1, 1)) if cosine.ndim != 2 else cosine
        label = self.fitted(F, label, cosine, to="pairs")
        apart = F.maximum(cosine - self._margin, 0.0)
        # 0 times NaN is NaN: no label of NaN looks like a loss of 0.
        loss = F.where(label == 1, 1.0 - cosine, F.where(label == -1, apart, label * 0.0))
        return self.weighted(F, loss, sample_weight)


class SDMLLoss(Loss):
    """Smoothed deep metric learning (Bonadiman et al. 2019): of a batch of pairs, each finds its partner.

    The softmax of the negative squared distances between all of ``x1`` and all of ``x2`` is compared, by its
    Kullback-Leibler divergence, with labels that give each its partner and a little to all others.

    Parameters
    ----------
    smoothing_parameter : float
        How much of a label goes to the others together, from 0 to below 1.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples: 0.

    Call: ``(x1, x2)``, both (batch, width). Result: (batch,). All differences are in memory at once: batch squared
    times width.

    >>> import gluonish as mx
    >>> x = mx.nd.array([[0, 0], [10, 10]])
    >>> mx.gluon.loss.SDMLLoss(smoothing_parameter=0)(x, x).abs().asnumpy().round(3)
    array([0., 0.], dtype=float32)
    """

    def __init__(
        self, smoothing_parameter: float = 0.3, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, _first(batch_axis, "SDMLLoss"), **kwargs)
        if not 0 <= smoothing_parameter < 1:
            raise ArgumentError(f"SDMLLoss: smoothing_parameter={smoothing_parameter!r} must be from 0 to below 1")
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: NDArray, x2: NDArray) -> NDArray:
        _check_rows(self, self.floating(x1, "x1"), x2, ("x1", "x2"))
        count, smoothing = x1.shape[0], self.smoothing_parameter
        difference = F.expand_dims(x1, 1) - F.expand_dims(x2, 0)
        log = F.log_softmax(-F.sum(F.square(difference), axis=2), axis=1)
        gold = F.eye(count, ctx=x1.context, dtype=log.dtype)
        label = gold * (1.0 - smoothing) + (1.0 - gold) * (smoothing / max(count - 1, 1))
        return self.weighted(F, F.sum(label * (F.log(label + smallest(label, 1e-12)) - log), axis=1))


class InfoNCELoss(Loss):
    """Contrastive loss (van den Oord et al. 2018): each query finds its key among others.

    The cross-entropy of the similarities of a query with all keys, divided by the temperature, and the key that belongs
    to it. The others are the keys of the other samples, or ``negatives``.

    Parameters
    ----------
    temperature : float
        Above 0; the smaller, the more the nearest others count.
    symmetric : bool
        Whether keys look for their queries as well; the loss is the mean of both ways.
    normalize : bool
        Whether similarities are cosines; else products.
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples: 0.

    Call: ``(query, key, negatives=None, sample_weight=None)``. ``query``, ``key``: (batch, width); ``negatives``:
    (count, width) for all, or (batch, count, width) for each sample; ``sample_weight``: (batch,). Result: (batch,).

    >>> import gluonish as mx
    >>> x = mx.nd.array([[1, 0], [0, 1]])
    >>> loss = mx.gluon.loss.InfoNCELoss(temperature=0.1)
    >>> loss(x, x).asnumpy().round(3), loss(x, x[::-1]).asnumpy().round(3)
    (array([0., 0.], dtype=float32), array([10., 10.], dtype=float32))
    """

    def __init__(
        self,
        temperature: float = 0.1,
        symmetric: bool = False,
        normalize: bool = True,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, _first(batch_axis, "InfoNCELoss"), **kwargs)
        if not temperature > 0:
            raise ArgumentError(f"InfoNCELoss: temperature={temperature!r} must be above 0")
        self._temperature = temperature
        self._symmetric = symmetric
        self._normalize = normalize

    def hybrid_forward(
        self,
        F: Any,
        query: NDArray,
        key: NDArray,
        negatives: NDArray | None = None,
        sample_weight: NDArray | None = None,
    ) -> NDArray:
        _check_rows(self, self.floating(query, "query"), key, ("query", "key"))
        if self._normalize:
            query, key = _unit(F, query), _unit(F, key)
        if negatives is not None:
            similarity = self._with_negatives(F, query, key, negatives)
            partner = F.zeros((query.shape[0],), ctx=query.context, dtype="int64")
        else:
            similarity = F.dot(query, key, transpose_b=True)
            partner = F.arange(query.shape[0], ctx=query.context, dtype="int64")
        loss = self._entropy(similarity / self._temperature, partner)
        if self._symmetric:
            loss = (loss + self._entropy(F.transpose(similarity) / self._temperature, partner)) * 0.5
        return self.weighted(F, loss, sample_weight)

    def _with_negatives(self, F: Any, query: NDArray, key: NDArray, negatives: NDArray) -> NDArray:
        """Similarities (batch, 1 + count), that of the key first."""
        if self._symmetric:
            raise ArgumentError(
                "InfoNCELoss: symmetric=True needs the other samples' keys, so no negatives can be given"
            )
        batch, width = query.shape
        shapes = {2: (width,), 3: (batch, width)}
        if (negatives.shape[:-2] + negatives.shape[-1:]) != shapes.get(negatives.ndim):
            raise ShapeError(
                f"InfoNCELoss: negatives of shape {negatives.shape} must be (count, {width}) or "
                f"({batch}, count, {width}) for queries of shape {query.shape}"
            )
        if self._normalize:
            negatives = _unit(F, negatives)
        if negatives.ndim == 2:
            others = F.dot(query, negatives, transpose_b=True)
        else:
            others = F.squeeze(F.batch_dot(F.expand_dims(query, 1), negatives, transpose_b=True), 1)
        both: NDArray = F.concat(F.sum(query * key, axis=1, keepdims=True), others, dim=1)
        return both

    def _entropy(self, similarity: NDArray, partner: NDArray) -> NDArray:
        loss: NDArray = call(type(self).__name__, "_softmax_cross_entropy", [similarity, partner])
        return loss


def _first(batch_axis: int, loss: str) -> int:
    """The axis 0; these losses have no other."""
    if batch_axis != 0:
        raise ArgumentError(f"{loss}: batch_axis={batch_axis} must be 0: vectors are rows; swapaxes moves others there")
    return 0


def _check_rows(loss: Loss, a: NDArray, b: NDArray, names: tuple[str, str]) -> None:
    if a.ndim != 2 or a.shape != b.shape:
        raise ShapeError(
            f"{type(loss).__name__}: {names[0]} of shape {a.shape} and {names[1]} of shape {b.shape} must have the "
            "same shape (batch, width)"
        )


def _unit(F: Any, x: NDArray) -> NDArray:
    """Vectors of length 1, along the last axis; one of length 0 stays, and has no gradient that is not finite."""
    square = F.sum(F.square(x), axis=-1, keepdims=True)
    unit: NDArray = x / F.sqrt(F.maximum(square, smallest(x, 1e-24)))
    return unit
