"""Losses of numbers: how far a prediction is from the truth."""

from math import pi
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.loss.base import Loss

__all__ = ["HuberLoss", "L1Loss", "L2Loss", "PoissonNLLLoss"]


class L2Loss(Loss):
    """Half of the mean squared error: ``weight / 2 * mean((label - pred)**2)``.

    Parameters
    ----------
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.

    Call: ``pred`` of any shape; ``label`` of as many elements, whose shape becomes that of ``pred``; ``sample_weight``
    of a shape that broadcasts to it, (batch, 1, ...) for one of each sample. Result: (batch,). A label of NaN makes the
    loss of its sample NaN, no other's.

    >>> import gluonish as mx
    >>> loss = mx.gluon.loss.L2Loss()
    >>> pred, label = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 4], [3, 4]])
    >>> loss(pred, label).tolist()
    [1.0, 0.0]
    >>> loss(pred, label, mx.nd.array([[10], [1]])).tolist()
    [10.0, 0.0]
    """

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        error = self.fitted(F, label, self.floating(pred)) - pred
        return self.averaged(F, F.square(error) * 0.5, sample_weight)


class L1Loss(Loss):
    """The mean absolute error: ``mean(abs(label - pred))``.

    Parameters and shapes are those of :class:`L2Loss`.

    >>> import gluonish as mx
    >>> mx.gluon.loss.L1Loss()(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[1, 4], [3, 4]])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        error = self.fitted(F, label, self.floating(pred)) - pred
        return self.averaged(F, F.abs(error), sample_weight)


class HuberLoss(Loss):
    """Squares of small errors, absolute values of large ones (Huber 1964).

    With ``e = abs(label - pred)``: ``e**2 / (2 * rho)`` up to ``rho``, ``e - rho / 2`` above.

    Parameters
    ----------
    rho : float
        Where the two meet, above 0.
    weight, batch_axis
        As in :class:`L2Loss`, as are the shapes.

    >>> import gluonish as mx
    >>> mx.gluon.loss.HuberLoss(rho=1)(mx.nd.array([0.5, 3]), mx.nd.zeros(2)).tolist()
    [0.125, 2.5]
    """

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if not rho > 0:
            raise ArgumentError(f"HuberLoss: rho={rho!r} must be above 0")
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        error = F.abs(self.fitted(F, label, self.floating(pred)) - pred)
        loss = F.where(error > self._rho, error - 0.5 * self._rho, F.square(error) * (0.5 / self._rho))
        return self.averaged(F, loss, sample_weight)


class PoissonNLLLoss(Loss):
    """How unlikely counts are for Poisson distributions of predicted rates.

    ``exp(pred) - target * pred`` where the prediction is the logarithm of a rate, else
    ``pred - target * log(pred + epsilon)``; what depends on the target alone is left out.

    Parameters
    ----------
    weight : float or None
        What every loss is multiplied with.
    from_logits : bool
        Whether the prediction is the logarithm of a rate.
    batch_axis : int
        The axis of the samples; the result is the mean over all axes.
    compute_full : bool
        Whether Stirling's formula for ``log(target!)`` is added, of targets above 1.

    Call: ``(pred, target, sample_weight=None, epsilon=1e-8)`` with the shapes of :class:`L2Loss`. Result: (1,), the
    mean of all losses; NaN of an empty batch.

    >>> import gluonish as mx
    >>> mx.gluon.loss.PoissonNLLLoss()(mx.nd.array([0, 0]), mx.nd.array([1, 5])).tolist()
    [1.0]
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self, F: Any, pred: NDArray, target: NDArray, sample_weight: NDArray | None = None, epsilon: float = 1e-8
    ) -> NDArray:
        target = self.fitted(F, target, self.floating(pred), "target")
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            # The formula has no value at 0, and its part that is not used must not spoil the gradient.
            above = F.maximum(target, 1.0)
            stirling = above * F.log(above) - above + 0.5 * F.log(2 * pi * above)
            loss = loss + F.where(target > 1, stirling, F.zeros_like(stirling))
        mean: NDArray = F.mean(self.weighted(F, loss, sample_weight)).reshape((1,))
        return mean
