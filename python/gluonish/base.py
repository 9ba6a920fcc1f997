"""MXNet's place for its base exception (``except mx.base.MXNetError``), and for where downloads go."""

from pathlib import Path

from gluonish import _core
from gluonish._core import MXNetError, NDArray

__all__ = ["MXNetError", "NDArray", "data_dir"]


def data_dir() -> str:
    """The directory for what is downloaded, data sets and weights: ``GLUONISH_HOME``, or ``~/.gluonish``.

    It is made by whoever first puts something there.

    >>> Path(data_dir()).is_absolute()
    True
    """
    (home,) = (s["value"] for s in _core.settings() if s["name"] == "GLUONISH_HOME")
    return str(Path(home).expanduser().absolute())
