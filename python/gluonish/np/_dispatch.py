"""NumPy's own functions, called with arrays of this package: the function of `np` of that name, else NumPy on the host.

>>> import numpy
>>> from gluonish import np
>>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
>>> numpy.exp(x - x), numpy.concatenate([x, x]).shape
([[1. 1.]
 [1. 1.]]
<NDArray 2x2 @cpu(0)>, (4, 2))
"""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core, np
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._dtype import can_cast, dtype_name, fits
from gluonish._rows import call
from gluonish.errors import ArgumentError, DTypeError, UnsupportedError
from gluonish.np._fallback import on_host

__all__ = ["call_function", "call_ufunc", "stored"]

# What the methods of a ufunc are called among functions.
_REDUCE = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
           "logical_or": "any"}  # fmt: skip
_PLAIN = frozenset({NDArray, bool, int, float})
_ACCUMULATE = {"add": "cumsum", "multiply": "cumprod"}
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def call_function(function: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What ``numpy.<function>`` does where an array of this package is among its arguments."""
    if not all(issubclass(kind, NDArray | numpy.ndarray) for kind in types):
        return NotImplemented
    found = _named_like(function)
    if not getattr(found, "by_numpy", False):
        if len(args) == 1 and not kwargs:
            return found(*args)
        placed, named = _bound(function, args, kwargs)
        unknown = sorted(named.keys() - _names(found))
        out = named.get("out")
        if not unknown and isinstance(out, numpy.ndarray):
            return stored(function.__name__, found(*placed, **{**named, "out": None}), out, {})
        if not unknown:
            return found(*placed, **named)
        found = _with(function, " and ".join(unknown))
    return found(*args, **kwargs)


@functools.cache
def _named_like(function: Callable[..., Any]) -> Any:
    """What `np` calls by the name of one of NumPy's functions."""
    module: Any = np
    for name in function.__module__.split(".")[1:]:
        module = getattr(module, name)
    return getattr(module, function.__name__)


@functools.cache
def _with(function: Callable[..., Any], unknown: str) -> Callable[..., Any]:
    """NumPy's function where ours does not have some of the arguments."""
    return on_host(function, f"{function.__module__}.{function.__name__} with {unknown}")


def _bound(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Arguments that NumPy's signature asks for by position, all others by name: our order may be another."""
    try:
        bound = _signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):  # it has no signature, or they do not fit, which the function itself says best
        return args, dict(kwargs)
    placed: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            placed.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.default is parameter.empty:
            placed.append(value)
        elif value is not parameter.default:
            named[name] = value
    return placed, named


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


@functools.cache
def _names(function: Callable[..., Any]) -> frozenset[str]:
    """The names of a function's arguments."""
    text = getattr(function, "__text_signature__", None)
    return frozenset(re.findall(r"\w+", text) if text else inspect.signature(function).parameters)


def call_ufunc(ufunc: numpy.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a ufunc of NumPy's, or one of its methods, does where an array of this package is among its arguments."""
    if method == "__call__" and not kwargs and all(type(value) in _PLAIN for value in inputs):
        function = _same(ufunc)
        if function is not None:
            return function(*inputs)
    outs = kwargs.pop("out", ())
    if not all(map(_is_ours_to_answer, (*inputs, *outs))):
        return NotImplemented
    if ufunc is numpy.divmod and method == "__call__" and not outs and not kwargs:
        return tuple(call_ufunc(part, method, inputs, {}) for part in (numpy.floor_divide, numpy.remainder))
    native = _native(ufunc, method, inputs, kwargs)
    if native is not None:
        result = native(*inputs, **kwargs)
        return stored(ufunc.__name__, result, outs[0], kwargs) if outs else result
    if outs:
        kwargs["out"] = outs
    return _hosted(ufunc, method)(*inputs, **kwargs)


@functools.cache
def _hosted(ufunc: numpy.ufunc, method: str) -> Callable[..., Any]:
    path = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    return on_host(ufunc if method == "__call__" else getattr(ufunc, method), path, writes=method == "at")


def _is_ours_to_answer(value: Any) -> bool:
    """Not where another class has its own idea of NumPy's functions."""
    other = getattr(type(value), "__array_ufunc__", None)
    return other in (None, NDArray.__array_ufunc__, numpy.ndarray.__array_ufunc__)


def _function(name: str) -> Callable[..., Any] | None:
    """The function of `np` of this name, if it has one of its own."""
    found = vars(np).get(name)
    return found if callable(found) and not getattr(found, "by_numpy", False) else None


@functools.cache
def _same(ufunc: numpy.ufunc) -> Callable[..., Any] | None:
    """The function of `np` that computes a ufunc of one result."""
    known = getattr(numpy, ufunc.__name__, None) is ufunc  # not one of another library's that is called the same
    return _function(ufunc.__name__) if known and ufunc.nout == 1 else None


def _native(
    ufunc: numpy.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[..., Any] | None:
    """What computes the ufunc here; None: the host must."""
    function = _same(ufunc)
    if function is None or not all(map(_fits, inputs)):
        return None
    where = kwargs.get("where", True)
    plain = kwargs.keys() <= {"dtype", "casting", "order", "subok", "where"} and kwargs.get("order", "K") in "KAC"
    if method == "__call__" and plain:
        return functools.partial(_called, ufunc, function)
    if method == "outer" and plain and len(inputs) == 2:
        return functools.partial(_outer, ufunc, function)
    folded = {"reduce": _REDUCE, "accumulate": _ACCUMULATE}.get(method, {}).get(ufunc.__name__)
    fold = _function(folded) if folded else None
    if fold is None or where is not True or kwargs.get("initial") is not None:
        return None
    given = {name: value for name, value in kwargs.items() if name not in ("where", "initial") and value is not None}
    if not given.keys() <= _names(fold):
        return None
    return functools.partial(_folded, fold)


def _fits(value: Any) -> bool:
    if isinstance(value, numpy.ndarray | numpy.generic):
        return fits(value.dtype)
    return isinstance(value, NDArray | bool | int | float | list | tuple) or hasattr(value, "__array__")


@beside
def _called(
    ufunc: numpy.ufunc,
    function: Callable[..., Any],
    *inputs: Any,
    dtype: Any = None,
    casting: Any = "same_kind",
    where: Any = True,
    **_: Any,
) -> NDArray:
    if casting not in _CASTINGS:
        raise ArgumentError(f"{ufunc.__name__}: casting={casting!r} is not valid: expected one of {_CASTINGS}")
    if dtype is not None:
        inputs = _taken_as(ufunc, inputs, dtype_name(dtype), casting)
    result: NDArray = function(*inputs)
    if dtype is not None:
        result = result.astype(dtype_name(dtype), copy=False)
    elif casting in ("no", "equiv", "safe"):
        _check_inputs(ufunc, inputs, str(result.dtype), casting)
    # NumPy leaves what `where` leaves out as the memory was; here it is 0, or what `out` holds.
    return result if where is True else np.where(where, result, numpy.zeros((), str(result.dtype)))


def _taken_as(ufunc: numpy.ufunc, inputs: tuple[Any, ...], name: str, casting: Any) -> tuple[Any, ...]:
    """The inputs in the types of the loop that NumPy has for results of this type."""
    letter = numpy.dtype("float32" if name == "bfloat16" else name).char
    loops = _loops(ufunc, letter)
    if not loops:
        raise DTypeError(f"{ufunc.__name__}: there is none with results of dtype={name!r}; use astype() on its result")
    if name == "bool" and any(set(takes) != {"?"} for takes in loops):  # a comparison, of whatever type
        return inputs
    # An input of another type than the result, such as the exponent of `ldexp`, stays as it is.
    pairs = zip(inputs, loops[0], strict=True)
    return tuple(_cast(ufunc, value, name, casting) if takes == letter else value for value, takes in pairs)


@functools.cache
def _loops(ufunc: numpy.ufunc, result: str) -> list[str]:
    """What each loop of a ufunc takes that gives this type, a letter for each input."""
    return [takes for takes, gives in (loop.split("->") for loop in ufunc.types) if gives == result]


def _check_inputs(ufunc: numpy.ufunc, inputs: tuple[Any, ...], result: str, casting: str) -> None:
    """Refuses inputs that were cast although ``casting`` does not let them be. Of the types here, integers become
    floating without being asked."""
    kinds = [str(value.dtype) for value in inputs if hasattr(value, "dtype")]
    for kind in kinds:
        target = result if result != "bool" else kinds[0]
        free = casting == "safe" and (("float" in target and "float" not in kind) or result == "bool")
        if not free and not can_cast(kind, target, casting):
            raise DTypeError(f"{ufunc.__name__}: {kind} does not become {target} by casting={casting!r}")


def _cast(ufunc: numpy.ufunc, value: Any, name: str, casting: Any) -> Any:
    if not hasattr(value, "dtype") or str(value.dtype) == name:
        return value
    if not can_cast(str(value.dtype), name, casting):
        raise DTypeError(f"{ufunc.__name__}: {value.dtype} does not become {name} by casting={casting!r}")
    return np.asarray(value).astype(name)


@beside
def _outer(ufunc: numpy.ufunc, function: Callable[..., Any], a: Any, b: Any, **kwargs: Any) -> NDArray:
    left, right = np.asarray(a), np.asarray(b)
    column: NDArray = _core.invoke("_np_reshape", [left], {"shape": left.shape + (1,) * right.ndim})
    return _called(ufunc, function, column, right, **kwargs)


def _folded(fold: Callable[..., Any], array: Any, axis: Any = 0, *rest: Any, **kwargs: Any) -> NDArray:
    if rest:
        raise UnsupportedError("give dtype=, keepdims= and out= of a ufunc's method by name")
    given = {name: value for name, value in kwargs.items() if name not in ("where", "initial") and value is not None}
    folded: NDArray = fold(array, axis=axis, **given)
    return folded


def stored(name: str, result: NDArray, out: Any, kwargs: dict[str, Any]) -> Any:
    """``out``, with the result where ``where`` says so."""
    where, casting = kwargs.get("where", True), kwargs.get("casting", "same_kind")
    if not isinstance(out, NDArray | numpy.ndarray):
        raise ArgumentError(f"{name}: 'out' must be an NDArray or an array of NumPy's, got {type(out).__name__}")
    if not can_cast(str(result.dtype), str(out.dtype), casting):
        raise DTypeError(f"{name}: the result, {result.dtype}, does not become {out.dtype} by casting={casting!r}")
    if not isinstance(out, NDArray):
        try:
            numpy.copyto(out, result.asnumpy(), casting=casting, where=numpy.asarray(where))
        except ValueError as error:  # its shape is another, or it is read-only
            raise ArgumentError(
                f"{name}: 'out' of shape {out.shape} for a result of shape {result.shape}: {error}"
            ) from None
        return out
    kept = result if where is True else np.where(where, result, out)
    call(name, "_copy", [kept.astype(out.dtype, copy=False)], {}, out)
    return out
