"""What ``collect_params`` calls parameters, where several of a network have the same name."""

from collections.abc import Iterable
from itertools import count

from gluonish.gluon._parameter import Parameter

__all__ = ["full_names"]


def full_names(paths: Iterable[tuple[str, Parameter]], prefix: str) -> dict[str, tuple[str, Parameter]]:
    """Parameters and their first paths, by what ``collect_params`` calls them.

    That is their own names. A copy of a block has the names of the block: where one network holds both, those that
    come later are called after their paths.

    >>> online, target = Parameter("dense0_weight"), Parameter("dense0_weight")
    >>> list(full_names([("online.weight", online), ("target.weight", target)], "net_"))
    ['dense0_weight', 'net_target_weight']
    """
    once: dict[int, tuple[str, Parameter]] = {}
    for path, parameter in paths:
        once.setdefault(id(parameter), (path, parameter))
    taken = {parameter.name for _, parameter in once.values()}
    found: dict[str, tuple[str, Parameter]] = {}
    for path, parameter in once.values():
        name = parameter.name
        if name in found:
            name = _free(f"{prefix}{path.replace('.', '_')}", taken)
            taken.add(name)
        found[name] = path, parameter
    return found


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where that is another's."""
    numbered = (f"{name}{number}" for number in count(1))
    return name if name not in taken else next(one for one in numbered if one not in taken)
