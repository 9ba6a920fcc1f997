"""A setting that is changed now and can be put back at the end of a ``with`` block."""

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Changed"]

T = TypeVar("T")


class Changed(Generic[T]):
    """What a setter returns: ``before`` is the old value, and leaving a ``with`` block puts it back.

    >>> value = [1]
    >>> def put(new):
    ...     value[0], old = new, value[0]
    ...     return old
    >>> with Changed(put, 2):
    ...     print(value[0])
    2
    >>> value[0], Changed(put, 5).before
    (1, 1)
    """

    __slots__ = ("_setter", "before")

    def __init__(self, setter: Callable[[T], T], value: T) -> None:
        self._setter = setter
        self.before = setter(value)

    def __enter__(self) -> "Changed[T]":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._setter(self.before)

    def __repr__(self) -> str:
        return f"<changed from {self.before}>"
