"""Convolutions, their transposes and locally connected layers against sums over windows in NumPy."""

import itertools

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon import nn

CONV = {1: nn.Conv1D, 2: nn.Conv2D, 3: nn.Conv3D}
TRANSPOSED = {1: nn.Conv1DTranspose, 2: nn.Conv2DTranspose, 3: nn.Conv3DTranspose}
FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def tuples(value, axes):
    return (value,) * axes if isinstance(value, int) else value


def taps(out, kernel, stride, dilation):
    """Each place of the output with each tap of the filter, and where in the padded input that is."""
    for place in itertools.product(*map(range, out)):
        for tap in itertools.product(*map(range, kernel)):
            yield (
                place,
                tap,
                tuple(p * s + t * d for p, s, t, d in zip(place, stride, tap, dilation, strict=True)),
            )


def convolved(x, weight, stride, padding, dilation, groups):
    """Of (batch, channels, ...) with (filters, channels / groups, ...): the sum over all taps, in double precision."""
    axes = x.ndim - 2
    padded = np.pad(x.astype("float64"), [(0, 0), (0, 0), *((p, p) for p in padding)])
    kernel = weight.shape[2:]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    out = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, stride, strict=True)]
    y = np.zeros((x.shape[0], weight.shape[0], *out))
    each, seen = weight.shape[0] // groups, weight.shape[1]
    for place, tap, at in taps(out, kernel, stride, dilation):
        for f in range(weight.shape[0]):
            group = f // each
            pixels = padded[(slice(None), slice(group * seen, (group + 1) * seen), *at)]
            y[(slice(None), f, *place)] += pixels @ weight[(f, slice(None), *tap)]
    assert axes == len(out)
    return y


def scattered(x, weight, stride, padding, dilation, groups, extra):
    """The transpose, of (batch, channels, ...) with (channels, filters / groups, ...): every pixel adds its filter."""
    size, kernel = x.shape[2:], weight.shape[2:]
    whole = [
        (n - 1) * s + d * (k - 1) + 1 + e for n, s, d, k, e in zip(size, stride, dilation, kernel, extra, strict=True)
    ]
    each, seen = weight.shape[1], x.shape[1] // groups
    y = np.zeros((x.shape[0], each * groups, *whole))
    for place, tap, at in taps(size, kernel, stride, dilation):
        for c in range(x.shape[1]):
            group = c // seen
            filters = slice(group * each, (group + 1) * each)
            pixel = x[(slice(None), c, *place)].astype("float64")[:, None]
            y[(slice(None), filters, *at)] += pixel * weight[(c, slice(None), *tap)][None]
    inside = tuple(slice(p, n - p) for p, n in zip(padding, whole, strict=True))
    return y[(slice(None), slice(None), *inside)]


SETTINGS = [
    {},
    {"strides": 2, "padding": 1},
    {"dilation": 2, "padding": 2},
    {"groups": 2, "use_bias": False},
    {"strides": (2, 1, 2), "padding": (0, 1, 1), "kernel_size": (2, 3, 1)},
]


def prepared(kind, how, axes, dtype, in_channels=4):
    how = {key: v[:axes] if isinstance(v, tuple) else v for key, v in how.items()}
    kernel = how.pop("kernel_size", 2)
    given = {key: tuples(how.get(key, usual), axes) for key, usual in (("strides", 1), ("padding", 0), ("dilation", 1))}
    layer = kind[axes](6, kernel, bias_initializer=mx.init.Normal(1), **how)
    layer.initialize(mx.init.Normal(1))
    layer.cast(dtype)
    x = np.random.randn(2, in_channels, *(5, 6, 4)[:axes]).astype(dtype)
    return layer, x, given, how.get("groups", 1)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("how", SETTINGS, ids=str)
@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-4), ("float64", 1e-10), ("float16", 0.05)])
def test_convolution(axes, how, dtype, near):
    layer, x, given, groups = prepared(CONV, how, axes, dtype)
    y = layer(nd.array(x, dtype=dtype))
    weight = layer.weight.data().asnumpy().astype("float64")
    wanted = convolved(x, weight, given["strides"], given["padding"], given["dilation"], groups)
    if layer.bias is not None:
        wanted += layer.bias.data().asnumpy().reshape(-1, *(1,) * axes)
    assert y.dtype == dtype
    assert y.shape == wanted.shape
    np.testing.assert_allclose(y.asnumpy(), wanted, rtol=near, atol=near)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("how", [*SETTINGS, {"strides": 2, "output_padding": 1}], ids=str)
@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-4), ("float64", 1e-10)])
def test_transposed_convolution(axes, how, dtype, near):
    layer, x, given, groups = prepared(TRANSPOSED, how, axes, dtype)
    y = layer(nd.array(x, dtype=dtype))
    weight = layer.weight.data().asnumpy().astype("float64")
    extra = tuples(how.get("output_padding", 0), axes)
    wanted = scattered(x, weight, given["strides"], given["padding"], given["dilation"], groups, extra)
    if layer.bias is not None:
        wanted += layer.bias.data().asnumpy().reshape(-1, *(1,) * axes)
    assert y.shape == wanted.shape
    np.testing.assert_allclose(y.asnumpy(), wanted, rtol=near, atol=near)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", [CONV, TRANSPOSED], ids=["convolution", "transposed"])
def test_channels_last_is_the_same_transposed(axes, kind):
    first = kind[axes](4, 2, strides=2, groups=2, layout=FIRST[axes])
    last = kind[axes](4, 2, strides=2, groups=2, layout=LAST[axes])
    x = nd.array(np.random.randn(2, 6, *(5, 6, 4)[:axes]))
    to_last, to_first = (0, *range(2, axes + 2), 1), (0, axes + 1, *range(1, axes + 1))
    for layer, image in ((first, x), (last, x.transpose(to_last))):
        layer.initialize(mx.init.Normal(1))
        layer(image)
    last.weight.set_data(first.weight.data().transpose(to_last))
    y = last(x.transpose(to_last)).transpose(to_first)
    np.testing.assert_allclose(y.asnumpy(), first(x).asnumpy(), rtol=1e-5, atol=1e-5)
    assert repr(last).replace("Transpose", "").split("->")[0] == repr(first).replace("Transpose", "").split("->")[0]


def test_by_hand():
    layer = nn.Conv1D(1, 2, activation="relu", in_channels=1)
    layer.initialize()
    layer.weight.set_data([[[1, -1]]])
    layer.bias.set_data([1])
    assert layer(nd.array([[[1, 3, 3, 0]]])).tolist() == [[[0.0, 1.0, 4.0]]]


def test_text():
    assert repr(nn.Conv2D(3, 3, padding=1)) == ("Conv2D(None -> 3, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))")
    assert repr(nn.Conv2D(8, (3, 1), 2, in_channels=4, dilation=2, groups=2, use_bias=False, activation="relu")) == (
        "Conv2D(2 -> 8, kernel_size=(3, 1), stride=(2, 2), dilation=(2, 2), groups=2, bias=False, Activation(relu))"
    )
    assert repr(nn.Conv1DTranspose(3, 2, strides=2, output_padding=1, in_channels=5)) == (
        "Conv1DTranspose(5 -> 3, kernel_size=(2,), stride=(2,), output_padding=(1,))"
    )
    assert nn.Conv2D(3, 3).prefix.startswith("conv")


def test_weights_have_the_shapes_that_files_of_mxnet_have():
    assert nn.Conv2D(8, (3, 2), in_channels=4, groups=2).weight.shape == (8, 2, 3, 2)
    assert nn.Conv2D(8, 3).weight.shape == nn.Conv2D(8, np.array([3, 3])).weight.shape == (8, 0, 3, 3)
    assert nn.Conv2D(8, 3, in_channels=4, layout="NHWC").weight.shape == (8, 3, 3, 4)
    assert nn.Conv2DTranspose(8, 3, in_channels=4, groups=2).weight.shape == (4, 4, 3, 3)
    assert nn.Conv2DTranspose(8, 3).weight.shape == (0, 8, 3, 3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nn.Conv2D(3, (1, 2, 3)), r"kernel_size=\(1, 2, 3\).*2"),
        (lambda: nn.Conv2D(3, 0), "kernel_size=0 must be at least 1"),
        (lambda: nn.Conv2D(True, 3), "channels=True must be a whole number"),
        (lambda: nn.Conv2D(3, (3, True)), r"kernel_size=\(3, True\) must be one whole number, or 2 of them"),
        (lambda: nn.Conv2D(4, 3, groups=3), "groups=3 must divide channels=4$"),
        (lambda: nn.Conv2D(3, 10**30), f"kernel_size={10**30} is more than an axis can have"),
        (lambda: nn.Conv2D(3, 1.5), "kernel_size=1.5"),
        (lambda: nn.Conv2D(3, 2, layout="NCWH"), "NCWH.*NCHW"),
        (lambda: nn.Conv2D(3, 2, groups=2), "groups=2.*channels=3"),
        (lambda: nn.Conv2D(0, 2), "channels=0"),
        (lambda: nn.Conv1D(3, 2, padding=-1), "padding=-1"),
        (lambda: nn.Conv2DTranspose(3, 2, output_padding="1"), "output_padding='1'"),
        (lambda: nn.LocallyConnected2D(3, 2, layout="NHWC"), "NHWC"),
        (lambda: nn.LocallyConnected1D(3, 5, in_size=4), "larger than in_size"),
    ],
)
def test_what_is_refused(make, says):
    with pytest.raises(ArgumentError, match=says):
        make()


def test_inputs_that_do_not_fit():
    layer = nn.Conv2D(3, 3, in_channels=4)
    layer.initialize()
    with pytest.raises(ShapeError, match=r"\(3, 5, 3, 3\).*\(3, 4, 3, 3\)"):
        layer(nd.ones((2, 5, 6, 6)))
    with pytest.raises(ShapeError, match=r"\(2, 4, 6\)"):
        layer(nd.ones((2, 4, 6)))
    with pytest.raises(ShapeError, match="larger"):
        layer(nd.ones((2, 4, 2, 6)))


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.LocallyConnected1D(3, 2, strides=2, padding=1), (2, 4, 5)),
        (nn.LocallyConnected2D(3, (2, 3), dilation=(2, 1)), (2, 2, 5, 4)),
        (nn.LocallyConnected2D(2, 2, use_bias=False, activation="relu"), (1, 2, 3, 3)),
    ],
    ids=str,
)
def test_locally_connected_is_a_convolution_at_each_place(layer, shape):
    layer.initialize(mx.init.Normal(1))
    x = np.random.randn(*shape)
    y = layer(nd.array(x)).asnumpy()
    how = layer._kwargs
    weight = layer.weight.data().asnumpy().astype("float64")
    for at, place in enumerate(itertools.product(*map(range, y.shape[2:]))):
        filters = weight[at].reshape(y.shape[1], shape[1], *how["kernel"])
        wanted = convolved(x, filters, how["stride"], how["pad"], how["dilate"], 1)[(slice(None), slice(None), *place)]
        if layer.bias is not None:
            wanted = wanted + layer.bias.data().asnumpy()[:, at]
        wanted = np.maximum(wanted, 0) if layer.act is not None else wanted
        np.testing.assert_allclose(y[(slice(None), slice(None), *place)], wanted, rtol=1e-4, atol=1e-5)


def test_locally_connected_layers_have_filters_of_their_own():
    layer = nn.LocallyConnected1D(2, 3, in_channels=4, in_size=6)
    assert layer.weight.shape == (4, 2, 12)
    assert layer.bias.shape == (2, 4)
    layer.initialize()
    with pytest.raises(ShapeError, match="weight"):
        layer(nd.ones((1, 4, 7)))
