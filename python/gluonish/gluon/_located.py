"""Errors inside of a forward say which block they happened in: ``net.features.3 (Conv2D)``."""

import itertools
from typing import Any

from gluonish.errors import MXNetError

__all__ = ["add_place"]

_BLOCKS = "_gluonish_blocks"  # of an exception: the blocks that it went through, innermost first
_TEXT = "_gluonish_text"  # of an exception: what it said before


def add_place(error: Exception, block: Any, outermost: bool) -> None:
    """Adds a block to the path that an exception tells, on its way from the innermost to the outermost one.

    Errors of this package tell it in their text, others in a note, where Python has those.
    """
    inward: list[Any] = error.__dict__.setdefault(_BLOCKS, [])
    inward.insert(0, block)
    paths = inward[0]._gluonish.paths
    for parent, child in itertools.pairwise(inward):
        paths = [f"{path}.{name}" for path in paths for name in _names(parent, child)]
    place = f"in block {' or '.join(paths[:3])} ({type(inward[-1]).__name__})"
    if isinstance(error, MXNetError) and not isinstance(error, OSError) and len(error.args) == 1:
        text = error.__dict__.setdefault(_TEXT, str(error.args[0]))
        if "in block " not in text:  # an error of queued work knows the block already
            error.args = (f"{text}\n  {place}",)
    elif hasattr(error, "add_note"):
        notes = [note for note in getattr(error, "__notes__", []) if not note.startswith("in block ")]
        error.__notes__ = [*notes, place]
    if outermost:  # somebody may raise the same object again
        error.__dict__.pop(_BLOCKS)
        error.__dict__.pop(_TEXT, None)


def _names(parent: Any, child: Any) -> list[str]:
    names = [str(name) for name, block in parent._children.items() if block is child]
    return names or [f"<{type(child).__name__}>"]
