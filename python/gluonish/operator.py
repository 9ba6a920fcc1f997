"""Operations written in Python."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import shape_of
from gluonish._dtype import dtype_name
from gluonish.errors import ArgumentError

__all__ = ["callback"]


def callback(
    fn: Callable[[list[NDArray], list[NDArray]], object],
    inputs: Sequence[NDArray],
    output_specs: Sequence[tuple[int | Sequence[int], npt.DTypeLike]],
) -> list[NDArray]:
    """Queues a Python function as an operation: it runs when its inputs are ready, and later work waits for it.

    ``output_specs`` gives the shape and type of each output, as in ``[((2, 3), "float32")]``; the outputs are returned
    at once. ``fn(inputs, outputs)`` is called later, on a thread of its own, and must fill the outputs in place
    (``outputs[0][:] = ...``). It may wait for arrays and use other operations. What it raises is raised by the next
    wait for an output. No gradient flows through it, so while recording it takes no array that leads to a variable:
    ``autograd.Function`` is the place for a gradient.

    >>> import numpy
    >>> import gluonish as mx
    >>> def sort(inputs, outputs):
    ...     outputs[0][:] = numpy.sort(inputs[0].asnumpy())
    >>> x = mx.nd.array([3, 1, 2])
    >>> (y,) = callback(sort, [x], [(x.shape, x.dtype)])
    >>> y.asnumpy().tolist()
    [1.0, 2.0, 3.0]
    """
    if not callable(fn):
        raise ArgumentError(f"callback: fn={fn!r} is not valid: expected a function of (inputs, outputs)")
    try:
        specs = [(shape_of(shape, "callback"), dtype_name(dtype)) for shape, dtype in output_specs]
    except (TypeError, ValueError) as error:
        if isinstance(error, _core.MXNetError):
            raise
        raise ArgumentError(
            f"callback: output_specs={output_specs!r} is not valid: expected (shape, dtype) pairs"
        ) from None
    name: Any = getattr(fn, "__name__", None) or type(fn).__name__
    return _core.callback(str(name), fn, list(inputs), specs)
