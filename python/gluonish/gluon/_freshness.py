"""Which gradients are new since they were last used. A gradient that backward did not reach would be used twice.

MXNet keeps a flag at each array; here the version of a gradient, which every write moves, is remembered when an update
uses it. So a gradient that was written by hand counts as new; one that was only set to 0 does not.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gluonish import _core
from gluonish.autograd import pause

if TYPE_CHECKING:
    from gluonish.gluon._parameter import Parameter

__all__ = ["accumulate", "kept"]


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


def accumulate(parameters: Iterable["Parameter"], wanted: bool) -> None:
    """Adds gradients up over batches, or ends that where it was a trainer that began it; gradients stay."""
    for parameter in parameters:
        if parameter.grad_req != ("write" if wanted else "add") or not (wanted or parameter._added_up):
            continue
        before, zeroed = {device: copy.grad for device, copy in parameter._copies.items()}, parameter._zeroed
        parameter.grad_req, parameter._added_up = "add" if wanted else "write", wanted
        with pause(), kept([parameter]):
            for device, gradient in before.items():
                now = parameter._copies[device].grad
                if gradient is not None and now is not None and now is not gradient:
                    _core.copy_into(now, gradient)
        if wanted:  # else the next batch overwrites them: whoever was adding them up has lost them
            parameter._zeroed = zeroed
