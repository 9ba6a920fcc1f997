"""The examples in the package's docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import gluonish

MODULES = [
    "gluonish",
    *(m.name for m in pkgutil.walk_packages(gluonish.__path__, "gluonish.") if not m.name.endswith("_core")),
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL).failed == 0
