"""The examples in the package's docstrings are true."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import gluonish

MODULES = [
    "gluonish",
    *(m.name for m in pkgutil.walk_packages(gluonish.__path__, "gluonish.") if not m.name.endswith("_core")),
]


class Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions, too: they belong to the module of what was decorated."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object) if callable(object) else object)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    for test in Finder().find(module):
        assert runner.run(test).failed == 0


def test_examples_of_decorated_functions_are_found():
    from gluonish.np import order

    assert any(test.name.endswith("unique") for test in Finder().find(order))
