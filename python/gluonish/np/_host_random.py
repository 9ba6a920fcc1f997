"""Distributions that have no native op: NumPy draws them on the host, from a generator that our seed starts."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._missing import explained
from gluonish.np._fallback import on_host

__all__ = ["RandomState", "default_rng", "drawn_on_host"]


def drawn_on_host(name: str, known: Iterable[str]) -> Any:
    """What NumPy's random module or its generators call so; a method draws from a fresh generator at each call."""
    if name in ("RandomState", "default_rng"):
        return globals()[name]
    if not name.startswith("_") and callable(getattr(numpy.random.Generator, name, None)):
        return on_host(_method(name), f"np.random.{name}")
    if isinstance(getattr(numpy.random, name, None), type):  # Generator, PCG64, ...: for those who want NumPy's own
        return getattr(numpy.random, name)
    return explained("gluonish.np.random", known)(name)


def _method(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(numpy.random.default_rng(_words()), name)(*args, **kwargs)

    call.__name__ = name
    call.__doc__ = getattr(numpy.random.Generator, name).__doc__
    return call


def _words() -> list[int]:
    """Numbers of our own sequence, to start a generator of NumPy's."""
    words = _core.invoke("random_randint", [], {"low": 0, "high": 2**32, "shape": (4,), "dtype": "int64"})
    numbers: list[int] = words.asnumpy().tolist()
    return numbers


class HostGenerator:
    """A generator of NumPy's whose methods give arrays of this package. It draws on the host, apart from our seed."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._source, name)
        if name.startswith("_") or not callable(value):
            return value
        hosted = on_host(value, f"{type(self._source).__name__}.{name}", writes=name == "shuffle", told=True)
        setattr(self, name, hosted)
        return hosted

    def __repr__(self) -> str:
        return f"<{self._source!r}, giving arrays of gluonish>"


def default_rng(seed: Any = None) -> HostGenerator:
    """A generator of NumPy's that gives our arrays; without a seed it starts from our own sequence.

    >>> from gluonish import np
    >>> np.random.default_rng(7).integers(10, size=3).tolist()
    [9, 6, 6]
    """
    return HostGenerator(numpy.random.default_rng(_words() if seed is None else seed))


def RandomState(seed: Any = None) -> HostGenerator:
    """NumPy's older generator, giving our arrays; without a seed it starts from our own sequence.

    >>> from gluonish import np
    >>> np.random.RandomState(7).randint(10, size=3).tolist()
    [4, 9, 6]
    """
    return HostGenerator(numpy.random.RandomState(_words() if seed is None else seed))
