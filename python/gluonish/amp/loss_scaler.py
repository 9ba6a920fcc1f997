"""The factor of the loss: as large as it can be without gradients that overflow. It lives on the device."""

from collections.abc import Mapping, Sequence

from gluonish import nd
from gluonish._commit import commit
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.context import Context
from gluonish.errors import ArgumentError, FormatError

__all__ = ["LossScaler"]

_LARGEST = 2.0**24


class LossScaler:
    """A factor that halves when a gradient is infinite or NaN, and doubles after so many steps without.

    Whether all gradients are finite is a number on the device, and so is the factor: nobody waits for them.

    >>> scaler = LossScaler(init_scale=8, scale_window=2)
    >>> for gradient in (nd.ones(2), nd.array([1, float("inf")]), nd.ones(2), nd.ones(2)):
    ...     scaler.settle([gradient])
    ...     print(scaler.loss_scale)
    [1.]
    <NDArray 1 @cpu(0)>
    8.0
    [inf]
    <NDArray 1 @cpu(0)>
    4.0
    [1.]
    <NDArray 1 @cpu(0)>
    4.0
    [1.]
    <NDArray 1 @cpu(0)>
    8.0
    """

    def __init__(self, init_scale: float = 2.0**16, scale_factor: float = 2.0, scale_window: int = 2000) -> None:
        if not 0 < init_scale <= _LARGEST or scale_factor < 1 or scale_window < 1:
            raise ArgumentError(
                f"LossScaler: init_scale={init_scale}, scale_factor={scale_factor}, scale_window={scale_window} are "
                f"not valid: expected a number from 0 to {_LARGEST:.0f}, one of at least 1, and at least one step"
            )
        self._factor, self._window = scale_factor, scale_window
        self._scale = nd.full((1,), init_scale)
        self._good = nd.zeros((1,))  # steps since the factor changed
        self.in_use = False  #: Whether the gradients to come are multiplied by the factor

    @property
    def loss_scale(self) -> float:
        """The factor, as a number. To read it waits for the step before."""
        return float(self._scale)

    def scale(self, loss: NDArray) -> NDArray:
        """The loss in float32, times the factor."""
        self.in_use = True
        # A copy: the factor may change before the last gradient is computed.
        return loss.astype("float32", copy=False) * self._on(loss.ctx).copy()

    def inverse(self, ctx: Context) -> NDArray:
        """What takes the factor away again, on a device."""
        with pause():
            return 1 / self._on(ctx)

    def unscaled(self) -> None:
        """The gradients have been divided by the factor."""
        self.in_use = False

    def settle(self, gradients: Sequence[NDArray]) -> NDArray:
        """What gradients are to be multiplied by; infinite where one of them is not finite. Changes the factor."""
        with pause():
            finite = self._all_finite(gradients)
            applied = self._scale if self.in_use else nd.ones((1,), ctx=self._scale.ctx)
            result: NDArray = 1 / (applied * finite)
            good = (self._good + 1) * finite
            full = good >= self._window
            grown = nd.where(full, nd.minimum(self._scale * self._factor, _LARGEST), self._scale)
            shrunk = nd.maximum(self._scale / self._factor, nd.minimum(self._scale, 1.0))
            scale = nd.where(finite > 0, grown, shrunk)
            # A batch that failed says nothing about the factor.
            commit(self._good, nd.where(full, nd.zeros_like(good), good))
            commit(self._scale, scale)
        self.in_use = False
        return result

    def state(self) -> dict[str, NDArray]:
        """What is saved of it."""
        return {"scale": self._scale, "good": self._good}

    def check_state(self, state: Mapping[str, NDArray]) -> None:
        """Raises where it is not what ``state`` gave; nothing at all leaves the factor as it is."""
        wanted = {"scale", "good"}
        fits = set(state) == wanted and all(x.shape == (1,) and x.dtype == "float32" for x in state.values())
        if state and not (fits and 0 < float(state["scale"]) <= _LARGEST):
            raise FormatError("load_states: the factor of the loss in the file is damaged")

    def set_state(self, state: Mapping[str, NDArray]) -> None:
        """Takes what ``state`` gave."""
        self.check_state(state)
        self._scale, self._good = (state[name].as_in_context(self._scale.ctx) for name in ("scale", "good"))

    def _all_finite(self, gradients: Sequence[NDArray]) -> NDArray:
        """1 where all are finite, else 0, beside the factor."""
        by_device: dict[Context, list[NDArray]] = {}
        for gradient in gradients:
            by_device.setdefault(gradient.ctx, []).append(gradient)
        result = nd.ones((1,), ctx=self._scale.ctx)
        for group in by_device.values():
            result = result * nd.multi_all_finite(*group, num_arrays=len(group)).as_in_context(self._scale.ctx)
        return result

    def _on(self, ctx: Context) -> NDArray:
        return self._scale if ctx == self._scale.ctx else self._scale.as_in_context(ctx)
