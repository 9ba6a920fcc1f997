"""Stores of values by key: sums over devices, updaters, compression, what is refused."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import errors, nd, optimizer
from gluonish.kvstore import KVStoreBase

SHAPE = (2, 3)
KINDS = ["local", "device"]


def on_devices(count, value=1.0):
    return [nd.full(SHAPE, value, ctx=mx.cpu(i)) for i in range(count)]


def pulled(store, key):
    out = nd.zeros(SHAPE)
    store.pull(key, out=out)
    return out.asnumpy()


@pytest.fixture(params=KINDS)
def store(request):
    made = mx.kv.create(request.param)
    made.init("w", nd.zeros(SHAPE))
    return made


def test_kind_and_place(store):
    assert store.type in KINDS
    assert (store.rank, store.num_workers) == (0, 1)
    assert store.is_capable("optimizer")
    assert store.is_capable(KVStoreBase.OPTIMIZER)
    assert not store.is_capable("sparse")
    store.barrier()


def test_push_of_a_list_sums_and_replaces(store):
    store.push("w", on_devices(4))
    assert (pulled(store, "w") == 4).all()
    store.push("w", on_devices(1, 7.0)[0])
    assert (pulled(store, "w") == 7).all()


def test_the_pushed_array_is_not_kept(store):
    given = nd.ones(SHAPE)
    store.push("w", given)
    given[:] = 5
    assert (pulled(store, "w") == 1).all()


def test_pull_writes_to_every_device(store):
    store.push("w", nd.full(SHAPE, 3.0))
    outs = on_devices(3)
    store.pull("w", out=outs)
    for i, out in enumerate(outs):
        assert out.ctx == mx.cpu(i)
        assert (out.asnumpy() == 3).all()


def test_several_keys_at_once():
    store = mx.kv.create("device")
    store.init([3, 5], [nd.ones(SHAPE)] * 2)
    store.push([3, 5, 3], [on_devices(2), nd.full(SHAPE, 5.0), nd.ones(SHAPE)])
    assert (pulled(store, 3) == 3).all(), "the arrays of a key that comes twice are summed"
    assert (pulled(store, 5) == 5).all()
    outs = [on_devices(2, 0.0), nd.zeros(SHAPE)]
    store.pull([3, 5], out=outs)
    assert (outs[0][1].asnumpy() == 3).all()
    assert (outs[1].asnumpy() == 5).all()


def test_updater_gets_key_sum_and_value(store):
    seen = []

    def update(key, total, value):
        seen.append((key, total.asnumpy()[0, 0]))
        value += 2 * total

    store._set_updater(update)
    store.push("w", on_devices(3))
    store.push("w", on_devices(2))
    assert seen == [("w", 3), ("w", 2)]
    assert (pulled(store, "w") == 10).all()


def test_pushpull_writes_to_out_or_to_the_values(store):
    values = on_devices(2, 4.0)
    store.pushpull("w", values)
    assert all((value.asnumpy() == 8).all() for value in values)
    out = nd.zeros(SHAPE)
    store.pushpull("w", on_devices(2), out=out)
    assert (out.asnumpy() == 2).all()


def test_broadcast_initializes_and_pulls(store):
    outs = on_devices(2, 0.0)
    store.broadcast("b", nd.full(SHAPE, 6.0), outs)
    assert all((out.asnumpy() == 6).all() for out in outs)
    assert (pulled(store, "b") == 6).all()


def test_optimizer_updates_what_is_held(store, tmp_path):
    store.set_optimizer(optimizer.create("sgd", learning_rate=0.5, momentum=0.5))
    store.push("w", on_devices(2))
    assert (pulled(store, "w") == -1).all()
    store.save_optimizer_states(tmp_path / "states")
    store.push("w", on_devices(2))
    after = pulled(store, "w")
    assert (after == -2.5).all()
    other = mx.kv.create(store.type)
    other.init("w", nd.full(SHAPE, -1.0))
    other.set_optimizer(optimizer.create("sgd", learning_rate=0.5, momentum=0.5))
    other.load_optimizer_states(tmp_path / "states")
    other.push("w", on_devices(2))
    np.testing.assert_array_equal(pulled(other, "w"), after)


def test_an_error_reaches_the_one_who_waits(store):
    def broken(inputs, outputs):
        raise RuntimeError("no gradient today")

    (bad,) = mx.operator.callback(broken, [nd.ones(SHAPE)], [(SHAPE, "float32")])
    store.push("w", bad)
    with pytest.raises(RuntimeError, match="no gradient today"):
        pulled(store, "w")


# Compression.


def two_bits(residual, gradient, threshold):
    """As published: what reaches the threshold is sent as it, the rest stays."""
    residual = residual + gradient
    sent = np.where(residual >= threshold, threshold, np.where(residual <= -threshold, -threshold, 0))
    return sent, residual - sent


def one_bit(residual, gradient, threshold):
    residual = residual + gradient
    sent = np.where(residual > threshold, 1.0, -1.0)
    return sent, residual - sent


@pytest.mark.parametrize(
    ("kind", "rule", "threshold"), [("2bit", two_bits, 0.5), ("1bit", one_bit, 0.0), ("1bit", one_bit, 0.25)]
)
def test_compression_keeps_what_is_lost_for_each_device(kind, rule, threshold):
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": kind, "threshold": threshold})
    store.init(3, nd.zeros(SHAPE))
    random = np.random.default_rng(1)
    residuals = [np.zeros(SHAPE, "float64") for _ in range(3)]
    for _ in range(6):
        gradients = [random.normal(size=SHAPE).round(2) for _ in range(3)]
        wanted = 0
        for i, gradient in enumerate(gradients):
            sent, residuals[i] = rule(residuals[i], gradient, threshold)
            wanted = wanted + sent
        store.push(3, [nd.array(g, ctx=mx.cpu(i)) for i, g in enumerate(gradients)])
        np.testing.assert_allclose(pulled(store, 3), wanted, atol=1e-6)


def test_compression_as_mxnet_does_it():
    """0.3 three times at 0.5: nothing, then the threshold, then nothing, for each of two devices."""
    store = mx.kv.create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init(3, nd.zeros(SHAPE))
    found = []
    for _ in range(3):
        store.push(3, on_devices(2, 0.3))
        found.append(float(pulled(store, 3)[0, 0]))
    assert found == [0, 1, 0]


@pytest.mark.parametrize(
    "params",
    [{}, "2bit", {"type": "3bit"}, {"type": "2bit", "threshold": 0}, {"type": "2bit", "threshold": -1},
     {"type": "2bit", "threshold": "a"}, {"type": "2bit", "size": 1}],
)  # fmt: skip
def test_wrong_compression(params):
    with pytest.raises(mx.MXNetError, match="set_gradient_compression"):
        mx.kv.create("device").set_gradient_compression(params)


def test_local_does_not_compress():
    with pytest.raises(NotImplementedError, match=r"create\('device'\) does"):
        mx.kv.create("local").set_gradient_compression({"type": "2bit"})


# Misuse.


def test_unknown_kinds_list_the_known_ones():
    with pytest.raises(
        ValueError, match=r"'foo' is not the name of a store; there are 'device', 'local', .*'teststore'"
    ):
        mx.kv.create("foo")
    with pytest.raises(TypeError, match="a string, got int"):
        mx.kv.create(3)


@pytest.mark.parametrize("name", ["dist", "dist_sync", "dist_async", "dist_device_sync", "horovod", "nccl"])
def test_kinds_that_are_not_built_yet(name):
    with pytest.raises(errors.UnsupportedError, match="not built yet"):
        mx.kv.create(name)


def test_duplicate_init(store):
    with pytest.raises(mx.MXNetError, match="'w' has been initialized already"):
        store.init("w", nd.ones(SHAPE))
    with pytest.raises(mx.MXNetError, match="'q' has been initialized already"):
        store.init(["q", "q"], [nd.ones(SHAPE)] * 2)
    with pytest.raises(mx.MXNetError, match="no key 'q'"):  # nothing of a refused call is done
        store.push("q", nd.ones(SHAPE))


@pytest.mark.parametrize("call", ["push", "pull", "pushpull"])
def test_unknown_key(store, call):
    with pytest.raises(mx.MXNetError, match=f"{call}: there is no key 'b': init it first; there are 'w'"):
        getattr(store, call)("b", nd.ones(SHAPE))


@pytest.mark.parametrize("call", ["init", "push", "pull", "pushpull"])
def test_mixed_keys(store, call):
    with pytest.raises(mx.MXNetError, match="keys of a store are all of one type"):
        getattr(store, call)(3, nd.ones(SHAPE))


@pytest.mark.parametrize("key", [1.5, None, True, [1.5]])
def test_keys_of_other_types(store, key):
    with pytest.raises(AssertionError, match=r"a key is an int or a str|need as many"):
        store.push(key, nd.ones(SHAPE))


def test_values_that_do_not_fit(store):
    with pytest.raises(AssertionError, match="1 keys need as many values, got a list of 2"):
        store.push(["w"], [nd.ones(SHAPE)] * 2)
    with pytest.raises(AssertionError, match="must be an NDArray or a list of them, got ndarray"):
        store.push("w", np.ones(SHAPE))
    with pytest.raises(AssertionError, match="a list of them, got a list of 0"):
        store.push("w", [])
    with pytest.raises(errors.ShapeError, match=r"holds an array of shape \(2, 3\), not of \(3,\)"):
        store.push("w", nd.ones(3))
    with pytest.raises(errors.ShapeError, match="not of"):
        store.pull("w", out=nd.ones((3, 2)))
    with pytest.raises(errors.DTypeError, match="holds float32, but float16"):
        store.push("w", nd.ones(SHAPE, dtype="float16"))
    with pytest.raises(AssertionError, match="out is needed"):
        store.pull("w")
    assert (pulled(store, "w") == 0).all()


def test_a_wrong_out_is_found_before_the_push(store):
    with pytest.raises(errors.ShapeError):
        store.pushpull("w", nd.ones(SHAPE), out=nd.ones(7))
    assert (pulled(store, "w") == 0).all()


def test_states_need_an_optimizer(store, tmp_path):
    with pytest.raises(AssertionError, match="set_optimizer gives it one"):
        store.save_optimizer_states(tmp_path / "states")
    store._set_updater(lambda key, total, value: None)
    with pytest.raises(AssertionError, match="no optimizer"):
        store.load_optimizer_states(tmp_path / "states")
    with pytest.raises(AssertionError, match="an Optimizer is needed, got 'sgd'"):
        store.set_optimizer("sgd")
    with pytest.raises(AssertionError, match=r"function of \(key, sum, value\)"):
        store.set_updater(None)


def test_sparse_rows_are_not_there(store):
    with pytest.raises(errors.UnsupportedError, match="sparse arrays"):
        store.row_sparse_pull("w")


# Kinds of users.


def test_registered_kinds():
    @KVStoreBase.register
    class Recorder(KVStoreBase):
        def is_capable(self, capability):
            return False

    made = mx.kv.create("Recorder")
    assert isinstance(made, Recorder)
    for what in ("broadcast", "pushpull"):
        with pytest.raises(NotImplementedError, match=f"Recorder has no {what}"):
            getattr(made, what)(1, 2, 3)
    with pytest.raises(NotImplementedError, match="rank"):
        _ = made.rank
    with pytest.raises(errors.ArgumentError, match="KVStoreBase"):
        KVStoreBase.register(int)


def test_teststore():
    store = mx.kv.create("teststore")
    assert (store.type, store.rank, store.num_workers, store.is_capable("optimizer")) == ("teststore", 0, 1, False)
    values = on_devices(2)
    store.pushpull("any", values)
    assert all((value.asnumpy() == 2).all() for value in values)
    outs = on_devices(2)
    store.broadcast("any", nd.full(SHAPE, 9.0), outs)
    assert all((out.asnumpy() == 9).all() for out in outs)


def test_names():
    assert mx.kv is mx.kvstore
    with pytest.raises(AttributeError, match="several machines"):
        _ = mx.kvstore.KVStoreServer
