"""What no sample says of convolutions: which algorithm is chosen, and that nothing stale is kept of filters."""

import io
import subprocess
import sys

import numpy as np
import pytest

import gluonish as mx
from gluonish import _core

FAST = {"kernel": (3, 3), "num_filter": 32, "no_bias": True, "stride": (2, 2)}


def convolved(x, w):
    """A strided 3x3 convolution of NumPy's arrays, tap by tap."""
    size = (x.shape[2] - 3) // 2 + 1
    cut = lambda t: slice(t, t + 2 * size - 1, 2)  # noqa: E731
    taps = [(i, j) for i in range(3) for j in range(3)]
    return sum(np.einsum("nihw,oi->nohw", x[:, :, cut(i), cut(j)], w[:, :, i, j]) for i, j in taps)


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


@pytest.fixture
def operands():
    rng = np.random.default_rng(0)
    return rng.standard_normal((2, 32, 33, 33), np.float32), rng.standard_normal((32, 32, 3, 3), np.float32)


def test_filters_written_in_place_are_packed_again(operands):
    x, w = operands
    assert _core.conv_choice(x.shape, w.shape, stride=(2, 2)) == "direct"
    data, weight = mx.nd.array(x), mx.nd.array(w)
    for step in range(4):
        close(mx.nd.Convolution(data, weight, **FAST).asnumpy(), convolved(x, w))
        if step % 2:
            weight[step] = 2.0
            w[step] = 2.0
        else:
            weight *= -0.5
            w *= -0.5


def test_views_of_filters_are_kept_apart(operands):
    x, w = operands
    data, both = mx.nd.array(x), mx.nd.array(np.stack([w, -2 * w]))
    for _ in range(2):
        close(mx.nd.Convolution(data, both[0], **FAST).asnumpy(), convolved(x, w))
        close(mx.nd.Convolution(data, both[1], **FAST).asnumpy(), convolved(x, -2 * w))


def test_filters_of_an_array_that_took_the_place_of_another(operands):
    x, w = operands
    data = mx.nd.array(x)
    for factor in (1, -1, 2, -2, 3, -3):
        weight = mx.nd.array(factor * w)
        close(mx.nd.Convolution(data, weight, **FAST).asnumpy(), convolved(x, factor * w))
        del weight


def test_gradients_follow_filters_written_in_place(operands):
    x, w = operands
    data, weight = mx.nd.array(x), mx.nd.array(w)
    data.attach_grad()
    grads = []
    for factor in (1, 3):
        weight[:] = factor * w
        with mx.autograd.record():
            y = mx.nd.Convolution(data, weight, **FAST)
        y.backward()
        grads.append(data.grad.asnumpy())
    close(grads[1], 3 * grads[0])


@pytest.mark.parametrize("share", ["readinto", "from_dlpack", "data"])
def test_filters_written_by_others_are_packed_again(operands, share):
    x, w = operands
    data, weight = mx.nd.array(x), mx.nd.array(w)
    close(mx.nd.Convolution(data, weight, **FAST).asnumpy(), convolved(x, w))
    new = (w + 1).tobytes()
    if share == "readinto":
        io.BytesIO(new).readinto(weight)
    else:
        theirs = np.from_dlpack(weight) if share == "from_dlpack" else np.asarray(weight.data)
        theirs[...] = w + 1
        del theirs
    close(mx.nd.Convolution(data, weight, **FAST).asnumpy(), convolved(x, w + 1))


def test_strides_longer_than_the_images():
    data, weight = mx.nd.ones((1, 2, 5, 5)), mx.nd.ones((2, 2, 3, 3))
    data.attach_grad()
    far = {"kernel": (3, 3), "num_filter": 2, "no_bias": True, "stride": (2**31 - 1, 2**31 - 1), "pad": (1, 1)}
    with mx.autograd.record():
        y = mx.nd.Convolution(data, weight, **far)
    y.backward()
    assert y.shape == (1, 2, 1, 1)
    expected = np.zeros((1, 2, 5, 5))
    expected[:, :, :2, :2] = 2
    assert (data.grad.asnumpy() == expected).all()


def test_a_target_that_would_be_cut_unevenly_is_refused():
    x, w = mx.nd.ones((1, 1, 4)), mx.nd.ones((1, 1, 1))
    with pytest.raises(ValueError, match=r"target_shape=.* cannot be had with stride=1"):
        mx.nd.Deconvolution(x, w, kernel=(1,), num_filter=1, target_shape=(3,))


EMPTY = """
import gluonish as mx
junk = [mx.nd.full((16, 16, 3, 3), 7.0) * 3 for _ in range(8)]
mx.nd.waitall()
del junk
x, w = mx.nd.ones((0, 16, 28, 28)), mx.nd.ones((16, 16, 3, 3))
w.attach_grad()
with mx.autograd.record():
    y = mx.nd.Convolution(x, w, kernel=(3, 3), num_filter=16, no_bias=True)
print(float(abs(mx.autograd.grad(y, [w])[0]).max().asscalar()))
"""


@pytest.mark.parametrize("algorithm", ["direct", "winograd", "first", "depthwise"])
def test_no_images_give_no_gradient_by_any_algorithm(monkeypatch, algorithm):
    monkeypatch.setenv("GLUONISH_CONV", algorithm)
    done = subprocess.run([sys.executable, "-c", EMPTY], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.0"]


CODE = """
from gluonish import _core
print(_core.conv_choice((8, 64, 56, 56), (64, 64, 3, 3), pad=(1, 1)))
print(_core.conv_choice((1, 2, 8, 8), (2, 1, 3, 3), groups=2))
"""


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [("auto", "winograd implicit"), ("implicit", "implicit implicit"), ("direct", "direct implicit"),
     ("depthwise", "winograd depthwise"), ("no-winograd", "direct implicit")],
)  # fmt: skip
def test_the_setting_prefers_an_algorithm_where_it_can(monkeypatch, asked, chosen):
    monkeypatch.setenv("GLUONISH_CONV", asked)
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == chosen.split()


def test_an_unknown_algorithm_is_refused(monkeypatch):
    monkeypatch.setenv("GLUONISH_CONV", "magic")
    done = subprocess.run([sys.executable, "-c", "import gluonish"], capture_output=True, text=True, check=False)
    assert "GLUONISH_CONV=magic is not valid" in done.stderr


@pytest.mark.parametrize(
    ("filters", "how", "says"),
    [((2, 3, 1, 1), {"stride": (0, 1)}, "must be 1 or more"), ((2, 3, 1, 1), {"groups": 0}, "must be 1 or more"),
     ((2, 4, 1, 1), {}, "do not fit"), ((3, 1, 1, 1), {"groups": 2}, "do not fit"), ((2, 3, 9, 9), {}, "larger than"),
     ((2, 3, 1), {}, r"filters=\(2, 3, 1\) is not valid: expected 4 sizes"), ((2, 3, 1, 1), {"pad": (-1, 0)}, "pad="),
     ((2, 3, 1, 1), {"groups": 1 << 70}, "groups=")],
)  # fmt: skip
def test_a_choice_for_what_is_no_convolution(filters, how, says):
    with pytest.raises(ValueError, match=says):
        _core.conv_choice((1, 3, 4, 4), filters, **how)
