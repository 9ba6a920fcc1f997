"""An array's memory and values for others: copies, pickles, DLPack, buffers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import from_host
from gluonish.context import device_index
from gluonish.errors import ArgumentError, DeviceError

__all__ = ["Sharing"]

if TYPE_CHECKING:
    _Array = NDArray  # so that the methods below are checked against what the stub promises
else:
    _Array = object

_HOST = (1, 0)  # DLPack's number for host memory


class Sharing(_Array):
    """Memory that is shared is used in step: a call that works on it returns when its work is done."""

    # Copies and pickles hold values, type and device; a gradient (attach_grad) belongs to the array it was asked of.

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> NDArray:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> tuple[Callable[..., NDArray], tuple[Any, ...]]:
        # NumPy's array hands its bytes over out of band where protocol 5 allows it.
        return _rebuilt, self.__getstate__()

    def __getstate__(self) -> tuple[npt.NDArray[Any], str, str]:
        return _core.to_numpy(self, True), str(self.dtype), str(self.context)

    def __setstate__(self, state: tuple[npt.NDArray[Any], str, str]) -> None:
        _core.copy_into(self, _rebuilt(*state))

    # Memory.

    @property
    def data(self) -> memoryview:
        """The array's own memory as a ``memoryview``, for reading and writing once pending work is done.

        Read-only while the array is saved for a gradient. (``memoryview(x)`` itself is refused: NumPy, which asks for
        the same, shall copy.)

        >>> from gluonish import nd
        >>> x = nd.zeros(3)
        >>> x.data[1] = 5
        >>> x.tolist()
        [0.0, 5.0, 0.0]
        """
        return memoryview(_core.Memory(self))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if stream is not None:
            raise ArgumentError(f"__dlpack__: stream={stream!r}: host memory has no streams; leave it None")
        if dl_device is not None and tuple(dl_device) != _HOST:
            raise BufferError(f"__dlpack__: dl_device={dl_device!r}: the array can be given on {_HOST}, the host, only")
        versioned = max_version is not None and max_version[0] >= 1
        return _core.to_dlpack(self, versioned, copy, False)

    def __dlpack_device__(self) -> tuple[int, int]:
        return _HOST

    def to_dlpack_for_read(self) -> Any:
        """A DLPack capsule of the array's memory, to be read. (One that is saved for a gradient gives a copy.)

        >>> from gluonish import nd
        >>> nd.from_dlpack(nd.ones(2).to_dlpack_for_read()).tolist()
        [1.0, 1.0]
        """
        return _core.to_dlpack(self, False, None, False)

    def to_dlpack_for_write(self) -> Any:
        """A DLPack capsule of the array's memory, to be written to.

        >>> from gluonish import nd
        >>> x = nd.ones(2)
        >>> nd.from_dlpack(x.to_dlpack_for_write())[:] = 3
        >>> x.tolist()
        [3.0, 3.0]
        """
        return _core.to_dlpack(self, False, False, True)


def _rebuilt(host: npt.NDArray[Any], dtype: str, device: str) -> NDArray:
    """An array from its pickle; on the current device where there is no such one here."""
    try:
        index = device_index(device)
    except DeviceError:
        index = device_index()
    if dtype == "bfloat16" and host.dtype == "uint16":  # its bits
        return _core.from_buffer(host, dtype, host.shape, index)
    return from_host(host, dtype, index)


_rebuilt.__module__ = "gluonish._array"  # pickles name it: it stays there, wherever the code goes
