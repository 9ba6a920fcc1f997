"""`x[key]` and `x[key] = value` against NumPy: thousands of random keys, and the cases that they would rarely hit."""

import warnings

import numpy as np
import pytest
from unit.random_keys import make_case, ours, show

import gluonish as mx
from gluonish import autograd, nd

BATCH = 1000


def outcome(f, *args):
    """What a call gives, or the kind of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            return f(*args)
    except (IndexError, DeprecationWarning):
        return IndexError
    except ValueError:
        return ValueError


def same(got, want, note):
    if isinstance(want, type):
        assert got is want, f"{note}: NumPy raises {want.__name__}, we gave {got}"
        return
    assert not isinstance(got, type), f"{note}: we raise {got.__name__}, NumPy gives {want}"
    got = got.asnumpy()
    assert got.shape == want.shape, f"{note}: {got.shape}, expected {want.shape}"
    np.testing.assert_array_equal(got, want, err_msg=note)


@pytest.mark.parametrize("seed", range(10))
def test_random_keys_read(seed):
    rng = np.random.default_rng([seed, 0])
    for i in range(BATCH):
        x, key = make_case(rng)
        note = f"seed {seed}, case {i}: {x.shape}[{show(key)}]"
        want = outcome(x.__getitem__, key)
        same(outcome(nd.array(x, dtype="int64").__getitem__, ours(key)), want, note)


@pytest.mark.parametrize("seed", range(10))
def test_random_keys_write(seed):
    rng = np.random.default_rng([seed, 1])
    for i in range(BATCH):
        x, key = make_case(rng)
        shape = np.shape(outcome(x.__getitem__, key))
        value = value_for(rng, shape)
        y, z = x.copy(), nd.array(x, dtype="int64")
        note = f"seed {seed}, case {i}: {x.shape}[{show(key)}] = {np.shape(value)}"
        try:
            want = outcome(y.__setitem__, key, value)
        except TypeError:  # leading axes of size 1 are refused for masks over the whole array, and for these alone
            continue
        got = outcome(z.__setitem__, ours(key), nd.array(value, dtype="int64") if np.ndim(value) else value)
        assert got is want, f"{note}: {got} instead of {want}"
        np.testing.assert_array_equal(z.asnumpy(), y, err_msg=note)


def value_for(rng, shape):
    """A number, or an array that broadcasts to the shape or, now and then, does not."""
    kind = rng.integers(8)
    if kind == 0 or not shape:
        return int(rng.integers(100))
    cut = list(shape[rng.integers(len(shape) + 1) if kind < 3 else 0 :])
    cut = [1 if rng.random() < 0.2 else n for n in cut]
    if kind == 7 and cut:
        cut[rng.integers(len(cut))] += 2
    if kind == 6:
        cut = [1, *cut]
    return rng.integers(100, 200, cut)


@pytest.mark.parametrize("seed", range(4))
def test_random_keys_have_gradients(seed):
    """Of the array that is read, and of the array and the value where one is written into the other."""
    rng = np.random.default_rng([seed, 2])
    done = 0
    while done < 60:
        host, key = make_case(rng)
        try:
            numbers = np.arange(host.size).reshape(host.shape)[key]
        except (IndexError, ValueError):
            continue
        done += 1
        note = f"seed {seed}, case {done}: {host.shape}[{show(key)}]"
        x = nd.array(rng.standard_normal(host.shape))
        value = nd.array(rng.standard_normal(numbers.shape))
        weights, whole = rng.standard_normal(numbers.shape), rng.standard_normal(host.shape)
        x.attach_grad()
        value.attach_grad()
        with autograd.record():
            y = x[ours(key)]
            z = x * 1
            z[ours(key)] = value
            loss = (y * nd.array(weights)).sum() + (z * nd.array(whole)).sum()
        loss.backward()
        of_x = whole.copy()
        of_x[key] = 0
        np.add.at(of_x.reshape(-1), numbers.reshape(-1), weights.reshape(-1))
        np.testing.assert_allclose(x.grad.asnumpy(), of_x, rtol=1e-5, atol=1e-5, err_msg=note)
        last = np.full(host.size, -1)
        last[numbers.reshape(-1)] = np.arange(numbers.size)
        wins = last[numbers] == np.arange(numbers.size).reshape(numbers.shape)
        of_value = np.where(wins, whole.reshape(-1)[numbers], 0)
        np.testing.assert_allclose(value.grad.asnumpy(), of_value, rtol=1e-5, err_msg=note)


def test_kinds_of_keys():
    host = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    x = nd.array(host)
    rows = np.array([1, 0, 1])
    for key, same_key in [
        ([1, 0], [1, 0]),
        (nd.array([1, 0]), [1, 0]),  # float32, as Gluon code makes them
        (nd.array([[0], [-1]], dtype="int32"), [[0], [-1]]),
        (np.float64([1, 0]), [1, 0]),
        (np.uint8([1, 0]), [1, 0]),
        ((slice(None), [0.0, 2.0]), (slice(None), [0, 2])),
        ((nd.array([1, 0, 1]), nd.array([0, 2, 1])), (rows, [0, 2, 1])),
        ((slice(None), nd.array([True, False, True], dtype="bool")), (slice(None), [True, False, True])),
        (nd.array(host) > 10, host > 10),
        (nd.array(5), None),
        (np.int64(1), 1),
        (np.array(1), 1),
        ([], []),
        (((0, 1),), [0, 1]),
    ]:
        if same_key is None:
            with pytest.raises(IndexError, match="index 5 is out of range for axis 0 of size 2"):
                x[key]
            continue
        want = host[same_key if isinstance(same_key, tuple) or np.size(same_key) else np.zeros(0, int)]
        np.testing.assert_array_equal(x[key].asnumpy(), want)


@pytest.mark.parametrize(
    ("key", "kind", "words"),
    [
        ([0, 9], IndexError, "index 9 is out of range for axis 0 of size 3"),
        ((slice(None), [[-5]]), IndexError, "index -5 is out of range for axis 1 of size 4"),
        ((0, [7]), IndexError, "index 7 is out of range for axis 1 of size 4"),
        ([0.5], IndexError, "whole number"),
        (([0, 1], [0, 1, 2]), IndexError, r"\(2,\) does not broadcast with \(3,\)"),
        ([True, False], IndexError, r"a mask of shape \(2,\) does not fit \(3, 4\)"),
        ((0, 0, [0]), IndexError, "3 indices"),
        ((..., [0], ...), IndexError, "one ellipsis"),
        ((..., ..., [True, False, True, False]), IndexError, "one ellipsis"),
        ((False, 0, np.array(4)), IndexError, "index 4 is out of range for axis 1 of size 4"),
        ((False, 0, nd.array(4)), IndexError, "index 4 is out of range for axis 1 of size 4"),
        (np.zeros((0, 3), bool), IndexError, r"a mask of shape \(0, 3\) does not fit \(3, 4\)"),
        ("a", IndexError, "str is no index"),
        (1.5, IndexError, "float is no index"),
        (["a"], IndexError, "list is no index"),
        ([slice(1)], IndexError, "list is no index"),
        ({}, IndexError, "dict is no index"),
    ],
)
def test_wrong_keys(key, kind, words):
    x = nd.ones((3, 4))
    with pytest.raises(kind, match=words):
        x[key]
    with pytest.raises(kind, match=words):
        x[key] = 0
    assert x.asnumpy().tolist() == np.ones((3, 4)).tolist()


def test_masks_of_size_zero_fit_any_axis():
    x = np.arange(12).reshape(3, 4)
    for key in [
        np.zeros(0, bool),
        (slice(None), np.zeros(0, bool)),
        np.zeros((0, 4), bool),
        np.zeros((3, 0), bool),
        (np.zeros(0, bool), np.zeros(0, bool)),
        (None, np.zeros((0, 0), bool)),
    ]:
        z = nd.array(x, dtype="int64")
        assert z[key].shape == x[key].shape
        z[key] = 7
        assert z.tolist() == x.tolist()


def test_wrong_values():
    x = nd.zeros((3, 4))
    with pytest.raises(ValueError, match="broadcast"):
        x[[0, 1]] = np.ones((3, 4))
    with pytest.raises(ValueError, match="2 values do not fit the 3 places"):
        x[nd.ones(3) > 0] = nd.ones((2, 1))
    assert float(x.sum().asscalar()) == 0


def test_a_key_that_is_part_of_the_array():
    x = nd.array([2, 0, 1], dtype="int64")
    x[x] = x
    y = np.array([2, 0, 1])
    y[y] = y
    assert x.tolist() == y.tolist()
    mask = nd.array([True, False, True], dtype="bool")
    mask[mask] = False
    assert mask.tolist() == [False, False, False]


def test_in_place_with_an_array():
    host = np.zeros(4, np.float32)
    x = nd.array(host)
    x[[0, 2, 2]] += 5  # the last of those that come twice counts, as in NumPy
    host[[0, 2, 2]] += 5
    assert x.tolist() == host.tolist()
    x[x > 1] *= 2
    assert x.tolist() == [10, 0, 10, 0]


def test_a_large_array_and_late_indices():
    """Many indices are checked when the work runs: the error comes with the value."""
    x = nd.arange(1000)
    good = np.random.default_rng(0).integers(-1000, 1000, 300_000)
    np.testing.assert_array_equal(x[good].asnumpy(), np.arange(1000)[good])
    bad = good.copy()
    bad[200_000] = 5000
    with pytest.raises(IndexError, match="index 5000 is out of range for axis 0 of size 1000"):
        x[bad].wait_to_read()
    x[good] = 1
    want = np.arange(1000.0)
    want[good] = 1
    np.testing.assert_array_equal(x.asnumpy(), want)


def test_second_order():
    x, v = nd.array([1.0, 2.0, 3.0]), nd.array([4.0, 5.0])
    x.attach_grad()
    v.attach_grad()
    with autograd.record():
        z = x * x
        z[[2, 0]] = v * v * v
        first = autograd.grad((z[[0, 0, 1, 2]] ** 2).sum(), [x, v], create_graph=True)
        loss = (first[0] * nd.array([1, 1, 1])).sum() + first[1].sum()
    loss.backward()
    # z = (v1^3, x1^2, v0^3); the sum is 2 v1^6 + x1^4 + v0^6.
    np.testing.assert_allclose(x.grad.asnumpy(), [0, 12 * 4, 0])
    np.testing.assert_allclose(v.grad.asnumpy(), [30 * 4.0**4, 60 * 5.0**4])


def test_a_variable_is_not_written_while_recording():
    x = nd.ones(3)
    x.attach_grad()
    with autograd.record(), pytest.raises(mx.errors.GradientError, match="variable"):
        x[[0, 1]] = 5


def test_what_was_saved_is_not_written():
    x = nd.ones(3)
    x.attach_grad()
    with autograd.record():
        y = x * 2
        z = y * y
        with pytest.raises(mx.errors.GradientError, match="saved"):
            y[y > 1] = 0
    z.backward()
    assert x.grad.tolist() == [8, 8, 8]


def test_slice_assign():
    x = nd.zeros((3, 4))
    got = x.slice_assign(nd.ones((2, 2)), (0, 1), (2, 3), (1, 1))
    assert got is x
    x.slice_assign_scalar(7, (2, None), (3, None), (None, 2))
    assert x.tolist() == [[0, 1, 1, 0], [0, 1, 1, 0], [7, 0, 7, 0]]
