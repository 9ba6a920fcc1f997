"""The exceptions of this package. Each is also the built-in exception that a caller would expect.

========================  =====================================  ==================================================
exception                 is also                                raised when
========================  =====================================  ==================================================
:class:`MXNetError`       RuntimeError                           anything goes wrong: the base of all others
:class:`ShapeError`       ValueError                             shapes do not fit
:class:`DTypeError`       TypeError                              an element type does not fit
:class:`IndexOutOfRange`  IndexError                             an index or an axis is outside the array
:class:`ArgumentError`    TypeError and ValueError               a call does not fit the signature
:class:`FormatError`      ValueError                             a file is damaged, or of a kind that is not read
:class:`FileError`        OSError                                the system refuses something about a file
:class:`FileNotFound`     FileNotFoundError                      a file does not exist
:class:`FileDenied`       PermissionError                        a file may not be read or written
:class:`NumberOverflow`   OverflowError and ValueError           a number is beyond an element type
:class:`LinAlgError`      numpy.linalg.LinAlgError, ValueError   a matrix is singular, or not positive definite, ...
:class:`OutOfMemory`      MemoryError                            an array would exceed the memory limit
:class:`DeviceError`                                             a device is missing, or two meet in one op
:class:`GradientError`                                           a gradient cannot be computed, or would be wrong
:class:`UnsupportedError` NotImplementedError                    MXNet or NumPy has it, this package has not (yet)
========================  =====================================  ==================================================

A message says which op, at which line, with which shapes. Work runs asynchronously, so an error that only shows while
an op runs is raised at the next wait (``asnumpy``, ``wait_to_read``, ``waitall``), and names the line that queued it:

>>> import gluonish as mx
>>> mx.nd.ones((2, 3)) + mx.nd.ones((4,))
Traceback (most recent call last):
    ...
gluonish.errors.ShapeError: broadcast_add: cannot broadcast (2, 3) with (4,)...
"""

from gluonish._core import (
    ArgumentError,
    DeviceError,
    DTypeError,
    FileDenied,
    FileError,
    FileNotFound,
    FormatError,
    GradientError,
    IndexOutOfRange,
    LinAlgError,
    MXNetError,
    NumberOverflow,
    OutOfMemory,
    ShapeError,
    UnsupportedError,
)

__all__ = [
    "ArgumentError",
    "DTypeError",
    "DeviceError",
    "FileDenied",
    "FileError",
    "FileNotFound",
    "FormatError",
    "GradientError",
    "IndexOutOfRange",
    "LinAlgError",
    "MXNetError",
    "NumberOverflow",
    "OutOfMemory",
    "ShapeError",
    "UnsupportedError",
]
