"""Elementwise functions with arguments that their rows do not have.

``np.add`` and the like are native callables, without a Python frame: a plain call of a small array takes 0.1
microseconds, and one through a function here twice that. So the core asks here only when it meets an argument that it
does not know.
"""

from collections.abc import Mapping
from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish._core import NDArray
from gluonish.errors import ArgumentError

__all__ = ["ARGUMENTS", "beyond"]

ARGUMENTS = ("out", "where", "casting", "order", "dtype", "subok")


def beyond(name: str, inputs: tuple[Any, ...], given: Mapping[str, Any]) -> Any:
    """A function of `np` with arguments of NumPy's ufuncs; NotImplemented where it is none, or they are others.

    >>> from gluonish import np
    >>> x = np.array([1.0, 2.0])
    >>> beyond("add", (x, x), {"dtype": "float64"}).dtype, beyond("add", (x, x), {"no_such": 1})
    (dtype('float64'), NotImplemented)
    >>> beyond("divide", (1.0, np.array([0.0, 2.0])), {"out": x, "where": np.array([False, True])}).tolist()
    [1.0, 0.5]
    """
    ufunc = getattr(numpy, name, None)
    if not isinstance(ufunc, numpy.ufunc) or not given.keys() <= set(ARGUMENTS):
        return NotImplemented
    from gluonish.np._dispatch import call_ufunc
    from gluonish.np.creation import asarray

    how = {key: value for key, value in given.items() if value is not None}
    if "out" in how and not isinstance(how["out"], tuple):
        how["out"] = (how["out"],)
    if len(how.get("out", (None,))) != 1:
        raise ArgumentError(f"{name}: 'out' must be one array, got {len(how['out'])}")
    if not any(isinstance(value, NDArray) for value in inputs):
        inputs = tuple(asarray(value) for value in inputs)
    return call_ufunc(ufunc, "__call__", inputs, how)
