"""What NumPy has and the op table has not: computed by NumPy, on the host, without a gradient."""

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import from_host
from gluonish._dtype import default_float, dtype_name, fits
from gluonish.errors import GradientError

__all__ = ["Namespace", "NumpyFallbackWarning", "fallback", "on_host", "public"]

# Functions that write to their first argument.
_WRITES = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})


class NumpyFallbackWarning(UserWarning):
    """A function of `np` has no native op, so NumPy computes it on the host. Said once for each function.

    ``warnings.simplefilter("ignore", np.NumpyFallbackWarning)`` silences it, "error" finds the places.
    """


class Namespace(ModuleType):
    """A module of NumPy, seen through arrays of this package: ``np.linalg``, ``np.fft``, ..."""

    def __init__(self, path: str, source: ModuleType) -> None:
        super().__init__(path, source.__doc__)
        self.__source = source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = fallback(self.__source, name, self.__name__)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return public(self.__source)


def public(source: ModuleType) -> list[str]:
    """The names of a module of NumPy's that are meant for users."""
    return [name for name in dir(source) if not name.startswith("_")]


def fallback(source: ModuleType, name: str, path: str) -> Any:
    """What ``source`` calls ``name``: functions so that they take and give our arrays, the rest as it is."""
    try:
        value = getattr(source, name)
    except AttributeError:
        raise AttributeError(f"{path} has no {name!r}, and neither has NumPy") from None
    if isinstance(value, ModuleType):
        return Namespace(f"{path}.{name}", value)
    return on_host(value, f"{path}.{name}") if callable(value) and not isinstance(value, type) else value


def on_host(function: Callable[..., Any], path: str, writes: bool = False, told: bool = False) -> Callable[..., Any]:
    """A function of NumPy's that takes and gives our arrays. ``writes``: it changes its first argument. ``told``: users
    know that the host computes it."""

    @functools.wraps(function, assigned=("__doc__", "__name__"), updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal told
        arrays = list(_arrays((args, kwargs)))
        if any(map(_core.is_tracked, arrays)) and _core.is_recording():
            raise GradientError(
                f"{path}: it has no native op, so no gradient can flow through it; "
                "give it x.detach(), call it inside autograd.pause(), or write it with other functions of np"
            )
        outs = kwargs.pop("out", None)
        single = not isinstance(outs, tuple)
        outs = () if outs is None else (outs,) if single else outs
        # Present values are needed where the function writes to some elements only; without an array nothing is copied.
        held = tuple(map(_to_host, outs))
        if held:
            kwargs["out"] = held[0] if single else held
        host_args, host_kwargs = _to_host(args), _to_host(kwargs)
        result = function(*host_args, **host_kwargs)
        wide = "dtype" in kwargs or any(str(x.dtype) == "float64" for x in arrays)
        device = arrays[0]._device if arrays else _core.current_device()
        given = _from_host(result, wide, device)
        if not told and (arrays or given is not result):
            text = f"{path} has no native op: NumPy computes it on the host, without a gradient (said once)"
            warnings.warn(text, NumpyFallbackWarning, stacklevel=_outside())
            told = True
        if (writes or function.__name__ in _WRITES) and isinstance(args[0], NDArray):
            _core.copy_into(args[0], from_host(host_args[0], str(host_args[0].dtype), args[0]._device))
        for out, host in zip(outs, held, strict=True):
            if isinstance(out, NDArray):
                _core.copy_into(out, from_host(host, str(host.dtype), out._device))
        if outs and isinstance(result, tuple):
            return outs
        return outs[0] if outs else given

    call.by_numpy = True  # type: ignore[attr-defined]
    return call


def _outside() -> int:
    """How many frames up the user's own code is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("gluonish."):
        frame, level = frame.f_back, level + 1
    return level


def _arrays(value: Any) -> Iterator[NDArray]:
    if isinstance(value, NDArray):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))


def _to_host(value: Any) -> Any:
    if isinstance(value, NDArray):
        return value.asnumpy()
    if type(value) in (tuple, list):
        return type(value)(map(_to_host, value))
    if type(value) is dict:
        return {key: _to_host(item) for key, item in value.items()}
    return value


def _from_host(value: Any, wide: bool, device: int) -> Any:
    """A result of NumPy's as ours. float64 that nobody asked for becomes the default floating type."""
    if isinstance(value, numpy.ndarray | numpy.generic) and fits(value.dtype):
        name = dtype_name(value.dtype)
        return from_host(numpy.asarray(value), default_float() if name == "float64" and not wide else name, device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # as linalg's functions return
        return type(value)(*(_from_host(item, wide, device) for item in value))
    if type(value) in (tuple, list):
        return type(value)(_from_host(item, wide, device) for item in value)
    return value
