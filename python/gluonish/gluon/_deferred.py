"""The first forward of a block whose parameters have unknown dimensions: ops tell these from their other inputs."""

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from gluonish.context import from_index
from gluonish.errors import ShapeError
from gluonish.gluon._errors import DeferredShapeError
from gluonish.gluon._functions import Functions
from gluonish.gluon._parameter import Parameter

__all__ = ["Placeholder", "functions_that_tell_shapes"]


class Placeholder:
    """What ``hybrid_forward`` gets instead of a parameter whose shape is unknown. Only functions of F take it."""

    def __init__(self, parameter: Parameter) -> None:
        self._parameter = parameter

    def _refuse(self, what: str) -> NoReturn:
        raise self._parameter._deferred_error(
            f", and {what} cannot tell it (functions of F that have parameters can, as F.FullyConnected; or define "
            "infer_shape(self, x) in the class of the block)"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(f"'.{name}'")


def _operator(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Placeholder, *_: Any) -> NoReturn:
        self._refuse(f"the operator {name}")

    return refuse


_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor"
for _name in _OPERATORS.split():
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(Placeholder, _form, _operator(_form))
for _form in [
    "neg",
    "pos",
    "abs",
    "invert",
    "lt",
    "le",
    "gt",
    "ge",
    "getitem",
    "setitem",
    "len",
    "iter",
    "bool",
    "float",
    "int",
]:
    setattr(Placeholder, f"__{_form}__", _operator(f"__{_form}__"))


def functions_that_tell_shapes(device: int, functions: Any) -> Any:
    """`nd` for a first forward: its functions find the shapes of placeholders, and take the values that these get."""

    def watch(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = [*args, *kwargs.values()]
        if any(isinstance(one, Placeholder) and not one._parameter._copies for one in given):
            _tell(name, function, args, kwargs)
        values = [_value(one, device) for one in args]
        return function(*values, **{key: _value(one, device) for key, one in kwargs.items()})

    return Functions(watch, functions)


def _value(given: Any, device: int) -> Any:
    return given._parameter.data(from_index(device)) if isinstance(given, Placeholder) else given


def _tell(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Gives the parameters among an op's inputs the shapes that the op wants, and values."""
    waiting = [one for one in (*args, *kwargs.values()) if isinstance(one, Placeholder) and not one._parameter._copies]
    function = Functions.original(function)
    ask = getattr(function, "parameter_shapes", None)
    if ask is None:
        waiting[0]._refuse(f"F.{name}")
    try:
        shapes = ask(*map(_shape, args), **{key: _shape(one) for key, one in kwargs.items()})
    except ShapeError as error:
        parameter = waiting[0]._parameter
        raise DeferredShapeError(f"{parameter._deferred_error(f', and F.{name} cannot tell it')}\n  {error}") from error
    order = list(inspect.signature(function).parameters)
    places = [*enumerate(args), *((order.index(key), one) for key, one in kwargs.items() if key in order)]
    for place, one in places:
        if isinstance(one, Placeholder):
            _settle(one._parameter, shapes[place], name)


def _settle(parameter: Parameter, shape: tuple[int, ...], function: str) -> None:
    try:
        parameter.shape = shape
    except AssertionError as error:
        raise ShapeError(
            f"{function}: its input needs Parameter '{parameter.name}' of shape {shape}, but that is {parameter.shape}"
        ) from error
    parameter._finish_deferred_init()


def _shape(given: Any) -> Any:
    return given._parameter.shape or () if isinstance(given, Placeholder) else given
