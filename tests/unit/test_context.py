import copy
import pickle
import threading

import pytest

import gluonish as mx
from gluonish import context, device, errors


def test_equality_and_text():
    assert mx.cpu() == mx.cpu(0) == mx.Context("cpu") == mx.Context(mx.cpu()) == mx.Device("cpu", 0)
    assert mx.cpu(1) != mx.cpu(0)
    assert mx.cpu(0) != mx.cpu_pinned(0)
    assert mx.cpu(0) != "cpu(0)"
    assert len({mx.cpu(0), mx.cpu(0), mx.gpu(0)}) == 2
    assert (str(mx.cpu_pinned(1)), repr(mx.gpu(2))) == ("cpu_pinned(1)", "gpu(2)")
    assert (mx.gpu(2).device_type, mx.gpu(2).device_id, mx.gpu(2).device_typeid) == ("gpu", 2, 2)
    assert device.Device is context.Context
    assert pickle.loads(pickle.dumps(mx.cpu(3))) == copy.deepcopy(mx.cpu(3)) == mx.cpu(3)


def test_scopes():
    with mx.cpu(1), mx.cpu(2):
        assert mx.current_context() == mx.current_device() == mx.cpu(2)
        assert mx.nd.ones(2).ctx == mx.cpu(2)
        assert mx.nd.ones(2, ctx=mx.cpu(3)).ctx == mx.cpu(3)
        assert mx.nd.random.uniform(shape=2).ctx == mx.cpu(2)
    assert mx.current_context() == mx.cpu(0)


def test_one_object_in_nested_scopes_and_after_errors():
    ctx = mx.cpu(1)
    with pytest.raises(KeyError), ctx, mx.cpu(2), ctx:
        raise KeyError
    assert mx.current_context() == mx.cpu(0)


def test_scopes_belong_to_their_thread():
    seen = []
    with mx.cpu(1):
        thread = threading.Thread(target=lambda: seen.append(mx.current_context()))
        thread.start()
        thread.join()
    assert seen == [mx.cpu(0)]


def test_pinned_memory():
    x = mx.nd.ones(2, ctx=mx.cpu_pinned())
    assert x.ctx == mx.cpu_pinned(0)
    assert (x + 1).tolist() == [2, 2]


@pytest.mark.parametrize(
    "call",
    [
        lambda: mx.nd.ones(2, ctx=mx.gpu()),
        lambda: mx.nd.array([1], device="gpu(0)"),
        lambda: mx.nd.ones(2).as_in_context(mx.gpu(0)),
        lambda: mx.gpu(0).__enter__(),
        lambda: context.gpu_memory_info(),
        lambda: mx.nd.random.uniform(shape=2, ctx=mx.gpu()),
    ],
)
def test_there_is_no_gpu_yet(call):
    assert mx.num_gpus() == context.num_gpus() == 0
    with pytest.raises(errors.DeviceError, match="no GPU support is built yet"):
        call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mx.Context("tpu"), "device_type='tpu' is not valid"),
        (lambda: mx.cpu(-1), "device_id=-1 is not valid"),
        (lambda: mx.cpu(10**6), "device_id=1000000 is not valid: expected a number from 0 to 65535"),
        (lambda: mx.nd.ones(2, ctx=3), "ctx=3 is not valid"),
        (lambda: mx.nd.ones(2, ctx="cpu(x)"), "'cpu(x)' is not a device"),
        (lambda: mx.nd.ones(2, ctx=mx.cpu(), device=mx.cpu()), "give one of them"),
    ],
)
def test_bad_devices(call, says):
    with pytest.raises(errors.ArgumentError) as caught:
        call()
    assert says in str(caught.value)


def test_empty_cache():
    mx.cpu().empty_cache()
