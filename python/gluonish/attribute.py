"""Attributes that symbols made inside a ``with`` block get.

>>> import gluonish as mx
>>> with mx.AttrScope(ctx_group="stage1"):
...     mx.attribute.current().get({"lr_mult": "2"})
{'ctx_group': 'stage1', 'lr_mult': '2'}
"""

from collections.abc import Mapping
from contextvars import ContextVar, Token

from gluonish.errors import ArgumentError

__all__ = ["AttrScope", "current"]


class AttrScope:
    """Attributes by name, all of them texts. An inner ``with`` block has those of the outer one, too.

    >>> with AttrScope(a="1", b="1"), AttrScope(b="2") as inner:
    ...     inner.get(None)
    {'a': '1', 'b': '2'}
    """

    def __init__(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            given: object = value
            if not isinstance(given, str):
                raise ArgumentError(f"AttrScope: {name}={value!r} is not valid: attributes are texts")
        self._own = kwargs
        self._attr = dict(kwargs)
        self._tokens: list[tuple[Token[AttrScope | None], dict[str, str]]] = []

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The attributes of something that has these of its own; its own win."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> "AttrScope":  # noqa: PYI034 - Self needs Python 3.11
        before = self._attr
        self._attr = {**current()._attr, **self._own}
        self._tokens.append((_current.set(self), before))
        return self

    def __exit__(self, *exc_info: object) -> None:
        token, self._attr = self._tokens.pop()
        _current.reset(token)


_current: ContextVar[AttrScope | None] = ContextVar("gluonish_attributes", default=None)
_outermost = AttrScope()


def current() -> AttrScope:
    """The innermost scope; outside of all, one without attributes.

    >>> current().get({"a": "1"})
    {'a': '1'}
    """
    return _current.get() or _outermost
