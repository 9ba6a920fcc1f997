"""The names of `nd._internal`."""

import numpy as np
import pytest

from gluonish import nd

internal = nd._internal


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("_plus_scalar", lambda x: x + 3),
        ("_minus_scalar", lambda x: x - 3),
        ("_rminus_scalar", lambda x: 3 - x),
        ("_mul_scalar", lambda x: x * 3),
        ("_div_scalar", lambda x: x / 3),
        ("_rdiv_scalar", lambda x: 3 / x),
        ("_mod_scalar", lambda x: x % 3),
        ("_rmod_scalar", lambda x: 3 % x),
        ("_power_scalar", lambda x: x**3),
        ("_rpower_scalar", lambda x: 3**x),
        ("_maximum_scalar", lambda x: np.maximum(x, 3)),
        ("_minimum_scalar", lambda x: np.minimum(x, 3)),
        ("_hypot_scalar", lambda x: np.hypot(x, 3)),
        ("_equal_scalar", lambda x: x == 3),
        ("_not_equal_scalar", lambda x: x != 3),
        ("_greater_scalar", lambda x: x > 3),
        ("_greater_equal_scalar", lambda x: x >= 3),
        ("_lesser_scalar", lambda x: x < 3),
        ("_lesser_equal_scalar", lambda x: x <= 3),
        ("_logical_and_scalar", lambda x: np.logical_and(x, 3)),
    ],
)
def test_with_a_number(name, ref):
    x = np.array([1.0, 2.0, 3.0, 5.0], "float32")
    np.testing.assert_allclose(getattr(internal, name)(nd.array(x), scalar=3).asnumpy(), ref(x), rtol=1e-6)


def test_of_two_arrays():
    x, y = nd.array([1, 2]), nd.array([3, 5])
    assert internal._plus(x, y).tolist() == [4.0, 7.0]
    assert internal._greater(x, y).tolist() == [False, False]
    assert internal._grad_add(x, y).tolist() == [4.0, 7.0]


def test_arrays_from_nothing():
    assert internal._zeros((2, 1)).tolist() == [[0.0], [0.0]]
    assert internal._full(shape=2, value=7).tolist() == [7.0, 7.0]
    assert internal._arange(2, 4).tolist() == [2.0, 3.0]
    assert internal._random_normal(shape=(3,)).shape == (3,)


def test_writes():
    x = nd.zeros(3)
    assert internal._set_value(5, out=x) is x
    assert internal._copyto(nd.array([1, 2, 3]), out=x).tolist() == x.tolist() == [1.0, 2.0, 3.0]
    assert internal._slice_assign_scalar(x, 9, begin=(1,), end=(3,)).tolist() == [1.0, 9.0, 9.0]
    assert internal._slice_assign(x, nd.array([7]), begin=(0,), end=(1,)).tolist() == [7.0, 2.0, 3.0]
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_modules_and_missing_names():
    assert internal._linalg_potrf is nd.linalg.potrf
    assert internal._contrib_boolean_mask is nd.contrib.boolean_mask
    with pytest.raises(AttributeError, match="_nothing_scalar"):
        internal._nothing_scalar
    with pytest.raises(AttributeError, match=r"it is gluonish\.nd\.contrib\.scaled_dot_product_attention"):
        nd.scaled_dot_product_attention
