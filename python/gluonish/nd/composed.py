"""Functions of `nd` that are made of others."""

from collections.abc import Sequence
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import array_of

__all__ = ["BlockGrad", "Flatten", "broadcast_like", "flatten", "reshape_like", "stack", "stop_gradient"]


def stack(*data: NDArray | Sequence[NDArray], axis: int = 0, out: NDArray | None = None) -> NDArray:
    """Arrays of one shape, joined along a new axis. They may come as a list.

    >>> from gluonish import nd
    >>> stack(nd.ones((2, 3)), nd.zeros((2, 3)), axis=1).shape
    (2, 2, 3)
    """
    arrays: Any = data[0] if len(data) == 1 and isinstance(data[0], Sequence) else data
    lifted = [_core.invoke("expand_dims", [x], {"axis": axis}) for x in arrays]
    joined: NDArray = _core.invoke("concat", lifted, {"dim": axis}, out)
    return joined


def flatten(data: NDArray) -> NDArray:
    """A matrix: the first axis stays, the others become one.

    >>> from gluonish import nd
    >>> flatten(nd.ones((2, 3, 4))).shape
    (2, 12)
    """
    return array_of(data, "flatten").flatten()


Flatten = flatten


def reshape_like(lhs: NDArray, rhs: NDArray) -> NDArray:
    """The values of ``lhs`` in the shape of ``rhs``.

    >>> from gluonish import nd
    >>> reshape_like(nd.ones(6), nd.ones((2, 3))).shape
    (2, 3)
    """
    return array_of(lhs, "reshape_like").reshape_like(rhs)


def broadcast_like(lhs: NDArray, rhs: NDArray) -> NDArray:
    """The values of ``lhs`` repeated over the shape of ``rhs``.

    >>> from gluonish import nd
    >>> broadcast_like(nd.ones((1, 3)), nd.ones((2, 3))).shape
    (2, 3)
    """
    return array_of(lhs, "broadcast_like").broadcast_like(rhs)


def stop_gradient(data: NDArray) -> NDArray:
    """The same values as a constant for gradients.

    >>> from gluonish import autograd, nd
    >>> x = nd.array([3])
    >>> x.attach_grad()
    >>> with autograd.record():
    ...     y = stop_gradient(x) * x
    >>> y.backward()
    >>> x.grad.asnumpy().tolist()
    [3.0]
    """
    return array_of(data, "stop_gradient").detach()


BlockGrad = stop_gradient
