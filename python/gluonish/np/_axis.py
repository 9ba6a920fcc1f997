"""What an axis means to functions that go along one."""

from gluonish._core import NDArray

__all__ = ["along"]


def along(array: NDArray, axis: int | None) -> int | None:
    """The axis, or None for the flattened array: also where an array without axes is said to have axis 0 or -1, as some
    of NumPy's functions let it.

    >>> from gluonish import np
    >>> along(np.array(5.0), -1), along(np.array([5.0]), -1)
    (None, -1)
    """
    return None if array.ndim == 0 and axis in (0, -1) else axis
