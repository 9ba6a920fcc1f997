"""The exceptions of parameters. Gluon's code raises assertions where these are also arguments that do not fit."""

from gluonish._core import block_enter, block_exit
from gluonish._types import Shape
from gluonish.errors import ArgumentError, MXNetError, ShapeError

__all__ = [
    "DeferredInitializationError",
    "DeferredShapeError",
    "NotInitializedError",
    "NotMadeError",
    "ParameterError",
    "deferred",
]


class NotInitializedError(MXNetError):
    """A parameter has no values: it was never initialized, or not on that device."""


class DeferredInitializationError(MXNetError):
    """A parameter was initialized, but a dimension of its shape is still unknown, so it has no values yet."""


class DeferredShapeError(DeferredInitializationError, ShapeError):
    """The first forward cannot tell a shape from its inputs."""


class ParameterError(ArgumentError, AssertionError):
    """Something does not fit a parameter: a shape, a type, what a file holds."""


class NotMadeError(ParameterError, AttributeError):
    """The ``__init__`` of a block did not call that of its base."""


for _class in (NotInitializedError, DeferredInitializationError, DeferredShapeError, ParameterError, NotMadeError):
    _class.__module__ = "gluonish.gluon.parameter"  # where users find them


def deferred(name: str, shape: Shape | None, known: bool, why: str) -> DeferredInitializationError:
    """The error of a parameter without values: which dimension is unknown, why it is still so, and how to give it."""
    size = "give the size when it is made (in_units=, in_channels=, shape=)"
    if known:
        unknown = "its shape is known now"
    elif shape is None:
        unknown, size = "its shape is unknown", "give the shape"
    else:
        axes = [axis for axis, _ in enumerate(shape) if not shape[axis]]
        many = f"dimension{'s' if len(axes) > 1 else ''} {', '.join(map(str, axes))}"
        unknown = f"{many} of its shape {shape} {'are' if len(axes) > 1 else 'is'} unknown"
    if why:
        how = size
    elif _in_a_call():
        how = (
            "a forward asks for it before anything has told its shape: call the block that has it first, define "
            f"infer_shape(self, x) in the class of that block, which sets its shape, or {size}"
        )
    else:
        how = f"no forward has used it yet: call the block that has it with an input, or {size}"
    return DeferredInitializationError(
        f"Parameter '{name}' has no values yet, because initialization was deferred: {unknown}{why}; {how}"
    )


def _in_a_call() -> bool:
    """Whether a block is running: the core knows the innermost one."""
    running = block_enter("")
    block_exit(running)
    return running != 0
