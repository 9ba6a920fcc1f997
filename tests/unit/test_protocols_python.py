"""What Python asks of an array: numbers, text, iteration, copies, pickles, weak references."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish._dtype import NAMES


@pytest.mark.parametrize("dtype", NAMES)
def test_numbers(dtype):
    for x in (nd.ones((1, 1), dtype=dtype), nd.ones((), dtype=dtype)):
        assert (float(x), int(x), complex(x), bool(x)) == (1.0, 1, 1 + 0j, True)
        assert type(x.item()) is (bool if dtype == "bool" else float if "float" in dtype else int)
        if "int" in dtype:
            assert [5, 6][x] == 6
        else:
            with pytest.raises(TypeError):
                [5, 6][x]
    for convert in (float, int, complex, bool):
        with pytest.raises(ValueError, match=r"\(2,\)"):
            convert(nd.ones(2, dtype=dtype))
    with pytest.raises(ValueError, match="empty"):
        bool(nd.zeros(0))


@pytest.mark.parametrize("dtype", [n for n in NAMES if n not in ("bool", "bfloat16")])
def test_item_keeps_every_bit(dtype):
    info = np.finfo(dtype) if "float" in dtype else np.iinfo(dtype)
    for value in (info.min, info.max):
        host = np.array([0, value], dtype)
        assert nd.array(host, dtype=dtype).item(1) == host.item(1)
    assert nd.array([[1, 2], [3, 4]]).item(3) == 4
    assert nd.array([[1, 2], [3, 4]]).item(-1, 0) == 3


def test_sequence():
    x = nd.array([[1, 2], [3, 4], [5, 6]])
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    assert 4 in x
    assert 7 not in x
    assert "a" not in x
    assert None not in x
    with pytest.raises(TypeError, match="0-dimensional"):
        iter(nd.ones(()))
    with pytest.raises(TypeError, match="no len"):
        len(nd.ones(()))


def test_round():
    host = np.array([0.5, 1.5, -2.5, 2.346], "float32")
    x = nd.array(host)
    for digits in (0, 1, 2):
        np.testing.assert_allclose(round(x, digits).asnumpy(), host.round(digits))
    assert round(x).dtype == "float32"
    for dtype in ("int32", "uint8", "int64"):
        whole = np.array([14, 15, 25, 26], dtype)
        for digits in (None, 0, 2, -1, -2):
            got = round(nd.array(whole, dtype=dtype), digits)
            assert got.dtype == dtype
            assert (got.asnumpy() == whole.round(digits or 0)).all()
    assert round(nd.array([1250.0]), -2).tolist() == [1200]


def test_hash_is_identity():
    x, y = nd.ones(2), nd.ones(2)
    assert {x: 1, y: 2}[x] == 1
    assert hash(x) != hash(y)
    assert len({x, x, y}) == 2


def test_repr_says_what_is_unusual():
    assert repr(nd.array([1, 2])) == "[1. 2.]\n<NDArray 2 @cpu(0)>"
    assert repr(nd.array([[1, 2]], dtype="int32")) == "[[1 2]]\n<NDArray 1x2 int32 @cpu(0)>"
    assert repr(nd.array(3, mx.cpu(1), dtype="bfloat16")) == "3.0\n<NDArray () bfloat16 @cpu(1)>"
    assert repr(nd.zeros((0, 3))) == "[]\n<NDArray 0x3 @cpu(0)>"
    assert str(nd.array([1])) == repr(nd.array([1]))


@pytest.mark.parametrize("shape", [(2000,), (7, 300), (1001, 2), (6, 7, 8, 9), (1, 5000, 1), (3, 1, 700)])
def test_repr_of_many_values_is_numpys(shape):
    host = np.arange(np.prod(shape), dtype="int64").reshape(shape)
    assert repr(nd.array(host, dtype="int64")).startswith(f"{host}\n<NDArray")
    with np.printoptions(threshold=10, edgeitems=2):
        assert repr(nd.array(host, dtype="int64")).startswith(f"{host}\n<NDArray")


def test_repr_fetches_little_and_is_not_recorded():
    x = nd.ones((40000, 5000), dtype="uint8")
    x.wait_to_read()
    mx.memory.reset_peak()
    held = mx.memory.stats()["held"]
    assert len(repr(x)) < 2000
    assert mx.memory.stats()["peak"] - held < 1 << 20
    y = nd.ones(2000)
    y.attach_grad()
    with mx.autograd.record():
        repr(y)
        z = y * 2
    z.backward()


def test_format():
    assert f"{nd.array([2.345]):.2f}" == "2.35" or f"{nd.array([2.345]):.2f}" == "2.34"
    assert f"{nd.array(7, dtype='int32'):04d}" == "0007"
    assert f"{nd.array([1])}" == repr(nd.array([1]))
    with pytest.raises(TypeError, match=r"\(2,\)"):
        f"{nd.ones(2):.2f}"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", NAMES)
def test_pickle(dtype, protocol):
    for x in (nd.array([[1, 0, 3]], dtype=dtype), nd.ones((), dtype=dtype), nd.ones((0, 2), mx.cpu(1), dtype=dtype),
              nd.array(np.arange(6).reshape(2, 3), dtype=dtype).T):  # fmt: skip
        y = pickle.loads(pickle.dumps(x, protocol))
        assert (y.dtype, y.shape, y.ctx) == (x.dtype, x.shape, x.ctx)
        assert (y.asnumpy() == x.asnumpy()).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_pickle_out_of_band(dtype):
    x = nd.ones((1000, 10), dtype=dtype)
    buffers = []
    text = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(text) < 500
    assert [buffer.raw().nbytes for buffer in buffers] == [x.nbytes]
    y = pickle.loads(text, buffers=buffers)
    assert (y.asnumpy() == 1).all()
    y[:] = 2
    assert pickle.loads(text, buffers=buffers)[0, 0] == 1  # an array of its own


def test_a_pickle_of_a_device_that_is_not_there():
    make, (host, dtype, _) = nd.ones(2).__reduce_ex__(4)
    assert make(host, dtype, "gpu(7)").ctx == mx.cpu()


def test_state():
    x, y = nd.array([1, 2], dtype="bfloat16"), nd.zeros(2, dtype="bfloat16")
    y.__setstate__(x.__getstate__())
    assert y.tolist() == [1, 2]


def test_copies_hold_values_only():
    x = nd.array([1, 2])
    x.attach_grad("add")
    for make in (copy.copy, copy.deepcopy):
        y = make(x)
        assert y is not x
        assert y.grad is None
        y[:] = 5
        assert x.tolist() == [1, 2]
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_weak_references():
    x = nd.ones(2)
    ref, gone = weakref.ref(x), []
    weakref.finalize(x, gone.append, 1)
    assert ref() is x
    del x
    gc.collect()
    assert ref() is None
    assert gone == [1]
