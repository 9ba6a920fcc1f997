"""Sorting and searching against NumPy: every type, NaN, equal values, sizes where the method changes.

NumPy's stable sort is the reference: its quick one puts some float16 values in the wrong order (2.4 with AVX-512)."""

import numpy  # noqa: ICN001 - np is the module under test
import pytest

from gluonish import autograd, errors, nd, np

RNG = numpy.random.default_rng(11)
TYPES = ["float32", "float64", "float16", "int8", "int32", "int64", "uint8", "uint64", "bool"]
SIZES = [1, 2, 15, 16, 17, 63, 127, 128, 129, 256, 257, 1000, 5000, 70_001]


def values(dtype, shape, few=False):
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    if "float" in dtype:
        x = RNG.normal(size=shape).astype(dtype)
        return numpy.round(x * 2).astype(dtype) if few else x
    info = numpy.iinfo(dtype)
    low, high = (max(info.min, -5), 5) if few else (info.min, info.max)
    return RNG.integers(low, high, shape, dtype=dtype, endpoint=True)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_sort_and_argsort(dtype, n):
    for few in (False, True):
        x = values(dtype, n, few)
        a = np.array(x)
        numpy.testing.assert_array_equal(np.sort(a).asnumpy(), numpy.sort(x, kind="stable"))
        numpy.testing.assert_array_equal(np.argsort(a).asnumpy(), numpy.argsort(x, kind="stable"))
        numpy.testing.assert_array_equal(a.sort(is_ascend=False).asnumpy(), numpy.sort(x, kind="stable")[::-1])
        k = min(n, 10)
        top = a.topk(k=k, ret_typ="value")
        numpy.testing.assert_array_equal(top.asnumpy(), numpy.sort(x, kind="stable")[::-1][:k])


@pytest.mark.parametrize("n", [5, 33, 200, 1000, 70_001, 300_000])
def test_nan_comes_last(n):
    x = RNG.normal(size=n).astype("float32")
    x[:: max(n // 7, 2)] = numpy.nan
    x[1] = -0.0
    x[2] = numpy.inf
    a = np.array(x)
    numpy.testing.assert_array_equal(np.sort(a).asnumpy(), numpy.sort(x, kind="stable"))
    numpy.testing.assert_array_equal(np.argsort(a).asnumpy(), numpy.argsort(x, kind="stable"))
    down = a.argsort(is_ascend=False).asnumpy()
    numbers = n - numpy.isnan(x).sum()
    assert (numpy.diff(x[down[:numbers]]) <= 0).all()
    assert numpy.isnan(x[down[numbers:]]).all()


@pytest.mark.parametrize("k", [1, 7, 10, 100, 1000])
@pytest.mark.parametrize("shape", [(1, 200_003), (40, 1000), (7, 3000)])
@pytest.mark.parametrize("few", [False, True])
def test_the_first_ones(k, shape, few):
    """The same choice among equal values as a stable sort makes."""
    x = values("float32", shape, few)
    order = numpy.argsort(-x, axis=1, kind="stable")[:, :k]
    got, at = nd.topk(nd.array(x), k=k, ret_typ="both")
    numpy.testing.assert_array_equal(at.asnumpy(), order)
    numpy.testing.assert_array_equal(got.asnumpy(), numpy.take_along_axis(x, order, 1))
    small = nd.topk(nd.array(x), k=k, is_ascend=True)
    numpy.testing.assert_array_equal(small.asnumpy(), numpy.argsort(x, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize(
    "x",
    [
        numpy.zeros(200_000, "float32"),
        numpy.arange(200_000, dtype="float32"),
        numpy.arange(200_000, dtype="float32")[::-1].copy(),
        numpy.repeat(numpy.float32([3, 1, 2]), 70_000),
        numpy.concatenate([numpy.full(199_999, 5, "float32"), numpy.float32([1])]),
        RNG.integers(0, 3, 200_000).astype("uint8"),
    ],
    ids=["equal", "up", "down", "three", "one apart", "bytes"],
)
def test_orders_that_are_hard_for_a_quick_sort(x):
    a = np.array(x)
    numpy.testing.assert_array_equal(np.sort(a).asnumpy(), numpy.sort(x, kind="stable"))
    numpy.testing.assert_array_equal(np.argsort(a).asnumpy(), numpy.argsort(x, kind="stable"))


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f.sort(x, axis=0),
        lambda f, x: f.sort(x, axis=None),
        lambda f, x: f.argsort(x, axis=None, kind="stable"),
        lambda f, x: f.partition(x, 2, axis=1)[:, 2],
        lambda f, x: f.searchsorted(f.sort(x[0]), x),
        lambda f, x: f.searchsorted(x[0], x, side="right", sorter=f.argsort(x[0])),
        lambda f, x: f.searchsorted(f.array([1, 3]), 2.5),
        lambda f, x: f.digitize(x, f.array([-1.0, 0.0, 2.0])),
        lambda f, x: f.digitize(x, f.array([2.0, 0.0, -1.0]), right=True),
        lambda f, x: f.isin(x, x[0]),
        lambda f, x: f.isin(x, [], invert=True),
        lambda f, x: f.isin(f.array([1, 2, 3]), [2, 9], invert=True),
        lambda f, x: f.unique(f.rint(x)),
        lambda f, x: f.unique(f.rint(x), return_index=True)[1],
        lambda f, x: f.unique(f.rint(x), return_inverse=True)[1],
        lambda f, x: f.unique(f.rint(x), return_counts=True)[1],
        lambda f, x: f.unique(f.array([1.0, float("nan"), float("nan")])),
        lambda f, x: f.unique(f.array([1.0, float("nan"), float("nan")]), equal_nan=False),
        lambda f, x: f.unique(f.zeros(0), return_counts=True)[1],
    ],
)
def test_as_numpy(call):
    x = RNG.normal(size=(6, 9)).astype("float32")
    got, want = call(np, np.array(x)), call(numpy, x)
    assert got.shape == numpy.shape(want)
    numpy.testing.assert_array_equal(got.asnumpy(), want)


def test_bad_arguments():
    x = np.ones(3)
    for call in (
        lambda: np.sort(x, kind="bubble"),
        lambda: np.sort(x, order="name"),
        lambda: np.sort(x, axis=1),
        lambda: np.partition(x, 3),
        lambda: np.searchsorted(np.ones((2, 2)), x),
        lambda: np.searchsorted(x, x, side="middle"),
        lambda: np.digitize(x, np.array([1, 3, 2])),
        lambda: nd.topk(x, k=4),
    ):
        with pytest.raises(errors.MXNetError):
            call()


def test_gradients_follow_the_order():
    x = np.array([3.0, 1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = np.sort(x) * np.array([1.0, 10.0, 100.0])
    y.backward()
    assert x.grad.tolist() == [100, 1, 10]
    with autograd.record():
        y = x.topk(k=2, ret_typ="value") * np.array([1.0, 10.0])
    y.backward()
    assert x.grad.tolist() == [1, 0, 10]


@pytest.mark.parametrize(
    ("dtype", "most"), [("uint8", 256), ("int8", 128), ("bool", 2), ("bfloat16", 257), ("float16", 2049)]
)
def test_positions_fit_their_type(dtype, most):
    x = nd.arange(most)
    assert nd.topk(x, k=1, dtype=dtype).astype("int64").tolist() == [most - 1]
    assert nd.argsort(x, dtype=dtype).astype("int64").tolist() == list(range(most))
    for call in (nd.topk, nd.argsort):
        with pytest.raises(
            errors.DTypeError, match=f"dtype='{dtype}' cannot hold the positions of {most + 1} elements"
        ):
            call(nd.arange(most + 1), dtype=dtype)


def test_values_alone_have_a_gradient_whatever_type_positions_would_have():
    x = nd.arange(300)
    x.attach_grad()
    with autograd.record():
        y = nd.topk(x, k=1, ret_typ="value", dtype="uint8")
    y.backward()
    assert numpy.flatnonzero(x.grad.asnumpy()).tolist() == [299]
