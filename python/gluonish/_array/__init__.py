"""What arrays have beside the rows of the op table, by topic; ``attach`` gives it to the native type at import."""

from types import FunctionType

from gluonish._array.methods import HookHandle, Methods
from gluonish._array.numpy import NumPyProtocols
from gluonish._array.python import PythonProtocols
from gluonish._array.sharing import Sharing, _rebuilt
from gluonish._core import NDArray

__all__ = ["HookHandle", "_rebuilt", "attach"]

_OF_CLASSES = ("__doc__", "__module__", "__dict__", "__weakref__", "__static_attributes__", "__firstlineno__")


def attach() -> None:
    """Gives ``NDArray`` its methods."""
    for part in (Methods, PythonProtocols, NumPyProtocols, Sharing):
        for name, value in vars(part).items():
            if name in _OF_CLASSES:
                continue
            if isinstance(value, FunctionType):
                value.__qualname__ = f"NDArray.{name}"
            setattr(NDArray, name, value)
