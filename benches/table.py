"""Results of a run, and the table that is printed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from harness import OURS, Case, Mean


def ratio_of(values: Mapping[str, float]) -> float:
    """The best peer's value over ours."""
    return min(v for name, v in values.items() if name != OURS) / values[OURS]


@dataclass
class Results:
    """What each library measured in every round of a case, the last error of each, and the peers not installed."""

    rounds: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    errors: dict[tuple[str, str], str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)

    def add(self, case: str, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """One round: the answer of each library, its value or its error."""
        self.rounds.setdefault(case, []).append({name: a["value"] for name, a in answers.items() if "value" in a})
        self.errors.update({(case, name): a["error"] for name, a in answers.items() if "error" in a})

    def median(self, case: Case) -> dict[str, float]:
        """The round that counts, of those with the most answers: that of the median ratio, or of our value."""
        rounds = [values for values in self.rounds.get(case.name, []) if OURS in values]
        most = max(map(len, rounds), default=0)
        judged = [values for values in rounds if len(values) == most]
        judged.sort(key=ratio_of if most > 1 else lambda values: values[OURS])
        return judged[(len(judged) - 1) // 2] if judged else {}

    def ours(self, case: Case) -> float | None:
        return self.median(case).get(OURS)

    def best_peer(self, case: Case) -> tuple[str, float] | None:
        peers = [item for item in self.median(case).items() if item[0] != OURS]
        return min(peers, key=lambda item: item[1], default=None)

    def ratio(self, case: Case) -> float | None:
        values = self.median(case)
        return ratio_of(values) if len(values) > 1 else None

    def ours_failed(self) -> bool:
        return any(library == OURS for _, library in self.errors)


def amount(value: float | None, unit: str) -> str:
    """A quantity in three digits: 93.1 ns, 12.4 MB, 1.02 x."""
    if value is None:
        return "-"
    if unit != "s":
        return f"{value:.3g} {unit}"
    for factor, name in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if value * factor < 999.5:
            return f"{value * factor:.3g} {name}"
    return f"{value:.3g} s"


def verdict(case: Case, results: Results) -> str:
    """Whether every bound that could be judged was kept, and whether one could not."""
    ours, ratio = results.ours(case), results.ratio(case)
    kept: list[bool | None] = []
    if case.target is not None:
        kept.append(None if ratio is None else ratio >= case.target)
    if case.limit is not None:
        kept.append(None if ours is None else ours <= case.limit)
    if False in kept:
        return "MISSED"
    return "?" if None in kept else "ok" if kept else ""


def bounds(case: Case) -> str:
    said = [
        f">= {case.target:g}" if case.target is not None else "",
        f"< {amount(case.limit, case.unit)}" if case.limit is not None else "",
    ]
    return ", ".join(text for text in said if text)


def case_row(case: Case, results: Results) -> list[str]:
    peer, ratio = results.best_peer(case), results.ratio(case)
    return [
        case.name,
        amount(results.ours(case), case.unit),
        f"{amount(peer[1], case.unit)} {peer[0]}" if peer else "-",
        "-" if ratio is None else f"{ratio:.2f}",
        bounds(case),
        verdict(case, results),
    ]


def mean_row(mean: Mean, cases: list[Case], results: Results) -> list[str] | None:
    """The geometric mean, once every case of it has a ratio."""
    ratios = [results.ratio(c) for c in cases if c.name in mean.of]
    known = [r for r in ratios if r is not None]
    if len(known) < len(mean.of):
        return None
    value = math.exp(sum(map(math.log, known)) / len(known))
    kept = "" if mean.target is None else "ok" if value >= mean.target else "MISSED"
    return [mean.name, "", "", f"{value:.2f}", "" if mean.target is None else f">= {mean.target:g}", kept]


def print_table(group: ModuleType, cases: list[Case], results: Results) -> None:
    rows = [[group.__name__.removeprefix("bench_"), "ours", "best peer", "peer/ours", "wanted", ""]]
    rows += [case_row(c, results) for c in cases]
    rows += [row for mean in getattr(group, "MEANS", []) if (row := mean_row(mean, cases, results))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print()
    for i, row in enumerate(rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        if i == 0:
            print("  ".join("-" * width for width in widths))
    for library in sorted(results.missing):
        print(f"  {library} is not installed: `make peers`, or PEER_{library.upper()}=/path/to/python")
    for (case, library), error in sorted(results.errors.items()):
        print(f"  {library} failed on {case}: {error}")
