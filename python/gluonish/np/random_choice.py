"""Choices from what is given: elements, orders, categories, and vectors by their covariance."""

from typing import Any

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._rows import store
from gluonish._types import ArrayLike
from gluonish.context import ContextLike, device_index
from gluonish.errors import ArgumentError, ShapeError
from gluonish.np._draw import Size, draw, shape_from
from gluonish.np.creation import asarray
from gluonish.np.norms import real

__all__ = ["choice", "multinomial", "multivariate_normal", "permutation", "shuffle"]


def permutation(x: int | ArrayLike) -> NDArray:
    """The elements along the first axis in random order, or the integers below a number.

    >>> sorted(permutation(4).tolist())
    [0, 1, 2, 3]
    """
    mixed: NDArray
    if isinstance(x, int):
        mixed = _core.invoke("_permutation", [], {"n": x}, None, device_index())
    else:
        mixed = _core.invoke("shuffle", [asarray(x)], {})
    return mixed


def shuffle(x: NDArray) -> None:
    """Brings the elements along the first axis into random order, in place.

    >>> from gluonish import np
    >>> x = np.arange(5)
    >>> shuffle(x)
    >>> sorted(x.tolist())
    [0, 1, 2, 3, 4]
    """
    if not isinstance(x, NDArray):
        raise ArgumentError(f"shuffle: an NDArray is needed, got {type(x).__name__}; permutation() makes a new one")
    _core.copy_into(x, permutation(x))


@beside
def choice(
    a: int | ArrayLike,
    size: Size = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    *,
    device: ContextLike = None,
) -> NDArray:
    """Elements of ``a``, or integers below it, all equally likely or with probabilities ``p``.

    >>> choice(5, size=3).shape, choice([3.0, 7.0], size=2, p=[0.0, 1.0]).tolist()
    ((3,), [7.0, 7.0])
    >>> sorted(choice(4, size=4, replace=False).tolist())
    [0, 1, 2, 3]
    """
    index = device_index(ctx, device)
    elements = None if isinstance(a, int) else asarray(a)
    if elements is not None and elements.ndim == 0:
        raise ShapeError("choice: a is a single number of an array: expected an integer or an array with an axis")
    n: Any = a if elements is None else elements.shape[0]
    shape = shape_from(size, "choice")
    count = 1
    for d in shape:
        count *= d
    if n < 1 and count > 0:
        raise ArgumentError(f"choice: a={n} is not valid: there is nothing to choose from")
    chances = None if p is None else real(p)
    if chances is not None and chances.shape != (n,):
        raise ShapeError(f"choice: p has shape {chances.shape}: expected ({n},), a probability for each element")
    if not replace and count > n:
        raise ArgumentError(f"choice: {count} different elements were asked for, but there are {n}; see replace=True")
    chosen = _with_replacement(n, shape, chances, index) if replace else _different(n, count, chances, index)
    chosen = _core.invoke("_np_reshape", [chosen], {"shape": shape})
    if elements is not None:
        chosen = _core.invoke("take", [elements, chosen], {"axis": 0})
    return store(chosen, out, "choice")


def _with_replacement(n: int, shape: tuple[int, ...], chances: NDArray | None, index: int) -> NDArray:
    drawn: NDArray
    if chances is None:
        given = {"low": 0, "high": max(n, 1), "shape": shape, "dtype": "int64"}
        drawn = _core.invoke("random_randint", [], given, None, index)
    else:
        drawn = _core.invoke("sample_multinomial", [chances.detach()], {"shape": shape, "dtype": "int64"})
    return drawn


def _different(n: int, count: int, chances: NDArray | None, index: int) -> NDArray:
    order: NDArray
    if chances is None:
        order = _core.invoke("_permutation", [], {"n": n}, None, index)
        return order[:count]
    host = chances.asnumpy().astype("float64")
    if not ((host >= 0).all() and abs(host.sum() - 1) < 0.01):
        raise ArgumentError(f"choice: p={host.tolist()} is not valid: expected probabilities that add up to 1")
    if (host > 0).sum() < count:
        raise ArgumentError(f"choice: {count} different elements were asked for, but {(host > 0).sum()} can be chosen")
    # Who waits least, each for a time of mean 1 / p, comes first: the same as drawing one after the other.
    waits = draw("exponential", {"lam": 1.0}, (n,), "float64", chances._device, None) / chances.astype("float64")
    order = _core.invoke("topk", [waits], {"k": max(count, 1), "is_ascend": True})
    return order[:count]


def multinomial(n: int, pvals: ArrayLike, size: Size = None) -> NDArray:
    """How often each category came in ``n`` draws with probabilities ``pvals``, as int64.

    >>> multinomial(10, [0.0, 1.0], size=2).tolist()
    [[0, 10], [0, 10]]
    """
    given = {"n": n, "shape": shape_from(size, "multinomial")}
    counts: NDArray = _core.invoke("_np_multinomial", [asarray(pvals)], given)
    return counts


@beside
def multivariate_normal(
    mean: ArrayLike, cov: ArrayLike, size: Size = None, check_valid: str | None = None, tol: float | None = None
) -> NDArray:
    """Normal vectors with a mean and a covariance matrix, which must be positive definite: where it is not, the result
    raises when it is waited for. Leading axes of the parameters broadcast; a gradient flows to both.

    >>> multivariate_normal([0.0, 1.0], [[1.0, 0.5], [0.5, 1.0]], size=3).shape
    (3, 2)
    """
    if check_valid not in (None, "raise") or tol is not None:
        raise ArgumentError("multivariate_normal: a covariance that is not valid raises: leave check_valid and tol out")
    centre, covariance = real(mean), real(cov)
    if centre.ndim < 1 or covariance.ndim < 2 or covariance.shape[-2:] != (centre.shape[-1],) * 2:
        raise ShapeError(
            f"multivariate_normal: a mean of shape {centre.shape} does not fit a covariance of shape {covariance.shape}"
        )
    root: NDArray = _core.invoke("linalg_potrf", [covariance], {})
    from numpy import broadcast_shapes

    rows = broadcast_shapes(centre.shape[:-1], covariance.shape[:-2])
    shape = (*shape_from(size, "multivariate_normal"), *rows, centre.shape[-1])
    noise = draw("normal", {"loc": 0.0, "scale": 1.0}, shape, root.dtype, root._device, None)
    turned: NDArray = _core.invoke("matmul", [root, noise.expand_dims(-1)], {})
    return turned.squeeze(-1) + centre
