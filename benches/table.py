"""Results of a run, and the table that is printed."""

import math
from dataclasses import dataclass, field
from types import ModuleType

from harness import OURS, Case, Mean


@dataclass
class Results:
    """The best value of every (case, library), the last error where there is none, and the peers not installed."""

    best: dict[tuple[str, str], float] = field(default_factory=dict)
    errors: dict[tuple[str, str], str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)

    def add(self, case: str, library: str, value: float | None, error: str | None) -> None:
        key = case, library
        if value is not None:
            self.best[key] = min(value, self.best.get(key, math.inf))
        if error is not None:
            self.errors[key] = error

    def ours(self, case: Case) -> float | None:
        return self.best.get((case.name, OURS))

    def best_peer(self, case: Case) -> tuple[str, float] | None:
        measured = [
            (lib, self.best[case.name, lib]) for lib in case.sides if lib != OURS and (case.name, lib) in self.best
        ]
        return min(measured, key=lambda item: item[1], default=None)

    def ratio(self, case: Case) -> float | None:
        ours, peer = self.ours(case), self.best_peer(case)
        return peer[1] / ours if ours and peer else None

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
