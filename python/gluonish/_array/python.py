"""What Python itself asks of an array: text, iteration, numbers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonish import _core
from gluonish._core import NDArray

__all__ = ["PythonProtocols"]

if TYPE_CHECKING:
    _Array = NDArray  # so that the methods below are checked against what the stub promises
else:
    _Array = object


class PythonProtocols(_Array):
    """Operators are slots of the native type. ``==`` compares elements, but with None or a string it is plain False."""

    __hash__ = object.__hash__  # by identity, although == compares elements

    def __repr__(self) -> str:
        size = "x".join(map(str, self.shape)) if self.shape else "()"
        kind = "" if str(self.dtype) == "float32" else f" {self.dtype}"
        return f"{_values(self)}\n<NDArray {size}{kind} @{self.context}>"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.size != 1:
            raise TypeError(f"format {spec!r} needs an array of one element, got shape {self.shape}")
        return format(_core.item(self), spec)

    def __iter__(self) -> Iterator[NDArray]:
        if not self.shape:
            raise TypeError("a 0-dimensional array cannot be iterated over; item() gives its value")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        found: NDArray | bool = self == value  # False where Python alone has an answer, as for a string
        return isinstance(found, NDArray) and bool(found.sum())

    def __complex__(self) -> complex:
        return complex(_core.item(self))

    def __round__(self, ndigits: int | None = None) -> NDArray:
        """``round(x, n)``: each element to n decimals, halves to the even digit. The type stays.

        >>> from gluonish import nd
        >>> round(nd.array([1.25, 2.75]), 1).tolist(), round(nd.array([15, 25], dtype="int32"), -1).tolist()
        ([1.2000000476837158, 2.799999952316284], [20, 20])
        """
        digits = ndigits or 0
        if str(self.dtype) in _FLOATS:
            if digits == 0:
                return _rint(self)
            power = 10.0 ** abs(digits)
            return _rint(self * power) / power if digits > 0 else _rint(self / power) * power
        if digits >= 0:
            return self.copy()
        step = 10**-digits
        count = self // step
        rest = self - count * step
        up = (rest > step // 2) | ((rest == step // 2) & (count % 2 == 1))
        rounded: NDArray = (count + up) * step
        return rounded.astype(self.dtype, copy=False)


_FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


def _rint(array: NDArray) -> NDArray:
    rounded: NDArray = _core.invoke("rint", [array], {})
    return rounded


def _values(array: NDArray) -> str:
    """The values as NumPy writes them. Of many only those are fetched that are shown: the ends of each axis."""
    options = np.get_printoptions()
    if array.size <= options["threshold"]:
        return str(array.asnumpy())
    edge = options["edgeitems"]
    shown = array.detach()
    for axis in sorted(range(array.ndim), key=lambda axis: -array.shape[axis]):
        size = array.shape[axis]
        if size > 2 * edge + 1:  # one more than is shown, in whose place NumPy writes "..."
            before = (slice(None),) * axis
            ends = [shown[(*before, slice(edge + 1))], shown[(*before, slice(size - edge, size))]]
            shown = _core.invoke("concat", ends, {"dim": axis})
    return np.array2string(shown.asnumpy(), threshold=0)
