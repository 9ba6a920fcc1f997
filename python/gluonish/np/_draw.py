"""How the functions of `np.random` draw: sizes, parameters that are numbers or arrays, `out`."""

import re
from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import shape_of
from gluonish._dtype import default_float, dtype_name
from gluonish._rows import call
from gluonish._types import ArrayLike, Shape
from gluonish.errors import ArgumentError, MXNetError
from gluonish.np.creation import asarray

__all__ = ["DType", "Size", "checked", "draw", "shape_from"]

DType = npt.DTypeLike | None
Size = int | Iterable[int] | None

# Rows that `nd` does not offer.
_INTERNAL = frozenset({"beta", "binomial"})


def shape_from(size: Size, function: str) -> Shape:
    return () if size is None else shape_of(size, function)


def are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) for value in values)


def draw(
    name: str,
    parameters: dict[str, ArrayLike],
    size: Size,
    dtype: DType,
    device: int,
    out: NDArray | None,
    said: tuple[str, ...] = (),
) -> NDArray:
    """Numbers of a distribution: ``size`` of them, or as many as the parameters broadcast to.

    ``said`` is what the caller's function and its parameters are called, where those of the row have other names.
    """
    function, *names = said or (name,)
    mark = "_" if name in _INTERNAL else ""
    drawn: NDArray
    try:
        if are_numbers(*parameters.values()):
            given = {**parameters, "shape": shape_from(size, function), "dtype": dtype_name(dtype, default_float())}
            drawn = call(function, f"{mark}random_{name}", [], given, out, device)
            return drawn
        arrays: list[Any] = [p if are_numbers(p) else asarray(p) for p in parameters.values()]
        if size is not None:
            shape = {"shape": shape_of(size, function)}
            arrays = [call(function, "_np_broadcast_to", [a], shape) if isinstance(a, NDArray) else a for a in arrays]
        given = {} if dtype is None else {"dtype": dtype_name(dtype)}
        drawn = call(function, f"{mark}sample_{name}", arrays, given, out)
    except MXNetError as error:
        text = str(error)
        for inner, outer in zip(parameters, names, strict=False):
            text = re.sub(rf"^({function}: ){inner}(=| at )", rf"\1{outer}\2", text)
        raise type(error)(text) from None
    return drawn


def checked(value: ArrayLike, name: str, function: str, least: float = 0.0, reached: bool = True) -> Any:
    """A parameter as a number or an array. What is too small is refused: a number at once, in an array at the wait."""
    if not are_numbers(value):
        attrs = {"least": least, "reached": reached}
        return _core.invoke("_at_least", [asarray(value)], attrs)
    number: Any = value
    if not (number > least or (reached and number == least)) or number == float("inf"):
        bound = f"of at least {least:g}" if reached else f"above {least:g}"
        raise ArgumentError(f"{function}: {name}={number} is not valid: expected a finite number {bound}")
    return number
