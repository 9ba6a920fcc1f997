"""What every initializer is: its arguments as JSON, the rule of names, and how to write one."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from gluonish._core import NDArray
from gluonish._create import array_of
from gluonish._registry import Registry
from gluonish.autograd import pause
from gluonish.errors import ArgumentError, UnsupportedError

__all__ = ["REGISTRY", "InitDesc", "Initializer", "create", "register"]


class InitDesc(str):
    """The name of a parameter, with what else is known about it.

    Parameters
    ----------
    attrs
        Attributes of the variable; ``attrs["__init__"]`` is its own initializer and wins.
    global_init
        The initializer for parameters that have none.

    >>> desc = InitDesc("dense0_bias", {"__init__": "ones"})
    >>> desc.endswith("bias"), desc.attrs
    (True, {'__init__': 'ones'})
    """

    __slots__ = ("__dict__",)
    attrs: dict[str, Any]
    global_init: "Initializer | None"

    def __new__(  # noqa: PYI034 - Self needs Python 3.11
        cls, name: str, attrs: Mapping[str, Any] | None = None, global_init: "Initializer | None" = None
    ) -> "InitDesc":
        made = super().__new__(cls, name)
        made.attrs, made.global_init = dict(attrs or {}), global_init
        return made


def rms(array: NDArray) -> str:
    """What ``set_verbosity`` prints of an array unless told otherwise: the root of the mean of its squares."""
    return str((array.astype("float64") ** 2).mean().item() ** 0.5)


class Initializer:
    """The base of all. One of your own overrides ``_init_weight(self, name, arr)`` and writes to ``arr[:]``.

    Keyword arguments are what ``dumps`` writes; hand ``super().__init__`` those of the constructor.

    >>> import gluonish as mx
    >>> @mx.init.register
    ... class Sevens(mx.init.Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = 7
    >>> x = mx.nd.zeros(2)
    >>> mx.init.create("sevens").fill("anything", x)
    >>> x.tolist()
    [7.0, 7.0]
    """

    # The end of a name -> the method that fills such a parameter. The first that fits counts.
    _ENDS: ClassVar[dict[str, str]] = {
        "weight": "_init_weight",
        "bias": "_init_bias",
        "gamma": "_init_gamma",
        "beta": "_init_beta",
        "min": "_init_zero",
        "max": "_init_one",
        "weight_quantize": "_init_quantized_weight",
        "bias_quantize": "_init_quantized_bias",
        "moving_mean": "_init_zero",
        "running_mean": "_init_zero",
        "moving_var": "_init_one",
        "running_var": "_init_one",
        "moving_inv_var": "_init_zero",
        "moving_avg": "_init_zero",
    }

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], object] = rms

    def dumps(self) -> str:
        """The JSON of name and arguments, from which ``create`` makes an equal initializer.

        >>> Initializer(sigma=0.5).dumps()
        '["initializer", {"sigma": 0.5}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs], default=_plain)

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], object] | None = None
    ) -> "Initializer":
        """With ``verbose``, each parameter that is filled is logged, with what ``print_func`` says of it."""
        self._verbose = verbose
        self._print_func = print_func or rms
        return self

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Fills an array by the end of its name, or by the initializer in the description's attributes."""
        desc, array = _described(desc, "Initializer"), array_of(arr, "Initializer")
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__")
        if own:
            chosen = create(own)
            chosen.fill(desc, array)
            if chosen is not self:
                self._say(desc, str(own), array)
            return
        end = next((end for end in self._ENDS if desc.endswith(end)), None)
        with pause():
            getattr(self, self._ENDS[end] if end else "_init_default")(desc, array)
        self._say(desc, end or "default", array)

    def fill(self, desc: str, array: NDArray) -> None:
        """Fills an array whatever its name is: what Gluon does with the initializer that it chose for a parameter.

        >>> from gluonish import nd
        >>> bias = nd.ones(3)
        >>> create("uniform").fill(InitDesc("dense0_bias"), bias)
        >>> bool(abs(bias).max() <= 0.07)
        True
        """
        desc, array = _described(desc, "Initializer"), array_of(array, "Initializer")
        with pause():
            self._init_weight(desc, array)
        self._say(desc, type(self).__name__.lower(), array)

    def _say(self, desc: str, how: str, array: NDArray) -> None:
        if self._verbose:
            logging.getLogger("gluonish.init").info("initialized %s as %s: %s", desc, how, self._print_func(array))

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise UnsupportedError(
            f"{type(self).__name__}: cannot fill '{name}': _init_weight(self, name, arr) is not written"
        )

    def _init_zero(self, _: str, arr: NDArray) -> None:
        arr[...] = 0

    def _init_one(self, _: str, arr: NDArray) -> None:
        arr[...] = 1

    def _init_bias(self, name: str, arr: NDArray) -> None:
        self._init_zero(name, arr)

    def _init_beta(self, name: str, arr: NDArray) -> None:
        self._init_zero(name, arr)

    def _init_gamma(self, name: str, arr: NDArray) -> None:
        self._init_one(name, arr)

    def _init_quantized_weight(self, _: str, arr: NDArray) -> None:
        from gluonish.nd import random

        arr[...] = random.randint(-127, 127, shape=arr.shape, dtype="int32", ctx=arr.context)

    def _init_quantized_bias(self, name: str, arr: NDArray) -> None:
        self._init_zero(name, arr)

    def _init_default(self, name: str, _: NDArray) -> None:
        ends = ", ".join(f"'{end}'" for end in list(self._ENDS)[:4])
        raise ArgumentError(
            f"{type(self).__name__}: nothing is known about '{name}': names that end in {ends} have defaults; give "
            "the parameter an initializer of its own (init=), or call fill(name, array), which takes any name"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self.dumps() == other.dumps()

    def __hash__(self) -> int:
        return hash(self.dumps())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._kwargs.items())})"


REGISTRY: Registry[Initializer] = Registry("initializer", Initializer)


def register(klass: type) -> type:
    """Makes a class of initializers known by its name, in lower case; a decorator.

    >>> @register
    ... class Twos(Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = 2
    >>> create("twos")
    Twos()
    """
    return REGISTRY.register(klass)


def create(initializer: Any, **kwargs: Any) -> Initializer:
    """An initializer from an instance, a name with arguments, or the JSON of ``dumps``; the default for None.

    >>> create("normal", sigma=0.1), create('["constant", {"value": 3}]'), create(None)
    (Normal(sigma=0.1), Constant(value=3), Uniform(scale=0.07))
    """
    return REGISTRY.create("uniform" if initializer is None else initializer, **kwargs)


def _described(name: Any, function: str) -> InitDesc:
    if isinstance(name, InitDesc):
        return name
    if not isinstance(name, str):
        raise ArgumentError(f"{function}: the name of the parameter is needed first, got {type(name).__name__}")
    return InitDesc(name)


def _plain(value: Any) -> Any:
    """What JSON can hold, of arguments that are arrays or initializers."""
    if isinstance(value, Initializer):
        return value.dumps()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise ArgumentError(f"dumps: {value!r} has no JSON form")
