"""Checks that no source file is longer than its language's cap. A file that hits it is split by topic, not squeezed."""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CAPS = {".rs": 600, ".py": 500, ".cu": 400, ".cuh": 400}
FOLDERS = ("crates", "python", "tests", "tools", "benches", "examples")


def lengths(root: Path) -> Iterator[tuple[Path, int]]:
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in CAPS and path.is_file():
                yield path.relative_to(root), len(path.read_text(encoding="utf-8").splitlines())


def problems(root: Path) -> Iterator[str]:
    for path, lines in lengths(root):
        if lines > CAPS[path.suffix]:
            yield f"{path}: {lines} lines, the cap is {CAPS[path.suffix]}"


def main() -> int:
    found = list(problems(ROOT))
    print("\n".join(found) or f"sizes: {sum(1 for _ in lengths(ROOT))} files within their caps")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
