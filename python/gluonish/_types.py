"""Names for types that annotations use."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict, Union

import numpy.typing as npt

from gluonish._core import NDArray

__all__ = ["ArrayLike", "DTypeLike", "Face", "Number", "ProfilerEvent", "Setting", "Shape"]

Number: TypeAlias = float | int | bool
Shape: TypeAlias = tuple[int, ...]
DTypeLike: TypeAlias = npt.DTypeLike
ArrayLike: TypeAlias = Union[NDArray, npt.ArrayLike]  # noqa: UP007 - NumPy's is no class, so `|` would fail
Face: TypeAlias = Callable[..., Any]


class ProfilerEvent(TypedDict):
    """An operation that ran; times in nanoseconds."""

    op: str
    device: str
    thread: int
    queued: int
    start: int
    end: int
    bytes: int


class Setting(TypedDict):
    """An environment variable of the package."""

    name: str
    default: str
    doc: str
    value: str
