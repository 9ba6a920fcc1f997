"""What users say about parameters: devices, shapes, and names in classes of their own."""

from collections.abc import Sequence
from operator import index

from gluonish._types import Shape
from gluonish.context import Context, device_index
from gluonish.errors import ArgumentError

__all__ = ["Contexts", "device_indices", "one_of", "partial_shape", "refuse_taken_names"]

Contexts = Context | str | Sequence[Context | str] | None


def one_of(ctx: Contexts, device: Contexts) -> Contexts:
    """What was given as ``ctx`` or as ``device``."""
    if ctx is not None and device is not None:
        raise ArgumentError(f"ctx={ctx} and device={device} mean the same: give one of them")
    return ctx if ctx is not None else device


def device_indices(ctx: Contexts = None, device: Contexts = None) -> list[int]:
    """The core's numbers of one device or several, named as ``ctx`` or ``device``; of the current one if neither."""
    given = one_of(ctx, device)
    devices = [device_index(one) for one in given] if isinstance(given, list | tuple) else [device_index(given)]  # type: ignore[arg-type]
    if not devices or len(set(devices)) < len(devices):
        raise ArgumentError(f"ctx={given} is not valid: expected a device, or a list of different ones")
    return devices


def partial_shape(shape: int | Sequence[int], name: str) -> Shape:
    """A shape as a tuple; -1, which MXNet 2 writes for an unknown dimension, is 0."""
    try:
        sizes = tuple(map(index, shape)) if isinstance(shape, Sequence) else (index(shape),)
    except TypeError:
        sizes = (-2,)
    if any(size < -1 for size in sizes):
        raise ArgumentError(
            f"Parameter '{name}': shape={shape!r} is not valid: expected sizes, with 0 for unknown ones"
        )
    return tuple(max(size, 0) for size in sizes)


def refuse_taken_names(cls: type, base: type, shared: set[str]) -> None:
    """Refuses a subclass that has a private method of its base, but for those that subclasses may know."""

    def private(one: type) -> set[str]:
        return {name for name in vars(one) if name[0] == "_" and not name.startswith("__")}

    taken = sorted((private(base) - shared) & private(cls))
    if taken and not cls.__module__.startswith("gluonish."):
        raise ArgumentError(
            f"class {cls.__name__}: {base.__name__} itself has methods called {', '.join(taken)}; call them otherwise"
        )
