"""Parameters by name: what ``block.params`` and ``collect_params()`` are."""

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from gluonish import init as initializers
from gluonish import nd
from gluonish._core import NDArray
from gluonish._dtype import dtype_name
from gluonish._files import PathLike
from gluonish._types import ArrayLike
from gluonish.context import Context
from gluonish.gluon import _serialization
from gluonish.gluon._arguments import Contexts
from gluonish.gluon._errors import ParameterError
from gluonish.gluon._parameter import Constant, Parameter

__all__ = ["ParameterDict"]


class ParameterDict:
    """Parameters by their full names, in the order in which they came.

    Parameters
    ----------
    prefix
        What the names of parameters that ``get`` makes begin with.
    shared
        Another dict, in which ``get`` looks before it makes a new parameter.

    >>> params = ParameterDict("net_")
    >>> params.get("weight", shape=(2, 2))
    Parameter net_weight (shape=(2, 2), dtype=float32)
    >>> list(params), len(params), "net_weight" in params
    (['net_weight'], 1, True)
    """

    def __init__(self, prefix: str = "", shared: "ParameterDict | None" = None) -> None:
        self._prefix = prefix
        self._shared = shared
        self._params: dict[str, Parameter] = {}

    @property
    def prefix(self) -> str:
        """What the names of its parameters begin with."""
        return self._prefix

    def __getitem__(self, name: str) -> Parameter:
        found = self._params.get(name)
        if found is None:
            raise KeyError(f"there is no parameter '{name}'{_among(name, self._params)}")
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._params

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def keys(self) -> KeysView[str]:
        """The full names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The parameters."""
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """Names and parameters."""
        return self._params.items()

    def __repr__(self) -> str:
        title = f"{self._prefix} " if self._prefix else ""
        lines = (f"  {'' if name == one.name else f'{name}: '}{one}" for name, one in self.items())
        return "\n".join([f"{title}(", *lines, ")"])

    # Making and gathering.

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter whose name is the prefix and this one; made with these arguments if there is none.

        One that is there must agree with the arguments; a dimension that one of both does not know is no difference.

        >>> params = ParameterDict("net_")
        >>> params.get("bias", shape=(3,)) is params.get("bias", shape=(0,))
        True
        """
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            found = self._params[full] = Parameter(full, **kwargs)
            found._named = True
            return found
        for key, wanted in kwargs.items():
            _agree(found, key, wanted)
        return found

    def get_constant(self, name: str, value: ArrayLike | None = None) -> Constant:
        """The constant of this name, after the prefix; made of the value if there is none.

        >>> ParameterDict("net_").get_constant("scale", [1, 2]).shape
        (2,)
        """
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            if value is None:
                raise KeyError(f"there is no constant '{full}'; give a value to make one")
            made = self._params[full] = Constant(full, value)
            made._named = True
            return made
        if not isinstance(found, Constant):
            raise ParameterError(f"Parameter '{full}' exists already, and is not a constant")
        if value is not None:
            given = value if isinstance(value, NDArray) else nd.array(value)
            if found.shape != given.shape or not bool((found.value == given).all()):
                raise ParameterError(f"Constant '{full}' exists already, with another value")
        return found

    def update(self, other: "ParameterDict | Mapping[str, Parameter]") -> None:
        """Takes all parameters of another dict. One name for two parameters is an error."""
        for name, parameter in other.items():
            if self._params.setdefault(name, parameter) is not parameter:
                raise ParameterError(
                    f"two parameters are called '{name}': {self._params[name]} and {parameter}; give the blocks "
                    "different prefixes; of a block and its copy, which has the same names, collect the parameters "
                    "together (net.collect_params() of a block that has both), or make a list of their values()"
                )

    def _find(self, full: str) -> Parameter | None:
        found = self._params.get(full)
        if found is None and self._shared is not None:
            found = self._shared._find(full)
            if found is not None:
                self._params[full] = found
        return found

    # Doing something with all.

    def initialize(
        self,
        init: Any = None,
        ctx: Contexts = None,
        verbose: bool = False,
        force_reinit: bool = False,
        *,
        device: Contexts = None,
    ) -> None:
        """Initializes all parameters: each with its own initializer, or with ``init``; None is ``Uniform(0.07)``.

        >>> params = ParameterDict()
        >>> weight, bias = params.get("w", shape=(2,)), params.get("b", shape=(2,), init="zeros")
        >>> params.initialize("ones")
        >>> weight.data().tolist(), bias.data().tolist()
        ([1.0, 1.0], [0.0, 0.0])
        """
        default = initializers.create(init)
        if verbose:
            default.set_verbosity(verbose=True)
        for parameter in self.values():
            parameter.initialize(None, ctx, default, force_reinit, device=device)

    def zero_grad(self) -> None:
        """Sets all gradients to 0."""
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx: Contexts = None, *, device: Contexts = None) -> None:
        """Moves all parameters to other devices."""
        for parameter in self.values():
            parameter.reset_ctx(ctx, device=device)

    reset_device = reset_ctx

    def list_ctx(self) -> list[Context]:
        """The devices that any parameter is on."""
        return list(dict.fromkeys(ctx for parameter in self.values() for ctx in parameter.list_ctx()))

    list_device = list_ctx

    def setattr(self, name: str, value: Any) -> None:
        """Sets an attribute of all parameters: ``setattr("grad_req", "null")`` freezes them.

        >>> params = ParameterDict()
        >>> weight = params.get("w", shape=(2,))
        >>> params.setattr("lr_mult", 0.1)
        >>> weight.lr_mult
        0.1
        """
        for parameter in self.values():
            if not hasattr(parameter, name):
                raise AttributeError(f"{parameter} has no attribute '{name}'")
            setattr(parameter, name, value)

    # Files.

    def save(self, filename: PathLike, strip_prefix: str = "") -> None:
        """Saves the values under the full names, or under what is left of these without a prefix.

        The format is safetensors; MXNet's for names that end in ``.params``, npz for ``.npz``.
        """
        _serialization.save(filename, {_stripped(name, strip_prefix): p for name, p in self.items()})

    def load(
        self,
        filename: PathLike,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Loads values by full names; ``restore_prefix`` is put before those in the file.

        Everything is looked at before anything changes. What is missing, too much or of another shape raises.
        """
        options = _serialization.Options(ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)
        self._check_prefix(restore_prefix)
        self._load(_serialization.read(filename), f"file '{filename!s}'", restore_prefix, options)

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Loads values from a dict, as ``load`` does from a file."""
        options = _serialization.Options(ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)
        source = f"file '{filename}'" if filename else "the dict"
        self._check_prefix(restore_prefix)
        self._load(dict(param_dict), source, restore_prefix, options)

    def _check_prefix(self, prefix: str) -> None:
        for name in self._params:
            _stripped(name, prefix)

    def _load(self, arrays: dict[str, NDArray], source: str, prefix: str, options: _serialization.Options) -> None:
        restored = {prefix + _serialization.plain(name): array for name, array in arrays.items()}
        _serialization.load(restored, self._params, source, options)


def _agree(parameter: Parameter, key: str, wanted: Any) -> None:
    """Checks an argument of ``get`` against the parameter that is there; takes what that does not know."""
    if key == "shape":
        if wanted is not None:
            parameter.shape = wanted
        return
    mine = getattr(parameter, key, None)
    if key == "dtype":
        same = wanted is None or dtype_name(wanted) == parameter._dtype
    else:
        same = wanted is None or mine is None or wanted == mine
    if not same:
        raise ParameterError(
            f"Parameter '{parameter.name}' exists already, with {key}={mine!r}, and cannot be had with {key}={wanted!r}"
        )
    if mine is None and wanted is not None and hasattr(parameter, key):
        setattr(parameter, key, wanted)


def _stripped(name: str, prefix: str) -> str:
    if not name.startswith(prefix):
        raise ParameterError(f"the name of parameter '{name}' does not begin with the prefix '{prefix}'")
    return name[len(prefix) :]


def _among(name: str, known: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=3)
    return f"; did you mean {', '.join(close)}?" if close else f"; there are {', '.join(known) or 'none'}"
