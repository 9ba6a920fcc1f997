"""Reductions and statistics where the samples of rows do not reach: signatures of np, zeros, NaN, empty arrays."""

import warnings

import numpy  # noqa: ICN001 - np is the module under test
import pytest

from gluonish import autograd, errors, nd, np

RNG = numpy.random.default_rng(5)
X = RNG.normal(size=(4, 5, 6)).astype("float32")
HOLED = numpy.where(numpy.arange(120).reshape(4, 5, 6) % 7 < 2, numpy.nan, X).astype("float32")


def same(got, want, rtol=2e-6, atol=2e-6):
    want = numpy.asarray(want)
    assert got.shape == want.shape
    numpy.testing.assert_allclose(got.asnumpy(), want, rtol=rtol, atol=atol)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f.average(x),
        lambda f, x: f.average(x, axis=1, weights=f.arange(5)),
        lambda f, x: f.average(x, axis=(2, 0), weights=f.ones((6, 4)), keepdims=True),
        lambda f, x: f.average(x, weights=x * x, returned=True)[1],
        lambda f, x: f.average(x, axis=0, returned=True)[1],
        lambda f, x: f.median(x),
        lambda f, x: f.median(x, axis=1),
        lambda f, x: f.median(x, axis=(0, 2), keepdims=True),
        lambda f, x: f.quantile(x, 0.3, axis=-1),
        lambda f, x: f.quantile(x, [[0.0, 0.1], [0.9, 1.0]], axis=(0, 1)),
        lambda f, x: f.percentile(x, [5, 50], axis=2, keepdims=True),
        lambda f, x: f.diff(x),
        lambda f, x: f.diff(x, n=2, axis=0),
        lambda f, x: f.diff(x, n=0),
        lambda f, x: f.diff(x, axis=1, prepend=0, append=x[:, :2]),
        lambda f, x: f.diff(x > 0),
        lambda f, x: f.histogram(x, bins=7)[0],
        lambda f, x: f.histogram(x, bins=7)[1],
        lambda f, x: f.histogram(x, bins=[-1, 0, 0.5, 3])[0],
        lambda f, x: f.histogram(x, bins=4, range=(-1, 1), density=True)[0],
        lambda f, x: f.histogram(x, bins=4, weights=x * x)[0],
        lambda f, x: f.histogram(x, bins="sturges")[0],
        lambda f, x: f.bincount(f.array([3, 1, 1, 7])),
        lambda f, x: f.bincount(f.array([3, 1, 1]), weights=f.array([0.5, 2.0, 3.0]), minlength=6),
        lambda f, x: f.bincount(f.array([], "int64"), minlength=2),
        lambda f, x: f.ptp(x, axis=0),
        lambda f, x: f.count_nonzero(x > 0, axis=1, keepdims=True),
        lambda f, x: f.cumsum(x, axis=1),
        lambda f, x: f.cumprod(x),
        lambda f, x: f.any(x > 2, axis=(0, 1)),
        lambda f, x: f.all(x > -2, axis=2),
        lambda f, x: f.std(x, axis=1, ddof=1, keepdims=True),
        lambda f, x: f.var(x, axis=(0, 2)),
        lambda f, x: f.prod(x, axis=0),
        lambda f, x: f.amax(x, axis=0),
        lambda f, x: f.amin(x, axis=(1, 2)),
    ],
)
def test_as_numpy(call):
    same(call(np, np.array(X)), call(numpy, X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["nanmean", "nanmax", "nanmin", "nanstd", "nanvar", "nansum", "nanprod"])
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
def test_without_nan(name, axis):
    same(getattr(np, name)(np.array(HOLED), axis=axis), getattr(numpy, name)(HOLED, axis=axis), rtol=1e-5)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_positions_without_nan(name):
    for axis in (None, 0, 1):
        same(getattr(np, name)(np.array(HOLED), axis=axis), getattr(numpy, name)(HOLED, axis=axis))
    with pytest.raises(ValueError, match="NaN"):
        getattr(np, name)(np.array([[1.0, 2.0], [numpy.nan, numpy.nan]]), axis=1)


def test_nothing_but_nan():
    x = np.array([[numpy.nan, numpy.nan], [1.0, numpy.nan]])
    for name in ("nanmax", "nanmin", "nanmean", "nanvar"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(getattr(np, name)(x, axis=1), getattr(numpy, name)(x.asnumpy(), axis=1))
    assert np.isnan(np.median(x)).item()


def test_nothing_at_all():
    empty = np.zeros((0, 3))
    assert np.sum(empty).item() == 0
    assert np.prod(empty, axis=0).tolist() == [1, 1, 1]
    assert np.any(empty).item() is False
    assert np.all(empty).item() is True
    for name in ("max", "min", "ptp", "nanmax"):
        with pytest.raises(ValueError, match="empty"):
            getattr(np, name)(empty, axis=0)


def test_what_is_not_offered_is_refused():
    with pytest.raises(TypeError, match="exclude"):
        np.sum(np.ones(3), exclude=True)


def test_bad_arguments():
    x = np.ones((2, 3))
    for call in (
        lambda: np.average(x, weights=np.ones(2)),
        lambda: np.average(x, axis=1, weights=np.ones(2)),
        lambda: np.quantile(x, 1.5),
        lambda: np.median(x, axis=2),
        lambda: np.diff(x, n=-1),
        lambda: np.bincount(np.array([-1, 2])),
        lambda: np.bincount(np.array([1.5])),
        lambda: nd.histogram(x, bins=0),
        lambda: nd.histogram(x, range=(1, 0)),
        lambda: nd.all_finite(x, init_output=False),
        lambda: nd.multi_all_finite(x, x, num_arrays=3),
    ):
        with pytest.raises(errors.MXNetError):
            call()


def gradient(f, values):
    x = np.array(numpy.asarray(values, "float64"))
    x.attach_grad()
    with autograd.record():
        y = f(x)
    y.backward()
    return x.grad.asnumpy()


@pytest.mark.parametrize("values", [[2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
def test_products_with_zeros(values):
    """Each factor's gradient is the product of the others, whatever is 0."""
    others = [numpy.prod(values[:i] + values[i + 1 :]) for i in range(3)]
    numpy.testing.assert_array_equal(gradient(lambda x: x.prod(), values), others)
    a, b, c = values
    # y = (a, ab, abc)
    want = [1 + b + b * c, a + a * c, a * b]
    numpy.testing.assert_array_equal(gradient(lambda x: np.cumprod(x), values), want)


def test_second_order_of_a_product_with_zeros():
    x = np.array(numpy.array([0.0, 0.0, 5.0]))
    x.attach_grad()
    with autograd.record():
        (first,) = autograd.grad(x.prod(), [x], create_graph=True)
        y = first.sum()
    y.backward()
    assert x.grad.tolist() == [5, 5, 0]


def test_gradients_at_kinks_are_finite():
    assert gradient(lambda x: x.norm(), [0.0, 0.0]).tolist() == [0, 0]
    assert gradient(lambda x: x.std(), [2.0, 2.0]).tolist() == [0, 0]
    assert gradient(lambda x: x.norm(ord=1), [0.0, -3.0]).tolist() == [0, -1]
    holed = [1.0, numpy.nan, 3.0]
    assert gradient(np.nansum, holed).tolist() == [1, 0, 1]
    assert gradient(np.nanprod, holed).tolist() == [3, 0, 1]
    assert gradient(np.nanmax, holed).tolist() == [0, 0, 1]
    assert gradient(np.nanmean, holed).tolist() == [0.5, 0, 0.5]


def test_gradients_of_statistics():
    assert gradient(np.median, [3.0, 1.0, 2.0, 9.0]).tolist() == [0.5, 0, 0.5, 0]
    assert gradient(np.diff, [3.0, 1.0, 2.0]).tolist() == [-1, 0, 1]
    assert gradient(lambda x: np.average(x, weights=[1.0, 3.0]), [5.0, 6.0]).tolist() == [0.25, 0.75]


def test_long_sums_stay_exact():
    """The error does not grow with the number of values."""
    x = numpy.full(3_000_001, 0.1, "float32")
    exact = x.astype("float64").cumsum()
    assert abs(np.sum(np.array(x)).item() / exact[-1] - 1) < 1e-6
    numpy.testing.assert_allclose(np.cumsum(np.array(x)).asnumpy(), exact, rtol=1e-7)


# More values than the largest float16: one 3 among ones.
MANY = 90_000
HALVES = {
    "mean": (np.mean, 1 + 2 / MANY),
    "mean of some": (lambda x: np.mean(x, where=x > 0), 1 + 2 / MANY),
    "mean as float16": (lambda x: np.mean(x.astype("float32"), dtype="float16", where=x > 0), 1 + 2 / MANY),
    "average": (lambda x: np.average(x, weights=x), (MANY + 8) / (MANY + 2)),
    "weight": (lambda x: np.average(x * 0 + 5, weights=x), 5),
    "var": (np.var, 4 / MANY - (2 / MANY) ** 2),
    "std": (np.std, (4 / MANY - (2 / MANY) ** 2) ** 0.5),
    "var as float16": (lambda x: np.var(x.astype("float32"), dtype="float16"), 4 / MANY),
    "nanmean": (np.nanmean, 1 + 2 / MANY),
    "nanvar": (np.nanvar, 4 / MANY),
    "nanstd": (np.nanstd, 2 / MANY**0.5),
    "moments": (lambda x: nd.moments(x)[1], 4 / MANY),
    "std of large values": (lambda x: np.std(x[:2] * 20_000), 20_000),
    "nanstd of large values": (lambda x: np.nanstd(x[:2] * 20_000), 20_000),
    "norm": (np.linalg.norm, (MANY + 8) ** 0.5),
    "nd.norm": (nd.norm, (MANY + 8) ** 0.5),
    "cubic norm": (lambda x: np.linalg.norm(x, 3), (MANY + 26) ** (1 / 3)),
    "frobenius": (lambda x: np.linalg.norm(x.reshape(300, 300)), (MANY + 8) ** 0.5),
    "norm of matrices": (lambda x: np.linalg.norm(x.reshape(300, 300) * 0.1, 1), 30.2),
    "L2Normalization": (lambda x: nd.L2Normalization(x.reshape(1, -1))[0, 0], 3 / (MANY + 8) ** 0.5),
    "LRN": (lambda x: nd.LRN(x[:1].reshape(1, 1, 1, 1) * 1000, nsize=1)[0, 0, 0, 0], 3000 / 902**0.75),
    "lp pooling": (
        lambda x: nd.Pooling(x[:4].reshape(1, 1, 4) * 300, kernel=4, pool_type="lp", p_value=2)[0, 0, 0],
        300 * 12**0.5,
    ),
    "mean pooling": (
        lambda x: nd.Pooling_v1(x.reshape(1, 1, 300, 300), kernel=(300, 300), pool_type="avg")[0, 0, 0, 0],
        1,
    ),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALVES)
def test_halves_are_gathered_in_float32(name, dtype):
    """However many they are, and however large their squares: only the result must fit."""
    call, want = HALVES[name]
    x = nd.ones(MANY, dtype=dtype)
    x[0] = 3
    got = call(x)
    assert str(got.dtype) == ("float16" if "as float16" in name else dtype)
    assert abs(got.asnumpy().item() / want - 1) < (2e-3 if dtype == "float16" else 8e-3)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_middle_of_infinities_and_of_large_values(dtype):
    inf = numpy.inf
    for values in ([-inf, 1], [1, inf], [inf, inf], [-inf, -inf], [-inf, 0, 1, inf], [60000, 60001], [-60000, 60000]):
        got = np.median(np.array(values, dtype))
        assert got.item() == numpy.median(numpy.array(values, dtype).astype("float64"))
    assert numpy.isnan(np.median(np.array([-inf, inf], dtype)).item())


def test_quantiles_of_no_shares():
    for shape in ((2, 3), (0, 3)):
        assert np.quantile(np.ones(shape), [], axis=0, keepdims=True).shape == (0, 1, 3)


def test_gradients_of_halves():
    assert gradient(np.var, numpy.array([1, 3], "float16") * 20_000).tolist() == [-20_000, 20_000]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_norms_beyond_the_range_of_squares(dtype):
    far = numpy.finfo(dtype).max / 8
    rows = numpy.array([[3 * far, 4 * far], [3 / far, 4 / far], [0, 0], [3, 4], [far, 1]])
    want = numpy.array([5 * far, 5 / far, 0, 5, far])
    for norm in (nd.norm, np.linalg.norm):
        got = norm(nd.array(rows, dtype=dtype), axis=1)
        numpy.testing.assert_allclose(got.asnumpy(), want.astype(dtype), rtol=1e-6 if dtype == "float32" else 1e-15)
    assert nd.norm(nd.array([numpy.inf, 1], dtype=dtype)).item() == numpy.inf
    assert numpy.isnan(nd.norm(nd.array([numpy.nan, far * 8], dtype=dtype)).item())
    least = float(numpy.finfo(dtype).smallest_subnormal)
    assert nd.norm(nd.array([least, 0], dtype=dtype)).item() == least
    assert gradient(nd.norm, numpy.array([3 * far, 4 * far], dtype)).tolist() == pytest.approx([0.6, 0.8])


def test_moments_and_flags():
    x = nd.array(X)
    mean, variance = nd.moments(x, axes=(0, 2), keepdims=True)
    same(mean, X.mean((0, 2), keepdims=True))
    same(variance, X.var((0, 2), keepdims=True), rtol=1e-5)
    counts, edges = nd.histogram(x, bins=5, range=(-2, 2))
    same(counts, numpy.histogram(X, 5, (-2, 2))[0])
    same(edges, numpy.linspace(-2, 2, 6, dtype="float32"))
    same(nd.histogram(x, nd.array([-1, 0, 1]))[0], numpy.histogram(X, [-1, 0, 1])[0])
    flag = nd.zeros(1)
    assert nd.all_finite(x, out=flag) is flag
    assert flag.tolist() == [1]
    assert nd.all_finite(nd.array([numpy.nan]), init_output=False, out=flag).tolist() == [0]
    assert nd.all_finite(x, init_output=False, out=flag).tolist() == [0]
    assert nd.multi_all_finite(x, nd.array([numpy.inf]), num_arrays=2).tolist() == [0]
    assert nd.multi_sum_sq(nd.array([3, 4]), nd.ones(5), num_arrays=2).tolist() == [25, 5]
    assert nd.argmax_channel(nd.array([[1, 5, 2], [7, 0, 0]])).tolist() == [1, 0]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "cumprod"])
@pytest.mark.parametrize("values", [[0.2, 0.7, 3, 0, -3], [0.2, -0.2], [0.5], [0.0, 0.0], [2.0, 3.0]])
def test_truth_is_taken_before_the_reduction(name, values):
    x = numpy.array(values, "float32")
    got, want = getattr(np, name)(np.array(x), dtype=bool), getattr(numpy, name)(x, dtype=bool)
    assert got.dtype == bool
    same(got, want)


@pytest.mark.parametrize("name", ["std", "var", "nanstd", "nanvar"])
def test_spread_has_a_floating_type(name):
    for x in (np.array([1, 2, 4]), np.array([1.5, 2, 4])):
        with pytest.raises(errors.DTypeError, match="dtype='int32'"):
            getattr(np, name)(x, dtype="int32")
    same(getattr(np, name)(np.array([1, 2, 4]), dtype="float64"), getattr(numpy, name)([1, 2, 4]))
