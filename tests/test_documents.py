"""The documents name files that are there, and their code does what they say."""

import doctest
import re
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import gluonish as mx

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
ROOTS = ("crates", "python", "tests", "tools", "docs", "benches", "examples", "requirements")


def alternatives(path: str) -> list[str]:
    """`a/{b,c}.rs` is two files."""
    parts = [part[1:-1].split(",") if part.startswith("{") else [part] for part in re.split(r"(\{[^}]*\})", path)]
    return ["".join(choice) for choice in product(*parts)]


def paths(text: str) -> set[str]:
    named = re.findall(rf"(?<![\w/.])((?:{'|'.join(ROOTS)})/[\w./{{}},-]*[\w}}])(?![\w<*])", text)
    return {path for name in named for path in alternatives(name)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_a_document_names_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    missing = sorted(path for path in paths(text) if not (ROOT / path).exists())
    assert not missing, f"{document.name} names {missing}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    missing = [link for link in links if not (document.parent / link).exists()]
    assert not missing, f"{document.name} links to {missing}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_code_of_a_document_does_what_it_says(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    found = doctest.testfile(str(document), module_relative=False, optionflags=flags, encoding="utf-8")
    assert found.failed == 0


GUIDES = sorted(ROOT.glob("docs/from-*.md"))
SHORT: dict[str, Any] = {
    "mx": mx,
    **{name: getattr(mx, name) for name in ("amp", "autograd", "gluon", "init", "nd", "np", "optimizer")},
    **{name: getattr(mx.gluon, name) for name in ("nn", "rnn")},
}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_names_that_a_guide_gives_are_there(guide: Path) -> None:
    """Those in the last column of its tables, which tells what to write here."""
    rows = [line for line in guide.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    told = " ".join(re.findall(r"`([^`]+)`", " ".join(line.strip("| ").rsplit(" | ", 1)[-1] for line in rows)))
    found = re.findall(rf"(?<![\w.])({'|'.join(SHORT)})\.([A-Za-z_][\w.]*\w)", told)
    assert len(found) > 3
    for root, path in found:
        assert reduce(getattr, path.split("."), SHORT[root]) is not None
