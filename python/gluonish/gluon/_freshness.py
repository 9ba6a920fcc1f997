"""Which gradients are new since they were last used. A gradient that backward did not reach would be used twice.

MXNet keeps a flag at each array; here the version of a gradient, which every write moves, is remembered when an update
uses it. So a gradient that was written by hand counts as new; one that was only set to 0 does not.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gluonish import _core

if TYPE_CHECKING:
    from gluonish.gluon._parameter import Parameter

__all__ = ["kept"]


@contextmanager
def kept(parameters: Iterable["Parameter"]) -> Iterator[None]:
    """What is written to gradients inside does not make them fresh."""
    stale = [
        (parameter, device, gradient)
        for parameter in parameters
        for device, copy in parameter._copies.items()
        if (gradient := copy.grad) is not None and _core.version(gradient) == parameter._used.get(device, 0)
    ]
    yield
    for parameter, device, gradient in stale:
        parameter._used[device] = _core.version(gradient)
