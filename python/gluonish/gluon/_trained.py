"""What a trainer trains: which parameters it was given, and which of their gradients are new."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gluonish._core import NDArray
from gluonish.context import from_index
from gluonish.errors import ArgumentError, MXNetError
from gluonish.gluon._freshness import gradients, is_fresh
from gluonish.gluon._parameter import Parameter, ParameterError
from gluonish.gluon._parameter_dict import ParameterDict
from gluonish.gluon.block import Block

__all__ = ["Reached", "StaleGradientError", "devices_of", "parameters_of", "reached"]


class StaleGradientError(MXNetError, UserWarning):
    """A parameter would be updated by a gradient that was used before: backward did not reach it since."""


StaleGradientError.__module__ = "gluonish.gluon.trainer"


class Reached(NamedTuple):
    """A parameter, by its number, with the gradients that are new on some of its devices."""

    key: int
    parameter: Parameter
    fresh: list[NDArray]


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


def reached(parameters: Iterable[Parameter], ignore_stale: bool) -> list[Reached]:
    """The parameters with new gradients. Others raise, or are left out where that is asked for."""
    found = []
    for index, parameter in enumerate(parameters):
        if parameter._grad_req == "null":
            continue
        parameter._present()
        fresh = [gradient for device, gradient in gradients(parameter) if is_fresh(parameter, device, gradient)]
        if fresh:
            found.append(Reached(index, parameter, fresh))
        if not ignore_stale and len(fresh) < len(parameter._copies):
            stale = next(d for d, gradient in gradients(parameter) if not is_fresh(parameter, d, gradient))
            raise StaleGradientError(
                f"The gradient of parameter '{parameter.name}' on {from_index(stale)} has not been updated by backward "
                "since the last step: the forward did not use it, or backward was not called. If that is meant, "
                "ignore_stale_grad=True skips such parameters; grad_req='null' freezes them"
            )
    return found
