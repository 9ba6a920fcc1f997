"""Casts at the inputs of functions: as a stand-in for `nd`, or for as long as mixed precision is on."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from types import ModuleType
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.amp.lists import CONDITIONAL, FLOAT32, LOW, check_dtype
from gluonish.errors import ArgumentError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.loss import Loss

__all__ = ["CastingFunctions", "Casts", "current", "switch"]

Conditions = Sequence[tuple[str, str, Sequence[str]]]


class Casts:
    """Which functions cast their inputs to what.

    >>> casts = Casts("bfloat16")
    >>> casts.call("dot", nd.dot, (nd.ones((2, 2)), nd.ones((2, 2))), {}).dtype
    'bfloat16'
    """

    def __init__(
        self,
        target_dtype: object,
        low: Iterable[str] | None = None,
        float32: Iterable[str] | None = None,
        conditional: Conditions | None = None,
    ) -> None:
        self.dtype = check_dtype(target_dtype)
        more_low, more_wide = frozenset(low or ()), frozenset(float32 or ())
        twice = sorted(more_low & more_wide)
        if twice:
            raise ArgumentError(f"amp: {twice[0]!r} is in the lists of both precisions")
        self.low, self.float32 = (LOW | more_low) - more_wide, (FLOAT32 | more_wide) - more_low
        self.conditions: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for name, argument, values in [*CONDITIONAL, *(conditional or ())]:
            if name not in more_low:
                self.conditions.setdefault(name, []).append((argument, frozenset(values)))
        self.names = frozenset({*self.low, *self.float32, *self.conditions})  # of functions that may cast
        for name in {*more_low, *more_wide, *self.conditions}:
            if not any(_find(module, name) for module in (nd, _np())):
                raise ArgumentError(f"amp: there is no function {name!r} in nd")

    def call(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function makes of inputs in the precision that it has."""
        if name in self.low:
            dtype = self.dtype
        elif name in self.float32 or self._applies(name, args, kwargs):
            dtype = "float32"
        else:
            return function(*args, **kwargs)
        outs = ("out",)
        return function(
            *(_cast(value, dtype) for value in args),
            **{key: value if key in outs else _cast(value, dtype) for key, value in kwargs.items()},
        )

    def _applies(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        given = {value for value in (*args, *kwargs.values()) if isinstance(value, str)}
        return any(
            kwargs.get(argument) in values or (argument not in kwargs and bool(given & values))
            for argument, values in self.conditions.get(name, ())
        )


class CastingFunctions:
    """A stand-in for `nd` whose functions cast what they are given: what converted blocks have as their F."""

    def __init__(self, casts: Casts, prefix: str = "") -> None:
        self._casts, self._prefix = casts, prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copies and pickles ask for these before there is anything to ask
            raise AttributeError(name)
        path = self._prefix + name
        found: Any = nd
        for step in path.split("."):
            found = getattr(found, step)
        if isinstance(found, ModuleType):
            return CastingFunctions(self._casts, f"{path}.")
        if path not in self._casts.names:
            return found

        @wraps(found)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._casts.call(path, found, args, kwargs)

        return call


_current: Casts | None = None
_originals: list[tuple[ModuleType, str, Any]] = []


def current() -> Casts | None:
    """The casts that are on."""
    return _current


def switch(casts: Casts | None) -> Casts | None:
    """Puts casting functions in the place of those of `nd` and `np`, or the old ones back; returns what was on.

    Losses get everything in float32, whatever ops they are made of.
    """
    global _current
    for module, name, function in _originals:
        setattr(module, name, function)
    _originals.clear()
    if "forward" in vars(Loss):
        del Loss.forward
    before, _current = _current, casts
    if casts is not None:
        setattr(Loss, "forward", _loss_in_float32)  # noqa: B010 - it stands in for the method of HybridBlock
        for path in sorted(casts.names):
            for module in (nd, _np()):
                _replace(module, path, casts)
    return before


def _loss_in_float32(loss: Any, *args: Any) -> Any:
    return HybridBlock.forward(loss, *(_cast(value, "float32") for value in args))


def _replace(face: ModuleType, path: str, casts: Casts) -> None:
    found = _find(face, path)
    if found is None:
        return
    module, name, function = found

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return casts.call(path, function, args, kwargs)

    if hasattr(function, "parameter_shapes"):  # what tells blocks the shapes of their parameters
        vars(call)["parameter_shapes"] = function.parameter_shapes
    setattr(module, name, call)
    _originals.append((module, name, function))


def _find(face: ModuleType, path: str) -> tuple[ModuleType, str, Any] | None:
    """The module inside a face that has a function, its name there, and the function."""
    *inside, name = path.split(".")
    module: Any = face
    for step in inside:
        module = getattr(module, step, None)
    found = vars(module).get(name) if isinstance(module, ModuleType) else None
    return (module, name, found) if callable(found) else None


def _np() -> ModuleType:
    from gluonish import np

    return np


def _cast(value: Any, dtype: str) -> Any:
    if isinstance(value, NDArray):
        return nd.amp_cast(value, dtype=dtype)
    if isinstance(value, list | tuple) and any(isinstance(one, NDArray) for one in value):
        return type(value)([_cast(one, dtype) for one in value])
    return value
