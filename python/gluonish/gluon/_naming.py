"""Names of blocks and of their parameters as Gluon 1.x gives them: ``dense0_weight``, ``net0_dense0_weight``.

A block is called after its class and a number. The numbers count in the ``name_scope()`` that it is made in; outside of
any, ``mx.name.NameManager`` counts, in the whole program or in a ``with`` block of its own.
"""

from contextvars import ContextVar, Token
from typing import Protocol

from gluonish import name as names
from gluonish.gluon._parameter_dict import ParameterDict
from gluonish.gluon._state import State

__all__ = ["NameScope", "named"]


class Named(Protocol):
    """What a scope needs of its block."""

    _empty_prefix: bool
    _gluonish: State

    @property
    def prefix(self) -> str: ...
    @property
    def params(self) -> ParameterDict: ...


_scope: ContextVar[Named | None] = ContextVar("gluonish_name_scope", default=None)


class NameScope:
    """A ``with`` block in which new blocks are children of one: their names begin with its prefix.

    A block of no prefix (``prefix=""``) makes no scope: what is made in it is named as if it were outside.
    """

    __slots__ = ("_before", "_block")

    def __init__(self, block: Named) -> None:
        self._block = block
        self._before: list[Token[Named | None] | None] = []

    def __enter__(self) -> "NameScope":  # noqa: PYI034 - Self needs Python 3.11
        self._before.append(None if self._block._empty_prefix else _scope.set(self._block))
        return self

    def __exit__(self, *exc_info: object) -> None:
        token = self._before.pop()
        if token is not None:
            _scope.reset(token)


def named(hint: str, prefix: str | None, params: ParameterDict | None) -> tuple[str, ParameterDict]:
    """The prefix of a new block, and the dict for its parameters, which may share those of another block."""
    parent = _scope.get()
    if prefix is None:
        prefix = f"{_next(hint, parent)}_"
    full = prefix if parent is None else parent.prefix + prefix
    if params is not None:
        return full, ParameterDict(params.prefix, params)
    if parent is None:
        return full, ParameterDict(full)
    return full, ParameterDict(parent.params.prefix + prefix, parent.params._shared)


def _next(hint: str, parent: Named | None) -> str:
    if parent is None:
        return names.current().get(None, hint)
    counters = parent._gluonish.counters
    number = counters[hint] = counters.get(hint, -1) + 1
    return f"{hint}{number}"
