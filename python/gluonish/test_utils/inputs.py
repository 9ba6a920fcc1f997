"""Random shapes and arrays, matrices of certain kinds, and reductions to compare with."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from gluonish import nd
from gluonish._core import NDArray
from gluonish._create import dense
from gluonish._dtype import dtype_name
from gluonish.context import ContextLike
from gluonish.errors import ArgumentError
from gluonish.test_utils.tolerance import default_dtype

__all__ = [
    "assign_each",
    "assign_each2",
    "collapse_sum_like",
    "create_2d_tensor",
    "create_vector",
    "get_identity_mat",
    "get_identity_mat_batch",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np_reduce",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]

Host = Any


def random_arrays(*shapes: tuple[int, ...]) -> Any:
    """Normally distributed NumPy arrays of float32: a list, or one array for one shape.

    >>> [x.shape for x in random_arrays((2, 3), ())], random_arrays((4,)).dtype.name
    ([(2, 3), ()], 'float32')
    """
    arrays: list[Host] = [np.asarray(np.random.standard_normal(shape), default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes: tuple[int, ...], **kwargs: Any) -> list[Host]:
    """NumPy arrays of numbers from ``low`` (0) to ``high`` (1), of type ``dtype`` (float32).

    >>> [x.shape for x in random_uniform_arrays((2, 3), low=-1)]
    [(2, 3)]
    """
    low, high, dtype = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0), kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise ArgumentError(f"random_uniform_arrays: there is no argument {next(iter(kwargs))!r}")
    return [np.random.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """``k`` elements in random order, none twice.

    >>> sorted(random_sample([1, 2, 3], 3))
    [1, 2, 3]
    """
    if not 0 <= k <= len(population):
        raise AssertionError(f"random_sample: k={k} is not valid for {len(population)} elements")
    return [population[i] for i in np.random.permutation(len(population))[:k]]


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A shape of two axes, up to the given sizes.

    >>> len(rand_shape_2d())
    2
    """
    return _shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A shape of three axes, up to the given sizes.

    >>> len(rand_shape_3d())
    3
    """
    return _shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """A shape of so many axes, each up to a size.

    >>> len(rand_shape_nd(5))
    5
    """
    return _shape((dim,) * num_dim, allow_zero_size)


def _shape(limits: Iterable[int], allow_zero_size: bool) -> tuple[int, ...]:
    return tuple(int(np.random.randint(0 if allow_zero_size else 1, limit + 1)) for limit in limits)


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """A random place: x from ``x_low`` to below ``x_high``, y likewise.

    >>> rand_coord_2d(2, 3, 5, 6)
    (2, 5)
    """
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def rand_ndarray(
    shape: tuple[int, ...],
    stype: str = "default",
    density: float | None = None,
    dtype: Any = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: ContextLike = None,
) -> NDArray:
    """Numbers from -1 to 1. Sparse storage types, and what belongs to them, raise.

    >>> rand_ndarray((2, 3), dtype="float64").dtype
    dtype('float64')
    """
    dense(stype, "rand_ndarray")
    odd = {"density": density, "shuffle_csr_indices": shuffle_csr_indices, "distribution": distribution}
    for name, value in odd.items():
        if value not in (None, False):
            raise ArgumentError(f"rand_ndarray: {name}={value!r} is for sparse arrays, which are not built")
    values = np.random.uniform(-1, 1, shape)
    if modifier_func is not None:
        values = assign_each(values, modifier_func)
    return nd.array(values, dtype=dtype_name(dtype, "float32"), ctx=ctx)


def assign_each(the_input: Host, function: Callable[[Any], Any] | None) -> Host:
    """A NumPy array of what a function makes of each element; a copy if it is None.

    >>> assign_each(np.array([1, 2]), lambda x: 10 * x)
    array([10., 20.])
    """
    if function is None:
        return np.array(the_input)
    return np.array([function(x) for x in np.ravel(the_input)], "float64").reshape(np.shape(the_input))


def assign_each2(input1: Host, input2: Host, function: Callable[[Any, Any], Any] | None) -> Host:
    """A NumPy array of what a function makes of each pair of elements; a copy of the first if it is None.

    >>> assign_each2(np.array([1, 2]), np.array([3, 4]), lambda x, y: x * y)
    array([3., 8.])
    """
    if function is None:
        return np.array(input1)
    if np.shape(input1) != np.shape(input2):
        raise AssertionError(f"the shapes {np.shape(input1)} and {np.shape(input2)} differ")
    pairs = zip(np.ravel(input1), np.ravel(input2), strict=True)
    return np.array([function(x, y) for x, y in pairs], "float64").reshape(np.shape(input1))


def np_reduce(dat: Host, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]) -> Host:
    """A reduction of NumPy's over one axis after the other.

    >>> np_reduce(np.ones((2, 3, 4)), (0, 2), True, np.sum).shape
    (1, 3, 1)
    """
    axes = range(dat.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    axes = sorted(i % dat.ndim for i in axes)
    reduced = dat
    for i in reversed(axes):
        reduced = numpy_reduce_func(reduced, axis=i)
    if keepdims:
        reduced = np.reshape(reduced, tuple(1 if i in axes else size for i, size in enumerate(dat.shape)))
    return reduced


def collapse_sum_like(a: Host, shape: tuple[int, ...]) -> Host:
    """The sum over the axes that broadcasting an array of this shape to ``a`` would repeat.

    >>> collapse_sum_like(np.ones((2, 3, 4)), (3, 1)).tolist()
    [[8.0], [8.0], [8.0]]
    """
    missing = a.ndim - len(shape)
    if missing < 0 or any(s not in (1, n) for s, n in zip(shape, a.shape[missing:], strict=True)):
        raise AssertionError(f"collapse_sum_like: an array of shape {shape} does not broadcast to {a.shape}")
    wide = [missing + i for i, size in enumerate(shape) if size != a.shape[missing + i]]
    return np.sum(a, axis=(*range(missing), *wide)).reshape(shape)


def create_2d_tensor(rows: int, columns: int, dtype: Any = np.int64) -> NDArray:
    """A matrix whose rows are full of their numbers.

    >>> create_2d_tensor(2, 3).tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    return nd.arange(0, rows, dtype=dtype).reshape((rows, 1)).broadcast_to((rows, columns))


def create_vector(size: int, dtype: Any = np.int64) -> NDArray:
    """0, 1, 2, ...

    >>> create_vector(3).tolist()
    [0, 1, 2]
    """
    return nd.arange(0, size, dtype=dtype)


def get_identity_mat(size: int) -> NDArray:
    """The identity.

    >>> get_identity_mat(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return nd.eye(size)


def get_identity_mat_batch(size: int) -> NDArray:
    """Two identities.

    >>> get_identity_mat_batch(3).shape
    (2, 3, 3)
    """
    both: NDArray = nd.stack(nd.eye(size), nd.eye(size))
    return both


def new_orthonormal_matrix_2d(n: int) -> Host:
    """A random orthonormal NumPy matrix.

    >>> q = new_orthonormal_matrix_2d(3)
    >>> bool(np.allclose(q @ q.T, np.eye(3)))
    True
    """
    return np.linalg.qr(np.random.standard_normal((n, n)))[0]


def new_sym_matrix_with_real_eigvals_2d(n: int) -> Host:
    """A random symmetric NumPy matrix.

    >>> a = new_sym_matrix_with_real_eigvals_2d(3)
    >>> bool(np.allclose(a, a.T))
    True
    """
    q = new_orthonormal_matrix_2d(n)
    return (q * np.random.uniform(-10, 10, n)) @ q.T


def new_matrix_with_real_eigvals_2d(n: int) -> Host:
    """A random NumPy matrix whose eigenvalues are real; it is not symmetric.

    >>> bool(np.isreal(np.linalg.eigvals(new_matrix_with_real_eigvals_2d(3))).all())
    True
    """
    q = new_orthonormal_matrix_2d(n)
    basis = q @ (np.eye(n) + np.triu(np.random.uniform(-0.5, 0.5, (n, n)), 1))  # well conditioned
    return (basis * (np.random.uniform(0.5, 1.5, n) + 2 * np.arange(n))) @ np.linalg.inv(basis)


def new_sym_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> Host:
    """Random symmetric NumPy matrices in the last two axes.

    >>> new_sym_matrix_with_real_eigvals_nd((2, 3, 3)).shape
    (2, 3, 3)
    """
    return _stacked(shape, new_sym_matrix_with_real_eigvals_2d)


def new_matrix_with_real_eigvals_nd(shape: tuple[int, ...]) -> Host:
    """Random NumPy matrices with real eigenvalues in the last two axes.

    >>> new_matrix_with_real_eigvals_nd((2, 3, 3)).shape
    (2, 3, 3)
    """
    return _stacked(shape, new_matrix_with_real_eigvals_2d)


def _stacked(shape: tuple[int, ...], make: Callable[[int], Host]) -> Host:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise AssertionError(f"the last two axes are those of square matrices, got shape {shape}")
    count = int(np.prod(shape[:-2]))
    return np.array([make(shape[-1]) for _ in range(count)]).reshape(shape)
