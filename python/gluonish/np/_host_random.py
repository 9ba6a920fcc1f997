"""Distributions that have no native op: NumPy draws them on the host, from a generator that our seed starts."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._missing import explained
from gluonish.np._fallback import on_host

__all__ = ["drawn_on_host"]


def drawn_on_host(name: str, known: Iterable[str]) -> Any:
    """NumPy's method of this name, drawing from a fresh generator at each call."""
    if name.startswith("_") or not callable(getattr(numpy.random.Generator, name, None)):
        return explained("gluonish.np.random", known)(name)
    return on_host(_method(name), f"np.random.{name}")


def _method(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        words = _core.invoke("random_randint", [], {"low": 0, "high": 2**32, "shape": (4,), "dtype": "int64"})
        generator = numpy.random.default_rng(words.asnumpy().tolist())
        return getattr(generator, name)(*args, **kwargs)

    call.__name__ = name
    call.__doc__ = getattr(numpy.random.Generator, name).__doc__
    return call
