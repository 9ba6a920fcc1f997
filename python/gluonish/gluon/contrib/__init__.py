"""What MXNet kept under ``gluon.contrib``."""

from gluonish.gluon.contrib import nn

__all__ = ["nn"]
