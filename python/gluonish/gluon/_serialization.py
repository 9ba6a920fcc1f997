"""Parameters to files and back. Everything in a file is checked before a parameter changes."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gluonish import _core, _files, nd
from gluonish._core import NDArray
from gluonish._files import PathLike
from gluonish.context import from_index
from gluonish.errors import ArgumentError, FormatError
from gluonish.gluon._arguments import Contexts, device_indices
from gluonish.gluon._errors import ParameterError
from gluonish.gluon._parameter import Constant, Parameter

__all__ = ["Options", "deduplicated", "load", "plain", "read", "resolved", "save"]


class Options(NamedTuple):
    """How strict a load is."""

    ctx: Contexts = None
    allow_missing: bool = False
    ignore_extra: bool = False
    cast_dtype: bool = False
    dtype_source: str = "current"


def save(filename: PathLike, parameters: Mapping[str, Parameter]) -> None:
    """Saves values by name: as safetensors, or as what the name of the file asks for."""
    path = _files.local_path(filename, "save_parameters")
    arrays = [parameter._reduce() for parameter in parameters.values()]
    format = {".params": "params", ".npz": "npz"}.get(os.path.splitext(path)[1].lower(), "safetensors")
    _core.save_file(path, format, list(parameters), arrays, [])


def deduplicated(parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Each parameter once, under the last of its names."""
    last = {id(parameter): name for name, parameter in parameters.items()}
    return {name: parameter for name, parameter in parameters.items() if last[id(parameter)] == name}


def read(filename: PathLike) -> dict[str, NDArray]:
    """The arrays of a file by name."""
    arrays = nd.load(filename)
    if isinstance(arrays, list):
        if arrays:
            raise FormatError(f"'{filename!s}' holds {len(arrays)} arrays without names: parameters are found by name")
        return {}
    return arrays


def plain(name: str) -> str:
    """A name without the mark that MXNet's exported models have."""
    return name[4:] if name.startswith(("arg:", "aux:")) else name


# What MXNet calls the parameters of recurrent layers in files: `_unfused.0.i2h_weight`, `_unfused.0.r_cell.i2h_weight`.
_UNFUSED = re.compile(r"(?<![^.])_unfused\.(\d+)\.(?:([lr])_cell\.)?(?=\w+$)")


def resolved(arrays: Mapping[str, NDArray], paths: Mapping[str, Parameter], prefix: str) -> dict[str, NDArray]:
    """Arrays by attribute path, which old files do not have: their names are full ones, or those without the prefix."""
    full = {parameter.name: path for path, parameter in paths.items()}

    def path(name: str) -> str:
        if name in paths:
            return name
        fused = _UNFUSED.sub(lambda m: f"{m[2] or 'l'}{m[1]}_", name)
        return full.get(prefix + plain(name)) or full.get(plain(name)) or fused

    found = {path(name): array for name, array in arrays.items()}
    if len(found) < len(arrays):
        raise ParameterError(f"several names of the file mean the same parameter: {', '.join(arrays)}")
    return found


def load(arrays: Mapping[str, NDArray], parameters: Mapping[str, Parameter], source: str, options: Options) -> None:
    """Gives parameters the arrays of their names. A parameter of several names needs one of them."""
    if options.dtype_source not in ("current", "saved"):
        raise ParameterError(f"dtype_source={options.dtype_source!r} is not valid: expected 'current' or 'saved'")
    devices = None if options.ctx is None else device_indices(options.ctx)
    given = {id(parameter) for name, parameter in parameters.items() if name in arrays}
    missing = [name for name, parameter in parameters.items() if id(parameter) not in given]
    if missing and not options.allow_missing:
        raise ParameterError(
            f"parameter {_listed(missing)} is missing in {source}, which has {_listed(arrays)}; set allow_missing=True "
            "to leave it as it is"
        )
    extra = [name for name in arrays if name not in parameters]
    if extra and not options.ignore_extra:
        raise ParameterError(
            f"{_listed(extra)} of {source} is no parameter of the block, which has {_listed(parameters)}; set "
            "ignore_extra=True to skip it"
        )
    found = [(parameters[name], array) for name, array in arrays.items() if name in parameters]
    for parameter, array in found:
        _check(parameter, array, source, devices, options)
    for parameter, array in found:
        _put(parameter, array, devices, options)


def _check(parameter: Parameter, array: NDArray, source: str, devices: list[int] | None, options: Options) -> None:
    if not isinstance(array, NDArray):
        raise ArgumentError(f"{source}: '{parameter.name}' must be an NDArray, got {type(array).__name__}")
    parameter._taking(array.shape, f"the shape in {source}")
    if options.cast_dtype:
        if options.dtype_source == "saved":
            parameter._check_differentiable(str(array.dtype), parameter.grad_req)
    elif array.dtype != parameter.dtype:
        raise ParameterError(
            f"Parameter '{parameter.name}' is {parameter.dtype}, but {array.dtype} in {source}; set cast_dtype=True to "
            "cast one of them (dtype_source says which)"
        )
    waiting = parameter._waiting
    has = waiting.devices if waiting is not None else list(parameter._copies)
    if devices is not None and has and set(devices) != set(has) and not isinstance(parameter, Constant):
        raise ParameterError(
            f"Parameter '{parameter.name}' is initialized on {[*map(from_index, has)]}, and cannot be loaded on "
            f"{[*map(from_index, devices)]}: leave ctx out, or call reset_ctx first"
        )


def _put(parameter: Parameter, array: NDArray, devices: list[int] | None, options: Options) -> None:
    if options.cast_dtype and options.dtype_source == "saved":
        parameter.cast(array.dtype)
    if parameter._copies:
        if devices is not None and set(devices) != set(parameter._copies):  # a constant, which may just move
            parameter._place(array, devices)
        else:
            parameter.set_data(array)
        return
    waiting = parameter._waiting
    parameter._shape = array.shape
    parameter._place(array, waiting.devices if waiting is not None else devices or device_indices())
    parameter._waiting = None


def _listed(names: Iterable[str]) -> str:
    """Names, the first few of many."""
    names = list(names)
    shown = ", ".join(f"'{name}'" for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown or "nothing"
