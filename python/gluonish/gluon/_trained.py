"""What a trainer trains: which parameters it was given, and which of their gradients are new."""

from collections.abc import Iterable, Mapping
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish.context import from_index
from gluonish.errors import ArgumentError, MXNetError
from gluonish.gluon._parameter import Parameter, ParameterError
from gluonish.gluon._parameter_dict import ParameterDict
from gluonish.gluon.block import Block

__all__ = ["Slot", "StaleGradientError", "devices_of", "parameters_of", "reached", "unused"]


class StaleGradientError(MXNetError, UserWarning):
    """A parameter would be updated by a gradient that was used before: backward did not reach it since."""


StaleGradientError.__module__ = "gluonish.gluon.trainer"


class Slot:
    """A parameter that a trainer trains, by its number, with its copies at hand: steps go through hundreds of them."""

    __slots__ = ("_counted", "_used", "_zeroed", "key", "parameter", "weights")

    def __init__(self, key: int, parameter: Parameter) -> None:
        self.key, self.parameter = key, parameter
        self._zeroed: int | None = None  # of the parameter, when a step added its gradients to an update to come
        self.look()

    def look(self) -> None:
        """Looks for the copies again."""
        self._used = self.parameter._used  # another dict whenever copies or gradients are others
        self._counted: dict[int, int] = {}  # versions of gradients that a step added to an update to come
        self.weights: dict[int, Any] = dict(self.parameter._copies)

    def changed(self) -> bool:
        """Whether it is time to look again."""
        return self._used is not self.parameter._used

    def version(self) -> int:
        """The version of the values on the first device."""
        return _core.version(next(iter(self.weights.values())))

    def gradient(self, device: int) -> NDArray:
        """The gradient on a device."""
        gradient: NDArray = self.weights[device].grad
        return gradient

    def gradients(self) -> list[NDArray]:
        """The gradient on each device."""
        return [self.gradient(device) for device in self.weights]

    def fresh(self) -> list[NDArray]:
        """The gradients that no update has used, on some devices or all."""
        found = []
        for device, weight in self.weights.items():
            gradient = weight.grad
            if _core.version(gradient) != self._used.get(device, 0):
                found.append(gradient)
        return found

    def stale(self) -> list[int]:
        """The devices where the gradient is not new since the last step."""
        found = []
        for device, weight in self.weights.items():
            version = _core.version(weight.grad)
            if version == self._used.get(device, 0) or version == self._counted.get(device):
                found.append(device)
        return found

    def count(self) -> None:
        """Remembers that a step has seen the gradients, which more are to be added to before an update uses them."""
        self._zeroed = self.parameter._zeroed
        for device, weight in self.weights.items():
            self._counted[device] = _core.version(weight.grad)

    def lost(self) -> bool:
        """Whether gradients that a step has seen were set to 0, or made anew, before an update used them."""
        return self._zeroed not in {None, self.parameter._zeroed} and self.parameter._grad_req != "null"

    def use(self) -> None:
        """Remembers that an update has used the gradients."""
        self._counted.clear()
        self._zeroed = None
        for device, weight in self.weights.items():
            self._used[device] = _core.version(weight.grad)


def parameters_of(given: Any) -> list[Parameter]:
    """The parameters of a block, a dict or a list; one that is there twice counts once."""
    if isinstance(given, Block):
        given = given.collect_params()
    if isinstance(given, ParameterDict | Mapping):
        given = list(given.values())
    if not isinstance(given, list | tuple):
        raise ArgumentError(
            f"Trainer: params must be a block, or a list or dict of Parameters, got {type(given).__name__}"
        )
    for one in given:
        if not isinstance(one, Parameter):
            raise ArgumentError(f"Trainer: params must be Parameters, got a list or dict with a {type(one).__name__}")
    if not given:
        raise ArgumentError("Trainer: there are no parameters to train")
    return list({id(one): one for one in given}.values())


def devices_of(parameters: Iterable[Parameter]) -> list[int]:
    """The devices of all parameters, which are the same for each."""
    found: list[int] | None = None
    first = ""
    for parameter in parameters:
        devices = [ctx._index for ctx in parameter.list_ctx()]
        if found is None:
            found, first = devices, parameter.name
        elif devices != found:
            raise ParameterError(
                f"Trainer: all parameters must be initialized on the same devices, but '{first}' is on "
                f"{[*map(from_index, found)]} and '{parameter.name}' on {[*map(from_index, devices)]}"
            )
    return found or []


def unused(slots: Iterable[Slot]) -> list[Slot]:
    """Those with gradients, on some device, that no update has used."""
    return [slot for slot in slots if slot.parameter._grad_req != "null" and slot.fresh()]


def reached(slots: Iterable[Slot], ignore_stale: bool) -> list[Slot]:
    """Those with gradients that are new since the last step. Others raise, or are left out if that is asked for."""
    found = []
    for slot in slots:
        if slot.parameter._grad_req == "null":
            continue
        if not slot.weights:
            raise slot.parameter._absent()
        stale = slot.stale()
        if not stale:
            found.append(slot)
            continue
        if not ignore_stale:
            raise StaleGradientError(
                f"The gradient of parameter '{slot.parameter.name}' on {from_index(stale[0])} has not been "
                "updated by backward since the last step: the forward did not use it, or backward was not called. If "
                "that is meant, ignore_stale_grad=True skips such parameters; grad_req='null' freezes them"
            )
        if len(stale) < len(slot.weights):
            found.append(slot)
    return found
