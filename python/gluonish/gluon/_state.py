"""What a block keeps for itself beside the attributes that Gluon's blocks have.

All of it stands in one attribute, ``_gluonish``, and what works on it are functions: people subclass blocks, and their
own ``_load``, ``_label`` or ``_buffers`` must not meet ours.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from gluonish.gluon._errors import NotMadeError
from gluonish.gluon._parameter import Constant

__all__ = ["State", "Stateful", "guard", "place", "unmade"]

_MANY = 3  # paths of a block that messages tell


@dataclass
class State:
    """The state of one block."""

    root: str  # what its path is while no other block holds it
    paths: list[str] = field(default_factory=list)  # from the outermost blocks that hold it; for messages
    label: str = ""  # the same with its class
    holders: list[tuple[Any, str]] = field(default_factory=list)  # weak references to these blocks, and its name there
    counters: dict[str, int] = field(default_factory=dict)  # of the names of blocks that are made in its name_scope()
    contained: set[str] = field(default_factory=set)  # names of children that plain lists and dicts hold
    buffers: dict[str, Constant] = field(default_factory=dict)
    passing: set[str] = field(default_factory=set)  # names of buffers that are not saved
    backward_hooks: dict[int, Callable[..., Any]] = field(default_factory=dict)
    pinned: bool | None = None  # False where eval() pinned it to predict mode
    settled: bool = True  # whether nothing is left to do before a forward
    guarded: bool = False  # whether a call has more to do than forward
    functions: Any = None  # what hybrid_forward gets instead of `nd`, while its calls are watched

    def copied(self) -> "State":
        """The same for another block, which changes apart from this one."""
        made = copy(self)
        for name, value in vars(made).items():
            if isinstance(value, list | dict | set):
                setattr(made, name, value.copy())
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "holders": []}


class _Unmade:
    """What stands for an attribute of a block until ``__init__`` makes it."""

    def __get__(self, block: Any, cls: type) -> Any:
        if block is None:
            return self
        raise NotMadeError(f"{cls.__name__}: its __init__ does not call super().__init__()")


def unmade() -> Any:
    """For an attribute that ``__init__`` makes: reading it before says so."""
    return _Unmade()


class Stateful:
    """The base of blocks, by which they are known where their own class is not."""

    _gluonish: State = unmade()


def guard(block: Any) -> None:
    """Looks whether calls of a block are more than its forward."""
    mine: State = block._gluonish
    hooks = block._forward_hooks or block._forward_pre_hooks or mine.backward_hooks
    mine.guarded = bool(hooks) or mine.pinned is not None or not mine.settled


def place(block: Any, holder: Any = None, name: str = "") -> None:
    """Tells a block, and all below it, where it is: under a name of another one, and where else it is held."""
    mine: State = block._gluonish
    held = [(one(), at) for one, at in mine.holders]
    held = [(other, at) for other, at in held if other is not None and other._children.get(at) is block]
    if holder is not None:
        held = [(other, at) for other, at in held if other is not holder or at != name] + [(holder, name)]
    mine.holders = [(ref(other), at) for other, at in held]
    mine.paths = [f"{path}.{at}" for other, at in held for path in other._gluonish.paths][-_MANY:] or [mine.root]
    mine.label = f"{' or '.join(mine.paths)} ({type(block).__name__})"
    for child_name, child in block._children.items():
        place(child, block, child_name)
