"""Memory shared with others: DLPack out and in, buffers, from_numpy."""

import ctypes
import gc
import hashlib
import io
import sys
import weakref

import numpy as np
import pytest

import gluonish as mx
from gluonish import _core, nd
from gluonish._dtype import NAMES
from gluonish.errors import ArgumentError, DeviceError, GradientError

NUMPY = [name for name in NAMES if name != "bfloat16"]


def capsule_name(capsule):
    read = ctypes.pythonapi.PyCapsule_GetName
    read.restype, read.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return read(capsule).decode()


def is_lent(x):
    """The tape copies what is lent: then a write outside of recording leaves the gradient right."""
    v = x.detach()
    v.attach_grad()
    with mx.autograd.record():
        y = v * v
    with mx.autograd.pause():
        v[...] = 100
    try:
        y.backward()
    except GradientError:
        return False
    return True


class Producer:
    """An array of another library: what NumPy's array gives, as far as the producer knows the protocol."""

    def __init__(self, array, device=(1, 0), versions=True):
        self.array, self.device, self.versions = array, device, versions

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        if asked and not self.versions:
            raise TypeError("unexpected keyword argument")
        return self.array.__dlpack__(**asked)


# Out.


@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3), (1, 1, 1, 1)])
def test_numpy_shares_the_memory(dtype, shape):
    x = nd.ones(shape, dtype=dtype)
    host = np.from_dlpack(x)
    assert (host.dtype, host.shape) == (dtype, shape)
    assert (host == 1).all()
    x[...] = 0
    assert (host == 0).all()


def test_views_are_given_as_they_lie():
    x = nd.array(np.arange(24).reshape(2, 3, 4))
    for view in (x.T, x[:, 1], x[1, ::2, ::-1], x.transpose(1, 0, 2)):
        host = np.from_dlpack(view)
        assert host.strides == view.strides
        assert (host == view.asnumpy()).all()
        view[...] = 5
        assert (host == 5).all()


def test_kinds_of_capsules():
    x = nd.ones(2)
    assert capsule_name(x.__dlpack__()) == "dltensor"
    assert capsule_name(x.__dlpack__(max_version=(0, 8))) == "dltensor"
    assert capsule_name(x.__dlpack__(max_version=(1, 0))) == "dltensor_versioned"
    assert capsule_name(x.__dlpack__(max_version=(2, 3), dl_device=(1, 0), copy=False)) == "dltensor_versioned"
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ArgumentError, match="stream"):
        x.__dlpack__(stream=1)


def test_copy():
    x = nd.ones(2)
    y = nd.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
    y[:] = 5
    assert x.tolist() == [1, 1]
    assert not is_lent(x)


def test_a_loan_ends_with_its_user():
    x = nd.ones(2)
    host = np.from_dlpack(x)
    assert is_lent(x)
    part = host[:1]
    del host
    gc.collect()
    assert is_lent(x)
    del part
    gc.collect()
    assert not is_lent(x)
    capsule = x.__dlpack__()
    assert is_lent(x)
    del capsule  # nobody took it
    assert not is_lent(x)


def test_the_memory_outlives_the_array():
    x = nd.array(np.arange(1000.0))
    host = np.from_dlpack(x[10:])
    del x
    gc.collect()
    nd.zeros(1000).wait_to_read()
    assert (host == np.arange(10, 1000)).all()


def test_work_is_done_before_the_memory_is_given():
    a = nd.ones((400, 400))
    x = nd.dot(nd.dot(a, a), a)
    host = np.from_dlpack(x)
    assert (host == 160000).all()
    y = nd.dot(x, a)
    y[:] = nd.dot(a, a)
    x += 1
    assert (host == 160001).all()
    host[:] = 2  # no queued work still reads it
    assert (nd.dot(x, a).asnumpy() == 800).all()
    assert (y.asnumpy() == 400).all()


def test_readers_are_done_before_others_may_write():
    a = nd.ones((700, 700))
    for _ in range(3):
        x = nd.ones((700, 700))
        y = nd.dot(nd.dot(x, a), x)
        np.from_dlpack(x)[:] = 0
        assert (y.asnumpy() == 490000).all()


def test_an_error_is_raised_where_the_memory_is_asked_for(queued):
    busy = nd.ones((600, 600))
    for _ in range(3):
        busy = nd.dot(busy, busy)
    x = _core.invoke("_test_fail", [busy], {"how": "error"})  # waits for what is not there yet
    for ask in (np.from_dlpack, lambda x: x.data):
        with pytest.raises(mx.MXNetError):
            ask(x)


def test_what_a_gradient_needs_is_not_given_to_writers():
    x = nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
    assert not np.from_dlpack(x).flags.writeable
    assert x.data.readonly
    copied = nd.from_dlpack(x.to_dlpack_for_read())
    copied[:] = 7
    for ask in (x.to_dlpack_for_write, lambda: x.__dlpack__(copy=False)):
        with pytest.raises(BufferError, match="gradient"):
            ask()
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"12345678").readinto(x)
    y.backward()
    assert x.grad.tolist() == [2, 4]
    assert np.from_dlpack(x).flags.writeable


def test_the_tape_saves_copies_of_what_is_lent():
    x = nd.array([1, 2])
    host = np.from_dlpack(x)
    x.attach_grad()
    out = nd.zeros(2)
    seen = np.from_dlpack(out)
    with mx.autograd.record():
        y = x * x
        nd.exp(x, out=out)
        z = y + out
    host[:] = 100
    seen[:] = 100
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * np.array([1, 2]) + np.exp([1, 2]), rtol=1e-6)


def test_repeated_elements_are_read_only():
    x = nd.ones((1, 3)).broadcast_to((2, 3))
    assert not np.from_dlpack(x).flags.writeable
    with pytest.raises(BufferError, match="repeats"):
        x.to_dlpack_for_write()


# In.


@pytest.mark.parametrize("dtype", NUMPY)
@pytest.mark.parametrize("versions", [True, False])
def test_from_dlpack_shares(dtype, versions):
    host = np.ones((2, 3), dtype)
    x = nd.from_dlpack(Producer(host, versions=versions))
    assert (x.dtype, x.shape, x.ctx) == (dtype, (2, 3), mx.cpu())
    x[0] = 0
    assert host.sum() == 3
    host[1] = 0
    assert not x.asnumpy().any()


@pytest.mark.parametrize("view", [
    lambda a: a.T, lambda a: a[::-1], lambda a: a[:, ::-2], lambda a: a[1:, 1], lambda a: a[:0], lambda a: a[0, 0, ...],
    lambda a: a[None],
])  # fmt: skip
def test_from_dlpack_of_views(view):
    host = np.arange(12, dtype="int32").reshape(3, 4)
    x = nd.from_dlpack(view(host))
    assert (x.asnumpy() == view(host)).all()
    x[...] = x + 100
    assert (x.asnumpy() == view(host)).all()
    assert x.strides == view(host).strides or x.size < 2


def test_copies_of_what_comes_in():
    host = np.ones(3)
    x = mx.np.from_dlpack(host, copy=True)
    x[:] = 5
    assert host.sum() == 3
    host.flags.writeable = False
    x = mx.np.from_dlpack(host)  # what is read-only is copied
    x[:] = 5
    assert host.sum() == 3
    with pytest.raises(BufferError, match="read-only"):
        mx.np.from_dlpack(host, copy=False)
    moved = mx.np.from_dlpack(np.ones(3), device=mx.cpu(1))
    assert moved.ctx == mx.cpu(1)
    with pytest.raises(BufferError, match="copy=False"):
        mx.np.from_dlpack(np.ones(3), device=mx.cpu(1), copy=False)


def test_a_capsule_is_taken_once():
    host = np.ones(3)
    for give in (host.__dlpack__, lambda: nd.ones(3).__dlpack__(max_version=(1, 0)), nd.ones(3).to_dlpack_for_read):
        capsule = give()
        assert nd.from_dlpack(capsule).tolist() == [1, 1, 1]
        with pytest.raises(BufferError, match="used already"):
            nd.from_dlpack(capsule)


def test_the_producer_gets_its_memory_back():
    class Owner(np.ndarray):
        pass

    host = np.ones(1000).view(Owner)
    gone = weakref.ref(host)
    x = nd.from_dlpack(host)
    y = x[:10]
    del host, x
    gc.collect()
    assert gone() is not None
    assert y.tolist() == [1] * 10
    del y
    gc.collect()
    mx.nd.waitall()
    assert gone() is None


def test_our_own_capsules_come_back_as_they_were():
    x = nd.ones((2, 3), dtype="bfloat16")
    for give in (x.to_dlpack_for_read, x.to_dlpack_for_write, lambda: x.__dlpack__(max_version=(1, 0))):
        y = nd.from_dlpack(give())
        assert str(y.dtype) == "bfloat16"
        y[0] = y[0] + 1
    assert x.tolist() == [[4] * 3, [1] * 3]
    assert not is_lent(nd.from_dlpack(nd.ones(2)))


def test_what_cannot_come_in():
    with pytest.raises(DeviceError, match="type 2"):
        nd.from_dlpack(Producer(np.ones(2), device=(2, 0)))
    for bad in (3, "a", None, [1, 2]):
        with pytest.raises(ArgumentError, match="DLPack capsule is needed"):
            nd.from_dlpack(bad)
    with pytest.raises(mx.errors.DTypeError, match="128 bits"):
        nd.from_dlpack(np.ones(2, "complex128"))
    with pytest.raises(ValueError, match="13 dimensions"):
        nd.from_dlpack(np.ones((1,) * 13))

    class Broken:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **asked):
            raise RuntimeError("the producer's own words")

    with pytest.raises(RuntimeError, match="the producer's own words"):
        nd.from_dlpack(Broken())


def test_shared_memory_is_used_in_step():
    host = np.ones((500, 500), "float32")
    x = nd.from_dlpack(host)
    x[:] = nd.dot(x, x)
    assert (host == 500).all()
    y = nd.dot(x, x)
    host[:] = 0  # the product has been read already
    assert (y.asnumpy() == 500**3).all()


def test_nothing_is_left_behind():
    host = np.ones((300, 300), "float32")
    references, held = sys.getrefcount(host), mx.memory.stats()["held"]
    for _ in range(200):
        x = nd.from_dlpack(host)
        for version in ((0, 8), (1, 0)):
            x.__dlpack__(max_version=version)  # a capsule that nobody takes
            np.from_dlpack(x)
        x.data.release()
        y = nd.dot(x, x)  # its worker may be the last to let go of the memory
        del x
    y.wait_to_read()
    del y
    mx.nd.waitall()
    gc.collect()
    assert sys.getrefcount(host) == references
    assert mx.memory.stats()["held"] <= held + host.nbytes


# NumPy's memory.


def test_from_numpy():
    host = np.arange(6.0).reshape(2, 3)
    x = nd.from_numpy(host)
    assert x.dtype == "float64"
    x += 1
    host[0] = 0
    assert x.tolist() == host.tolist() == [[0, 0, 0], [4, 5, 6]]
    y = nd.from_numpy(host, zero_copy=False)
    y[:] = 7
    assert host[0, 0] == 0
    fixed = np.ones(2)
    fixed.flags.writeable = False
    for source in (fixed, np.ones(2, ">f4"), np.ones(2, "complex64"), np.ones(9, "uint8")[1:].view("float64")):
        with pytest.raises(ArgumentError, match="zero_copy=False copies it"):
            nd.from_numpy(source)
    assert nd.from_numpy(fixed, zero_copy=False).tolist() == [1, 1]
    with pytest.raises(ArgumentError, match="NumPy array is needed, got list"):
        nd.from_numpy([1, 2])


# Buffers.


@pytest.mark.parametrize("dtype", NUMPY)
def test_memory_as_a_view(dtype):
    x = nd.array([[1, 0, 1], [0, 1, 1]], dtype=dtype)
    memory = x.data
    assert (memory.shape, memory.strides, memory.itemsize) == (x.shape, x.strides, x.itemsize)
    assert memory.format == np.dtype(dtype).char.replace("l", "q").replace("L", "Q") or memory.format in "qQ"
    assert not memory.readonly
    assert np.asarray(memory).dtype == dtype
    np.asarray(memory)[0] = 0
    assert x.asnumpy().sum() == 2
    assert is_lent(nd.ones(1)) is False
    assert nd.ones(2).T.data.tolist() == [1, 1]


def test_views_of_views():
    x = nd.array(np.arange(12).reshape(3, 4), dtype="int32")
    for view in (x.T, x[:, 1], x[::-1, ::2], x[0, 0]):
        assert np.asarray(view.data).tolist() == view.tolist()
    x.T.data[1, 2] = 99
    assert x[2, 1] == 99


def test_code_that_writes_or_reads_bytes():
    x = nd.zeros(3, dtype="int32")
    assert io.BytesIO(np.array([4, 5, 6], "int32").tobytes()).readinto(x) == 12
    assert x.tolist() == [4, 5, 6]
    assert hashlib.sha256(x).digest() == hashlib.sha256(x.asnumpy().tobytes()).digest()
    target = io.BytesIO()
    target.write(x)
    assert target.getvalue() == x.asnumpy().tobytes()
    half = nd.zeros(2, dtype="bfloat16")
    io.BytesIO(b"\x80\x3f\x00\x40").readinto(half)
    assert half.tolist() == [1, 2]
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(bytes(8)).readinto(nd.zeros((2, 2))[:, 0])
    y = nd.zeros(2)
    io.BytesIO(bytes(8)).readinto(y)
    assert not is_lent(y)


def test_numpy_still_copies():
    x = nd.ones(2)
    for make in (np.asarray, np.array, np.ascontiguousarray):
        host = make(x)
        host[0] = 5
    assert x.tolist() == [1, 1]
    with pytest.raises(BufferError, match=r"x\.data"):
        memoryview(x)
    with pytest.raises(BufferError, match="bfloat16"):
        _ = nd.ones(2, dtype="bfloat16").data


# Other libraries, where they are installed.


def test_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = nd.array(np.arange(6).reshape(2, 3))
    t = torch.from_dlpack(x)
    t[0, 0] = 9
    x[1] = 7
    assert t.tolist() == x.tolist() == [[9, 1, 2], [7, 7, 7]]
    for dtype in (torch.float32, torch.bfloat16, torch.bool, torch.int8, torch.float16, torch.int64):
        t = torch.ones(2, 3, dtype=dtype)
        y = nd.from_dlpack(t.T)
        assert (y.shape, f"torch.{y.dtype}") == ((3, 2), str(dtype))
        y[0] = 0
        assert t[:, 0].sum() == 0
        assert str(mx.np.array(t).dtype) == str(y.dtype)
        assert torch.from_dlpack(y).dtype == dtype
    with pytest.raises(Exception, match="grad"):
        nd.from_dlpack(torch.ones(2, requires_grad=True))


def test_jax():
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    x = nd.array(np.arange(6).reshape(2, 3))
    assert jnp.from_dlpack(x).tolist() == x.tolist()
    for dtype in ("float32", "bfloat16", "int32", "bool"):
        j = jnp.ones((2, 3), dtype)
        y = nd.from_dlpack(j)
        assert str(y.dtype) == dtype
        assert y.shape == (2, 3)
        assert str(mx.np.array(j).dtype) == dtype
        assert (y.astype("float32").asnumpy() == 1).all()
