"""MXNet's place for the array type and the functions that make, compare and combine arrays: all of them are in `nd`.

>>> import gluonish as mx
>>> isinstance(mx.nd.ones(2), mx.nd.ndarray.NDArray)
True
"""

from gluonish._core import NDArray
from gluonish._core import wait_all as waitall
from gluonish._faces import functions
from gluonish._missing import explained
from gluonish.nd.composed import onehot_encode, split_v2
from gluonish.nd.creation import (
    arange,
    array,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    linspace,
    ones,
    to_dlpack_for_read,
    to_dlpack_for_write,
    zeros,
)
from gluonish.nd.statistics import histogram

__all__ = [
    "NDArray",
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "histogram",
    "linspace",
    "onehot_encode",
    "ones",
    "split_v2",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "waitall",
    "zeros",
]

_OPERATORS = {
    "add", "divide", "equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "modulo", "moveaxis", "multiply", "not_equal", "power", "subtract",
    "true_divide",
}  # fmt: skip
globals().update({name: function for name, function in functions("nd").items() if name in _OPERATORS})

__getattr__ = explained("gluonish.nd", [*__all__, *_OPERATORS])
