"""What samples of normalisation do not say: when running statistics move, and numbers that are hard to add."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd


def _state(n=3):
    ones, zeros = mx.nd.ones(n), mx.nd.zeros(n)
    return ones, zeros, mx.nd.array(np.arange(n)), mx.nd.array(np.arange(n) + 1.0)


@pytest.mark.parametrize("name", ["BatchNorm", "BatchNorm_v1", "contrib.BatchNormWithReLU"])
def test_running_statistics_move_once_in_each_training_step(name):
    op = mx.nd
    for part in name.split("."):
        op = getattr(op, part)
    x = np.random.randn(4, 3, 5).astype(np.float32)
    gamma, beta, mean, var = _state()
    op(mx.nd.array(x), gamma, beta, mean, var)
    assert mean.asnumpy().tolist() == [0, 1, 2]
    with autograd.record():
        op(mx.nd.array(x), gamma, beta, mean, var, momentum=0.8)
    want = 0.8 * np.arange(3) + 0.2 * x.mean((0, 2)), 0.8 * (np.arange(3) + 1) + 0.2 * x.var((0, 2))
    np.testing.assert_allclose(mean.asnumpy(), want[0], rtol=1e-5)
    np.testing.assert_allclose(var.asnumpy(), want[1], rtol=1e-5)
    with autograd.train_mode():
        op(mx.nd.array(x), gamma, beta, mean, var, use_global_stats=True)
        op(mx.nd.zeros((0, 3, 5)), gamma, beta, mean, var)
    np.testing.assert_allclose(mean.asnumpy(), want[0], rtol=1e-5)


def test_running_statistics_move_before_backward_and_not_in_it():
    gamma, beta, mean, var = _state()
    gamma.attach_grad()
    with autograd.record():
        y = mx.nd.BatchNorm(mx.nd.random.normal(shape=(4, 3)), gamma, beta, mean, var, fix_gamma=False)
    before = mean.asnumpy()
    assert before.tolist() != [0, 1, 2]
    y.backward()
    assert (mean.asnumpy() == before).all()


def test_statistics_of_half_types_are_kept_in_float32():
    x = mx.nd.random.normal(shape=(4, 3, 5)).astype("float16")
    y, mean, inverse = mx.nd.BatchNorm(x, *_state(), output_mean_var=True)
    assert [str(np.dtype(a.dtype)) for a in (y, mean, inverse)] == ["float16", "float32", "float32"]


@pytest.mark.parametrize("shape", [(64, 2, 7, 9), (4096, 2)])
def test_a_mean_far_from_zero_costs_no_digits(shape):
    """The variance of values around 4096 with a deviation of 1, in float32."""
    rng = np.random.default_rng(1)
    x = (4096 + rng.normal(size=shape)).astype(np.float32)
    ones, zeros = mx.nd.ones(2), mx.nd.zeros(2)
    with autograd.train_mode():
        _, mean, inverse = mx.nd.BatchNorm(mx.nd.array(x), ones, zeros, zeros, ones, eps=0.0, output_mean_var=True)
    axes = tuple(d for d in range(len(shape)) if d != 1)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean.asnumpy(), exact.mean(axes), rtol=1e-7)
    np.testing.assert_allclose(inverse.asnumpy(), 1 / exact.std(axes), rtol=1e-5)
    rows = x.reshape(2, -1)
    n = rows.shape[1]
    got = mx.nd.LayerNorm(mx.nd.array(rows), mx.nd.ones(n), mx.nd.zeros(n), eps=0.0, output_mean_var=True)[2]
    np.testing.assert_allclose(got.asnumpy().ravel(), rows.astype(np.float64).std(1), rtol=1e-5)


def test_nan_spoils_its_row_or_channel_alone():
    x = mx.nd.random.normal(shape=(4, 3))
    x[1, 2] = float("nan")
    rows = np.isnan(mx.nd.LayerNorm(x, mx.nd.ones(3), mx.nd.zeros(3)).asnumpy())
    assert rows.all(1).tolist() == [False, True, False, False]
    assert rows.sum() == 3
    with autograd.train_mode():
        columns = np.isnan(mx.nd.BatchNorm(x, *_state()).asnumpy())
    assert columns.all(0).tolist() == [False, False, True]
    assert columns.sum() == 4


def test_rows_of_nothing():
    y, mean, std = mx.nd.LayerNorm(mx.nd.zeros((2, 0)), mx.nd.zeros(0), mx.nd.zeros(0), output_mean_var=True)
    assert y.shape == (2, 0)
    assert np.isnan(mean.asnumpy()).all()
    assert np.isnan(std.asnumpy()).all()


def test_no_channels():
    for op, shape in (("LayerNorm", (2, 0)), ("GroupNorm", (2, 0, 3))):
        x, gamma, beta = mx.nd.zeros(shape), mx.nd.zeros(0), mx.nd.zeros(0)
        for a in (x, gamma, beta):
            a.attach_grad()
        with autograd.record():
            y = getattr(mx.nd, op)(x, gamma, beta)
        y.backward()
        assert [a.grad.shape for a in (x, gamma, beta)] == [shape, (0,), (0,)]


@pytest.mark.parametrize("shape", [(2, 3, 0), (0, 3, 0), (2, 3, 0, 4)])
@pytest.mark.parametrize("how", [{}, {"fix_gamma": False}, {"use_global_stats": True, "fix_gamma": False}])
def test_images_without_places(shape, how):
    x, gamma, beta = mx.nd.zeros(shape), mx.nd.ones(3), mx.nd.zeros(3)
    for a in (x, gamma, beta):
        a.attach_grad()
    with autograd.record():
        y = mx.nd.BatchNorm(x, gamma, beta, mx.nd.zeros(3), mx.nd.ones(3), **how)
    y.backward()
    assert x.grad.shape == y.shape == shape
    assert gamma.grad.tolist() == beta.grad.tolist() == [0, 0, 0]


def _together(parts, devices, dy, **how):
    """What devices get of their parts of a batch, and their gradients, with the running statistics."""
    xs = [mx.nd.array(p, ctx=d, dtype=p.dtype) for p, d in zip(parts, devices, strict=True)]
    rest = [
        [mx.nd.array(v, ctx=d, dtype=parts[0].dtype) for v in ([1.5, 0.5], [1, 2], [3, 4], [5, 6])] for d in devices
    ]
    for a in (*xs, *(r[0] for r in rest), *(r[1] for r in rest)):
        a.attach_grad()
    with autograd.record():
        ys = [
            mx.nd.contrib.SyncBatchNorm(x, *r, ndev=len(devices), key="norm", fix_gamma=False, **how)
            for x, r in zip(xs, rest, strict=True)
        ]
    for y, g in zip(ys, dy, strict=True):
        y.backward(mx.nd.array(g, ctx=y.context, dtype=g.dtype))
    return ys, [x.grad for x in xs], rest


@pytest.mark.usefixtures("threaded")
@pytest.mark.parametrize("sizes", [(3, 5), (4, 0, 2)])
def test_devices_normalise_one_batch_together(sizes):
    rng, total = np.random.default_rng(5), sum(sizes)
    x, dy = rng.normal(2, 3, size=(total, 2, 3)), rng.normal(size=(total, 2, 3))
    cuts = np.cumsum(sizes)[:-1]
    devices = [mx.cpu(i) for i in range(len(sizes))]
    for _ in range(2):
        ys, grads, rest = _together(np.split(x, cuts), devices, np.split(dy, cuts), momentum=0.75)
    (want,), (want_grad,), (alone,) = _together([x], [mx.cpu(0)], [dy], momentum=0.75)
    np.testing.assert_allclose(np.concatenate([y.asnumpy() for y in ys]), want.asnumpy(), rtol=1e-10, atol=1e-12)
    got = np.concatenate([g.asnumpy() for g in grads])
    np.testing.assert_allclose(got, want_grad.asnumpy(), rtol=1e-9, atol=1e-11)
    for k in (0, 1):
        sums = sum(r[k].grad.asnumpy() for r in rest)
        np.testing.assert_allclose(sums, alone[k].grad.asnumpy(), rtol=1e-10)
    for r in rest:
        for k in (2, 3):
            np.testing.assert_allclose(r[k].asnumpy(), alone[k].asnumpy(), rtol=1e-10)


@pytest.mark.usefixtures("threaded")
def test_devices_may_run_far_ahead_of_each_other():
    """More is queued behind what the second device is to bring than may be in flight otherwise; each calls twice."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(2, 3, 2, 1 << 20)).astype("float32")
    made = []
    for i in range(2):
        device = mx.cpu(i)
        y = mx.nd.array(x[i], ctx=device)
        state = [f(2, ctx=device) for f in (mx.nd.ones, mx.nd.zeros, mx.nd.zeros, mx.nd.ones)]
        with autograd.train_mode():
            for _ in range(2):
                for _ in range(4):
                    y = y * 2 + 1
                y = mx.nd.contrib.SyncBatchNorm(y, *state, ndev=2, key="far")
            for _ in range(4):
                y = y * 2 + 1
        made.append(y)
    want = (x - x.mean((0, 1, 3), keepdims=True)) / x.std((0, 1, 3), keepdims=True) * 16 + 15
    for i, y in enumerate(made):
        np.testing.assert_allclose(y.asnumpy(), want[i], rtol=1e-2, atol=2e-2)


def test_norms_of_several_devices_refuse():
    one, state = mx.nd.ones((2, 2)), _state(2)
    norm = mx.nd.contrib.SyncBatchNorm
    for bad, says in (({}, "key"), ({"key": "a", "ndev": 0}, "ndev=0")):
        with pytest.raises(mx.errors.ArgumentError, match=says):
            norm(one, *state, **bad)
    with pytest.raises(mx.errors.ArgumentError, match="axis 1"):
        norm(mx.nd.ones(2), *state, key="a")


@pytest.mark.parametrize("engine", ["naive"], indirect=True)
def test_the_serial_engine_refuses_norms_of_several_devices(engine):
    with pytest.raises(NotImplementedError, match="threaded engine"), autograd.train_mode():
        mx.nd.contrib.SyncBatchNorm(mx.nd.ones((2, 2)), *_state(2), key="a", ndev=2)


@pytest.mark.usefixtures("threaded")
def test_devices_that_do_not_agree_are_refused_and_may_try_again():
    def call(device, channels=2, ndev=2):
        state = [mx.nd.full(channels, v, ctx=mx.cpu(device)) for v in (1, 0, 0, 1)]
        x = mx.nd.full((3, channels), device, ctx=mx.cpu(device))
        with autograd.train_mode():
            return mx.nd.contrib.SyncBatchNorm(x, *state, ndev=ndev, key="agree", output_mean_var=True)

    first = call(0)
    with pytest.raises(mx.errors.ShapeError, match=r"agree.*cpu\(1\) brings float32 \(5,\).*cpu\(0\).*\(2,\)"):
        call(1, channels=5)
    with pytest.raises(mx.errors.ArgumentError, match="counts 3 devices, another has counted 2"):
        call(1, ndev=3)
    second = call(1)
    assert first[1].tolist() == second[1].tolist() == [0.5, 0.5]


@pytest.mark.usefixtures("threaded")
def test_a_step_that_failed_does_not_reach_the_next():
    def step(parts):
        made = []
        with autograd.train_mode():
            for i, part in enumerate(parts):
                state = [mx.nd.full(2, v, ctx=mx.cpu(i)) for v in (1, 0, 0, 1)]
                x = mx.nd.full((3, 2), part, ctx=mx.cpu(i))
                made.append(mx.nd.contrib.SyncBatchNorm(x, *state, ndev=2, key="again", output_mean_var=True)[1])
        return made

    (left,) = step([100])
    for _ in range(2):
        assert [mean.tolist() for mean in step([1, 2])] == [[1.5, 1.5]] * 2
    with pytest.raises(mx.MXNetError, match="was given up"):
        left.asnumpy()


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (lambda: (np.zeros(3, np.float32), mx.nd.ones(3)), "'moving_mean' must be an NDArray"),
        (lambda: (mx.nd.zeros(1).broadcast_to((3,)), mx.nd.ones(3)), "repeats its elements"),
        (lambda: 2 * (mx.nd.zeros(3),), "'moving_mean' and 'moving_var' share memory"),
    ],
)
def test_states_that_would_lose_what_is_written_are_refused(states, message):
    mean, var = states()
    with autograd.train_mode(), pytest.raises(mx.MXNetError, match=message):
        mx.nd.BatchNorm(mx.nd.ones((2, 3)), mx.nd.ones(3), mx.nd.zeros(3), mean, var)
