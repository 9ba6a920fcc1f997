"""np.linalg and nd.linalg against NumPy, beyond what the samples of the rows say."""

import math

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, errors, nd
from gluonish import np as mnp

rng = np.random.default_rng(3)
SQUARE = rng.normal(size=(2, 4, 4)) + 4 * np.eye(4)
TALL = rng.normal(size=(5, 3))
SPD = SQUARE @ SQUARE.swapaxes(-1, -2)


def same(got, want, tolerance=1e-10):
    np.testing.assert_allclose(got.asnumpy(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("order", [None, 2, 1, 0, 3, -2, np.inf, -np.inf])
@pytest.mark.parametrize(("axis", "keepdims"), [(0, False), (-1, True), ((1,), False)])
def test_norm_of_vectors(order, axis, keepdims):
    want = np.linalg.norm(TALL, order, axis if isinstance(axis, int) else axis[0], keepdims)
    same(mnp.linalg.norm(mnp.array(TALL), order, axis, keepdims), want)


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
@pytest.mark.parametrize(("axis", "keepdims"), [((0, 1), False), ((2, 0), True), ((-1, -2), False)])
def test_norm_of_matrices(order, axis, keepdims):
    x = rng.normal(size=(3, 4, 5))
    same(mnp.linalg.norm(mnp.array(x), order, axis, keepdims), np.linalg.norm(x, order, axis, keepdims))


def test_norm_of_everything():
    x = rng.normal(size=(3, 4, 5))
    same(mnp.linalg.norm(mnp.array(x)), np.linalg.norm(x))
    same(mnp.linalg.norm(mnp.array(x), keepdims=True), np.linalg.norm(x, keepdims=True))
    same(mnp.linalg.norm(mnp.array([3, 4])), 5)
    same(mnp.linalg.vector_norm(mnp.array(x), axis=(0, 2), ord=3), np.sum(np.abs(x) ** 3, (0, 2)) ** (1 / 3))
    same(mnp.linalg.matrix_norm(mnp.array(x), ord=1), np.linalg.norm(x, 1, (-2, -1)))
    for bad in ({"ord": "nuc"}, {"ord": 1}):
        with pytest.raises(ValueError, match="norm"):
            mnp.linalg.norm(mnp.array(x), **bad)
    with pytest.raises(ValueError, match="ord='x'"):
        mnp.linalg.norm(mnp.array(TALL), "x")
    with pytest.raises(ValueError, match="one and the same"):
        mnp.linalg.norm(mnp.array(TALL), axis=(0, 0))


def test_norm_has_a_gradient_at_zero():
    x = mnp.zeros(3)
    x.attach_grad()
    with autograd.record():
        y = mnp.linalg.norm(x)
    y.backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_solve_with_vectors_and_batches():
    b = rng.normal(size=4)
    same(mnp.linalg.solve(mnp.array(SQUARE), mnp.array(b)), np.linalg.solve(SQUARE, b[:, None])[..., 0])
    same(mnp.linalg.solve(mnp.array(SQUARE[0]), mnp.array(SPD)), np.linalg.solve(SQUARE[0], SPD))
    same(mnp.linalg.solve([[2, 0], [0, 4]], [2, 2]), [1, 0.5])
    assert mnp.linalg.solve(mnp.array(SQUARE), mnp.array(SPD, dtype="float32")).dtype == np.float64


def test_results_have_names():
    a = mnp.array(TALL)
    q, r = mnp.linalg.qr(a)
    same(q @ r, TALL)
    same(mnp.linalg.qr(a, "r"), r.asnumpy())
    full = mnp.linalg.qr(a, "complete")
    assert full.Q.shape == (5, 5)
    same(full.Q.T @ full.Q, np.eye(5))
    same(full.Q @ full.R, TALL)
    parts = mnp.linalg.svd(a)
    assert (parts.U.shape, parts.S.shape, parts.Vh.shape) == ((5, 5), (3,), (3, 3))
    same(parts.U[:, :3] * parts.S @ parts.Vh, TALL)
    same(parts.U.T @ parts.U, np.eye(5))
    same(mnp.linalg.svd(a, compute_uv=False), parts.S.asnumpy())
    found = mnp.linalg.eigh(mnp.array(SPD))
    same(mnp.array(SPD) @ found.eigenvectors, (found.eigenvectors * found.eigenvalues[:, None]).asnumpy())
    assert float(mnp.linalg.slogdet(mnp.array(-SQUARE[0, :3, :3])).sign) == np.linalg.slogdet(-SQUARE[0, :3, :3])[0]
    with pytest.raises(ValueError, match="mode='full'"):
        mnp.linalg.qr(a, "full")


def test_triangles():
    upper = np.triu(SPD) + np.tril(np.full(SPD.shape, 7.0), -1)
    same(mnp.linalg.eigvalsh(mnp.array(upper), "U"), np.linalg.eigvalsh(SPD))
    same(mnp.linalg.eigh(mnp.array(upper), UPLO="U").eigenvalues, np.linalg.eigvalsh(SPD))
    same(mnp.linalg.cholesky(mnp.array(upper), upper=True), np.linalg.cholesky(SPD).swapaxes(-1, -2))
    same(mnp.linalg.pinv(mnp.array(np.tril(SPD)), hermitian=True), np.linalg.inv(SPD))
    with pytest.raises(ValueError, match="UPLO='x'"):
        mnp.linalg.eigvalsh(mnp.array(SPD), "x")


def test_pinv_cuts_small_values():
    a = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    for dtype, near in (("float32", 1e-6), ("float64", 1e-12)):
        same(mnp.linalg.pinv(mnp.array(a, dtype=dtype)), np.linalg.pinv(a, 1e-10), near)
    same(mnp.linalg.pinv(mnp.array(np.diag([4.0, 1.0])), rcond=0.5), np.diag([0.25, 0]))
    same(mnp.linalg.pinv(mnp.array(np.diag([4.0, 1.0])), rtol=0.5), np.diag([0.25, 0]))


@pytest.mark.parametrize("n", [0, 1, 2, 5, -1, -3])
def test_matrix_power(n):
    same(mnp.linalg.matrix_power(mnp.array(SQUARE), n), np.linalg.matrix_power(SQUARE, n), 1e-8)
    same(mnp.linalg.matrix_power(mnp.array([[1, 1], [0, 1]]), abs(n)), np.linalg.matrix_power([[1, 1], [0, 1]], abs(n)))


def test_multi_dot():
    parts = [rng.normal(size=s) for s in ((7,), (7, 3), (3, 9), (9, 2), (2,))]
    for factors in (parts, parts[:-1], parts[1:], parts[1:-1], parts[1:3]):
        same(mnp.linalg.multi_dot([mnp.array(x) for x in factors]), np.linalg.multi_dot(factors))
    with pytest.raises(ValueError, match="at least two"):
        mnp.linalg.multi_dot([mnp.ones((2, 2))])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_every_floating_type(dtype):
    a = mnp.array(SPD, dtype="float64").astype(dtype)
    near = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-4, "float64": 1e-10}[dtype]
    host = a.astype("float64").asnumpy()
    for ours, theirs in (
        (mnp.linalg.inv, np.linalg.inv),
        (mnp.linalg.eigvalsh, np.linalg.eigvalsh),
        (mnp.linalg.cholesky, np.linalg.cholesky),
    ):
        got = ours(a)
        assert str(got.dtype) == dtype
        want = theirs((host + host.swapaxes(-1, -2)) / 2)
        np.testing.assert_allclose(got.astype("float64").asnumpy(), want, rtol=near, atol=near * np.abs(want).max())
    u, s, vt = mnp.linalg.svd(a)
    q, r = mnp.linalg.qr(a)
    for product in ((u * s[:, None]) @ vt, q @ r):
        assert np.abs(product.astype("float64").asnumpy() - host).max() < 4 * near * np.abs(host).max()


def test_integers_become_real():
    assert str(mnp.linalg.inv([[2, 0], [0, 4]]).dtype) == "float32"
    assert mnp.linalg.det(mnp.array([[2, 0], [0, 4]])).item() == 8


SINGULAR = np.stack([np.eye(3), np.zeros((3, 3))])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mnp.linalg.inv(mnp.array(SINGULAR)), ": matrix 1 of the batch is singular"),
        (lambda: mnp.linalg.inv(mnp.array([[1.0, 2.0], [2.0, 4.0]])), ": the matrix is singular"),
        (lambda: mnp.linalg.solve(mnp.array(SINGULAR), mnp.ones(3)), "solve: matrix 1 of the batch is singular"),
        (lambda: mnp.linalg.inv(mnp.array(SINGULAR[None])), r"matrix \(0, 1\) of the batch"),
        (
            lambda: mnp.linalg.cholesky(mnp.array(-SQUARE)),
            ": matrix 0 of the batch is not positive definite",
        ),
        (lambda: mnp.linalg.eigvalsh(mnp.array([[1.0, 0], [np.nan, 1]])), "holds NaN or infinity"),
        (lambda: mnp.linalg.eigh(mnp.array([[np.inf, 0], [0, 1]])).eigenvalues, "holds NaN or infinity"),
        (lambda: mnp.linalg.svdvals(mnp.array([[1.0, np.nan]])), "holds NaN or infinity"),
    ],
)
def test_matrices_without_an_answer(call, says):
    for kind in (errors.LinAlgError, np.linalg.LinAlgError, mnp.linalg.LinAlgError, mx.base.MXNetError, ValueError):
        with pytest.raises(kind, match=says):
            call().asnumpy()


def test_nan_goes_through_equations():
    assert np.isnan(mnp.linalg.inv(mnp.array([[np.nan, 0], [0, 1]])).asnumpy()).any()
    assert np.isnan(mnp.linalg.det(mnp.array([[np.nan, 0], [0, 1]])).asnumpy())


def test_determinant_of_a_singular_matrix():
    zero = mnp.zeros((2, 2))
    assert mnp.linalg.det(zero).item() == 0
    sign, log = mnp.linalg.slogdet(zero)
    assert (sign.item(), log.item()) == (0, -np.inf)


def test_gradients_that_do_not_exist_raise():
    for function in (lambda a: mnp.linalg.svd(a).U, lambda a: mnp.linalg.qr(a, "complete").Q):
        a = mnp.array(TALL)
        a.attach_grad()
        with autograd.record():
            y = function(a)
        with pytest.raises(errors.GradientError, match="has no gradient"):
            y.backward()


def test_equal_eigenvalues_do_not_spoil_gradients_of_values():
    for function in (
        mnp.linalg.eigvalsh,
        lambda a: mnp.linalg.eigh(a).eigenvalues,
        mnp.linalg.svdvals,
        lambda a: mnp.linalg.svd(a).S,
    ):
        a = mnp.array(np.eye(3) * 2)
        a.attach_grad()
        with autograd.record():
            y = function(a).sum()
        y.backward()
        same(a.grad, np.eye(3))


def test_other_functions_come_from_numpy():
    with pytest.warns(mnp.NumpyFallbackWarning):
        assert mnp.linalg.matrix_rank(mnp.array(SQUARE)).tolist() == [4, 4]
    assert "lstsq" in dir(mnp.linalg)
    with pytest.raises(AttributeError, match="nothing"):
        _ = mnp.linalg.nothing


def test_names_of_mxnet():
    names = [
        "det",
        "extractdiag",
        "extracttrian",
        "gelqf",
        "gemm",
        "gemm2",
        "inverse",
        "makediag",
        "maketrian",
        "potrf",
        "potri",
        "slogdet",
        "sumlogdiag",
        "syevd",
        "syrk",
        "trmm",
        "trsm",
    ]
    for name in names:
        assert getattr(nd, f"linalg_{name}") is not None
        assert getattr(nd.linalg, name) is not None
    a = nd.array(SPD[0])
    u, values = nd.linalg.syevd(a)
    np.testing.assert_allclose(nd.dot(u.T * values, u).asnumpy(), SPD[0], rtol=1e-4)
    q, low = nd.linalg.gelqf(A=nd.array(TALL.T))
    np.testing.assert_allclose(nd.dot(low, q).asnumpy(), TALL.T, rtol=1e-4)


def test_products_of_mixed_types():
    a, b = mnp.ones((2, 3), dtype="float32"), mnp.ones((3, 2), dtype="float64")
    assert str((a @ b).dtype) == "float64"
    assert str((mnp.ones((2, 3), dtype="int32") @ b).dtype) == "float64"
    same(a @ b, np.full((2, 2), 3.0))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_bits(threads):
    a = mnp.array(rng.normal(size=(300, 300)), dtype="float32")
    want = [x.asnumpy().tobytes() for x in (mnp.linalg.inv(a), *mnp.linalg.qr(a), *mnp.linalg.svd(a))]
    with mx.engine.set_num_threads(threads):
        got = [x.asnumpy().tobytes() for x in (mnp.linalg.inv(a), *mnp.linalg.qr(a), *mnp.linalg.svd(a))]
    assert got == want


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_singular_matrices_have_a_gradient_of_their_determinant(dtype):
    rank_three = rng.normal(size=(4, 3)) @ rng.normal(size=(3, 4))
    exact = np.array([[1.0, 2, 3, 4], [2, 4, 6, 8], [1, 0, 5, 1], [0, 3, 1, 1]])
    rank_two = np.diag([1.0, 2, 0, 0])
    host = np.stack([rank_three, exact, rank_two, np.zeros((4, 4)), np.diag([3.0, 0, -2, 1]), SQUARE[0]])
    x = nd.array(host, dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y = nd.linalg.det(x)
    y.backward(nd.array([1.0, 2, 3, 4, 5, 6], dtype=dtype))
    want = np.zeros_like(host)
    for i, j in np.ndindex(4, 4):
        minor = np.delete(np.delete(host, i, axis=1), j, axis=2)
        want[:, i, j] = (-1) ** (i + j) * np.linalg.det(minor) * np.arange(1, 7)
    same(x.grad, want, 2e-3 if dtype == "float32" else 1e-10)
    one = nd.zeros((1, 1), dtype=dtype)
    one.attach_grad()
    with autograd.record():
        y = nd.linalg.det(one)
    y.backward()
    assert one.grad.tolist() == [[1]]


def _first(result):
    return result if isinstance(result, mx.nd.NDArray) else result[0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("at", [(0, 0), (2, 1), (3, 3)])
def test_what_is_no_number_is_named(value, at):
    bad = SPD[0].copy()
    bad[at] = bad[at[::-1]] = value
    for call in (nd.linalg.potrf, mnp.linalg.qr, mnp.linalg.svd, mnp.linalg.eigh, mnp.linalg.pinv):
        with pytest.raises(errors.LinAlgError, match="holds NaN or infinity"):
            _first(call(mnp.array(bad))).asnumpy()


def test_equations_with_nan_give_nan():
    bad = SQUARE[0].copy()
    bad[2, 1] = np.nan
    for call in (nd.linalg.inverse, nd.linalg.det, lambda a: nd.linalg.slogdet(a)[1]):
        assert np.isnan(call(mnp.array(bad)).asnumpy()).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e4, 1e30])
@pytest.mark.parametrize("n", [20, 140])
def test_decompositions_do_not_care_for_the_scale(n, scale, dtype):
    x = np.random.default_rng(n).normal(size=(n, n))
    x = ((x + x.T) * scale).astype(dtype)
    a, allowed = mnp.array(x, dtype=dtype), 200 * np.finfo(dtype).eps * n
    values, vectors = mnp.linalg.eigh(a)
    double = np.linalg.eigvalsh(x.astype("float64")) / scale
    np.testing.assert_allclose(values.asnumpy() / scale, double, atol=allowed)
    v = vectors.asnumpy().astype("float64")
    np.testing.assert_allclose(v * (values.asnumpy() / scale) @ v.T, x / scale, atol=allowed)
    u, s, vt = (part.asnumpy().astype("float64") for part in mnp.linalg.svd(a))
    np.testing.assert_allclose(s / scale, np.sort(np.abs(double))[::-1], atol=allowed)
    np.testing.assert_allclose(u * (s / scale) @ vt, x / scale, atol=allowed)


def test_singular_values_of_graded_rows_are_in_order():
    n = 130
    x = ((np.triu(-0.9 * np.ones((n, n)), 1) + np.eye(n)) * (0.5 ** np.arange(n))[:, None]).astype("float32")
    s = mnp.linalg.svd(mnp.array(x))[1].asnumpy()
    np.testing.assert_allclose(s[:20], np.linalg.svd(x.astype("float64"))[1][:20], rtol=1e-3)
    assert (np.diff(s) <= 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_determinants_that_leave_the_range_on_the_way(dtype):
    large = {"float32": 1e30, "float64": 1e200}[dtype]
    x = mnp.array(np.diag([large, large, 1 / large, -1 / large, 3]).astype(dtype))
    x.attach_grad()
    with autograd.record():
        y = mnp.linalg.det(x)
    y.backward()
    same(y, -3, 1e-6)
    want = -3 / np.diagonal(x.asnumpy())
    np.testing.assert_allclose(np.diagonal(x.grad.asnumpy()), want, rtol=1e-6)
    assert mnp.linalg.det(mnp.array([[large, 0], [0, -large]], dtype)).item() == -np.inf
    assert mnp.linalg.det(mnp.array([[1 / large, 0], [0, 1 / large]], dtype)).item() == 0
    sign, log = mnp.linalg.slogdet(mnp.array(np.diag([large] * 9 + [-1.0]).astype(dtype)))
    assert sign.item() == -1
    same(log, 9 * np.log(large), 1e-6)


def test_pivots_too_small_to_divide_by():
    """Numbers below float32's smallest normal one, whose reciprocals are infinite."""
    tiny = np.float32(1e-42)
    singular = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 2]], "float32") * tiny
    assert mnp.linalg.det(mnp.array(singular)).item() == 0
    for call in (mnp.linalg.inv, lambda a: mnp.linalg.solve(a, mnp.ones((3, 1)))):
        with pytest.raises(errors.LinAlgError, match="singular"):
            call(mnp.array(singular))
    x = mnp.array(np.diag([tiny, 1]).astype("float32"))
    assert mnp.linalg.inv(x).tolist() == [[np.inf, 0], [0, 1]]
    assert mnp.linalg.solve(x, mnp.array([tiny, 2])).tolist() == [1, 2]


@pytest.mark.parametrize("scale", [1e-310, 1e-320, 2.0**-1060])
def test_equations_below_the_smallest_normal_number(scale):
    """Numbers of float64 whose reciprocals are infinite."""
    plain = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    a, b = plain * scale, plain @ [1.0, -2.0, 3.0] * scale
    units = np.round(a / 5e-324).astype("int64").tolist()  # what is left of the digits
    det = units[0][0] * (units[1][1] * units[2][2] - units[1][2] ** 2) - units[0][1] ** 2 * units[2][2]
    sign, log = mnp.linalg.slogdet(mnp.array(a))
    assert sign.item() == 1
    same(log, math.log(det) - 3 * 1074 * math.log(2), 1e-12)
    assert mnp.linalg.det(mnp.array(a)).item() == 0
    x = mnp.linalg.solve(mnp.array(a), mnp.array(b)).asnumpy()
    np.testing.assert_allclose(x, [1, -2, 3], rtol=10 * 5e-324 / scale + 1e-14)
    inverse = mnp.linalg.inv(mnp.array(a)).asnumpy()
    assert np.array_equal(inverse, np.linalg.inv(plain) * np.inf)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_gradient_of_a_determinant_that_is_no_number(dtype, value):
    x = mnp.array([[value, 1.0], [1.0, 3.0]], dtype)
    x.attach_grad()
    with autograd.record():
        y = mnp.linalg.det(x)
    y.backward()
    assert np.isnan(x.grad.asnumpy()).all()


def test_the_gradient_of_a_determinant_below_the_smallest_normal_number():
    x = mnp.array(np.array([[2.0, 1.0], [1.0, 3.0]]) * 2.0**-1040)
    x.attach_grad()
    with autograd.record():
        y = mnp.linalg.det(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy() * 2.0**1000, np.array([[3, -1], [-1, 2]]) * 2.0**-40, rtol=1e-9)


def test_equations_of_very_different_scales():
    a = np.diag([1.0, 1e-310, 1e300])
    a[0, 1] = 1e-310
    assert mnp.linalg.det(mnp.array(a)).item() == pytest.approx(1e-10)
    same(mnp.linalg.solve(mnp.array(a), mnp.array(a @ [1.0, 2.0, 3.0])), [1, 2, 3], 1e-12)
    assert mnp.linalg.inv(mnp.array(np.diag([1.0, 1e-310]))).tolist() == [[1, 0], [0, np.inf]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("lower", [True, False])
def test_triangles_with_a_zero_on_the_diagonal(dtype, lower):
    a = np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0])])
    x, b = mx.nd.array(a, dtype=dtype), mx.nd.ones((2, 3, 2), dtype=dtype)
    says = "matrix 1 of the batch is singular: element 1 of the diagonal"
    for call in (lambda: mx.nd.linalg.trsm(x, b, lower=lower), lambda: mx.nd.linalg.potri(x, lower=lower)):
        with pytest.raises(errors.LinAlgError, match=says):
            call().asnumpy()
    assert mx.nd.linalg.trsm(x, mx.nd.zeros((2, 3, 0), dtype=dtype), lower=lower).shape == (2, 3, 0)


@pytest.mark.parametrize("n", [5, 140])
def test_orthogonal_factors_of_tiny_matrices(n):
    x = (rng.normal(size=(2, n, n)) * np.array([1e-39, 1.0])[:, None, None]).astype("float32")
    q, r = mnp.linalg.qr(mnp.array(x))
    for k in range(2):
        got = q[k].asnumpy().astype("f8") @ r[k].asnumpy().astype("f8")
        np.testing.assert_allclose(got, x[k], atol=1e-5 * np.abs(x[k]).max())
        np.testing.assert_allclose(q[k].asnumpy().T @ q[k].asnumpy(), np.eye(n), atol=1e-5)


def _half_rank(n):
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0][:, : n // 2]
    return q @ q.T


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "x",
    [*(np.kron(np.eye(k), np.ones((n, n))) for k, n in ((2, 88), (2, 80), (4, 44))),
     _half_rank(150), _half_rank(200), np.eye(200), np.kron(np.diag([1, 0.5, 0]), np.eye(64))],
    ids=["88", "80", "44", "half150", "half200", "one", "steps"],
)  # fmt: skip
def test_singular_values_that_are_equal(x, dtype):
    x = x.astype(dtype)
    want = np.linalg.svd(x.astype("float64"), compute_uv=False)
    allowed = 300 * np.finfo(dtype).eps * want[0]
    np.testing.assert_allclose(mnp.linalg.svd(mnp.array(x), compute_uv=False).asnumpy(), want, atol=allowed)
    u, s, vt = (part.asnumpy().astype("float64") for part in mnp.linalg.svd(mnp.array(x)))
    np.testing.assert_allclose(s, want, atol=allowed)
    np.testing.assert_allclose(u * s @ vt, x, atol=allowed)
    np.testing.assert_allclose(u.T @ u, np.eye(len(x)), atol=allowed)
    same(mnp.linalg.norm(mnp.array(x), "nuc"), want.sum(), len(x) * allowed)
