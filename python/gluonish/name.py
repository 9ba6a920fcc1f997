"""Names that are made up for what was given none: ``dense0``, ``dense1``, ... MXNet names symbols so.

Blocks that are made outside of a ``name_scope()`` are named by the current manager too, so a ``NameManager`` of its own
lets a program begin at ``dense0_`` again.

>>> import gluonish as mx
>>> with mx.name.Prefix("stage1_"):
...     mx.name.current().get(None, "conv"), mx.name.current().get("last", "conv")
('stage1_conv0', 'stage1_last')
"""

from contextvars import ContextVar, Token

__all__ = ["NameManager", "Prefix", "current"]


class NameManager:
    """Counts up for each hint. In a ``with`` block it is the current manager.

    >>> manager = NameManager()
    >>> manager.get(None, "conv"), manager.get(None, "conv"), manager.get("mine", "conv")
    ('conv0', 'conv1', 'mine')
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._tokens: list[Token[NameManager | None]] = []

    def get(self, name: str | None, hint: str) -> str:
        """The name, or the next one that the hint gives if there is none."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> "NameManager":  # noqa: PYI034 - Self needs Python 3.11
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exc_info: object) -> None:
        _current.reset(self._tokens.pop())


class Prefix(NameManager):
    """A manager that puts a prefix before every name, given or made up.

    >>> Prefix("net_").get(None, "dense")
    'net_dense0'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)


_current: ContextVar[NameManager | None] = ContextVar("gluonish_name_manager", default=None)
_outermost = NameManager()


def current() -> NameManager:
    """The manager of the innermost ``with`` block, or that of the process.

    >>> with NameManager() as manager:
    ...     current() is manager
    True
    """
    return _current.get() or _outermost
