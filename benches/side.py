"""One side of one group in a process of its own: `python side.py MODULE LIBRARY SECONDS CASE...`.

Prints a JSON object per case as soon as it is measured. Started by run.py with the library's own interpreter.
"""

import importlib
import json
import sys

from harness import Case, measure


def report(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


def main(module: str, library: str, seconds: str, *wanted: str) -> None:
    group = importlib.import_module(module)
    cases: list[Case] = [c for c in group.CASES if c.name in wanted and library in c.sides]
    names = group.SETUP[library]()
    for case in cases:
        try:
            report(case=case.name, value=measure(case, library, names, float(seconds)))
        except Exception as error:  # noqa: BLE001 - one case that a library cannot run does not stop the others
            report(case=case.name, error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
