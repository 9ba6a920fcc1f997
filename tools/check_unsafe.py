"""Checks that `unsafe` stands only where it may, and that each use says why it is sound.

Clippy asks for the reason on blocks and impls, but sees neither macro bodies nor attributes; this reads the text.
"""

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# `*` also matches across folders.
ALLOWED = (
    "crates/base/src/pool*",
    "crates/base/src/tls*",
    "crates/engine/*",
    "crates/kernels/*",
    "crates/graph/src/array*",
    "crates/graph/src/tape*",
    "crates/py/src/native*",
)

# Comments, strings and characters, so that what is left is code. Lifetimes ('a) are no characters.
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>b?r(?P<hash>\#*)".*?"(?P=hash)|b?"(?:\\.|[^"\\])*"|b?'(?:\\.|[^'\\\n])')""",
    re.DOTALL,
)
UNSAFE = re.compile(r"\bunsafe\b")
# A function's own `unsafe` is a promise asked of callers, told in its docs (clippy: missing_safety_doc), not one given.
ASKED = re.compile(r"""unsafe\s+(extern\s+)?(fn|trait)\b""")
REASON = re.compile(r"\bSAFETY:|# Safety")


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def without(source: str, *groups: str) -> str:
    """The source with the named kinds of token replaced by blanks, line by line as it was."""
    return TOKEN.sub(lambda m: blank(m) if m.lastgroup and any(m.group(g) for g in groups) else m.group(), source)


def uses(source: str) -> Iterator[tuple[int, bool]]:
    """The lines (from 0) with `unsafe`, and whether the code itself claims there that something is sound."""
    code = without(source, "comment", "text")
    for match in UNSAFE.finditer(code):
        yield code.count("\n", 0, match.start()), not ASKED.match(code, match.start())


def has_reason(line: int, source: list[str], code: list[str]) -> bool:
    """Whether a comment on the line, or above the statement or item that it belongs to, gives the reason."""
    if REASON.search(source[line]):
        return True
    above = line - 1
    while above >= 0:
        text = code[above].strip()
        if REASON.search(source[above]):
            return True
        if text.endswith((";", "{", "}")) or not source[above].strip():
            return False
        above -= 1
    return False


def file_problems(name: str, source: str) -> Iterator[str]:
    allowed = any(fnmatch(name, pattern) for pattern in ALLOWED)
    lines, code = source.split("\n"), without(source, "comment").split("\n")
    for line, claims in uses(source):
        if not allowed:
            yield f"{name}:{line + 1}: unsafe outside the places listed in tools/check_unsafe.py"
        if claims and not has_reason(line, lines, code):
            yield f"{name}:{line + 1}: unsafe without a SAFETY comment"


def problems(root: Path) -> Iterator[str]:
    for path in sorted((root / "crates").rglob("*.rs")):
        yield from file_problems(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))


def main() -> int:
    found = list(problems(ROOT))
    print("\n".join(found) or "unsafe: every use has its reason and stands where it may")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
