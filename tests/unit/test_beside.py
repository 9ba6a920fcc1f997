"""Functions work where their arrays are: what they make of numbers and lists goes there, whatever device is current."""

import types
import warnings

import numpy  # noqa: ICN001 - np is that of the package
import pytest
from ops.driver import KNOWN, TABLE, array, bits, call, cases, types_of

import gluonish as mx
from gluonish import _core as core
from gluonish import autograd, nd, np, npx

# Where the arrays are, and which device is current.
APART = [(1, 0), (0, 1)]


def usual_type(sample):
    return next((d for d in ("float32", "int32") if d in sample.dtypes), sample.dtypes[0])


def inputs_on(device, sample):
    dtype = usual_type(sample)
    made = zip(sample.args, sample.make(dtype), types_of(sample, dtype), strict=True)
    return [value if arg.number is not None else array(value, kind, device) for arg, value, kind in made]


OF_ARRAYS = [s for s in KNOWN if any(arg.number is None for arg in s.args)]


@pytest.mark.parametrize("sample", cases(OF_ARRAYS))
def test_rows(sample):
    """Every row of the table, on arrays of a device that is not current."""
    got, want = (call(sample.op, inputs_on(device, sample), sample.attrs) for device in (1, 0))
    assert [x._device for x in got] == [1] * len(want)
    if not TABLE[sample.op]["random"]:
        assert list(map(bits, got)) == list(map(bits, want))


def gradients(sample, device):
    inputs = inputs_on(device, sample)
    variables = [inputs[k] for k in sample.grad]
    for x in variables:
        x.attach_grad()
    with autograd.record(train_mode=sample.training):
        made = [y for y in call(sample.op, inputs, sample.attrs) if "float" in str(y.dtype) and core.is_tracked(y)]
    autograd.backward(made)
    return [x.grad for x in variables]


@pytest.mark.parametrize("sample", cases([s for s in OF_ARRAYS if s.grad and "float" in usual_type(s)]))
def test_gradients_of_rows(sample):
    got, want = gradients(sample, 1), gradients(sample, 0)
    assert [x._device for x in got] == [1] * len(want)
    if not TABLE[sample.op]["random"]:
        assert list(map(bits, got)) == list(map(bits, want))


def arrays_in(value):
    if isinstance(value, core.NDArray):
        return [value]
    return [x for item in value for x in arrays_in(item)] if isinstance(value, list | tuple) else []


# A call of each function that is written in Python: of a vector `x`, a matrix `m`, and a vector of positions `i`.
CALLS = {
    "np": {
        "all": lambda x, m, i: np.all(m > 0, where=[True, False, True]),
        "allclose": lambda x, m, i: np.allclose(x, [3, 1, 2, 1]),
        "amax": lambda x, m, i: np.amax(m, where=[True, False, True], initial=0),
        "amin": lambda x, m, i: np.amin(m, where=[True, False, True], initial=0),
        "any": lambda x, m, i: np.any(m > 9, where=[True, False, True]),
        "append": lambda x, m, i: np.append(x, 5),
        "argpartition": lambda x, m, i: np.argpartition(x, 1),
        "argsort": lambda x, m, i: np.argsort(x),
        "argwhere": lambda x, m, i: (np.argwhere(x > 1), np.argwhere(m[:0])),
        "around": lambda x, m, i: np.around(x, 1),
        "array": lambda x, m, i: (np.array([x, [1, 2, 3, 4]]), np.array([[1, x[0]], [2, 3]])),
        "array_equal": lambda x, m, i: np.array_equal(x, [3, 1, 2, 1]),
        "array_split": lambda x, m, i: np.array_split(x, 3),
        "asanyarray": lambda x, m, i: np.asanyarray([1, x[0]]),
        "asarray": lambda x, m, i: np.asarray([x[0], 1]),
        "ascontiguousarray": lambda x, m, i: np.ascontiguousarray(m.T),
        "atleast_1d": lambda x, m, i: np.atleast_1d(x, 1),
        "atleast_2d": lambda x, m, i: np.atleast_2d(1, x),
        "atleast_3d": lambda x, m, i: np.atleast_3d(x, [1]),
        "average": lambda x, m, i: np.average(m, 1, weights=[1, 2, 3], returned=True),
        "bincount": lambda x, m, i: np.bincount(i, [1, 2, 3]),
        "broadcast_arrays": lambda x, m, i: np.broadcast_arrays([[1], [2]], x),
        "clip": lambda x, m, i: (np.clip(x, 1, [2, 2, 2, 2]), np.clip(x, None, [2, 2, 2, 2])),
        "column_stack": lambda x, m, i: np.column_stack([[1, 2, 3, 4], x]),
        "compress": lambda x, m, i: np.compress([True, False, True], m, 1),
        "concat": lambda x, m, i: np.concat([[1, 2], x]),
        "concatenate": lambda x, m, i: np.concatenate([x, [1, 2]]),
        "copy": lambda x, m, i: np.copy([x[0], 1]),
        "cross": lambda x, m, i: np.cross([1, 2, 3], m),
        "diag": lambda x, m, i: np.diag([x[0], 2]),
        "diagflat": lambda x, m, i: np.diagflat(m),
        "diff": lambda x, m, i: np.diff(x, prepend=1, append=[2, 3]),
        "digitize": lambda x, m, i: (np.digitize(x, [1, 2]), np.digitize([1, 2], x[:2])),
        "divmod": lambda x, m, i: np.divmod(x, [1, 2, 3, 4]),
        "dot": lambda x, m, i: (np.dot(x, 2), np.dot([1, 2], m), np.dot(m, [[1], [2], [3]])),
        "dsplit": lambda x, m, i: np.dsplit(m[None], [1]),
        "dstack": lambda x, m, i: np.dstack([x, [1, 2, 3, 4]]),
        "einsum": lambda x, m, i: np.einsum("i,ij", [1, 2], m),
        "empty_like": lambda x, m, i: np.empty_like([x[0], 1]) * 0,
        "fliplr": lambda x, m, i: np.fliplr(m),
        "flipud": lambda x, m, i: np.flipud(m),
        "full_like": lambda x, m, i: np.full_like(m, [1, 2, 3]),
        "geomspace": lambda x, m, i: np.geomspace(x, 9),
        "histogram": lambda x, m, i: (
            np.histogram(x),
            np.histogram(x, [0, 1, 2], density=True),
            np.histogram(x, 3, weights=[1, 2, 3, 4]),
        ),
        "hsplit": lambda x, m, i: np.hsplit(m, [1]),
        "hstack": lambda x, m, i: np.hstack([[1], x]),
        "in1d": lambda x, m, i: np.in1d(x, [1]),
        "inner": lambda x, m, i: (np.inner(x, 2), np.inner([1, 2, 3], m)),
        "isin": lambda x, m, i: (np.isin(x, [1, 2]), np.isin([1, 2], x), np.isin(x, []), np.isin(x, 1, invert=True)),
        "kron": lambda x, m, i: np.kron([1, 2], m),
        "linspace": lambda x, m, i: (np.linspace(x, 1), np.linspace([1], x, retstep=True), np.linspace(x[0], 1, 3)),
        "logspace": lambda x, m, i: np.logspace(x, 1),
        "matmul": lambda x, m, i: (np.matmul([1, 2], m), np.matmul(m, [1, 2, 3], dtype="float64")),
        "max": lambda x, m, i: np.max(m, where=[True, False, True], initial=0),
        "may_share_memory": lambda x, m, i: np.may_share_memory(x, x[1:]),
        "mean": lambda x, m, i: np.mean(m, where=[True, False, True]),
        "median": lambda x, m, i: np.median(m, 1),
        "meshgrid": lambda x, m, i: np.meshgrid(x, [1, 2]),
        "min": lambda x, m, i: np.min(m, where=[True, False, True], initial=0),
        "nan_to_num": lambda x, m, i: np.nan_to_num(x),
        "nanargmax": lambda x, m, i: np.nanargmax(m, 1),
        "nanargmin": lambda x, m, i: np.nanargmin(m, 1),
        "nanmax": lambda x, m, i: np.nanmax(m, where=[True, False, True], initial=0),
        "nanmean": lambda x, m, i: np.nanmean(m, where=[True, False, True]),
        "nanmin": lambda x, m, i: np.nanmin(m, where=[True, False, True], initial=0),
        "nanprod": lambda x, m, i: np.nanprod(m, where=[True, False, True]),
        "nanstd": lambda x, m, i: np.nanstd(m, where=[True, False, True]),
        "nansum": lambda x, m, i: np.nansum(m, where=[True, False, True]),
        "nanvar": lambda x, m, i: np.nanvar(m, where=[True, False, True]),
        "ndim": lambda x, m, i: np.ndim(m),
        "nonzero": lambda x, m, i: (np.nonzero(m > 1), np.nonzero(m[:0])),
        "ones_like": lambda x, m, i: np.ones_like([x[0], 1]),
        "outer": lambda x, m, i: np.outer(x, [1, 2]),
        "pad": lambda x, m, i: (np.pad(x, 2), np.pad(m, 1, "edge")),
        "partition": lambda x, m, i: np.partition(x, 1),
        "percentile": lambda x, m, i: np.percentile(x, [30, 50]),
        "prod": lambda x, m, i: np.prod(m, where=[True, False, True], initial=2),
        "put_along_axis": lambda x, m, i: (np.put_along_axis(m, [[0], [1]], [[5], [6]], 1), m),
        "quantile": lambda x, m, i: np.quantile(x, [0.3, 0.5], method="lower"),
        "ravel": lambda x, m, i: np.ravel(m, "F"),
        "ravel_multi_index": lambda x, m, i: np.ravel_multi_index((i, [0, 1, 1]), (3, 2)),
        "repeat": lambda x, m, i: np.repeat(x, [1, 2, 0, 1]),
        "reshape": lambda x, m, i: np.reshape([x[0], 1], (2, 1)),
        "resize": lambda x, m, i: np.resize(m, (3, 3)),
        "rollaxis": lambda x, m, i: np.rollaxis(m, 1),
        "rot90": lambda x, m, i: np.rot90(m),
        "round": lambda x, m, i: (np.round(x, 1), np.round(i, -1)),
        "searchsorted": lambda x, m, i: (
            np.searchsorted([1, 2], x),
            np.searchsorted(x, 2, sorter=[1, 3, 2, 0]),
            np.searchsorted([1, 2], 3, sorter=i[1:]),
        ),
        "shape": lambda x, m, i: np.shape(m),
        "shares_memory": lambda x, m, i: np.shares_memory(x, x[1:]),
        "size": lambda x, m, i: np.size(m),
        "sort": lambda x, m, i: np.sort(x),
        "split": lambda x, m, i: np.split(x, [1]),
        "stack": lambda x, m, i: np.stack([[1, 2, 3, 4], x]),
        "std": lambda x, m, i: np.std(m, where=[True, False, True]),
        "sum": lambda x, m, i: np.sum(m, where=[True, False, True], initial=2),
        "take": lambda x, m, i: (np.take(x, [0, 2]), np.take([5, 6, 7], i), np.take(x, 1)),
        "take_along_axis": lambda x, m, i: np.take_along_axis(m, [[0], [1]], 1),
        "tensordot": lambda x, m, i: np.tensordot([1, 2], m, 1),
        "unique": lambda x, m, i: (
            np.unique(x),
            np.unique(x, True, True, True),
            np.unique(x[:0], True, True, True),
            np.unique(m, axis=0),
        ),
        "unravel_index": lambda x, m, i: (np.unravel_index(i, (3, 2)), np.unravel_index(i[:0], (3, 2))),
        "var": lambda x, m, i: np.var(m, where=[True, False, True]),
        "vdot": lambda x, m, i: np.vdot([1, 2, 3, 4], x),
        "vsplit": lambda x, m, i: np.vsplit(m, [1]),
        "vstack": lambda x, m, i: np.vstack([x, [1, 2, 3, 4]]),
        "where": lambda x, m, i: (np.where(x > 1, [1, 2, 3, 4], 0), np.where([True, False, True], m, 0)),
        "zeros_like": lambda x, m, i: np.zeros_like([x[0], 1]),
    },
    "np.linalg": {
        "cholesky": lambda x, m, i: np.linalg.cholesky(m @ m.T),
        "cross": lambda x, m, i: np.linalg.cross(m, [1, 2, 3]),
        "det": lambda x, m, i: np.linalg.det(m[:, :2]),
        "eigh": lambda x, m, i: np.linalg.eigh(m @ m.T),
        "eigvalsh": lambda x, m, i: np.linalg.eigvalsh(m @ m.T),
        "inv": lambda x, m, i: np.linalg.inv(m[:, :2]),
        "matmul": lambda x, m, i: np.linalg.matmul([1, 2], m),
        "matrix_norm": lambda x, m, i: np.linalg.matrix_norm(m, ord=2),
        "matrix_power": lambda x, m, i: [np.linalg.matrix_power(m[:, :2], n) for n in (-1, 0, 3)],
        "matrix_transpose": lambda x, m, i: np.linalg.matrix_transpose(m),
        "multi_dot": lambda x, m, i: np.linalg.multi_dot([[1, 2], m, [1, 2, 3]]),
        "norm": lambda x, m, i: [np.linalg.norm(m, n) for n in (None, 1, "nuc", -2)],
        "outer": lambda x, m, i: np.linalg.outer([1, 2], x),
        "pinv": lambda x, m, i: np.linalg.pinv(m),
        "qr": lambda x, m, i: np.linalg.qr(m),
        "slogdet": lambda x, m, i: np.linalg.slogdet(m[:, :2]),
        "solve": lambda x, m, i: (np.linalg.solve([[1, 2], [3, 4]], x[:2]), np.linalg.solve(m[:, :2], [1, 2])),
        "svd": lambda x, m, i: np.linalg.svd(m, hermitian=False),
        "svdvals": lambda x, m, i: np.linalg.svdvals(m),
        "tensordot": lambda x, m, i: np.linalg.tensordot([1, 2], m, 1),
        "vector_norm": lambda x, m, i: np.linalg.vector_norm(m, ord=3),
    },
    "np.random": {
        "beta": lambda x, m, i: (np.random.beta(x, 1), np.random.beta([1, 2, 3, 4], x)),
        "binomial": lambda x, m, i: (np.random.binomial(5, 1 / x), np.random.binomial([5, 6, 7], 1 / m)),
        "chisquare": lambda x, m, i: np.random.chisquare(x),
        "choice": lambda x, m, i: (
            np.random.choice(x, 2),
            np.random.choice(x, 2, False),
            np.random.choice(x, p=[0, 1, 0, 0]),
            np.random.choice(x, 1, False, [0, 1, 0, 0]),
            np.random.choice(4, p=x / 7),
            np.random.choice([1, 2, 3, 4], 1, False, p=x / 7),
        ),
        "exponential": lambda x, m, i: np.random.exponential(x, (2, 4)),
        "gamma": lambda x, m, i: (np.random.gamma(x, 1), np.random.gamma([1, 2, 3, 4], x)),
        "gumbel": lambda x, m, i: (np.random.gumbel(x, 1), np.random.gumbel([1, 2, 3, 4], x)),
        "laplace": lambda x, m, i: (np.random.laplace(x, 1), np.random.laplace([1, 2, 3, 4], x)),
        "logistic": lambda x, m, i: np.random.logistic(x, 1),
        "lognormal": lambda x, m, i: np.random.lognormal(x, [1, 2, 3, 4]),
        "multinomial": lambda x, m, i: np.random.multinomial(3, x / 7),
        "multivariate_normal": lambda x, m, i: np.random.multivariate_normal([0, 1], m @ m.T),
        "negative_binomial": lambda x, m, i: np.random.negative_binomial([1, 2, 3, 4], 1 / x),
        "normal": lambda x, m, i: (np.random.normal(x, 1), np.random.normal([1, 2, 3, 4], x)),
        "pareto": lambda x, m, i: np.random.pareto(x),
        "permutation": lambda x, m, i: np.random.permutation(x),
        "poisson": lambda x, m, i: np.random.poisson(x),
        "power": lambda x, m, i: np.random.power(x),
        "rayleigh": lambda x, m, i: np.random.rayleigh(x),
        "shuffle": lambda x, m, i: (np.random.shuffle(x), x),
        "standard_gamma": lambda x, m, i: np.random.standard_gamma(x),
        "uniform": lambda x, m, i: (np.random.uniform(x, 9), np.random.uniform([1, 1, 1, 1], x)),
        "weibull": lambda x, m, i: np.random.weibull(x),
    },
    "npx.random": {
        "bernoulli": lambda x, m, i: (npx.random.bernoulli(1 / x), npx.random.bernoulli(logit=x, dtype=bool)),
        "normal_n": lambda x, m, i: npx.random.normal_n(x, [1, 2, 3, 4], batch_shape=2),
        "uniform_n": lambda x, m, i: npx.random.uniform_n([0, 0, 0, 0], x, batch_shape=2),
    },
    "nd": {
        "BlockGrad": lambda x, m, i: nd.BlockGrad(x),
        "all_finite": lambda x, m, i: nd.all_finite(x),
        "concatenate": lambda x, m, i: nd.concatenate([x, x]),
        "histogram": lambda x, m, i: (nd.histogram(x, 3), nd.histogram(x, x[1:3])),
        "moments": lambda x, m, i: nd.moments(m, 1),
        "multi_all_finite": lambda x, m, i: nd.multi_all_finite(x, m, num_arrays=2),
        "multi_mp_sgd_mom_update": lambda x, m, i: nd.multi_mp_sgd_mom_update(
            *[x.astype("float16")] * 2, x.copy(), x.copy(), lrs=[0.1], wds=[0.1], num_weights=1
        ),
        "multi_mp_sgd_update": lambda x, m, i: nd.multi_mp_sgd_update(
            *[x.astype("float16")] * 2, x.copy(), lrs=[0.1], wds=[0.1], num_weights=1
        ),
        "multi_sgd_mom_update": lambda x, m, i: nd.multi_sgd_mom_update(
            x, x, x.copy(), lrs=[0.1], wds=[0.1], num_weights=1
        ),
        "multi_sgd_update": lambda x, m, i: nd.multi_sgd_update(x, x, lrs=[0.1], wds=[0.1], num_weights=1),
        "onehot_encode": lambda x, m, i: nd.onehot_encode(i[:2], m),
        "split_v2": lambda x, m, i: nd.split_v2(x, 2),
        "stop_gradient": lambda x, m, i: nd.stop_gradient(x),
    },
    "nd.contrib": {
        "SyncBatchNorm": lambda x, m, i: nd.contrib.SyncBatchNorm(m, *[m[0].copy() for _ in range(4)], key="beside"),
        "multi_adamw_update": lambda x, m, i: nd.contrib.multi_adamw_update(
            [x], [x], [x.copy()], [x.copy()], 1.0, [0.1], [0.1], [1.0]
        ),
        "multi_lamb_update": lambda x, m, i: nd.contrib.multi_lamb_update(
            [x], [x], [x.copy()], [x.copy()], [1], [0.1], [0.1]
        ),
        "multi_mp_adamw_update": lambda x, m, i: nd.contrib.multi_mp_adamw_update(
            [x.astype("float16")], [x.astype("float16")], *([x.copy()] for _ in range(3)), 1.0, [0.1], [0.1], [1.0]
        ),
        "multi_mp_lamb_update": lambda x, m, i: nd.contrib.multi_mp_lamb_update(
            [x.astype("float16")], [x.astype("float16")], *([x.copy()] for _ in range(3)), [1], [0.1], [0.1]
        ),
        "rand_zipfian": lambda x, m, i: nd.contrib.rand_zipfian(i, 4, 5),
        "uniform": lambda x, m, i: nd.contrib.uniform(x, 9),
    },
    "nd.random": {
        "exponential": lambda x, m, i: nd.random.exponential(x),
        "gamma": lambda x, m, i: nd.random.gamma(x, 1),
        "generalized_negative_binomial": lambda x, m, i: nd.random.generalized_negative_binomial(1, x),
        "negative_binomial": lambda x, m, i: nd.random.negative_binomial(2, 1 / x),
        "normal": lambda x, m, i: nd.random.normal(0, x),
        "poisson": lambda x, m, i: nd.random.poisson(x),
        "rand_zipfian": lambda x, m, i: nd.random.rand_zipfian(i, 4, 5),
        "randn": lambda x, m, i: nd.random.randn(2, loc=x),
        "uniform": lambda x, m, i: nd.random.uniform(x, 9),
    },
    "numpy": {
        "add": lambda x, m, i: (numpy.add(x, [1, 2, 3, 4]), numpy.add([1, 2, 3, 4], x, dtype="float64")),
        "add.outer": lambda x, m, i: (numpy.add.outer(x, [1, 2]), numpy.add.outer([1, 2], x)),
        "add.reduce": lambda x, m, i: numpy.add.reduce(m, 1),
        "concatenate": lambda x, m, i: numpy.concatenate([[1, 2], x]),
        "divide": lambda x, m, i: numpy.divide(m, [1, 2, 3], where=[True, False, True]),
        "take": lambda x, m, i: numpy.take(x, [0, 1]),
        "where": lambda x, m, i: numpy.where(x > 1, x, [1, 2, 3, 4]),
    },
    # Rows that are compositions, with numbers where arrays could be.
    "rows": {
        "allclose": lambda x, m, i: nd.contrib.allclose(x, 1.0),
        "linalg_gemm": lambda x, m, i: nd.linalg.gemm(m, [[1], [2], [3]], [[1], [2]]),
        "masked_log_softmax": lambda x, m, i: nd.masked_log_softmax(x, 1),
        "masked_softmax": lambda x, m, i: nd.masked_softmax(x, 1),
        "random_pdf_dirichlet": lambda x, m, i: nd.random_pdf_dirichlet(x / 7, [1.0, 1.0, 1.0, 1.0]),
        "random_pdf_exponential": lambda x, m, i: nd.random_pdf_exponential(x, 1.0),
        "random_pdf_gamma": lambda x, m, i: nd.random_pdf_gamma(x, 1.0, 2.0),
        "random_pdf_generalized_negative_binomial": lambda x, m, i: nd.random_pdf_generalized_negative_binomial(
            x, 1.0, 2.0
        ),
        "random_pdf_negative_binomial": lambda x, m, i: nd.random_pdf_negative_binomial(x, 1.0, 0.5),
        "random_pdf_normal": lambda x, m, i: nd.random_pdf_normal(x, 0.0, 1.0),
        "random_pdf_poisson": lambda x, m, i: nd.random_pdf_poisson(x, 1.0),
        "random_pdf_uniform": lambda x, m, i: nd.random_pdf_uniform(x, 0.0, 1.0),
        "take": lambda x, m, i: (nd.take(x, [0, 1]), nd.take([5, 6, 7], i)),
    },
}
# What takes no arrays, or says itself where its results are.
WITHOUT = {
    "np": "arange diag_indices empty eye from_dlpack full identity indices load ones save savez tri zeros",
    "np.linalg": "",
    "np.random": "rand randint randn random random_sample seed standard_exponential standard_normal",
    "npx.random": "seed",
    "nd": "Custom arange array empty eye from_dlpack from_numpy full linspace load load_frombuffer load_metadata ones "
    "save to_dlpack_for_read to_dlpack_for_write zeros",
    "nd.contrib": "current_context",
    "nd.random": "randint",
}
ALL = [pytest.param(module, name, id=f"{module}.{name}") for module, calls in CALLS.items() for name in calls]


def called(module, name, device):
    x, m, i = (
        nd.array(values, dtype=kind, ctx=mx.cpu(device))
        for values, kind in (([3, 1, 2, 1], "float32"), ([[1, 5, 2], [4, 3, 6]], "float32"), ([2, 0, 1], "int64"))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.NumpyFallbackWarning)
        made = CALLS[module][name](x, m, i)
    if isinstance(made, bool | int | tuple) and not arrays_in(made):
        return made, []
    return None, arrays_in(made)


@pytest.mark.parametrize(("device", "current"), APART)
@pytest.mark.parametrize(("module", "name"), ALL)
def test_functions(module, name, device, current):
    with mx.cpu(current):
        plain, got = called(module, name, device)
    with mx.cpu(device):
        value, want = called(module, name, device)
    assert [x._device for x in got] == [device] * len(want)
    assert plain == value
    assert mx.current_context() == mx.cpu(0)
    if "random" not in module and "rand_" not in name and name != "uniform":
        for g, w in zip(got, want, strict=True):
            numpy.testing.assert_array_equal(g.asnumpy(), w.asnumpy())


@pytest.mark.parametrize("path", WITHOUT)
def test_every_function_is_called(path):
    module = mx
    for part in path.split("."):
        module = getattr(module, part)
    names = {name for name in module.__all__ if isinstance(getattr(module, name), types.FunctionType)}
    assert names - set(WITHOUT[path].split()) == set(CALLS[path])


def test_gradients_of_numbers_beside_arrays():
    x = np.array([1.0, 2.0], ctx=mx.cpu(1))
    x.attach_grad()
    with autograd.record():
        y = np.append(np.stack([x, [3.0, 4.0]]), 5.0) * 2
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert x.grad.ctx == mx.cpu(1)


def test_an_error_leaves_the_current_device():
    x = np.array([1.0, 2.0], ctx=mx.cpu(1))
    with pytest.raises(mx.errors.ShapeError):
        np.stack([x, [1, 2, 3]])
    assert mx.current_context() == mx.cpu(0)


def test_arrays_on_two_devices_are_refused():
    x, y = (np.array([1.0, 2.0], ctx=mx.cpu(device)) for device in (0, 1))
    with pytest.raises(mx.errors.DeviceError, match=r"cpu\(1\) and on cpu\(0\)"):
        np.append(y, x)
