"""What a module says about a name that it does not have."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gluonish.errors import UnsupportedError

__all__ = ["MissingNameError", "explained"]


class MissingNameError(UnsupportedError, AttributeError):
    """A name of MXNet's that waits for something; ``hasattr`` is false of it, as of other names that are not there."""


def explained(module: str, known: Iterable[str], waiting: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that says what a name of MXNet's waits for, or what looks like the missing name.

    The names that wait are those of `_waiting`; a module outside of its tables has its own in ``waiting``: names,
    separated by spaces, by what they wait for.

    >>> explained("gluonish.nd", ["softmax", "sum"])("softmx")
    Traceback (most recent call last):
        ...
    AttributeError: gluonish.nd has no 'softmx'; did you mean softmax?
    >>> explained("gluonish.nd.contrib", ["quadratic"])("box_nms")
    Traceback (most recent call last):
        ...
    gluonish._missing.MissingNameError: gluonish.nd.contrib has no 'box_nms' yet: it waits for detection...
    """

    def look_up(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{module} has no {name!r}")
        from gluonish._waiting import reason

        why = reason(f"{module}.{name}".removeprefix("gluonish."))
        why = why or next((why for why, names in (waiting or {}).items() if name in names.split()), None)
        if why is not None:
            raise MissingNameError(f"{module} has no {name!r} yet: it waits for {why}")
        from difflib import get_close_matches

        close = get_close_matches(name, list(known), n=3)
        contrib = sys.modules.get(f"{module}.contrib")
        hint = f"did you mean {', '.join(close)}?" if close else "the README says what is built so far"
        hint = f"it is {module}.contrib.{name}" if contrib is not None and name in dir(contrib) else hint
        raise AttributeError(f"{module} has no {name!r}; {hint}")

    return look_up
