"""What users say about parameters: devices, shapes, and names in classes of their own."""

from collections.abc import Sequence
from operator import index
from typing import Any

from gluonish._types import Shape
from gluonish.context import Context, device_index
from gluonish.errors import ArgumentError

__all__ = ["Contexts", "KeepsItsMethods", "device_indices", "one_of", "partial_shape"]

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


class KeepsItsMethods:
    """The base of a class that users subclass, and whose private methods they must not replace by chance.

    ``but`` has those that subclasses may know, and replace.
    """

    __taken: frozenset[str]
    __owner: str

    def __init_subclass__(cls, but: frozenset[str] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        private = frozenset(name for name in vars(cls) if name[0] == "_" and not name.startswith("__"))
        if but is not None:
            cls.__taken, cls.__owner = private - but, cls.__name__
        elif (taken := sorted(cls.__taken & private)) and not cls.__module__.startswith("gluonish."):
            raise ArgumentError(
                f"class {cls.__name__}: {cls.__owner} itself has methods called {', '.join(taken)}; call them otherwise"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__taken:
            raise ArgumentError(
                f"class {type(self).__name__}: {self.__owner} itself has a method called {name}; call the attribute "
                "otherwise"
            )
        object.__setattr__(self, name, value)
