"""Whether weights that have numbers are those that had the same numbers before, as far as their names tell."""

import re
from collections.abc import Hashable, Mapping

from gluonish.errors import FormatError

__all__ = ["check_order"]

_COUNTED = re.compile(r"([A-Za-z]+)(\d{1,9})_")


def check_order(saved: Mapping[Hashable, str], now: Mapping[Hashable, str]) -> None:
    """Raises where weights stand in another order than they were saved in: states would go to the wrong ones.

    Names as such may differ: an equal network that is made later has ``dense2_weight`` for ``dense0_weight``. So their
    counters are compared by rank.

    >>> check_order({0: "dense0_weight", 1: "dense1_weight"}, {0: "dense4_weight", 1: "dense7_weight"})
    >>> check_order({0: "dense0_weight", 1: "dense1_weight"}, {0: "dense1_weight", 1: "dense0_weight"})
    Traceback (most recent call last):
        ...
    gluonish.errors.FormatError: set_states: weight 0 was 'dense0_weight' and is 'dense1_weight' now: ...
    """
    both = {key: name for key, name in now.items() if key in saved}
    before, after = _ranked({key: saved[key] for key in both}), _ranked(both)
    for key, name in before.items():
        if name != after[key] and name in after.values():
            raise FormatError(
                f"set_states: weight {key!r} was {saved[key]!r} and is {now[key]!r} now: the states were saved for "
                "weights in another order; give the trainer its parameters in that order"
            )


def _ranked(names: Mapping[Hashable, str]) -> dict[Hashable, str]:
    """Names with each counter replaced by its rank among those of the same scope and kind of block."""
    parts = {key: _COUNTED.split(name) for key, name in names.items()}  # text, kind, counter, text, ..., text
    made = {key: part[0] for key, part in parts.items()}
    for level in range(1, max(map(len, parts.values()), default=0), 3):
        reached = [key for key, part in parts.items() if len(part) > level]
        found: dict[str, set[int]] = {}
        for key in reached:
            found.setdefault(made[key] + parts[key][level], set()).add(int(parts[key][level + 1]))
        ranks = {place: {count: rank for rank, count in enumerate(sorted(own))} for place, own in found.items()}
        for key in reached:
            place = made[key] + parts[key][level]
            made[key] = f"{place}{ranks[place][int(parts[key][level + 1])]}_{parts[key][level + 2]}"
    return made
