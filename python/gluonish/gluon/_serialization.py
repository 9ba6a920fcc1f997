"""Parameters to files and back. Everything in a file is checked before a parameter changes."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gluonish import _core, _files, nd
from gluonish._commit import raise_left_out
from gluonish._core import NDArray
from gluonish._files import PathLike
from gluonish.context import from_index
from gluonish.errors import ArgumentError, DTypeError, FormatError
from gluonish.gluon._arguments import Contexts, device_indices
from gluonish.gluon._errors import ParameterError
from gluonish.gluon._full_names import full_names
from gluonish.gluon._other_names import here, in_mxnet
from gluonish.gluon._parameter import Constant, Parameter

__all__ = ["Options", "deduplicated", "load", "plain", "read", "resolved", "save"]


class Options(NamedTuple):
    """How strict a load is."""

    ctx: Contexts = None
    allow_missing: bool = False
    ignore_extra: bool = False
    cast_dtype: bool = False
    dtype_source: str = "current"


def save(filename: PathLike, parameters: Mapping[str, Parameter], paths: bool = False) -> None:
    """Saves values by name: as safetensors, or as what the name of the file asks for.

    Where the names are attribute paths, a file of MXNet's has those of MXNet.
    """
    path = _files.local_path(filename, "save_parameters")
    arrays = [parameter._reduce() for parameter in parameters.values()]
    format = {".params": "params", ".npz": "npz"}.get(os.path.splitext(path)[1].lower(), "safetensors")
    names = [in_mxnet(name, parameters) for name in parameters] if format == "params" and paths else list(parameters)
    for array in arrays:
        array.wait_to_read()
    raise_left_out()  # values that an update should have changed, and did not, are no news to be saved
    _core.save_file(path, format, names, arrays, [])


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


def resolved(
    arrays: Mapping[str, NDArray], paths: Mapping[str, Parameter], prefix: str, source: str
) -> tuple[dict[str, NDArray], dict[str, str]]:
    """Arrays by attribute path, and what the file calls each.

    Names of old files are full ones, or those without the prefix; other libraries' layers have other names.
    """
    full = {name: path for name, (path, _) in full_names(paths.items(), prefix).items()}
    found: dict[str, NDArray] = {}
    called: dict[str, str] = {}
    for name, array in arrays.items():
        path = name if name in paths else full.get(prefix + plain(name)) or full.get(plain(name)) or here(name, paths)
        if path is None:
            continue
        if path in found:
            raise ParameterError(f"'{called[path]}' and '{name}' of {source} mean the same parameter, '{path}'")
        found[path], called[path] = array, name
    return found, called


def load(
    arrays: Mapping[str, NDArray],
    parameters: Mapping[str, Parameter],
    source: str,
    options: Options,
    called: Mapping[str, str] | None = None,
) -> None:
    """Gives parameters the arrays of their names. A parameter of several names needs one of them.

    ``called`` has the names of the file, where these are others.
    """
    called = called or {}
    if options.dtype_source not in ("current", "saved"):
        raise ParameterError(f"dtype_source={options.dtype_source!r} is not valid: expected 'current' or 'saved'")
    devices = None if options.ctx is None else device_indices(options.ctx)
    given = {id(parameter) for name, parameter in parameters.items() if name in arrays}
    missing = [name for name, parameter in parameters.items() if id(parameter) not in given]
    if missing and not options.allow_missing:
        raise ParameterError(
            f"parameter {_listed(missing)} is missing in {source}, which has "
            f"{_listed(called.get(name, name) for name in arrays)}; set allow_missing=True to leave it as it is"
        )
    extra = [name for name in arrays if name not in parameters]
    if extra and not options.ignore_extra:
        raise ParameterError(
            f"{_listed(extra)} of {source} is no parameter of the block, which has {_listed(parameters)}; set "
            "ignore_extra=True to skip it"
        )
    found = [(name, parameters[name], array) for name, array in arrays.items() if name in parameters]
    for name, parameter, array in found:
        _check(parameter, array, f"'{called.get(name, name)}' of {source}", devices, options)
    for _, parameter, array in found:
        _put(parameter, array, devices, options)


def _check(parameter: Parameter, array: NDArray, what: str, devices: list[int] | None, options: Options) -> None:
    if not isinstance(array, NDArray):
        raise ArgumentError(f"{what} must be an NDArray, got {type(array).__name__}")
    try:
        parameter._taking(array.shape, "the shape")
    except ParameterError:
        fits = "which has no elements for" if 0 in array.shape else f"which does not fit the shape {parameter.shape} of"
        raise ParameterError(
            f"{what} has shape {array.shape}, {fits} Parameter '{parameter.name}'"
            f"{'' if parameter._known() else ' (0 is unknown)'}"
        ) from None
    if options.cast_dtype:
        if options.dtype_source == "saved":
            _check_gradient(parameter, array, what)
    elif array.dtype != parameter.dtype:
        raise ParameterError(
            f"{what} is {array.dtype}, but Parameter '{parameter.name}' is {parameter.dtype}; set cast_dtype=True to "
            "cast one of them (dtype_source says which)"
        )
    waiting = parameter._waiting
    has = waiting.devices if waiting is not None else list(parameter._copies)
    if devices is not None and has and set(devices) != set(has) and not isinstance(parameter, Constant):
        raise ParameterError(
            f"{what} cannot be loaded on {[*map(from_index, devices)]}: Parameter '{parameter.name}' is initialized on "
            f"{[*map(from_index, has)]}. Leave ctx out, or call reset_ctx first"
        )


def _check_gradient(parameter: Parameter, array: NDArray, what: str) -> None:
    try:
        parameter._check_differentiable(str(array.dtype), parameter.grad_req)
    except DTypeError as error:
        raise DTypeError(f"{what}: {error}") from None


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
