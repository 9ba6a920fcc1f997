import check_layers
import pytest


def crate(root, name, manifest):
    folder = root / "crates" / name
    folder.mkdir(parents=True)
    (folder / "Cargo.toml").write_text(f'[package]\nname = "gluonish-{name}"\n{manifest}')


@pytest.fixture
def package(tmp_path):
    def make(**files):
        folder = tmp_path / "gluonish"
        for name, text in {"__init__": "", **files}.items():
            path = folder / f"{name.replace('__slash__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(check_layers.module_problems(folder))

    return make


def test_crates_may_point_down(tmp_path):
    crate(tmp_path, "base", "[dependencies]\nlibc.workspace = true\n")
    crate(tmp_path, "engine", "[dependencies]\ngluonish-base.workspace = true\n")
    assert list(check_layers.crate_problems(tmp_path)) == []


@pytest.mark.parametrize("table", ["dependencies", "dev-dependencies", "target.'cfg(unix)'.dependencies"])
def test_crates_may_not_point_up(tmp_path, table):
    crate(tmp_path, "base", f"[{table}]\ngluonish-ops.workspace = true\n")
    assert list(check_layers.crate_problems(tmp_path)) == [
        "crates/base/Cargo.toml: base may not use ops, which is not below it"
    ]


def test_unknown_crate(tmp_path):
    crate(tmp_path, "new", "")
    assert "has no layer" in next(check_layers.crate_problems(tmp_path))


def test_declared_crates_have_no_circle():
    seen = set()
    while len(seen) < len(check_layers.CRATES):
        ready = {c for c, below in check_layers.CRATES.items() if below <= seen} - seen
        assert ready
        seen |= ready


def test_modules_may_point_down(package):
    assert package(errors="from . import _core", autograd="from gluonish import _core, errors\nimport numpy") == []


@pytest.mark.parametrize(
    "line",
    [
        "import gluonish.autograd",
        "from gluonish import autograd",
        "from gluonish.autograd import record",
        "from . import autograd",
        "from .autograd import record",
        "def f():\n    from .autograd import record",
    ],
)
def test_modules_may_not_point_up(package, line):
    problems = package(errors=line, autograd="")
    assert len(problems) == 1
    assert "gluonish.errors may not import gluonish.autograd" in problems[0]


def test_nobody_imports_the_package_itself(package):
    problems = package(errors="import gluonish")
    assert len(problems) == 1
    assert "may not import gluonish, which is above it" in problems[0]


def test_imports_for_the_type_checker_do_not_count(package):
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .autograd import record"
    assert package(errors=guarded, autograd="") == []


def test_relative_imports_of_sub_packages(package):
    files = {
        "nd__slash____init__": "from .random import normal",
        "nd__slash__random": "from ..errors import E",
        "errors": "",
    }
    assert package(**files) == []
    files["errors"] = "from .nd.random import normal"
    assert any("gluonish.errors may not import gluonish.nd.random" in p for p in package(**files))


def test_circles_within_a_layer(package):
    assert package(nd="from . import autograd", autograd="from . import nd") == [
        "import circle: gluonish.autograd -> gluonish.nd -> gluonish.autograd"
    ]
    assert package(nd="from . import autograd", autograd="def f():\n    from . import nd") == []


def test_unknown_module(package):
    assert package(brand_new="") == ["gluonish.brand_new has no layer; declare it in tools/check_layers.py"]
