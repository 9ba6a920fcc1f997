"""Checks that crates and Python modules use only what is below them. The layers are declared here, and nowhere else."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent

# What each crate may use. The six of the core are a stack; the others stand beside it.
CRATES: dict[str, set[str]] = {
    "base": set(),
    "engine": {"base"},
    "kernels": {"base", "engine"},
    "ops": {"base", "engine", "kernels"},
    "graph": {"base", "engine", "kernels", "ops"},
    "formats": {"base"},
    "data": {"base", "formats"},
    "kvstore": {"base", "engine", "kernels"},
    "py": {"base", "engine", "kernels", "ops", "graph", "formats", "data", "kvstore"},
}

# Python modules, lowest layer first; the longest name that fits decides. A module may import from its own layer (but
# not in a circle) and from those before it in this list, never from those after it.
MODULES: list[tuple[str, ...]] = [
    ("_core", "_version"),
    (
        *("errors", "base", "_types", "_registry", "_scope", "_missing", "_waiting", "_dtype", "_faces", "_beside"),
        "_commit",
    ),
    (
        *("context", "device", "engine", "memory", "profiler", "settings", "datasets", "runtime", "util"),
        *("name", "attribute"),
    ),
    (
        *("_rows", "_create", "_parts", "_interop", "_array", "_files", "autograd", "nd", "ndarray"),
        *("np", "numpy", "npx", "numpy_extension"),
        *("random", "ops", "_ops", "operator"),
    ),
    (
        "symbol",
        "init",
        "initializer",
        "lr_scheduler",
        "metric",
        "optimizer",
        "kvstore",
        "recordio",
        "image",
        "io",
        "callback",
    ),
    (
        *("gluon.parameter", "gluon._parameter", "gluon._parameter_dict", "gluon._errors", "gluon._serialization"),
        *("gluon.utils", "gluon._naming", "gluon._arguments", "gluon._freshness", "gluon._state"),
        *("gluon._full_names", "gluon._other_names"),
    ),
    (
        "gluon.block",
        "gluon.hybrid_block",
        "gluon.symbol_block",
        *(
            "gluon._summary",
            "gluon._hooks",
            "gluon._aliases",
            "gluon._contained",
            "gluon._deferred",
            "gluon._functions",
        ),
        *("gluon._located", "gluon._tree", "gluon._walk"),
    ),
    (
        "gluon.nn",
        "gluon.rnn",
        "gluon.loss",
        "gluon.data",
        "gluon.metric",
        "gluon.trainer",
        "gluon._trained",
        "gluon._trainer_states",
        "gluon.fit",
        "gluon.callbacks",
    ),
    ("gluon.model_zoo", "gluon.contrib", "gluon.probability", "amp", "contrib"),
    ("gluon",),
    ("test_utils", "monitor"),
    ("",),  # the package itself, which gathers the names
]


@dataclass(frozen=True)
class Import:
    """One import of a module of the package by another. Lazy ones, inside functions, cannot make a circle."""

    source: str
    target: str
    line: int
    lazy: bool


def crate_problems(root: Path) -> Iterator[str]:
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        name = manifest.parent.name
        if name not in CRATES:
            yield f"{manifest.relative_to(root)}: crate {name} has no layer; declare it in tools/check_layers.py"
            continue
        used = set(dependencies(tomllib.loads(manifest.read_text(encoding="utf-8"))))
        for above in sorted(used - CRATES[name] - {name}):
            yield f"{manifest.relative_to(root)}: {name} may not use {above}, which is not below it"


def dependencies(table: dict[str, Any]) -> Iterator[str]:
    """The crates of this workspace that a manifest names, in any of its dependency tables."""
    for key, value in table.items():
        if key in {"dependencies", "dev-dependencies", "build-dependencies"}:
            yield from (d.removeprefix("gluonish-") for d in value if d.startswith("gluonish-"))
        elif key == "target":
            for platform in value.values():
                yield from dependencies(platform)


def layer(module: str) -> int | None:
    """The index into MODULES of a module named relative to the package; None where none is declared."""
    fits = [(len(prefix), i) for i, names in enumerate(MODULES) for prefix in names if covers(prefix, module)]
    return max(fits)[1] if fits else None


def covers(prefix: str, module: str) -> bool:
    return module == prefix or (prefix != "" and module.startswith(prefix + "."))


def module_name(path: Path, package: Path) -> str:
    """`nd.random` for gluonish/nd/random.py, `nd` for gluonish/nd/__init__.py, "" for the package itself."""
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, package: Path, known: set[str]) -> Iterator[Import]:
    source = module_name(path, package)
    inside = source if path.name == "__init__.py" else source.rpartition(".")[0]
    for node, lazy in walk_imports(ast.parse(path.read_text(encoding="utf-8")), lazy=False):
        for target in targets(node, inside, package.name, known):
            if target != source:
                yield Import(source, target, node.lineno, lazy)


def walk_imports(tree: ast.AST, lazy: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import that runs, and whether it runs only when a function is called."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, lazy
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from (found for other in node.orelse for found in walk_imports(other, lazy))
        else:
            yield from walk_imports(node, lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


def targets(node: ast.Import | ast.ImportFrom, inside: str, package: str, known: set[str]) -> Iterator[str]:
    """The package's modules that an import names: `from .nd import random` is nd.random if there is one, else nd."""
    if isinstance(node, ast.Import):
        yield from (strip(a.name, package) for a in node.names if covers(package, a.name))
        return
    if node.level:
        parts = inside.split(".") if inside else []
        kept = parts[: len(parts) - (node.level - 1)]
        base = ".".join([*kept, *(node.module or "").split(".")] if node.module else kept)
    elif node.module and covers(package, node.module):
        base = strip(node.module, package)
    else:
        return
    for alias in node.names:
        full = f"{base}.{alias.name}" if base else alias.name
        yield full if full in known else base


def strip(name: str, package: str) -> str:
    return name.removeprefix(package).removeprefix(".")


def shown(module: str) -> str:
    return f"gluonish.{module}" if module else "gluonish"


def module_problems(package: Path) -> Iterator[str]:
    files = {module_name(p, package): p for p in sorted(package.rglob("*.py"))}
    known = {*files, "_core"}
    found = [i for path in files.values() for i in imports(path, package, known)]
    for module in files:
        if layer(module) is None:
            yield f"{shown(module)} has no layer; declare it in tools/check_layers.py"
    for i in found:
        low, high = layer(i.source), layer(i.target)
        if low is not None and high is not None and high > low:
            yield f"{files[i.source]}:{i.line}: {shown(i.source)} may not import {shown(i.target)}, which is above it"
    yield from circles({(i.source, i.target) for i in found if not i.lazy})


def circles(edges: set[tuple[str, str]]) -> Iterator[str]:
    """Modules that import each other in a circle: what is left when those without open imports are taken away."""
    while True:
        sources = {a for a, _ in edges}
        left = {(a, b) for a, b in edges if b in sources}
        if left == edges:
            break
        edges = left
    if not edges:
        return
    following, at = dict(sorted(edges)), min(edges)[0]
    path: list[str] = []
    while at not in path:
        path.append(at)
        at = following[at]
    yield "import circle: " + " -> ".join(map(shown, [*path[path.index(at) :], at]))


def main() -> int:
    problems = [*crate_problems(ROOT), *module_problems(ROOT / "python" / "gluonish")]
    print("\n".join(problems) or "layers: every crate and module uses only what is below it")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
