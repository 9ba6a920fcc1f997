"""Writes that a failed computation does not spoil: for what training keeps from one batch to the next."""

from gluonish import _core
from gluonish._core import NDArray

__all__ = ["commit", "raise_left_out"]


def commit(array: NDArray, value: NDArray, told: bool = False) -> None:
    """Writes a value to an array once it is computed. If that fails, the array keeps what it has.

    A batch with a bad label would else leave its error in states that are made from themselves, for good. The error is
    not lost: whoever reads the loss or a gradient gets it. With ``told``, for updates of what is trained,
    `raise_left_out` raises it if nobody does.

    >>> from gluonish import nd
    >>> mean = nd.zeros(2)
    >>> commit(mean, mean + 1)
    >>> mean.tolist()
    [1.0, 1.0]
    """
    _core.commit_into(array, value, told)


def raise_left_out() -> None:
    """Raises the error because of which an update was left out, unless it was raised already.

    Training asks at each step: an error that no loss shows, such as memory that a gradient needs and does not get,
    would else stop the training and nobody would know.
    """
    try:
        _core.raise_left_out()
    except Exception as error:
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(
                "An update was left out because of this error: weights and states are as they were before it."
            )
        raise
