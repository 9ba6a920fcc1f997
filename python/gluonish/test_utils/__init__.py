"""Helpers for tests of networks and of functions on arrays, with MXNet's names.

>>> import gluonish as mx
>>> from gluonish.test_utils import assert_almost_equal, check_numeric_gradient, rand_ndarray, rand_shape_2d
>>> x = rand_ndarray(rand_shape_2d())
>>> assert_almost_equal(x * 2, x.asnumpy() + x.asnumpy())
>>> check_numeric_gradient(mx.nd.sin, [x])

What checks symbols in MXNet, ``check_numeric_gradient`` and ``check_consistency``, checks functions and blocks here.
What needs symbols or sparse arrays raises an error that says so. Random inputs come from NumPy's global generator, so
``numpy.random.seed`` fixes them.
"""

from gluonish._missing import explained
from gluonish.test_utils.compare import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    checkShapes,
    compare_ndarray_tuple,
    locationError,
    same,
    same_array,
)
from gluonish.test_utils.data import get_mnist
from gluonish.test_utils.gradient import check_consistency, check_numeric_gradient, compare_optimizer, numeric_grad
from gluonish.test_utils.inputs import (
    assign_each,
    assign_each2,
    collapse_sum_like,
    create_2d_tensor,
    create_vector,
    get_identity_mat,
    get_identity_mat_batch,
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
    np_reduce,
    rand_coord_2d,
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    random_arrays,
    random_sample,
    random_uniform_arrays,
)
from gluonish.test_utils.statistics import (
    chi_square_check,
    gen_buckets_probs_with_ppf,
    mean_check,
    var_check,
    verify_generator,
)
from gluonish.test_utils.surroundings import (
    assert_exception,
    default_context,
    discard_stderr,
    download,
    environment,
    has_tvm_ops,
    is_aarch64_run,
    is_cd_run,
    is_op_runnable,
    list_gpus,
    retry,
    set_default_context,
)
from gluonish.test_utils.tolerance import (
    default_atols,
    default_dtype,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    get_atol,
    get_etol,
    get_rtol,
    get_tolerance,
    get_tols,
)

__all__ = [
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "assign_each",
    "assign_each2",
    "checkShapes",
    "check_consistency",
    "check_numeric_gradient",
    "chi_square_check",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "compare_optimizer",
    "create_2d_tensor",
    "create_vector",
    "default_atols",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "discard_stderr",
    "download",
    "effective_dtype",
    "environment",
    "gen_buckets_probs_with_ppf",
    "get_atol",
    "get_etol",
    "get_identity_mat",
    "get_identity_mat_batch",
    "get_mnist",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "locationError",
    "mean_check",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np_reduce",
    "numeric_grad",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
    "retry",
    "same",
    "same_array",
    "set_default_context",
    "var_check",
    "verify_generator",
]

__getattr__ = explained("gluonish.test_utils", __all__)
