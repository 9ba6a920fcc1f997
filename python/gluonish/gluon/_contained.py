"""Blocks and parameters that a block keeps in plain lists, tuples and dicts."""

from collections.abc import Iterator
from typing import Any

__all__ = ["contained"]


def contained(value: Any, path: str, kinds: tuple[type, ...]) -> Iterator[tuple[str, Any]]:
    """What a container holds of some classes, also inside of others, with its path: ``layers.0``, ``heads.left``.

    >>> list(contained([1, "two", {"x": (3,)}], "items", (int,)))
    [('items.0', 1), ('items.2.x.0', 3)]
    """
    wanted = (*kinds, list, tuple, dict)
    stack: list[tuple[str, Any]] = [(path, value)]
    seen: set[int] = set()
    while stack:
        at, item = stack.pop()
        if isinstance(item, kinds):
            yield at, item
        elif id(item) not in seen:
            seen.add(id(item))
            pairs = item.items() if isinstance(item, dict) else enumerate(item)
            stack.extend(reversed([(f"{at}.{key}", one) for key, one in pairs if isinstance(one, wanted)]))
