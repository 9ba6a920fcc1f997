"""What shapes ops say that their parameters must have."""

import pytest

import gluonish as mx


@pytest.mark.parametrize(
    ("op", "given", "attributes", "expected"),
    [
        ("FullyConnected", [(2, 3, 4), (5, 0), (5,)], {"num_hidden": 5}, [(5, 12), (5,)]),
        ("FullyConnected", [(2, 3, 4), (5, 0)], {"num_hidden": 5, "flatten": False, "no_bias": True}, [(5, 4), None]),
        ("Convolution", [(2, 6, 8, 8), (0,), (0,)], {"kernel": (3, 3), "num_filter": 8, "num_group": 2},
         [(8, 3, 3, 3), (8,)]),
        ("Convolution", [(0, 0, 8, 8), (0,)], {"kernel": (3, 3), "num_filter": 8}, [(8, 0, 3, 3), None]),
        ("Deconvolution", [(2, 6, 8, 8), (0,), None], {"kernel": (3, 3), "num_filter": 8}, [(6, 8, 3, 3), None]),
        ("BatchNorm", [(2, 3, 4)] + 4 * [(0,)], {"axis": -1}, 4 * [(4,)]),
        ("LayerNorm", [(2, 3, 4), (0,), (0,)], {}, [(4,), (4,)]),
        ("GroupNorm", [(2, 6, 4), (0,), (0,)], {"num_groups": 3}, [(6,), (6,)]),
        ("InstanceNorm", [(2, 6, 4), (0,), (0,)], {}, [(6,), (6,)]),
    ],
)  # fmt: skip
def test_parameters_get_the_shapes_that_the_op_needs(op, given, attributes, expected):
    found = getattr(mx.nd, op).parameter_shapes(*given, **attributes)
    assert found == [tuple(given[0]), *expected]


def test_the_shapes_that_are_told_are_taken():
    x = mx.nd.ones((2, 3, 8, 8))
    attributes = {"kernel": (3, 3), "num_filter": 4}
    _, weight, bias = mx.nd.Convolution.parameter_shapes(x, (4, 0, 3, 3), bias=(4,), **attributes)
    assert mx.nd.Convolution(x, mx.nd.ones(weight), mx.nd.ones(bias), **attributes).shape == (2, 4, 6, 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mx.nd.tanh.parameter_shapes((2,)), "tanh: the shapes of its inputs cannot be told"),
        (lambda: mx.nd.FullyConnected.parameter_shapes((2, 3), (5, 0)), "attribute 'num_hidden' is missing"),
        (lambda: mx.nd.FullyConnected.parameter_shapes("a", (5, 0), num_hidden=2), "must be an array or a shape"),
        (lambda: mx.nd.FullyConnected.parameter_shapes((1, 2), nm=2), "no argument 'nm'"),
        (lambda: mx.nd.FullyConnected.parameter_shapes(num_hidden=2), "the shape of 'data' is needed"),
        (lambda: mx.nd.FullyConnected.parameter_shapes((2**70,), num_hidden=2), "too large"),
        (lambda: mx.nd.LayerNorm.parameter_shapes((), (0,), (0,)), "axis"),
        (lambda: mx.nd.LayerNorm.parameter_shapes((2, 3), (0,), (0,), -1, 1e-5, False, 7), "too many"),
    ],
)
def test_what_cannot_be_told_is_an_error(call, message):
    with pytest.raises(mx.MXNetError, match=message):
        call()
