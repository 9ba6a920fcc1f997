"""Functions on positions against NumPy's, and MXNet's own where NumPy has none."""

import numpy as onp  # noqa: ICN001 - np is ours
import pytest

from gluonish import autograd, errors, nd, np

RNG = onp.random.default_rng(0)
SHAPES = [(7,), (3, 4), (2, 3, 4), (0, 3), (1, 1)]


def check(got, want):
    got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
    assert len(got) == len(want)
    for ours, theirs in zip(got, want, strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        onp.testing.assert_array_equal(ours.asnumpy(), theirs)


@pytest.mark.parametrize("shape", SHAPES)
def test_where_elements_are(shape):
    x = RNG.integers(0, 2, shape)
    for name in ("nonzero", "argwhere", "flatnonzero", "where"):
        check(getattr(np, name)(np.array(x)), getattr(onp, name)(x))


def test_argwhere_without_axes():
    check(np.argwhere(np.array(5)), onp.argwhere(onp.array(5)))
    check(np.argwhere(np.array(0)), onp.argwhere(onp.array(0)))
    with pytest.raises(errors.ShapeError, match="without axes"):
        np.nonzero(np.array(5))


@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_and_coordinates(order):
    shape = (3, 4, 5)
    numbers = RNG.integers(0, 60, (4, 2))
    split = onp.unravel_index(numbers, shape, order)
    check(np.unravel_index(np.array(numbers), shape, order), split)
    check(np.ravel_multi_index(tuple(map(np.array, split)), shape, order=order), numbers)
    far = tuple(RNG.integers(-9, 9, (3, 1, 4)))
    for mode in ("wrap", "clip"):
        want = onp.ravel_multi_index(far, shape, mode, order)
        check(np.ravel_multi_index(tuple(map(np.array, far)), shape, mode, order), want)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: np.unravel_index(np.array([60]), (3, 4, 5)), "index 60 is out of range"),
        (lambda: np.unravel_index(np.array([0]), (3, 0)), "no elements"),
        (lambda: np.unravel_index(np.array([0]), (3,), order="K"), "order='K'"),
        (lambda: np.ravel_multi_index((np.array([1]), np.array([-1])), (3, 4)), "index -1 is out of range for axis 1"),
        (lambda: np.ravel_multi_index((np.array([1]),), (3, 4)), "1 arrays of coordinates for the 2 axes"),
        (lambda: np.ravel_multi_index((np.array([1]),), (3,), mode=["raise"]), "one mode"),
        (lambda: np.take_along_axis(np.ones((2, 3)), np.array([0]), 1), "as many axes"),
        (lambda: np.take_along_axis(np.ones((2, 3)), np.array([[3]]), 1), "index 3 is out of range for axis 1 of"),
        (lambda: np.take_along_axis(np.ones((2, 3)), np.array([[0]]), 2), "axis 2"),
        (lambda: np.take_along_axis(np.ones((2, 3)), np.array([[0]] * 3), 1), "do not broadcast"),
        (lambda: np.compress(np.array([[True]]), np.ones(3)), "one dimension"),
        (lambda: np.compress(np.array([True] * 4), np.ones(3)), "index 3 is out of range"),
        (lambda: nd.gather_nd(nd.ones((2, 3)), nd.array([[0, 2]])), "index 2 is out of range for axis 0 of size 2"),
        (lambda: nd.gather_nd(nd.ones((2, 3)), nd.array([[0], [5]])), "index 5 is out of range for axis 1 of size 3"),
    ],
)  # fmt: skip
def test_what_is_refused(call, words):
    with pytest.raises(errors.MXNetError, match=words):
        call()


@pytest.mark.parametrize(("shape", "places", "axis"), [
    ((3, 4), (3, 2), 1), ((3, 4), (1, 4), 0), ((3, 4), (5, 1), 0), ((1, 4), (3, 2), -1), ((2, 3, 4), (2, 6, 4), 1),
    ((2, 3, 4), (2, 3, 0), 2), ((5,), (9,), None), ((2, 300, 70), (2, 50, 70), 1), ((400, 90), (400, 200), 1),
])  # fmt: skip
def test_along_an_axis(shape, places, axis):
    x = RNG.standard_normal(shape).astype("float32")
    n = x.size if axis is None else shape[axis]
    i = RNG.integers(-n, n, places)
    check(np.take_along_axis(np.array(x), np.array(i), axis), onp.take_along_axis(x, i, axis))
    check(np.take_along_axis(np.array(x), np.array(i.astype("float32")), axis), onp.take_along_axis(x, i, axis))
    if all(b in (a, 1) or d == (axis or 0) % len(shape) for d, (a, b) in enumerate(zip(shape, places, strict=True))):
        ours, theirs = np.array(x), x.copy()
        np.put_along_axis(ours, np.array(i), 7, axis)
        onp.put_along_axis(theirs, i, 7, axis)
        check(ours, theirs)


def test_along_an_axis_has_a_gradient():
    x = RNG.standard_normal((3, 4)).astype("float32")
    i = RNG.integers(0, 4, (3, 6))
    v = np.array(x)
    v.attach_grad()
    with autograd.record():
        y = np.take_along_axis(v, np.array(i), 1)
    y.backward()
    want = onp.zeros((3, 4))
    onp.add.at(want, (onp.arange(3)[:, None], i), 1)
    onp.testing.assert_array_equal(v.grad.asnumpy(), want)


def test_grids():
    for sizes in [(2, 3), (3,), (), (2, 0)]:
        check(np.indices(sizes), onp.indices(sizes))
        check(np.indices(sizes, sparse=True), onp.indices(sizes, sparse=True))
    check(np.diag_indices(3, 3), onp.diag_indices(3, 3))


def test_compress():
    x = RNG.standard_normal((3, 4)).astype("float32")
    for axis, c in [(0, [True, False, True]), (1, [0, 1]), (None, [True] * 5), (-1, [0, 0, 0, 0])]:
        check(np.compress(np.array(c), np.array(x), axis), onp.compress(c, x, axis))


def test_indices_beyond_int64_are_out_of_range():
    with pytest.raises(IndexError):
        np.take_along_axis(np.ones((1, 3)), np.array([[2**64 - 1]], dtype="uint64"), 1).wait_to_read()
    with pytest.raises(errors.MXNetError, match="whole number"):
        np.take_along_axis(np.ones((1, 3)), np.array([[0.5]]), 1).wait_to_read()


def test_gluons_own():
    x = nd.array(onp.arange(12).reshape(3, 4))
    assert nd.batch_take(x, nd.array([0, 9, -1])).tolist() == [0, 7, 8]
    assert nd.choose_element_0index(x, nd.array([0, 3, 2])).tolist() == [0, 7, 10]
    assert nd.fill_element_0index(x, nd.array([10, 20, 30]), nd.array([0, 3, 2]))[:, 3].tolist() == [3, 20, 11]
    assert nd.onehot_encode(nd.array([0, 2]), nd.zeros((2, 3))).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert nd.gather_nd(data=x, indices=nd.array([[0, -1], [1, 1]])).tolist() == [1, 9]
    assert nd.scatter_nd(nd.array([1, 2, 3]), nd.array([[0, 1, 1], [0, 1, 1]]), shape=(2, 2)).tolist() == [
        [1, 0],
        [0, 3],
    ]
    assert nd.ravel_multi_index(nd.array([[1, 9], [3, 1]]), shape=(-1, 4)).tolist() == [7, 37]
    assert nd.unravel_index(nd.array([7, 9]), shape=(3, 4)).tolist() == [[1, 2], [3, 1]]
    assert nd.where(nd.array([1, 0, 1]), x, x * 0).tolist() == [[0, 1, 2, 3], [0, 0, 0, 0], [8, 9, 10, 11]]
    old = nd.zeros((5, 2))
    new = nd.contrib.index_copy(old, nd.array([0, 4, 2]), nd.array([[1, 2], [3, 4], [5, 6]]))
    assert new.tolist() == [[1, 2], [0, 0], [5, 6], [0, 0], [3, 4]]
    assert old.sum().asscalar() == 0
    assert nd.contrib.index_array(nd.ones((2, 2)), axes=(1,)).tolist() == [[[0], [1]], [[0], [1]]]
    assert nd.contrib.arange_like(nd.ones((2, 3)), start=2, step=0.5, repeat=2).tolist() == [[2, 2, 2.5], [2.5, 3, 3]]
    assert nd.contrib.arange_like(nd.ones((2, 6)), axis=-1, repeat=2).tolist() == [0, 0, 1, 1, 2, 2]
    assert nd.contrib.boolean_mask(x, nd.array([1, 0, 1, 0]), axis=1).tolist() == [[0, 2], [4, 6], [8, 10]]
