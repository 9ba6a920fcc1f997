"""The type in which functions made of several ops gather values: that of the core's sums."""

from gluonish._core import NDArray

__all__ = ["gathered", "gathering"]


def gathering(name: str) -> str | None:
    """The type in which values of a type are gathered: float32 for halves, whose range is too short for sums and
    powers, a floating type itself; None for others, whose sums choose one.

    >>> gathering("float16"), gathering("float64"), gathering("int8")
    ('float32', 'float64', None)
    """
    if name in ("float16", "bfloat16"):
        return "float32"
    return name if "float" in name else None


def gathered(array: NDArray) -> NDArray:
    """The values in that type; the array itself where it has it.

    >>> from gluonish import np
    >>> gathered(np.ones(2, dtype="float16")).dtype, gathered(np.ones(2, dtype="int8")).dtype
    (dtype('float32'), dtype('int8'))
    """
    name = str(array.dtype)
    return array.astype(gathering(name) or name, copy=False)
