"""Linear algebra with NumPy's signatures, over leading batch axes; functions listed here have gradients of every order.

Half precision is computed in float32 and integers become the default floating type. A matrix without an answer
(singular, not positive definite, not finite) raises ``LinAlgError``, which is also NumPy's: at the call, or at the wait
for the result. What is not listed (``eig``, ``lstsq``, ``matrix_rank``, ...) is computed by NumPy, on the host.

>>> from gluonish import np
>>> a = np.array([[2.0, 0.0], [0.0, 4.0]])
>>> np.linalg.solve(a, np.array([2.0, 2.0])).tolist()
[1.0, 0.5]
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy  # noqa: ICN001 - np is this package

from gluonish import _core
from gluonish._beside import beside
from gluonish._core import NDArray
from gluonish._rows import call, store
from gluonish._types import ArrayLike
from gluonish.errors import ArgumentError, ShapeError
from gluonish.np._fallback import fallback, public
from gluonish.np.creation import asarray
from gluonish.np.creation import eye as identity
from gluonish.np.norms import matrix_norm, norm, real, vector_norm
from gluonish.np.products import cross, matmul, outer, tensordot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "vector_norm",
]


class QRResult(NamedTuple):
    """What ``qr`` gives."""

    Q: NDArray
    R: NDArray


class SVDResult(NamedTuple):
    """What ``svd`` gives."""

    U: NDArray
    S: NDArray
    Vh: NDArray


class EighResult(NamedTuple):
    """What ``eigh`` gives."""

    eigenvalues: NDArray
    eigenvectors: NDArray


class SlogdetResult(NamedTuple):
    """What ``slogdet`` gives."""

    sign: NDArray
    logabsdet: NDArray


def _matrix(a: ArrayLike, function: str) -> NDArray:
    """An array of matrices of real numbers."""
    array = asarray(a)
    if array.ndim < 2:
        raise ShapeError(f"{function}: a matrix is needed, got shape {array.shape}")
    return real(array)


def matrix_transpose(x: ArrayLike) -> NDArray:
    """The last two axes exchanged, as a view.

    >>> from gluonish import np
    >>> np.linalg.matrix_transpose(np.ones((2, 3, 4))).shape
    (2, 4, 3)
    """
    return _matrix(x, "matrix_transpose").swapaxes(-1, -2)


def inv(a: ArrayLike) -> NDArray:
    """The inverse of each matrix.

    >>> from gluonish import np
    >>> np.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    inverse: NDArray = call("inv", "linalg_inverse", [_matrix(a, "inv")])
    return inverse


def det(a: ArrayLike) -> NDArray:
    """The determinant of each matrix.

    >>> from gluonish import np
    >>> np.linalg.det(np.array([[2.0, 1.0], [0.0, 4.0]])).item()
    8.0
    """
    value: NDArray = call("det", "linalg_det", [_matrix(a, "det")])
    return value


def slogdet(a: ArrayLike) -> SlogdetResult:
    """The sign of each determinant and the logarithm of its absolute value.

    >>> from gluonish import np
    >>> np.linalg.slogdet(np.array([[0.0, 1.0], [1.0, 0.0]])).sign.item()
    -1.0
    """
    return SlogdetResult(*call("slogdet", "linalg_slogdet", [_matrix(a, "slogdet")]))


@beside
def solve(a: ArrayLike, b: ArrayLike) -> NDArray:
    """x with ``a @ x == b``; ``b`` is a vector if it has one axis, else matrices whose batch axes broadcast with a's.

    >>> from gluonish import np
    >>> np.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    equations, right = _matrix(a, "solve"), real(b)
    if right.ndim == 1:
        column: NDArray = _core.invoke("_np_solve", [equations, right.reshape((-1, 1))], {})
        return column.squeeze(axis=-1)
    solution: NDArray = _core.invoke("_np_solve", [equations, right], {})
    return solution


def cholesky(a: ArrayLike, *, upper: bool = False) -> NDArray:
    """The lower factor L with ``a == L @ L.T`` of each symmetric positive definite matrix, or the upper one.

    Only that triangle of ``a`` is read.

    >>> from gluonish import np
    >>> np.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    factor: NDArray = call("cholesky", "linalg_potrf", [_matrix(a, "cholesky")], {"lower": not upper})
    return factor


def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """``a == Q @ R`` for each matrix: Q has orthonormal columns, R is an upper triangle.

    Modes are "reduced", "complete" (a square Q, which has a gradient only where a has no more rows than columns), "r"
    (R alone) and "raw" (by NumPy).

    >>> from gluonish import np
    >>> q, r = np.linalg.qr(np.ones((3, 2)))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    if mode == "raw":
        return fallback(numpy.linalg, "qr", "np.linalg")(a, mode)
    if mode not in {"reduced", "complete", "r"}:
        raise ArgumentError(f"qr: mode={mode!r} is not valid: expected one of 'reduced', 'complete', 'r', 'raw'")
    factors = QRResult(*_core.invoke("_np_qr", [_matrix(a, "qr")], {"complete": mode == "complete"}))
    return factors.R if mode == "r" else factors


def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """``a == U @ diag(S) @ Vh`` for each matrix, with singular values that descend; only them if not ``compute_uv``.

    The gradient through U and Vh needs ``full_matrices=False`` (or square matrices) and distinct singular values.

    >>> from gluonish import np
    >>> np.linalg.svd(np.array([[3.0, 0.0], [0.0, 4.0]])).S.tolist()
    [4.0, 3.0]
    """
    matrix = _matrix(a, "svd")
    if hermitian:
        matrix = _mirrored(matrix, "svd")
    if not compute_uv:
        return svdvals(matrix)
    return SVDResult(*_core.invoke("_np_svd", [matrix], {"full_matrices": full_matrices}))


def svdvals(x: ArrayLike) -> NDArray:
    """The singular values of each matrix, descending.

    >>> from gluonish import np
    >>> np.linalg.svdvals(np.array([[3.0, 0.0], [0.0, 4.0]])).tolist()
    [4.0, 3.0]
    """
    values: NDArray = _core.invoke("_np_svdvals", [_matrix(x, "svdvals")], {})
    return values


def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:
    """Eigenvalues, ascending, and eigenvectors (as columns) of each symmetric matrix; one triangle of it is read.

    Each vector has its largest component positive. The gradient through vectors needs distinct eigenvalues.

    >>> from gluonish import np
    >>> np.linalg.eigh(np.array([[3.0, 0.0], [0.0, 4.0]])).eigenvalues.tolist()
    [3.0, 4.0]
    """
    rows, values = _core.invoke("linalg_syevd", [_triangle(a, UPLO, "eigh")], {})
    return EighResult(values, rows.swapaxes(-1, -2))


def eigvalsh(a: ArrayLike, UPLO: str = "L") -> NDArray:
    """The eigenvalues of each symmetric matrix, ascending; one triangle of it is read.

    >>> from gluonish import np
    >>> np.linalg.eigvalsh(np.array([[3.0, 0.0], [0.0, 4.0]])).tolist()
    [3.0, 4.0]
    """
    values: NDArray = _core.invoke("_np_eigvalsh", [_triangle(a, UPLO, "eigvalsh")], {})
    return values


def _triangle(a: ArrayLike, uplo: str, function: str) -> NDArray:
    """The matrices so that the triangle to read is the lower one."""
    if uplo.upper() not in {"L", "U"}:
        raise ArgumentError(f"{function}: UPLO={uplo!r} is not valid: expected 'L' or 'U'")
    matrix = _matrix(a, function)
    return matrix if uplo.upper() == "L" else matrix.swapaxes(-1, -2)


def _mirrored(a: NDArray, function: str) -> NDArray:
    """Symmetric matrices from their lower triangles."""
    if a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{function}: a square matrix is needed, got shape {a.shape}")
    lower: NDArray = _core.invoke("_half_triangle", [a], {})
    return lower + lower.swapaxes(-1, -2)


def pinv(a: ArrayLike, rcond: float | None = None, hermitian: bool = False, *, rtol: float | None = None) -> NDArray:
    """The pseudoinverse of each matrix.

    Singular values up to ``rcond`` (or ``rtol``) times the largest count as zero; without it, up to the larger side
    times the type's precision, which fits float32 as well as float64.

    >>> from gluonish import np
    >>> np.linalg.pinv(np.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    if rcond is not None and rtol is not None:
        raise ArgumentError("pinv: rcond and rtol are the same: give one of them")
    matrix = _matrix(a, "pinv")
    if hermitian:
        matrix = _mirrored(matrix, "pinv")
    cut = rtol if rcond is None else rcond
    inverse: NDArray = _core.invoke("_np_pinv", [matrix], {"rcond": cut})
    return inverse


@beside
def matrix_power(a: ArrayLike, n: int) -> NDArray:
    """Each square matrix to a whole power; the inverse's for a negative one.

    >>> from gluonish import np
    >>> np.linalg.matrix_power(np.array([[1, 1], [0, 1]]), 5).tolist()
    [[1, 5], [0, 1]]
    """
    base = asarray(a)
    if base.ndim < 2 or base.shape[-1] != base.shape[-2]:
        raise ShapeError(f"matrix_power: a square matrix is needed, got shape {base.shape}")
    if n == 0:
        return base * 0 + identity(base.shape[-1], dtype=base.dtype)
    if n < 0:
        base, n = inv(base), -n
    power: NDArray | None = None
    while True:
        if n % 2:
            power = base if power is None else power @ base
        n //= 2
        if n == 0:
            return power if power is not base and power is not None else base.copy()
        base = base @ base


@beside
def multi_dot(arrays: Sequence[ArrayLike], *, out: NDArray | None = None) -> NDArray:
    """The product of matrices, in the order of multiplication that costs least; the first and last may be vectors.

    >>> from gluonish import np
    >>> np.linalg.multi_dot([np.ones((2, 9)), np.ones((9, 3)), np.ones(3)]).tolist()
    [27.0, 27.0]
    """
    factors = [asarray(x) for x in arrays]
    if len(factors) < 2:
        raise ArgumentError(f"multi_dot: at least two arrays are needed, got {len(factors)}")
    first, last = factors[0].ndim == 1, factors[-1].ndim == 1
    if first:
        factors[0] = factors[0].reshape((1, -1))
    if last:
        factors[-1] = factors[-1].reshape((-1, 1))
    for x in factors:
        if x.ndim != 2:
            raise ShapeError(f"multi_dot: matrices are needed, got shape {x.shape}")
    product = _multiplied(factors, _best_cuts([*(x.shape[0] for x in factors), factors[-1].shape[1]]), 0, len(factors))
    if first or last:
        product = product.squeeze(axis=(0, 1) if first and last else 0 if first else 1)
    return store(product, out, "multi_dot")


def _best_cuts(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut each run of factors in two: dynamic programming over the numbers of multiplications."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(i, i + 1): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length
            best = min((cost[i, k] + cost[k, j] + sizes[i] * sizes[k] * sizes[j], k) for k in range(i + 1, j))
            cost[i, j], cuts[i, j] = best
    return cuts


def _multiplied(factors: list[NDArray], cuts: dict[tuple[int, int], int], i: int, j: int) -> NDArray:
    if j == i + 1:
        return factors[i]
    k = cuts[i, j]
    product: NDArray = _multiplied(factors, cuts, i, k) @ _multiplied(factors, cuts, k, j)
    return product


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    value = globals()[name] = fallback(numpy.linalg, name, "np.linalg")
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *public(numpy.linalg)})
