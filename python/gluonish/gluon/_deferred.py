"""The first forward of a block whose parameters have unknown dimensions: ops tell these from their other inputs."""

import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from gluonish._core import NDArray
from gluonish.context import from_index
from gluonish.errors import ShapeError
from gluonish.gluon._errors import DeferredShapeError
from gluonish.gluon._functions import Functions
from gluonish.gluon._parameter import Parameter
from gluonish.gluon._state import guard

__all__ = ["Placeholder", "functions_that_tell_shapes", "settle"]


def settle(block: Any, args: tuple[Any, ...]) -> None:
    """Before the first forward: parameters get shapes that ``infer_shape`` of the class tells, and values."""
    from gluonish.gluon.hybrid_block import HybridBlock  # which needs this module

    cls = type(block)
    waiting = [parameter for parameter in block._reg_params.values() if parameter._waiting is not None]
    if getattr(cls, "infer_shape", HybridBlock.infer_shape) is not HybridBlock.infer_shape and _unknown(waiting):
        block.infer_shape(*args)
        if cls.forward is not HybridBlock.forward and (left := _unknown(waiting)):  # functions of F tell the others
            raise left[0]._deferred_error(", and infer_shape of its block has not set it")
    for parameter in waiting:
        if parameter._known():
            parameter._finish_deferred_init()
    block._gluonish.settled = all(parameter._copies for parameter in block._reg_params.values())
    guard(block)


def _unknown(parameters: list[Parameter]) -> list[Parameter]:
    return [parameter for parameter in parameters if not parameter._known()]


class Placeholder:
    """What ``hybrid_forward`` gets instead of a parameter whose shape is unknown.

    Functions of F take it and may tell the shape; from then on it does whatever the array does. Before, all but those
    functions raise.
    """

    def __init__(self, parameter: Parameter, device: int) -> None:
        self._parameter, self._on = parameter, device

    def _unknown(self) -> bool:
        return not self._parameter._copies

    def _array(self, who: str) -> NDArray:
        if self._unknown():
            self._refuse(who)
        return self._parameter.data(from_index(self._on))

    def _refuse(self, who: str) -> NoReturn:
        raise self._parameter._deferred_error(
            f", and {who} cannot tell it (functions of F that have parameters can, as F.FullyConnected; or define "
            "infer_shape(self, x) in the class of the block)"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._array(f"'.{name}'"), name)

    __hash__ = object.__hash__


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: Placeholder, *args: Any) -> Any:
        who = f"the operator {name}"
        return getattr(self._array(who), name)(*(_value(arg, who) for arg in args))

    return operate


_TWO_SIDED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
_ONE_SIDED = ("neg", "pos", "abs", "invert", "lt", "le", "gt", "ge", "eq", "ne", "getitem", "setitem")
_CONVERSIONS = ("len", "iter", "bool", "float", "int")
for _name in (*_TWO_SIDED, *(f"r{name}" for name in _TWO_SIDED), *_ONE_SIDED, *_CONVERSIONS):
    setattr(Placeholder, f"__{_name}__", _operator(f"__{_name}__"))


def functions_that_tell_shapes(functions: Any) -> Any:
    """`nd` for a first forward: its functions find the shapes of placeholders, and take the values that these get."""

    def watch(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if any(isinstance(one, Placeholder) and one._unknown() for one in (*args, *kwargs.values())):
            _tell(name, function, args, kwargs)
        values = [_value(one, f"F.{name}") for one in args]
        return function(*values, **{key: _value(one, f"F.{name}") for key, one in kwargs.items()})

    return Functions(watch, functions)


def _value(given: Any, who: str) -> Any:
    """An argument with arrays in the place of placeholders."""
    if isinstance(given, Placeholder):
        return given._array(who)
    if type(given) in (list, tuple):
        return type(given)(_value(one, who) for one in given)
    return given


def _tell(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Gives the parameters among an op's inputs the shapes that the op wants, and values."""
    waiting = next(one for one in (*args, *kwargs.values()) if isinstance(one, Placeholder) and one._unknown())
    function = Functions.original(function)
    ask = getattr(function, "parameter_shapes", None)
    if ask is None:
        waiting._refuse(f"F.{name}")
    try:
        shapes = ask(*map(_shape, args), **{key: _shape(one) for key, one in kwargs.items()})
    except ShapeError as error:
        why = waiting._parameter._deferred_error(f", and F.{name} cannot tell it")
        # It is mostly an input of a wrong shape, so that comes first.
        raise DeferredShapeError(f"{error}\n  {why}") from error
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
