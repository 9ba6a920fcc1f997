"""Factors of learning rates and decays for groups of parameters, by name."""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from gluonish.errors import ArgumentError

__all__ = ["Groups"]

NO_DECAY = "norms_and_biases"


class Groups:
    """The groups of an optimizer, and what they make of each weight.

    >>> groups = Groups([{"match": ".*weight", "lr_mult": 0.5}], "norms_and_biases", "SGD")
    >>> groups.of(0, "dense0_weight", (2, 3)), groups.of(1, "dense0_bias", (2,))
    ((0.5, 1.0), (1.0, 0.0))
    """

    def __init__(self, groups: Sequence[Mapping[str, Any]], no_decay: str | None, owner: str) -> None:
        if no_decay not in {None, NO_DECAY}:
            raise ArgumentError(f"{owner}: no_decay={no_decay!r} is not valid: expected {NO_DECAY!r} or None")
        self._no_decay, self._owner = no_decay is not None, owner
        self._groups = [self._checked(group) for group in groups]
        self._known: dict[tuple[Hashable, str | None], tuple[float, float]] = {}

    def __bool__(self) -> bool:
        return self._no_decay or bool(self._groups)

    def _checked(self, group: Mapping[str, Any]) -> tuple[str, float, float]:
        odd = set(group) - {"match", "lr_mult", "wd_mult"}
        if odd or not isinstance(group.get("match"), str) or len(group) < 2:
            raise ArgumentError(
                f"{self._owner}: the parameter group {dict(group)!r} is not valid: expected 'match', a pattern of "
                "names, with 'lr_mult' or 'wd_mult'"
            )
        try:
            re.compile(group["match"])
        except re.error as error:
            raise ArgumentError(f"{self._owner}: the pattern {group['match']!r} is not valid: {error}") from None
        return group["match"], float(group.get("lr_mult", 1.0)), float(group.get("wd_mult", 1.0))

    def check(self, names: Sequence[str]) -> None:
        """Raises where a pattern is about none of the weights: it has a mistake, and would silently do nothing."""
        for pattern, _, _ in self._groups:
            if not any(re.match(pattern, name) for name in names):
                shown = ", ".join(map(repr, names[:4])) + ", ..." * (len(names) > 4)
                raise ArgumentError(
                    f"{self._owner}: the pattern {pattern!r} of param_groups matches the beginning of no name: there "
                    f"are {shown}"
                )

    def of(self, index: Hashable, name: str | None, shape: Sequence[int] | None) -> tuple[float, float]:
        """The factors of learning rate and decay of a weight."""
        if (index, name) in self._known:
            return self._known[index, name]
        if name is None:
            raise ArgumentError(
                f"{self._owner}: param_groups and no_decay go by names, and weight {index!r} has none; give param_dict "
                "or param_idx2name"
            )
        lr = wd = 1.0
        for pattern, by_lr, by_wd in self._groups:
            if re.match(pattern, name):
                lr, wd = lr * by_lr, wd * by_wd
        small = shape is not None and len(shape) < 2
        if self._no_decay and (small or name.endswith(("bias", "beta", "gamma"))):
            wd = 0.0
        made = self._known[index, name] = (lr, wd)
        return made
