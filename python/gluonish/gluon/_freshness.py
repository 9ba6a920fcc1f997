"""Which gradients are new since they were last used. A gradient that backward did not reach would be used twice.

MXNet keeps a flag at each array; here the version of a gradient, which every write moves, is remembered when an update
uses it. So a gradient that was written by hand counts as new; one that was only set to 0 does not.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gluonish import _core
from gluonish._core import NDArray

if TYPE_CHECKING:
    from gluonish.gluon._parameter import Parameter

__all__ = ["gradients", "is_fresh", "kept", "use"]


def gradients(parameter: "Parameter") -> list[tuple[int, NDArray]]:
    """The gradient on each device, by the core's number of the device."""
    return [(device, gradient) for device, copy in parameter._copies.items() if (gradient := copy.grad) is not None]


def is_fresh(parameter: "Parameter", device: int, gradient: NDArray) -> bool:
    """Whether a gradient was written since it was last used; a new one is full of zeros, and not fresh."""
    return _core.version(gradient) != parameter._used.get(device, 0)


def use(parameter: "Parameter") -> None:
    """Remembers that an update has used the gradients."""
    parameter._used = {device: _core.version(gradient) for device, gradient in gradients(parameter)}


@contextmanager
def kept(parameters: Iterable["Parameter"]) -> Iterator[None]:
    """What is written to gradients inside does not make them fresh."""
    stale = [
        (parameter, device, gradient)
        for parameter in parameters
        for device, gradient in gradients(parameter)
        if not is_fresh(parameter, device, gradient)
    ]
    yield
    for parameter, device, gradient in stale:
        parameter._used[device] = _core.version(gradient)
