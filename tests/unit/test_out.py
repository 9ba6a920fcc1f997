"""`out=` of functions that are made of several rows: it takes what rows take, and refuses what they refuse."""

import pytest

from gluonish import nd, np
from gluonish.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError

X = [1.0, 2.0, 3.0]
CALLS = {
    "median": lambda out: np.median(np.array(X), out=out),
    "quantile": lambda out: np.quantile(np.array(X), 0.3, out=out),
    "percentile": lambda out: np.percentile(np.array(X), 30, out=out),
    "einsum": lambda out: np.einsum("i,i", np.array(X), np.array(X), out=out),
    "exponential": lambda out: np.random.exponential(out=out),
    "laplace": lambda out: np.random.laplace(out=out),
    "logistic": lambda out: np.random.logistic(out=out),
    "gumbel": lambda out: np.random.gumbel(out=out),
    "full": lambda out: np.full((), 1.5, out=out),
    "sum": lambda out: np.sum(np.array(X), where=np.array([True, False, True]), out=out),
    "mean": lambda out: np.mean(np.array(X), out=out),
}


@pytest.mark.parametrize("name", CALLS)
def test_out_must_fit(name):
    out = nd.zeros(())
    assert CALLS[name](out) is out
    with pytest.raises(ShapeError, match=rf"^{name}"):
        CALLS[name](nd.zeros((2,)))
    with pytest.raises(DTypeError, match=rf"^{name}"):
        CALLS[name](nd.zeros((), dtype="int32"))
    with pytest.raises(ArgumentError, match=rf"^{name}"):
        CALLS[name](5)


@pytest.mark.parametrize("rows", [3, 3000, 100_000])
def test_what_failed_half_way_is_no_value(rows):
    wrong = nd.zeros(rows)
    wrong[-1] = 99
    out = nd.ones((rows, 4))
    with pytest.raises(IndexOutOfRange, match=r"^take"):
        nd.take(nd.ones((10, 4)), wrong, mode="raise", out=out).wait_to_read()
    with pytest.raises(IndexOutOfRange, match=r"^take"):
        out.asnumpy()
    nd.take(nd.ones((10, 4)), nd.zeros(rows), out=out)
    assert (out.asnumpy() == 1).all()


def test_choice_and_creation():
    with pytest.raises(ShapeError, match=r"^choice"):
        np.random.choice(5, size=3, out=nd.zeros((2, 3)))
    with pytest.raises(ShapeError, match=r"^ones"):
        nd.ones((3,), out=nd.zeros((2, 3)))
    assert nd.ones(2, out=nd.zeros(2, dtype="int8")).tolist() == [1, 1]
    with pytest.raises(OverflowError, match=r"^full"):
        nd.full((2,), 300, out=nd.zeros(2, dtype="int8"))


def test_functions_of_nd_take_out_and_name():
    x = nd.array([[1, 3], [5, 7]])
    mean, variance = out = [nd.zeros(2), nd.zeros(2)]
    assert nd.moments(x, axes=1, out=out, name="m") == (mean, variance)
    assert mean.tolist() == [2.0, 6.0]
    copy = nd.zeros((2, 2))
    assert nd.BlockGrad(x, out=copy, name="b") is nd.stop_gradient(x, out=copy) is copy
    parts = [nd.zeros((1, 2)), nd.zeros((1, 2))]
    assert nd.split_v2(x, 2, out=parts, name="s") is parts
    assert parts[1].tolist() == [[5.0, 7.0]]
    assert nd.all_finite(x, name="f").tolist() == nd.multi_all_finite(x, x, num_arrays=2, name="f").tolist() == [1.0]
    counts, _ = nd.histogram(x, bins=2, name="h", out=[nd.zeros(2, dtype="int64"), nd.zeros(3)])
    assert counts.tolist() == [2, 2]
    with pytest.raises(ShapeError, match=r"^all_finite"):
        nd.all_finite(x, out=nd.zeros(3), init_output=False)
    with pytest.raises(ArgumentError, match=r"^moments: out"):
        nd.moments(x, out=[nd.zeros(())])
