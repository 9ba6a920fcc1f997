"""Optimizers whose formula is a row of the op table: one call for all weights of a device."""

from collections.abc import Hashable, Sequence
from typing import Any

from gluonish import _core, nd
from gluonish._commit import commit
from gluonish._core import NDArray
from gluonish.autograd import pause
from gluonish.context import from_index
from gluonish.optimizer._operands import NARROW, Joint, as_type, numbers
from gluonish.optimizer.base import Optimizer

__all__ = ["Composed", "Fused"]

Rates = list[tuple[float, float, float]]


class Fused(Optimizer):
    """An optimizer that says by `_rule` which row of the op table does its step.

    A state is None, an array, or a tuple of these; the row gets its arrays in their order.
    """

    def _rule(self) -> tuple[str, tuple[float, ...]]:
        """The name of the row, and its numbers behind ``clip_gradient``."""
        raise NotImplementedError

    def _arrays(self, state: Any) -> tuple[NDArray, ...]:
        """The arrays of a state, as the row takes them."""
        if isinstance(state, NDArray):
            return (state,)
        return tuple([x for x in state or () if x is not None])

    def step(
        self, indices: Sequence[Hashable], weights: Sequence[NDArray], grads: Sequence[NDArray], states: Sequence[Any]
    ) -> None:
        with pause():
            self._step_masters(list(indices), list(weights), list(grads), list(states), [None] * len(indices))

    def _step_masters(
        self,
        indices: list[Hashable],
        weights: list[NDArray],
        grads: list[NDArray],
        states: list[Any],
        masters: list[NDArray | None],
    ) -> None:
        self._update_count(indices)
        rule = self._rule()
        self._run(rule, indices, self._rates(indices), weights, grads, [self._arrays(s) for s in states], masters)

    def _run(
        self,
        rule: tuple[str, tuple[float, ...]],
        indices: Sequence[Hashable],
        rates: Rates,
        weights: Sequence[NDArray],
        grads: Sequence[NDArray],
        states: Sequence[Sequence[NDArray]],
        masters: Sequence[NDArray | None],
        joint: Joint | None = None,
    ) -> None:
        """The step: a call for each device, and apart for weights with a copy in float32.

        ``joint`` is the factor of these gradients and others, where the step is more than this.
        """
        groups: dict[tuple[int, bool], list[int]] = {}
        for i, (weight, master) in enumerate(zip(weights, masters, strict=True)):
            groups.setdefault((weight._device, master is not None), []).append(i)
        row, values = rule
        clip = self.clip_gradient or -1.0
        adjusts = type(self)._adjusted is not Fused._adjusted
        for (number, wide), chosen in groups.items():
            device = from_index(number)
            arrays: list[NDArray] = []
            for i in chosen:
                arrays += (weights[i], grads[i], *states[i])
                if wide:
                    arrays.append(masters[i])  # type: ignore[arg-type]
            if joint is None:
                factor = self._factors.factor(self.rescale_grad, self.clip_global_norm, grads, device)
            else:
                factor = joint.on(device)
            table = numbers([rates[i] for i in chosen], device)
            if adjusts:
                own = [weights[i] if masters[i] is None else masters[i] for i in chosen]
                table = self._adjusted(table, [indices[i] for i in chosen], own, [grads[i] for i in chosen], factor)
            arrays += (table, self._factors.kept(row, (clip, *values), device), factor)
            how = {"num_weights": len(chosen), "masters": wide}
            _core.invoke(row, arrays, how, [weights[i] for i in chosen])

    def _adjusted(
        self, rates: NDArray, indices: list[Hashable], weights: list[Any], grads: list[NDArray], factor: NDArray
    ) -> NDArray:
        """Rows of learning rate, decay and update, where something on the device changes these."""
        return rates


class Composed(Optimizer):
    """An optimizer that is a composition of ops: `_new` says what becomes of one weight and its state."""

    def _new(
        self, index: Hashable, weight: NDArray, grad: NDArray, state: Any, rate: tuple[float, float, float]
    ) -> tuple[NDArray, Any]:
        """The new weight and state, of the form of the old one. The gradient is rescaled and clipped already."""
        raise NotImplementedError

    def step(
        self, indices: Sequence[Hashable], weights: Sequence[NDArray], grads: Sequence[NDArray], states: Sequence[Any]
    ) -> None:
        self._update_count(list(indices))
        with pause():
            joint = self._joint(grads)
            for each in zip(indices, weights, grads, states, self._rates(indices), strict=True):
                self._step_one(joint, *each)

    def _step_one(
        self,
        joint: Joint,
        index: Hashable,
        weight: NDArray,
        grad: NDArray,
        state: Any,
        rate: tuple[float, float, float],
    ) -> None:
        # Squares of ordinary gradients are beyond the range of float16.
        dtype = "float32" if str(weight.dtype) in NARROW else weight.dtype
        grad = grad.astype(dtype, copy=False) * joint.typed(weight.context, dtype)
        if self.clip_gradient:
            grad = grad.clip(-self.clip_gradient, self.clip_gradient)
        new = self._new(index, weight.astype(dtype, copy=False), grad, as_type(state, dtype), rate)
        _write((weight, state), new, joint.valid(weight.context))

    def _joint(self, grads: Sequence[NDArray]) -> Joint:
        return Joint(self._factors, self.rescale_grad, self.clip_global_norm, grads)


def _write(old: Any, new: Any, valid: bool | NDArray) -> None:
    """Puts new values where old ones were, if the step is valid, and if they could be computed."""
    if isinstance(old, NDArray):
        if isinstance(valid, NDArray):
            new = nd.where(valid.broadcast_to(old.shape), new, old.astype(new.dtype, copy=False))
        if valid is not False:
            commit(old, new.astype(old.dtype, copy=False), told=True)
    elif old is not None:
        for one, other in zip(old, new, strict=True):
            _write(one, other, valid)
