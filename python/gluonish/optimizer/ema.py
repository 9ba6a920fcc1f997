"""Running means of weights, which often predict better than the weights themselves."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.errors import ArgumentError
from gluonish.optimizer._operands import Factors, numbers
from gluonish.optimizer.base import number

if TYPE_CHECKING:
    from gluonish.context import Context

__all__ = ["EMA"]


class EMA:
    """Exponential moving averages of parameters: ``mean = decay * mean + (1 - decay) * weight`` at each ``update``.

    Means of float16 and bfloat16 are kept in float32. Parameters of several devices have one mean, of the first device.

    Parameters
    ----------
    params
        A block, a ``ParameterDict``, or a list of parameters; they are initialized. Those without a gradient, as
        running statistics are, are left out.
    decay
        How much of the mean is kept.
    warmup
        Whether the first updates keep less: ``min(decay, (1 + n) / (10 + n))`` at update n, from 0.

    >>> import gluonish as mx
    >>> weight = mx.gluon.Parameter("weight", shape=(1,), init="zeros")
    >>> weight.initialize()
    >>> ema = EMA([weight], decay=0.75)
    >>> weight.set_data([4.0])
    >>> ema.update()
    >>> with ema.applied():
    ...     weight.data().tolist()
    [1.0]
    >>> weight.data().tolist()
    [4.0]
    """

    def __init__(self, params: Any, decay: float, warmup: bool = False) -> None:
        found = [(name, param) for name, param in _named(params) if param.grad_req != "null"]
        self._names, self._params = [name for name, _ in found], [param for _, param in found]
        if not self._params:
            raise ArgumentError("EMA: there are no parameters")
        self.decay = number("EMA: decay", decay, 0, 1)
        self.warmup = warmup
        self.num_update = 0
        self._means = [_wide(p.list_data()[0].copy()) for p in self._params]
        self._kept: list[NDArray] | None = None
        self._factors = Factors()

    @property
    def means(self) -> list[NDArray]:
        """The means, in the order of the parameters."""
        return list(self._means)

    def update(self) -> None:
        """Takes the current weights into the means; after each step of training."""
        if self._kept is not None:
            raise ArgumentError("EMA: the means are applied; call restore() before the next update()")
        decay = min(self.decay, (1 + self.num_update) / (10 + self.num_update)) if self.warmup else self.decay
        weights = [param.list_data()[0] for param in self._params]
        groups: dict[Context, list[tuple[NDArray, NDArray]]] = {}
        with pause():
            # Parameters may have moved since.
            pairs = zip(self._means, weights, strict=True)
            self._means = [mean.as_in_context(weight.context) for mean, weight in pairs]
            for mean, weight in zip(self._means, weights, strict=True):
                groups.setdefault(mean.context, []).append((mean, weight))
            for device, own in groups.items():
                arrays = [array.detach() for pair in own for array in pair]
                arrays.append(numbers([(1 - decay, 0.0, 1.0)] * len(own), device))
                arrays += (self._factors.kept(name, (1.0,), device) for name in ("numbers", "factor"))
                _core.invoke("_step_average", arrays, {"num_weights": len(own)}, [mean for mean, _ in own])
        self.num_update += 1

    def apply(self) -> None:
        """Puts the means in the place of the weights, which ``restore`` brings back."""
        if self._kept is not None:
            raise ArgumentError("EMA: the means are applied already; call restore() first")
        self._kept = [param.list_data()[0].copy() for param in self._params]
        self._put(self._means)

    def restore(self) -> None:
        """Brings back the weights that ``apply`` replaced."""
        if self._kept is None:
            raise ArgumentError("EMA: there is nothing to restore; call apply() first")
        self._put(self._kept)
        self._kept = None

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Within this, the means stand in the place of the weights."""
        self.apply()
        try:
            yield
        finally:
            self.restore()

    def _put(self, values: Iterable[NDArray]) -> None:
        with pause():
            for param, value in zip(self._params, values, strict=True):
                for copy in param.list_data():
                    _core.copy_into(copy, value.as_in_context(copy.context))

    def state_dict(self) -> dict[str, NDArray]:
        """The means by the names of their parameters, those that ``collect_params`` gives, for ``mx.nd.save``."""
        self._refuse_equal_names()
        return dict(zip(self._names, self._means, strict=True))

    def load_state_dict(self, means: Mapping[str, NDArray]) -> None:
        """Takes what ``state_dict`` gave."""
        self._refuse_equal_names()
        for name, mean in zip(self._names, self._means, strict=True):
            if name not in means or means[name].shape != mean.shape:
                there = f"shape {means[name].shape}" if name in means else "none"
                raise ArgumentError(f"EMA: '{name}' needs a mean of shape {mean.shape}, and there is {there}")
        with pause():
            for name, mean in zip(self._names, self._means, strict=True):
                _core.copy_into(mean, means[name].as_in_context(mean.context))

    def _refuse_equal_names(self) -> None:
        twice = next((name for name, count in Counter(self._names).items() if count > 1), None)
        if twice is not None:
            raise ArgumentError(
                f"EMA: two parameters are called '{twice}'; give the block that has both, which calls them differently"
            )


def _named(params: Any) -> Iterable[tuple[str, Any]]:
    """Parameters with the names that a block gives them; in other collections they have their own."""
    if hasattr(params, "collect_params"):
        params = params.collect_params()
    if isinstance(params, Mapping) or not hasattr(params, "items"):
        return [(param.name, param) for param in (params.values() if isinstance(params, Mapping) else params)]
    return list(params.items())


def _wide(weight: NDArray) -> NDArray:
    return weight.detach().astype("float32") if str(weight.dtype) in {"float16", "bfloat16"} else weight.detach()
