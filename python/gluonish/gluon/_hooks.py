"""Hooks of blocks that see gradients: the forward passes through two functions, which backward meets again."""

from collections.abc import Callable
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish.autograd import Function, is_recording
from gluonish.errors import ArgumentError, ShapeError

__all__ = ["BackwardHook", "call_with_backward_hooks"]

Gradients = tuple[NDArray | None, ...]
BackwardHook = Callable[[Any, Gradients, Gradients], "Gradients | NDArray | None"]


class BackwardHooks(Function):
    """Lets arrays pass, and calls a function with their gradients; what that returns goes on instead."""

    def __init__(self, seen: Callable[[Gradients], Gradients]) -> None:
        super().__init__()
        self._seen = seen

    def forward(self, *arrays: NDArray) -> Any:
        passed = [array.copy() for array in arrays]
        return passed[0] if len(passed) == 1 else passed

    def backward(self, *gradients: NDArray) -> Any:
        return self._seen(gradients)


def call_with_backward_hooks(block: Any, hooks: list[BackwardHook], args: tuple[Any, ...]) -> Any:
    """The forward of a block. When backward has gone through it, the hooks are called with its gradients.

    Each gets the block, the gradients of the inputs and those of the outputs, as tuples with None for what has none.
    A tuple that it returns, or one array, replaces the gradients of the inputs. If no input asks for a gradient, the
    hooks are called as soon as those of the outputs are there.
    """
    if not is_recording():
        return block.forward(*args)
    places = [i for i, arg in enumerate(args) if isinstance(arg, NDArray) and _core.is_tracked(arg)]
    of_outputs: list[Gradients] = []

    def at_inputs(gradients: Gradients) -> Gradients:
        by_place = dict(zip(places, gradients, strict=True))
        inputs: Gradients = tuple(by_place.get(i) for i in range(len(args)))
        for hook in hooks:
            returned = hook(block, inputs, of_outputs[-1])
            if returned is not None:
                inputs = _replaced(block, inputs, returned)
        return tuple(inputs[i] for i in places)

    def at_outputs(gradients: Gradients) -> Gradients:
        of_outputs.append(tuple(gradients))
        if not places:
            at_inputs(())
        return tuple(gradients)

    if places:
        passed = BackwardHooks(at_inputs)(*(args[i] for i in places))
        passed = [passed] if isinstance(passed, NDArray) else passed
        changed = dict(zip(places, passed, strict=True))
        args = tuple(changed.get(i, arg) for i, arg in enumerate(args))
    return _through(block.forward(*args), at_outputs)


def _replaced(block: Any, gradients: Gradients, returned: Any) -> Gradients:
    """What a hook gives instead of the gradients of the inputs: one for each, of its shape."""
    who = f"{block._gluonish.label}: a backward hook"
    given = (returned,) if isinstance(returned, NDArray) else returned
    if not isinstance(given, list | tuple) or not all(one is None or isinstance(one, NDArray) for one in given):
        raise ArgumentError(f"{who} must return arrays or None, got {type(returned).__name__}")
    if len(given) != len(gradients):
        raise ArgumentError(f"{who} returned {len(given)} gradients, but the block has {len(gradients)} inputs")
    for i, (before, after) in enumerate(zip(gradients, given, strict=True)):
        if before is not None and after is not None and before.shape != after.shape:
            raise ShapeError(
                f"{who} returned a gradient of shape {after.shape} for input {i}, whose gradient has shape "
                f"{before.shape}"
            )
    return tuple(given)


def _through(output: Any, seen: Callable[[Gradients], Gradients]) -> Any:
    """The output, whose arrays went through one gate; lists and tuples stay what they are."""
    arrays: list[NDArray] = []

    def collect(value: Any) -> None:
        if isinstance(value, NDArray):
            if _core.is_tracked(value):
                arrays.append(value)
        elif isinstance(value, list | tuple):
            for item in value:
                collect(item)

    collect(output)
    if not arrays:
        return output
    passed = BackwardHooks(seen)(*arrays)
    left = iter([passed] if isinstance(passed, NDArray) else passed)

    def rebuilt(value: Any) -> Any:
        if isinstance(value, NDArray):
            return next(left) if _core.is_tracked(value) else value
        if isinstance(value, list | tuple):
            items = [rebuilt(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value

    return rebuilt(output)
