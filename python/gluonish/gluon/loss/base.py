"""What losses share: the checks of their inputs, the weights, and the mean over everything but the batch."""

from typing import Any

import numpy as np

from gluonish._core import NDArray
from gluonish._dtype import dtype_name
from gluonish.errors import ArgumentError, DTypeError, ShapeError
from gluonish.gluon.hybrid_block import HybridBlock

__all__ = ["Fixed", "Loss", "smallest"]

_FLOATING = frozenset({*map(np.dtype, ("float16", "float32", "float64")), "bfloat16"})


class Loss(HybridBlock):
    """The base of losses.

    Parameters
    ----------
    weight : float or None
        What every loss is multiplied with.
    batch_axis : int
        The axis of the samples.

    A loss of your own says how to compare, and leaves weights and the mean to ``averaged``:

    >>> import gluonish as mx
    >>> class FourthPower(mx.gluon.loss.Loss):
    ...     def __init__(self, weight=None, batch_axis=0, **kwargs):
    ...         super().__init__(weight, batch_axis, **kwargs)
    ...
    ...     def hybrid_forward(self, F, pred, label, sample_weight=None):
    ...         error = pred - self.fitted(F, label, pred)
    ...         return self.averaged(F, error**4, sample_weight)
    >>> FourthPower()(mx.nd.array([[1, 2], [0, 0]]), mx.nd.zeros((2, 2))).tolist()
    [8.5, 0.0]
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if weight is not None and not isinstance(weight, int | float | np.number):
            raise ArgumentError(
                f"{type(self).__name__}: weight must be a number or None, got {weight!r}; "
                "weights of samples are an argument of the call"
            )
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def floating(self, pred: NDArray, name: str = "pred") -> NDArray:
        """The prediction itself; one of another type than a floating one is refused, as it can have no gradient."""
        if pred.dtype not in _FLOATING:
            raise DTypeError(
                f"{type(self).__name__}: {name} must be of a floating type, got {dtype_name(pred.dtype)}; "
                f"{name}.astype('float32') makes one"
            )
        return pred

    def array(self, label: NDArray, name: str = "label") -> NDArray:
        """The label itself, which must be an array."""
        if not isinstance(label, NDArray):
            raise ArgumentError(
                f"{type(self).__name__}: {name} must be an NDArray, got {type(label).__name__}; nd.array makes one"
            )
        return label

    def fitted(self, F: Any, label: NDArray, pred: NDArray, name: str = "label", to: str = "pred") -> NDArray:
        """The label with the shape and the type of the prediction, which must have as many elements.

        So the loss has the prediction's type, whatever that of the label.
        """
        self.array(label, name)
        if label.shape != pred.shape:
            if label.size != pred.size:
                raise ShapeError(
                    f"{type(self).__name__}: {name} of shape {label.shape} does not fit {to} of shape {pred.shape}: "
                    "both must have the same number of elements"
                )
            label = _reshape_like(F, label, pred)
        return label if label.dtype == pred.dtype else label.astype(pred.dtype)

    def weighted(self, F: Any, loss: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        """Losses times the weights of samples, which broadcast to them from the last axis on, times the loss's own."""
        if sample_weight is not None and not _spreads(sample_weight.shape, loss.shape):
            one_each = [1] * loss.ndim
            at = self._batch_axis if loss.ndim > 1 else 0
            one_each[at] = loss.shape[at]
            raise ShapeError(
                f"{type(self).__name__}: sample_weight of shape {sample_weight.shape} does not broadcast to losses of "
                f"shape {loss.shape}; one weight for each sample has shape {tuple(one_each)}"
            )
        return _apply_weighting(F, loss, self._weight, sample_weight)

    def averaged(self, F: Any, loss: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        """One number for each sample, shape (batch,): the mean of the weighted losses over all other axes."""
        loss = self.weighted(F, loss, sample_weight)
        return loss if loss.ndim == 1 else F.mean(loss, axis=self._batch_axis, exclude=True)


class Fixed:
    """Numbers that a loss was given, as an array of the device and the type of each batch that needs them."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values.asnumpy() if isinstance(values, NDArray) else values, "float64")
        self._arrays: dict[tuple[Any, Any], NDArray] = {}

    def like(self, F: Any, x: NDArray) -> NDArray:
        """The numbers where ``x`` is, as it is; made once for each device and type."""
        key = (x.context, x.dtype)
        if key not in self._arrays:
            self._arrays[key] = F.array(self.values, ctx=x.context, dtype=x.dtype)
        return self._arrays[key]


def smallest(x: NDArray, usual: float) -> float:
    """What keeps logarithms and quotients of ``x`` finite: MXNet's number, where float16 does not make 0 of it."""
    return max(usual, 1e-7) if x.dtype == np.float16 else usual


def _apply_weighting(
    F: Any, loss: NDArray, weight: float | None = None, sample_weight: NDArray | None = None
) -> NDArray:
    """Losses times the weights of samples times a number. Losses written for MXNet import it by this name."""
    if sample_weight is not None:
        if sample_weight.dtype != loss.dtype:
            sample_weight = sample_weight.astype(loss.dtype)
        loss = F.broadcast_mul(loss, sample_weight)
    return loss if weight is None or weight == 1 else loss * weight


def _reshape_like(F: Any, x: NDArray, y: NDArray) -> NDArray:
    """``x`` with the shape of ``y``. Losses written for MXNet import it by this name."""
    return x if x.shape == y.shape else F.reshape_like(x, y)


def _spreads(shape: tuple[int, ...], over: tuple[int, ...]) -> bool:
    """Whether an array broadcasts to a shape and leaves it as it is."""
    pairs = zip(reversed(shape), reversed(over), strict=False)
    return len(shape) <= len(over) and all(own in (1, other) for own, other in pairs)
