"""``nd`` as ``hybrid_forward`` sees it when somebody watches its calls: to tell shapes, or to count."""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from gluonish import nd

__all__ = ["Functions"]

Watcher = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class Functions:
    """A stand-in for `nd` whose functions are called by a watcher: ``watcher(name, function, args, kwargs)``.

    >>> def shout(name, function, args, kwargs):
    ...     print(name)
    ...     return function(*args, **kwargs)
    >>> Functions(shout).relu(nd.array([-1, 1])).tolist()
    relu
    [0.0, 1.0]
    """

    def __init__(self, watcher: Watcher, module: Any = nd) -> None:
        self._watcher, self._module = watcher, module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, ModuleType | Functions):
            return Functions(self._watcher, found)
        if callable(found) and not isinstance(found, type):
            return partial(self._call, name, found)
        return found

    @staticmethod
    def original(function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of `nd` behind one that is watched."""
        while isinstance(function, partial):
            function = function.args[1]
        return function

    def _call(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._watcher(name, function, args, kwargs)
