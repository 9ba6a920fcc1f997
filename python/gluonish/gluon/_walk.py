"""Going through a network: the blocks below one, and their parameters, by the paths of attributes."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from gluonish.gluon._contained import contained
from gluonish.gluon._parameter import Parameter
from gluonish.gluon._state import Stateful

__all__ = ["by_path", "children", "holds", "own_parameters", "saved", "walk"]

GLUONS = frozenset({"_children", "_reg_params", "_forward_hooks", "_forward_pre_hooks"})  # containers of every block
_CONTAINERS = (list, tuple, dict)
_PLAIN = frozenset({int, float, bool, str, type(None), Parameter})  # what most attributes are, and no container


def children(block: Any) -> list[tuple[str, Any]]:
    """The children by name."""
    _adopt(block)
    return list(block._children.items())


def walk(block: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """The block and all below it, each once, by attribute path."""
    seen = set() if seen is None else seen
    if id(block) not in seen:
        seen.add(id(block))
        yield path, block
        for name, child in children(block):
            yield from walk(child, f"{path}.{name}" if path else name, seen)


def holds(block: Any, other: Any) -> bool:
    """Whether a block is another one, or above it."""
    stack = [block]
    while stack:
        one = stack.pop()
        if one is other:
            return True
        stack.extend(one._children.values())
    return False


def own_parameters(block: Any) -> dict[str, Parameter]:
    """Its own parameters by attribute; those that are no attributes by their names without the prefix."""
    _adopt(block)
    attributes: dict[str, Parameter] = block._reg_params
    known = {id(parameter) for parameter in attributes.values()}
    prefix = block._params.prefix
    others = {n.removeprefix(prefix): p for n, p in block._params.items() if id(p) not in known}
    return {**attributes, **others}


def by_path(block: Any, path: str = "", buffers: bool = False) -> Iterator[tuple[str, Parameter]]:
    """Parameters, and buffers that are saved, by attribute path; one with several paths comes several times."""
    below = children(block)
    own = own_parameters(block)
    if buffers:
        mine = block._gluonish
        own.update((name, buffer) for name, buffer in mine.buffers.items() if name not in mine.passing)
    for name, parameter in own.items():
        yield f"{path}.{name}" if path else name, parameter
    for name, child in below:
        yield from by_path(child, f"{path}.{name}" if path else name, buffers)


def saved(block: Any) -> dict[str, Parameter]:
    """What a file of the block has."""
    return dict(by_path(block, buffers=True))


def _adopt(block: Any) -> None:
    """Registers what plain lists and dicts hold, which may have changed since the last time."""
    found: dict[str, Any] = {}
    for name, value in block.__dict__.items():
        if value.__class__ not in _PLAIN and isinstance(value, _CONTAINERS) and value and name not in GLUONS:
            found.update(contained(value, name, (Stateful, Parameter)))
    adopted: set[str] = block._gluonish.contained
    if not found and not adopted:
        return
    for name in list(adopted):
        if found.get(name) is not block._children.get(name):
            adopted.discard(name)
            block._children.pop(name, None)
    known = {id(child) for child in block._children.values()}
    fresh = {name: one for name, one in found.items() if isinstance(one, Stateful) and id(one) not in known}
    for name, child in fresh.items():
        adopted.add(name)
        block.register_child(child, name)
    if fresh:
        _warn_of_containers(block, fresh)
    for name, one in found.items():
        if isinstance(one, Parameter) and not one._named:
            one.name, one._named = f"{block._params.prefix}{name.replace('.', '_')}", True
            block._params.update({one.name: one})


def _warn_of_containers(block: Any, names: Mapping[str, Any]) -> None:
    warnings.warn(
        f"{block._gluonish.label}: '{next(iter(names)).partition('.')[0]}' is a plain container with Blocks. They are "
        f"registered as {', '.join(names)}; nn.Sequential or nn.HybridSequential, or register_child(), say so",
        UserWarning,
        stacklevel=4,
    )
