"""Devices: where arrays live and work is done. ``Context`` is MXNet 1's name, ``Device`` MXNet 2's, of one class.

>>> import gluonish as mx
>>> x = mx.nd.ones((2, 3), ctx=mx.cpu(1))
>>> x.ctx
cpu(1)
>>> with mx.cpu(1):
...     mx.current_context(), mx.nd.zeros((2,)).ctx
(cpu(1), cpu(1))
"""

from operator import index
from threading import local
from typing import ClassVar, TypeAlias

from gluonish import _core
from gluonish.errors import ArgumentError, DeviceError

__all__ = [
    "Context",
    "ContextLike",
    "Device",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "device_index",
    "gpu",
    "gpu_memory_info",
    "num_gpus",
]

_PINNED = 65536  # the core numbers cpu(i) as i and cpu_pinned(i) as _PINNED + i
_NO_GPU = "no GPU support is built yet: use cpu(), or mx.cpu() if mx.num_gpus() == 0 else mx.gpu()"


class Context:
    """A device, by its kind ("cpu", "cpu_pinned" or "gpu") and its number. In a ``with`` block: where arrays are made.

    ``cpu(0)``, ``cpu(1)``, ... share the processor, but each has its own queue of work and its own random numbers.

    >>> Context("cpu", 1) == cpu(1)
    True
    >>> Context("cpu", 1).device_type, Context("cpu", 1).device_id
    ('cpu', 1)
    """

    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned"}
    devstr2type: ClassVar[dict[str, int]] = {name: number for number, name in devtype2str.items()}

    __slots__ = ("device_id", "device_typeid")
    device_id: int
    device_typeid: int

    def __init__(self, device_type: "str | Context", device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
            return
        if device_type not in self.devstr2type:
            kinds = ", ".join(map(repr, self.devstr2type))
            raise ArgumentError(f"Context: device_type={device_type!r} is not valid: expected one of {kinds}")
        try:
            number = index(device_id)
        except TypeError:
            number = -1
        if not 0 <= number < _PINNED:
            raise ArgumentError(
                f"Context: device_id={device_id!r} is not valid: expected a number from 0 to {_PINNED - 1}"
            )
        self.device_typeid, self.device_id = self.devstr2type[device_type], number

    @property
    def device_type(self) -> str:
        """ "cpu", "cpu_pinned" or "gpu"."""
        return self.devtype2str[self.device_typeid]

    @property
    def _index(self) -> int:
        """The core's number of the device. A GPU has none yet, and this says so."""
        if self.device_type == "gpu":
            raise DeviceError(f"{self}: {_NO_GPU}")
        return self.device_id + (_PINNED if self.device_type == "cpu_pinned" else 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Context):
            return NotImplemented
        return (self.device_typeid, self.device_id) == (other.device_typeid, other.device_id)

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __reduce__(self) -> tuple[type["Context"], tuple[str, int]]:
        return Context, (self.device_type, self.device_id)

    def __enter__(self) -> "Context":  # noqa: PYI034 - Self needs Python 3.11
        _entered.before.append(_core.set_current_device(self._index))
        return self

    def __exit__(self, *exc_info: object) -> None:
        _core.set_current_device(_entered.before.pop())

    def empty_cache(self) -> None:
        """Gives memory that no array uses back to the system."""
        _core.memory_release()


class _Entered(local):
    """The devices that were current before each open ``with`` block of this thread."""

    def __init__(self) -> None:
        self.before: list[int] = []


_entered = _Entered()
_known: dict[int, Context] = {}

Device = Context
ContextLike: TypeAlias = Context | str | None


def cpu(device_id: int = 0) -> Context:
    """The processor.

    >>> cpu(), cpu(1)
    (cpu(0), cpu(1))
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Memory of the processor that a GPU could copy from directly; without a GPU the same as ``cpu``.

    >>> cpu_pinned()
    cpu_pinned(0)
    """
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """A GPU. Naming one is allowed anywhere; making an array on it raises, as no GPU support is built yet.

    >>> gpu(1)
    gpu(1)
    """
    return Context("gpu", device_id)


def num_gpus() -> int:
    """How many GPUs can be used.

    >>> num_gpus()
    0
    """
    return 0


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Free and total bytes of a GPU; raises, as no GPU support is built yet.

    >>> gpu_memory_info(0)
    Traceback (most recent call last):
        ...
    gluonish.errors.DeviceError: gpu_memory_info(0): no GPU support is built yet...
    """
    raise DeviceError(f"gpu_memory_info({device_id}): {_NO_GPU}")


def current_context() -> Context:
    """The device on which functions make arrays unless told otherwise.

    >>> with cpu(2):
    ...     current_context()
    cpu(2)
    """
    return from_index(_core.current_device())


current_device = current_context


def from_index(number: int) -> Context:
    """The device of the core's number."""
    found = _known.get(number)
    if found is None:
        found = Context("cpu_pinned", number - _PINNED) if number >= _PINNED else Context("cpu", number)
        _known[number] = found
    return found


def device_index(ctx: ContextLike = None, device: ContextLike = None) -> int:
    """The core's number of the device that a caller named as ``ctx`` or ``device``; of the current one if neither.

    >>> device_index("cpu(3)"), device_index(device=cpu(1)), device_index()
    (3, 1, 0)
    """
    if ctx is not None and device is not None:
        raise ArgumentError(f"ctx={ctx} and device={device} mean the same: give one of them")
    given = ctx if ctx is not None else device
    if given is None:
        return _core.current_device()
    if isinstance(given, str):
        given = parse(given)
    elif not isinstance(given, Context):
        raise ArgumentError(f"ctx={given!r} is not valid: expected a device such as mx.cpu() or 'cpu(0)'")
    return given._index


def parse(text: str) -> Context:
    """The device that ``str`` wrote: "cpu", "cpu(1)", "gpu(0)".

    >>> parse("cpu_pinned(0)")
    cpu_pinned(0)
    """
    kind, bracket, rest = text.strip().partition("(")
    number = rest.removesuffix(")") if bracket else "0"
    if (bracket and not rest.endswith(")")) or not number.isdecimal():
        raise ArgumentError(f"{text!r} is not a device: expected 'cpu', 'cpu(1)', 'gpu(0)' or the like")
    return Context(kind, int(number))
