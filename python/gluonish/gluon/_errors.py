"""The exceptions of parameters. Gluon's code raises assertions where these are also arguments that do not fit."""

from gluonish.errors import ArgumentError, MXNetError, ShapeError

__all__ = ["DeferredInitializationError", "DeferredShapeError", "NotInitializedError", "ParameterError"]


class NotInitializedError(MXNetError):
    """A parameter has no values: it was never initialized, or not on that device."""


class DeferredInitializationError(MXNetError):
    """A parameter was initialized, but a dimension of its shape is still unknown, so it has no values yet."""


class DeferredShapeError(DeferredInitializationError, ShapeError):
    """The first forward cannot tell a shape from its inputs."""


class ParameterError(ArgumentError, AssertionError):
    """Something does not fit a parameter: a shape, a type, what a file holds."""


for _class in (NotInitializedError, DeferredInitializationError, DeferredShapeError, ParameterError):
    _class.__module__ = "gluonish.gluon.parameter"  # where users find them
