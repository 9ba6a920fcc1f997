"""Initializers that choose by the parameter's name: from a file, or by patterns."""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.init.base import Initializer, create

__all__ = ["Load", "Mixed"]


class Load(Initializer):
    """Values from a file of arrays, or from a dict of them, by the parameters' names.

    Parameters
    ----------
    param
        A path or a dict; "arg:" and "aux:" before a name are dropped.
    default_init
        For parameters that are not there; None: they are an error.
    verbose
        Log where each parameter came from.

    >>> x = nd.zeros(2)
    >>> Load({"arg:fc_weight": nd.array([3, 4])})("fc_weight", x)
    >>> x.tolist()
    [3.0, 4.0]
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        super().__init__()
        found = param if isinstance(param, Mapping) else nd.load(param)
        if not isinstance(found, Mapping):
            raise ArgumentError(f"Load: {param!r} holds arrays without names; a file or a dict of named ones is needed")
        self.param = {name.removeprefix("arg:").removeprefix("aux:"): value for name, value in found.items()}
        self.default_init = None if default_init is None else create(default_init)
        self.verbose = verbose

    def dumps(self) -> str:
        raise ArgumentError("dumps: Load holds arrays, which have no place in JSON")

    def __call__(self, desc: str, arr: NDArray) -> None:
        if not self._load(desc, arr):
            self._default(desc)(desc, arr)

    def fill(self, desc: str, array: NDArray) -> None:
        if not self._load(desc, array):
            self._default(desc).fill(desc, array)

    def _load(self, name: str, arr: NDArray) -> bool:
        value = self.param.get(name)
        if value is None:
            return False
        if tuple(value.shape) != arr.shape:
            raise ShapeError(f"Load: '{name}' has shape {arr.shape}, and {tuple(value.shape)} in what is loaded")
        arr[...] = value
        if self.verbose:
            logging.getLogger("gluonish.init").info("initialized %s by loading", name)
        return True

    def _default(self, name: str) -> Initializer:
        if self.default_init is None:
            raise ArgumentError(f"Load: '{name}' is not in what is loaded, and there is no default_init")
        if self.verbose:
            logging.getLogger("gluonish.init").info("initialized %s by default", name)
        return self.default_init

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Load({len(self.param)} arrays, default_init={self.default_init})"


class Mixed(Initializer):
    """One initializer for each pattern of names: the first pattern that a name begins to match with counts.

    >>> x, y = nd.ones(2), nd.ones(2)
    >>> init = Mixed(["bias", ".*"], [create("zeros"), create("constant", value=3)])
    >>> init.fill("bias", x), init.fill("weight", y)
    (None, None)
    >>> x.tolist(), y.tolist()
    ([0.0, 0.0], [3.0, 3.0])
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        if len(patterns) != len(initializers):
            raise ArgumentError(
                f"Mixed: {len(patterns)} patterns and {len(initializers)} initializers: expected as many of each"
            )
        super().__init__()
        self.map = [(re.compile(p), create(i)) for p, i in zip(patterns, initializers, strict=True)]

    def dumps(self) -> str:
        raise ArgumentError("dumps: Mixed is not registered, and has no JSON")

    def __call__(self, desc: str, arr: NDArray) -> None:
        self._chosen(desc)(desc, arr)

    def fill(self, desc: str, array: NDArray) -> None:
        self._chosen(desc).fill(desc, array)

    def _chosen(self, name: str) -> Initializer:
        for pattern, initializer in self.map:
            if pattern.match(name):
                return initializer
        raise ArgumentError(f"Mixed: '{name}' matches none of the patterns; a last one '.*' has the default")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mixed) and self.map == other.map

    def __hash__(self) -> int:
        return hash(tuple(self.map))

    def __repr__(self) -> str:
        return f"Mixed({', '.join(f'{p.pattern!r}: {i}' for p, i in self.map)})"
