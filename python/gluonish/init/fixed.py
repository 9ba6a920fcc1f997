"""Values that are not random."""

import math
from typing import Any

import numpy as np

from gluonish._core import NDArray
from gluonish.errors import MXNetError, ShapeError
from gluonish.init.base import REGISTRY, Initializer, register

__all__ = ["Bilinear", "Constant", "One", "Zero"]


@REGISTRY.alias("zeros")
class Zero(Initializer):
    """All 0. Also called "zeros".

    >>> from gluonish import nd
    >>> x = nd.ones(2)
    >>> Zero().fill("x", x)
    >>> x.tolist()
    [0.0, 0.0]
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: str, arr: NDArray) -> None:
        arr[...] = 0


@REGISTRY.alias("ones")
class One(Initializer):
    """All 1. Also called "ones".

    >>> from gluonish import nd
    >>> x = nd.zeros(2)
    >>> One().fill("x", x)
    >>> x.tolist()
    [1.0, 1.0]
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _: str, arr: NDArray) -> None:
        arr[...] = 1


@register
class Constant(Initializer):
    """One value everywhere, or those of an array that broadcasts to the parameter.

    >>> from gluonish import nd
    >>> x = nd.zeros((2, 2))
    >>> Constant([1, 2]).fill("x", x)
    >>> x.tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: str, arr: NDArray) -> None:
        value = self.value
        if not isinstance(value, NDArray | int | float):
            value = np.asarray(value)
        try:
            arr[...] = value
        except MXNetError as error:
            raise type(error)(f"Constant: cannot fill '{name}' of shape {arr.shape} with the value: {error}") from None


@register
class Bilinear(Initializer):
    """Weights of a transposed convolution that scales an image up by interpolation. They have four dimensions.

    >>> from gluonish import nd
    >>> x = nd.zeros((1, 1, 2, 4))
    >>> Bilinear().fill("up_weight", x)
    >>> x[0, 0, 0].tolist()
    [0.0625, 0.1875, 0.1875, 0.0625]
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        if arr.ndim != 4:
            raise ShapeError(
                f"Bilinear: cannot fill '{name}' of shape {arr.shape}: it is for weights of 4 dimensions, "
                "(channels out, channels in, height, width)"
            )
        height, width = arr.shape[2:]
        if width == 0:
            return
        factor = math.ceil(width / 2)
        centre = (2 * factor - 1 - factor % 2) / (2 * factor)
        down, across = (1 - np.abs(np.arange(size) / factor - centre) for size in (height, width))
        arr[...] = np.outer(down, across)
