"""Methods and properties of arrays that are no rows of the op table: values, devices, gradients, shapes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gluonish import _core, autograd
from gluonish._core import NDArray
from gluonish._create import dense as _dense
from gluonish._dtype import dtype_name
from gluonish._parts import parts
from gluonish._types import Number
from gluonish.context import Context, device_index, from_index
from gluonish.errors import ShapeError

__all__ = ["HookHandle", "Methods"]

if TYPE_CHECKING:
    _Array = NDArray  # so that the methods below are checked against what the stub promises
else:
    _Array = object


class Methods(_Array):
    """What users call by name."""

    # Values.

    def asnumpy(self) -> npt.NDArray[Any]:
        """A NumPy array with a copy of the values, once they are there. bfloat16 comes as float32.

        >>> from gluonish import nd
        >>> nd.array([1, 2]).asnumpy()
        array([1., 2.], dtype=float32)
        """
        return _core.to_numpy(self)

    def asscalar(self) -> Any:
        """The value of an array of one element, as a NumPy scalar of its type; ``item`` gives a Python number.

        A bfloat16 comes as float32.

        >>> from gluonish import nd
        >>> value = nd.array([[5]]).asscalar()
        >>> float(value), value.dtype
        (5.0, dtype('float32'))
        """
        if self.size != 1:
            raise ShapeError(f"asscalar: an array of one element is needed, got shape {self.shape}; use asnumpy()")
        return np.dtype("float32" if self.dtype == "bfloat16" else self.dtype).type(_core.item(self))

    def item(self, *index: int) -> Number:
        """The value of an array of one element, of the element at an index, or of the n-th one, as a Python number.

        >>> from gluonish import nd
        >>> x = nd.array([[1, 2], [3, 4]])
        >>> x.item(1, 0), x.item(2), x.sum().item()
        (3.0, 3.0, 10.0)
        """
        if not index:
            if self.size != 1:
                raise ShapeError(f"item: an array of one element is needed, got shape {self.shape}; use asnumpy()")
            return _core.item(self)
        flat = len(index) == 1 and self.ndim != 1
        return (self.reshape(-1) if flat else self)[index].item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers.

        >>> from gluonish import nd
        >>> nd.ones((1, 2)).tolist()
        [[1.0, 1.0]]
        """
        return self.asnumpy().tolist()

    def copy(self) -> NDArray:
        """A new array with the same values.

        >>> from gluonish import nd
        >>> x = nd.ones(2)
        >>> y = x.copy()
        >>> y[:] = 5
        >>> x.tolist()
        [1.0, 1.0]
        """
        copied: NDArray = _core.invoke("_copy", [self], {})
        return copied

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> NDArray:
        """The values as another type. With ``copy=False`` the array itself where it has that type already.

        >>> from gluonish import nd
        >>> nd.array([1.7]).astype("int32").tolist()
        [1]
        """
        name = dtype_name(dtype)
        if name == _name(self):
            return self.copy() if copy else self
        cast: NDArray = _core.invoke("cast", [self], {"dtype": name})
        return cast

    # Devices.

    @property
    def context(self) -> Context:
        """The device that holds the array.

        >>> from gluonish import nd
        >>> nd.ones(2).context
        cpu(0)
        """
        return from_index(self._device)

    ctx = device = context

    def as_in_context(self, context: Context | str) -> NDArray:
        """The array on a device: itself if it is there already, else a copy.

        >>> from gluonish import nd
        >>> nd.ones(2).as_in_context("cpu(1)").ctx
        cpu(1)
        """
        index = device_index(context)
        return self if index == self._device else _core.copy_to_device(self, index)

    as_in_ctx = to_device = as_in_context

    def copyto(self, other: NDArray | Context | str) -> NDArray:
        """Copies the values into another array, which is returned, or to a device, as a new array.

        >>> from gluonish import nd
        >>> x = nd.zeros((2, 2))
        >>> nd.array([1, 2]).copyto(x).tolist()
        [[1.0, 2.0], [1.0, 2.0]]
        """
        if isinstance(other, NDArray):
            if other is not self:
                _core.copy_into(other, self)
            return other
        return _core.copy_to_device(self, device_index(other))

    # Gradients.

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Asks for the gradient of this array: ``backward`` writes it to ``x.grad`` or adds it there ("add").

        The gradient starts at 0. An array that was computed becomes a starting point: what led to it is forgotten.

        >>> from gluonish import nd
        >>> x = nd.ones(2)
        >>> x.attach_grad()
        >>> x.grad.tolist()
        [0.0, 0.0]
        """
        _dense(stype, "attach_grad")
        _core.attach_grad(self, autograd.check_req(grad_req, "attach_grad"))

    def backward(self, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Computes the gradients of this array's sum, or of its sum weighted by ``out_grad``.

        >>> from gluonish import nd
        >>> x = nd.array([1, 2])
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = x * x
        >>> y.backward(nd.array([1, 10]))
        >>> x.grad.tolist()
        [2.0, 40.0]
        """
        autograd.backward([self], [out_grad], retain_graph, train_mode)

    def detach(self) -> NDArray:
        """The same values, in the same memory, as a constant for gradients.

        >>> from gluonish import nd
        >>> x = nd.ones(2)
        >>> x.detach()[0] = 5
        >>> x.tolist()
        [5.0, 1.0]
        """
        return _core.detach(self)

    def register_hook(self, hook: Callable[[NDArray], NDArray | None]) -> "HookHandle":
        """Calls ``hook(gradient)`` when backward reaches this array; what it returns, if anything, goes on instead.

        >>> from gluonish import nd
        >>> x = nd.array([1, 2])
        >>> x.attach_grad()
        >>> handle = x.register_hook(lambda gradient: gradient * 10)
        >>> with autograd.record():
        ...     y = x * 3
        >>> y.backward()
        >>> x.grad.tolist()
        [30.0, 30.0]
        >>> handle.remove()
        """
        return HookHandle(self, _core.add_hook(self, hook))

    # Waiting.

    def wait_to_read(self) -> None:
        """Waits until the values are there. Raises what went wrong on the way.

        >>> from gluonish import nd
        >>> nd.ones(2).wait_to_read()
        """
        _core.wait(self)

    def wait_to_write(self) -> None:
        """The same as ``wait_to_read``: a write waits by itself for those who still read."""
        _core.wait(self)

    # Shapes.

    def split_v2(
        self, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
    ) -> NDArray | list[NDArray]:
        """Parts along an axis, as views: so many equal ones, or those between the given positions.

        >>> from gluonish import nd
        >>> [part.shape for part in nd.ones((5, 2)).split_v2((1, 3))]
        [(1, 2), (2, 2), (2, 2)]
        """
        made = parts(self, indices_or_sections, axis, squeeze_axis, "split_v2")
        return made[0] if len(made) == 1 else made

    # Parts.

    def slice_assign(
        self, rhs: NDArray, begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None] = ()
    ) -> NDArray:
        """Writes an array to the part between ``begin`` and ``end`` along the first axes; returns the whole.

        >>> from gluonish import nd
        >>> nd.zeros((2, 3)).slice_assign(nd.ones((2, 1)), (0, 1), (2, 2)).tolist()
        [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
        """
        self[_part("slice_assign", begin, end, step)] = rhs
        return self

    def slice_assign_scalar(
        self, value: Number, begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None] = ()
    ) -> NDArray:
        """Writes a number to the part between ``begin`` and ``end`` along the first axes; returns the whole.

        >>> from gluonish import nd
        >>> nd.zeros((2, 3)).slice_assign_scalar(5, (0, None), (2, None), (1, 2)).tolist()
        [[5.0, 0.0, 5.0], [5.0, 0.0, 5.0]]
        """
        self[_part("slice_assign_scalar", begin, end, step)] = value
        return self

    # MXNet's storage types and its two array types are one here.

    @property
    def stype(self) -> str:
        """The storage type: always "default", as there are no sparse arrays."""
        return "default"

    def tostype(self, stype: str) -> NDArray:
        """The array itself: the only storage type is "default"."""
        _dense(stype, "tostype")
        return self

    def as_np_ndarray(self) -> NDArray:
        """The array itself: `np` and `nd` share one type."""
        return self

    def as_nd_ndarray(self) -> NDArray:
        """The array itself: `np` and `nd` share one type."""
        return self


class HookHandle:
    """What ``register_hook`` returns; ``remove()`` takes the hook away."""

    __slots__ = ("_array", "_id")

    def __init__(self, array: NDArray, id: int) -> None:
        self._array: NDArray | None = array
        self._id = id

    def remove(self) -> None:
        """Takes the hook away; a second time does nothing."""
        if self._array is not None:
            _core.remove_hook(self._array, self._id)
            self._array = None


def _name(array: NDArray) -> str:
    return dtype_name(array.dtype)


def _part(
    function: str, begin: Sequence[int | None], end: Sequence[int | None], step: Sequence[int | None]
) -> tuple[slice, ...]:
    """The key of a part that is given by three lists."""
    steps = tuple(step) or (None,) * len(begin)
    if not len(begin) == len(end) == len(steps):
        raise ShapeError(f"{function}: begin={begin!r}, end={end!r}, step={step!r} must be equally long")
    return tuple(map(slice, begin, end, steps))
