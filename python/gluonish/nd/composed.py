"""Functions of `nd` that are made of others. ``name`` is MXNet's name of a symbol, which an array does not have."""

from collections.abc import Sequence
from typing import Any

from gluonish import _core
from gluonish._core import NDArray
from gluonish._create import array_of
from gluonish._parts import parts
from gluonish._rows import store, store_all

__all__ = ["BlockGrad", "onehot_encode", "split_v2", "stop_gradient"]


def split_v2(
    ary: NDArray,
    indices_or_sections: int | Sequence[int],
    axis: int = 0,
    squeeze_axis: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray | list[NDArray]:
    """Parts of an array along an axis, as views: so many equal ones, or those between the given positions.

    A single part comes by itself. ``squeeze_axis`` drops the axis, where the parts have size 1.

    >>> from gluonish import nd
    >>> [part.shape for part in split_v2(nd.ones((5, 2)), (1, 3))]
    [(1, 2), (2, 2), (2, 2)]
    """
    made = parts(array_of(ary, "split_v2"), indices_or_sections, axis, squeeze_axis, "split_v2")
    if len(made) == 1:
        return store(made[0], out, "split_v2")
    split: list[NDArray] = store_all(made, out, "split_v2")
    return split


def stop_gradient(data: NDArray, *, out: NDArray | None = None, name: str | None = None) -> NDArray:
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
    return store(array_of(data, "stop_gradient").detach(), out, "stop_gradient")


BlockGrad = stop_gradient


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Writes to each row of ``out`` a 1 at the row's index and 0 elsewhere; returns it. ``one_hot`` makes a new array.

    >>> from gluonish import nd
    >>> onehot_encode(nd.array([0, 2]), nd.zeros((2, 3))).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    depth = array_of(out, "onehot_encode").shape[-1:] or (1,)
    encoded: NDArray = _core.invoke("one_hot", [indices], {"depth": depth[0], "dtype": str(out.dtype)}, out)
    return encoded
