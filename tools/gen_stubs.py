"""Writes the op part of python/gluonish/_core.pyi from the op table, or checks with --check that it is current.

The hand-written part of the file ends at MARKER; everything below it comes from `gluonish._core.op_table()`: for each
face a class whose members have the signatures that Python sees. A row of the table is a dict:

    name, doc
    inputs   [{name, np_name, kind}], kind one of required, optional, variadic, parameter, auxiliary
    attrs    [{name, kind, default, doc}], kind as an annotation ("int | None"); no `default`: it must be given;
             np_name and np_default where the np face differs; nd or np False where that face does not have it;
             spread true where a method also takes a list's values one by one
    outputs  [{name, hidden}]
    varies   true where attributes or inputs decide how many outputs there are
    creates  true where there are no inputs to take the device from
    faces    {nd: [names], np: [names], methods: [names]}
"""

import argparse
import difflib
import keyword
import math
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

STUB = Path(__file__).resolve().parent.parent / "python" / "gluonish" / "_core.pyi"
MARKER = "# ---- Below: made from the op table by tools/gen_stubs.py (`make stubs`). Do not edit. ----\n"
WIDTH = 120

# Face of the table -> class of the stub.
FACES = {"nd": "NdOps", "np": "NpOps", "methods": "ArrayOps"}
ARRAY = "NDArray"
INPUT_KINDS = {
    "required": "ArrayLike",
    "optional": "ArrayLike | None = None",
    "variadic": "ArrayLike",
    "parameter": "ArrayLike",
    "auxiliary": ARRAY,
}

Row = dict[str, Any]


def input_parameter(row: Row, entry: Row, face: str) -> str:
    kind = entry["kind"]
    if kind not in INPUT_KINDS:
        raise SystemExit(f"gen_stubs: input {entry['name']} of {row['name']} is of unknown kind {kind!r}")
    star = "*" if kind == "variadic" else ""
    name = entry.get("np_name", entry["name"]) if face == "np" else entry["name"]
    return f"{star}{spelled(name)}: {INPUT_KINDS[kind]}"


def attr_parameter(entry: Row, face: str) -> str:
    """Name, type and default as the face has them; methods follow nd."""
    renamed = {k: f"np_{k}" for k in ("name", "default") if face == "np" and f"np_{k}" in entry}
    own = {**entry, **{k: entry[np] for k, np in renamed.items()}}
    if face == "methods" and entry.get("spread"):
        return f"*{spelled(own['name'])}: {own['kind']}"
    default = f" = {literal(own['default'])}" if "default" in own else ""
    return f"{spelled(own['name'])}: {own['kind']}{default}"


def literal(value: object) -> str:
    """A default as a stub can write it: infinities and NaN have no literal."""
    return "..." if isinstance(value, float) and not math.isfinite(value) else repr(value)


def parameters(row: Row, face: str) -> Iterator[str]:
    """What stands between the brackets: inputs, attributes, device, `out`; keywords only once order would not do."""
    method = face == "methods"
    given = ["self"] if method else []
    given += [input_parameter(row, entry, face) for entry in row["inputs"][method:]]
    has_face = "np" if face == "np" else "nd"
    given += [attr_parameter(entry, face) for entry in row["attrs"] if entry.get(has_face, True)]
    named = [f"out: {result(row)} | None = None"]
    if row.get("creates"):
        named.insert(0, "ctx: Context | str | None = None")
    keywords, defaults = False, False
    for text in given:
        if defaults and not keywords and " = " not in text:
            yield "*"
            keywords = True
        keywords, defaults = keywords or text.startswith("*"), defaults or " = " in text
        yield text
    if not keywords:
        yield "*"
    yield from named


def spelled(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def result(row: Row) -> str:
    """One array, a tuple of as many as the caller gets, or a list where calls differ."""
    if row.get("varies"):
        return f"{ARRAY} | list[{ARRAY}]"
    seen = [ARRAY for output in row["outputs"] if not output["hidden"]]
    return ARRAY if len(seen) == 1 else f"tuple[{', '.join(seen)}]"


def function(name: str, row: Row, face: str) -> str:
    """One member of a face, on one line if it fits."""
    decorator = "" if face == "methods" else "    @staticmethod\n"
    given = list(parameters(row, face))
    ending = f" -> {result(row)}:"
    line = f"    def {spelled(name)}({', '.join(given)}){ending}"
    if len(line) > WIDTH:
        line = f"    def {spelled(name)}(\n" + "".join(f"        {p},\n" for p in given) + f"    ){ending}"
    return f"{decorator}{line}\n{docstring(row['doc'])}"


def docstring(doc: str) -> str:
    text = textwrap.dedent(doc).strip().replace("\\", "\\\\").replace('"""', "'''")
    body = f'"""{text}"""' if "\n" not in text else f'"""{text}\n"""'
    return textwrap.indent(body, " " * 8) + "\n"


def generate(table: Iterable[Row]) -> str:
    """The op part: a class for each face, its members sorted by name."""
    members: dict[str, dict[str, Row]] = {face: {} for face in FACES}
    for row in table:
        for face in FACES:
            members[face].update(dict.fromkeys(row["faces"].get(face, ()), row))
    parts = []
    for face, title in FACES.items():
        functions = [function(name, row, face) for name, row in sorted(members[face].items()) if name.isidentifier()]
        parts += [f"class {title}:\n" + "\n".join(functions)] if functions else []
    return MARKER + "\n" + "\n".join(parts)


def whole(current: str, table: Iterable[Row]) -> str:
    return current.partition(MARKER)[0] + generate(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="say what differs, write nothing")
    args = parser.parse_args()

    from gluonish import _core

    current = STUB.read_text(encoding="utf-8") if STUB.exists() else ""
    wanted = whole(current, _core.op_table())
    if not args.check:
        STUB.write_text(wanted, encoding="utf-8")
        return 0
    if current == wanted:
        print("stubs: current")
        return 0
    lines = difflib.unified_diff(current.splitlines(), wanted.splitlines(), str(STUB), "from the op table", lineterm="")
    print("\n".join(list(lines)[:60]))
    print("stubs: not current; run `make stubs`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
