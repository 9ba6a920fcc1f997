"""Real training, of the examples where there is one: they run once, on the threaded engine."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import gluonish as mx
from gluonish import _core as core

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def _once() -> None:
    if core.is_naive():
        pytest.skip("the threaded engine trains; tests of each part run on both")
    mx.random.seed(1)
    np.random.seed(1)


@pytest.fixture
def example() -> Iterator[Callable[[str], ModuleType]]:
    """Imports an example by its name."""
    loaded: list[str] = []

    def load(name: str) -> ModuleType:
        key = f"example_{name}"
        spec = importlib.util.spec_from_file_location(key, EXAMPLES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[key] = module  # dataclasses look their module up
        loaded.append(key)
        spec.loader.exec_module(module)
        return module

    yield load
    for key in loaded:
        del sys.modules[key]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Prints to the terminal, also where pytest keeps the output of tests that pass."""

    def show(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}", flush=True)

    return show
