"""Sequences as arrays and as lists of steps; what is not valid in them; their order backwards."""

from collections.abc import Sequence
from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError

__all__ = [
    "CellError",
    "Lengths",
    "Steps",
    "check_length",
    "last_valid",
    "lengths",
    "masked",
    "merged",
    "reversed_steps",
    "split",
    "time_axis",
]

Steps = NDArray | Sequence[NDArray]
Lengths = NDArray | Sequence[int] | None


class CellError(ArgumentError, AssertionError):
    """A cell cannot be used like that. An assertion too, which is what Gluon's code raises."""


def time_axis(layout: str) -> int:
    """The axis of the steps."""
    at = layout.find("T")
    if at not in (0, 1) or layout.find("N") != 1 - at:
        raise CellError(
            f"unroll: layout={layout!r} must begin with 'NT' or 'TN', batch and steps, as 'NTC' and 'TNC' do"
        )
    return at


def check_length(length: int, inputs: Steps, layout: str) -> None:
    """The sequence must have so many steps."""
    if inputs is None:
        raise CellError("unroll: inputs must be an array, or a list of one for each step, got None")
    axis = time_axis(layout)
    shape = ""
    if isinstance(inputs, NDArray):
        if inputs.ndim < 2:
            raise CellError(f"unroll: inputs of shape {inputs.shape} must have axes for batch and steps")
        shape = f" of shape {inputs.shape} in layout {layout!r}"
    count = inputs.shape[axis] if isinstance(inputs, NDArray) else len(inputs)
    if count != length:
        raise CellError(f"unroll: length={length}, but inputs{shape} are {count} steps")
    if count == 0:
        raise CellError(f"unroll: inputs{shape} have no steps; at least 1 is needed")


def lengths(valid_length: Any, inputs: NDArray, batch_axis: int = 0, name: str = "unroll: valid_length") -> Any:
    """How many steps of each sequence are valid, as an array (batch,); None stays None."""
    if valid_length is None:
        return None
    found = valid_length if isinstance(valid_length, NDArray) else nd.array(valid_length, ctx=inputs.context)
    batch = inputs.shape[batch_axis]
    if found.shape != (batch,):
        given = f"of shape {found.shape}" if found is valid_length else f"{valid_length!r}"
        raise CellError(
            f"{name} {given} must have shape ({batch},): the number of valid steps of each of the {batch} sequences"
        )
    return found


def split(length: int, inputs: Steps, layout: str) -> list[NDArray]:
    """The steps of a sequence, which must be ``length``."""
    check_length(length, inputs, layout)
    return _cut(inputs, length, time_axis(layout)) if isinstance(inputs, NDArray) else list(inputs)


def merged(outputs: Sequence[NDArray], layout: str) -> NDArray:
    """Steps as one array."""
    result: NDArray = nd.stack(*outputs, axis=time_axis(layout))
    return result


def masked(outputs: Steps, valid_length: NDArray, layout: str) -> NDArray:
    """The sequence with zeros where it is no longer valid."""
    whole = outputs if isinstance(outputs, NDArray) else merged(outputs, layout)
    result: NDArray = nd.SequenceMask(whole, valid_length, use_sequence_length=True, axis=time_axis(layout))
    return result


def last_valid(states: Sequence[Sequence[NDArray]], valid_length: NDArray) -> list[NDArray]:
    """Of states before the first step and after each, those after the last valid one of each sample."""
    # With the state before the first step, a sequence of no valid step has a last one too.
    at = valid_length + 1
    return [
        nd.SequenceLast(nd.stack(*each, axis=0), at, use_sequence_length=True) for each in zip(*states, strict=True)
    ]


def reversed_steps(steps: Sequence[NDArray], valid_length: NDArray | None) -> list[NDArray]:
    """The steps backwards; those that are valid, where a length says so, and the others stay where they are."""
    if valid_length is None:
        return list(reversed(steps))
    whole = nd.SequenceReverse(nd.stack(*steps, axis=0), valid_length, use_sequence_length=True)
    return _cut(whole, len(steps), 0)


def _cut(whole: NDArray, count: int, axis: int) -> list[NDArray]:
    # One op whose gradient is one op, where `count` slices would have as many, each as large as the whole.
    parts: Any = nd.split(whole, num_outputs=count, axis=axis, squeeze_axis=True)
    return [parts] if isinstance(parts, NDArray) else list(parts)
