"""MXNet's place for its base exception: ``except mx.base.MXNetError``."""

from gluonish._core import MXNetError, NDArray

__all__ = ["MXNetError", "NDArray"]
