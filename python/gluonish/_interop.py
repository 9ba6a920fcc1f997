"""Arrays of other libraries: shared by DLPack, or taken as part of nested lists."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gluonish import _core
from gluonish._beside import beside, first_array
from gluonish._core import NDArray
from gluonish.context import ContextLike, device_index
from gluonish.errors import ArgumentError, DeviceError, ShapeError

__all__ = ["from_dlpack", "from_numpy", "shared", "stacked"]

_REACHABLE = (1, 3, 11)  # DLPack's numbers for host memory, and for what is pinned for CUDA and ROCm


def from_dlpack(x: Any, /, *, device: ContextLike = None, copy: bool | None = None) -> NDArray:
    """The array of another library over the same memory, or of a DLPack capsule, which is used up.

    Writes are seen on both sides. ``copy=True`` copies; read-only memory is copied too, unless ``copy=False`` forbids.

    >>> import numpy
    >>> host = numpy.zeros(2, "float32")
    >>> from_dlpack(host)[0] = 7
    >>> host
    array([7., 0.], dtype=float32)
    """
    if isinstance(x, NDArray):
        array = _core.copy_to_device(x, x._device) if copy else x.detach()
    elif hasattr(x, "__dlpack__"):
        kind = x.__dlpack_device__()[0]
        if kind not in _REACHABLE:
            raise DeviceError(
                f"from_dlpack: the array is on a device of DLPack's type {int(kind)}: copy it to the host"
            )
        array = _core.from_dlpack(_capsule(x, copy), copy)
    else:
        array = _core.from_dlpack(x, copy)
    if device is None or device_index(device) == array._device:
        return array
    if copy is False:
        raise BufferError(f"from_dlpack: copy=False: the array is on {array.context}, not on {device}")
    return _core.copy_to_device(array, device_index(device))


def _capsule(producer: Any, copy: bool | None) -> Any:
    asked: dict[str, Any] = {"max_version": (1, 0)}
    if copy is not None:
        asked["copy"] = copy
    try:
        return producer.__dlpack__(**asked)
    except TypeError:  # a producer from before there were versions
        return producer.__dlpack__()


def from_numpy(ndarray: Any, zero_copy: bool = True) -> NDArray:
    """An array over the memory of a NumPy array: writes are seen on both sides. ``zero_copy=False`` copies.

    >>> import numpy
    >>> host = numpy.arange(3)
    >>> x = from_numpy(host)
    >>> x += 1
    >>> host[0] = 9
    >>> host, x.tolist()
    (array([9, 2, 3]), [9, 2, 3])
    """
    from gluonish._create import from_host, host_array

    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(f"from_numpy: a NumPy array is needed, got {type(ndarray).__name__}; use array()")
    if not zero_copy or ndarray.dtype.name == "bfloat16":
        host = host_array(ndarray, "from_numpy")
        return from_host(host, host.dtype.name, device_index())
    try:
        if not ndarray.flags.writeable:
            raise BufferError("it is read-only")
        return from_dlpack(ndarray, copy=False)
    except (BufferError, RuntimeError) as error:  # ours are RuntimeErrors
        text = f"the memory of an array of {ndarray.dtype} with strides {ndarray.strides} cannot be shared: {error}"
        raise ArgumentError(f"from_numpy: {text}; zero_copy=False copies it") from None


def shared(source: Any) -> NDArray | None:
    """Another library's array over its own memory; None where that is not possible, or NumPy's own way is better."""
    if isinstance(source, np.ndarray | np.generic) or not hasattr(source, "__dlpack__"):
        return None
    try:
        return from_dlpack(source)
    except Exception:  # noqa: BLE001 - whatever the other library objects to: NumPy is asked next, and says it
        return None


def stacked(source: Any, make: Callable[[Any], NDArray]) -> NDArray | None:
    """Arrays in nested lists joined along new first axes, so that gradients flow to them; None where none is inside.

    ``make`` makes an array of each item: of a number, an array, or a list of them; the current device is then that of
    the first array.

    >>> from gluonish import nd
    >>> x = nd.array([1, 2])
    >>> stacked([[x[0], 5], [x[1], 6]], nd.array).tolist()
    [[1.0, 5.0], [2.0, 6.0]]
    """
    if not isinstance(source, list | tuple) or first_array(source) is None:
        return None
    return _joined(source, make)


@beside
def _joined(source: Sequence[Any], make: Callable[[Any], NDArray]) -> NDArray:
    rows = [make(item) for item in source]
    if len({row.shape for row in rows}) > 1:
        shapes = ", ".join(str(row.shape) for row in rows[:4])
        raise ShapeError(f"array: the arrays in a list must have one shape, got {shapes}{', ...' if rows[4:] else ''}")
    lifted = [_core.invoke("expand_dims", [row], {"axis": 0}) for row in rows]
    joined: NDArray = _core.invoke("concat", lifted, {"dim": 0})
    return joined
