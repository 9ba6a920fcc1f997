import copy
import pickle

import numpy as np
import pytest

import gluonish as mx
from gluonish import _dtype, errors, memory, nd

DTYPES = [name for name in _dtype.NAMES if name != "bfloat16"]


class Foreign:
    """An array of another library, as far as NumPy's protocol goes."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2, 3], dtype or np.int16)

    def __repr__(self):
        return "Foreign"


# Creation.


@pytest.mark.parametrize(
    "source",
    [3, 2.5, True, [1, 2], [[1.5], [2.5]], [], np.arange(6).reshape(2, 3), np.float64(4), Foreign(), range(3)],
    ids=repr,
)
def test_array_is_float32_unless_told(source):
    x = nd.array(source)
    assert (x.dtype, x.shape) == (np.float32, np.shape(source))
    np.testing.assert_array_equal(x.asnumpy(), np.asarray(source, "float32"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_array_of_every_type(dtype):
    source = np.array([[0, 1], [2, 100]]).astype(dtype)
    x = nd.array(source, dtype=dtype)
    assert x.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(x.asnumpy(), source)
    np.testing.assert_array_equal(nd.array(source.T[::-1], dtype=dtype).asnumpy(), source.T[::-1])
    np.testing.assert_array_equal(nd.from_numpy(source).asnumpy(), source)


def test_bfloat16_rounds_and_comes_back_as_float32():
    x = nd.array([1.0, 1.00390625, 3.14159], dtype="bfloat16")
    assert x.dtype == "bfloat16"
    assert x.asnumpy().dtype == np.float32
    assert x.tolist() == [1.0, 1.0, 3.140625]
    assert pickle.loads(pickle.dumps(x)).dtype == "bfloat16"


def test_array_of_an_array_keeps_its_type_and_is_a_copy():
    x = nd.array([1, 2], dtype="int8")
    y = nd.array(x)
    y[0] = 9
    assert (y.dtype, x.tolist(), y.tolist()) == (np.int8, [1, 2], [9, 2])
    assert nd.array(x, dtype="float64").dtype == np.float64


def test_other_byte_orders_are_converted():
    assert nd.array(np.array([1, 2], ">i4"), dtype="int32").tolist() == [1, 2]


def test_nested_arrays():
    assert nd.array([nd.ones(2), nd.zeros(2)]).tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("text", "cannot make an array of 'text'"),
        (None, "cannot make an array of None"),
        ([[1, 2], [3]], "cannot make an array of [[1, 2], [3]]"),
        (1j, "its real and imaginary parts"),
        (object(), "object"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_array_raises_and_says_so(source, says):
    with pytest.raises((errors.DTypeError, errors.ArgumentError)) as caught:
        nd.array(source)
    assert says in str(caught.value)


def test_filled_arrays():
    for made, wanted in [
        (nd.zeros((2, 3)), np.zeros((2, 3), "float32")),
        (nd.ones(4, dtype="int16"), np.ones(4, "int16")),
        (nd.full((2, 0, 3), 5), np.full((2, 0, 3), 5, "float32")),
        (nd.full((), 2.5, dtype=np.float64), np.full((), 2.5)),
        (nd.full((2, 2), nd.array([1, 2])), np.array([[1, 2], [1, 2]], "float32")),
        (nd.eye(3), np.eye(3, dtype="float32")),
        (nd.eye(2, 4, -1, dtype="int32"), np.eye(2, 4, -1, "int32")),
        (nd.linspace(0, 1, 7), np.linspace(0, 1, 7, dtype="float32")),
        (nd.linspace(3, 1, 4, endpoint=False), np.linspace(3, 1, 4, False, dtype="float32")),
    ]:
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(made.asnumpy(), wanted)
    assert nd.empty((2, 3), dtype="int8").shape == (2, 3)


def test_filling_out():
    out = nd.ones((2, 2))
    assert nd.zeros((2, 2), out=out) is out
    assert out.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(
        errors.ShapeError, match=r"^ones: the result of shape \(3,\) does not fit the output of shape \(2, 2\)"
    ):
        nd.ones(3, out=out)


@pytest.mark.parametrize(
    "arguments",
    [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (0, 1, 0.1), (5, 2), (0.5, 3.0), (2, 2), (-3,), (0, -5, -1.5)],
    ids=str,
)
def test_arange(arguments):
    wanted = np.arange(*arguments, dtype="float64")
    np.testing.assert_allclose(nd.arange(*arguments, dtype="float64").asnumpy(), wanted)
    repeated = nd.arange(*arguments, repeat=3).asnumpy()
    np.testing.assert_allclose(repeated, wanted.repeat(3), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nd.zeros((2, -3)), "zeros: shape=(2, -3) is not valid"),
        (lambda: nd.zeros("two"), "zeros: shape='two' is not valid"),
        (lambda: nd.zeros((2.5,)), "shape=(2.5,) is not valid"),
        (lambda: nd.zeros(2, dtype="float31"), "dtype='float31' is not valid: expected one of bool, uint8"),
        (lambda: nd.arange(0, 5, 0), "and a step other than 0"),
        (lambda: nd.arange(float("nan")), "arange: start=0, stop=nan"),
        (lambda: nd.arange(3, repeat=0), "repeat=0 is not valid"),
        (lambda: nd.arange("a"), "start=0, stop=a, step=1.0 is not valid"),
        (lambda: nd.arange(2**70), "is not valid"),
        (lambda: nd.concatenate(3), "concatenate: a list of arrays is needed, got int"),
        (lambda: nd.ones(2**70), "shape"),
        (lambda: nd.ones((2**40, 2**40)), "(1099511627776, 1099511627776)"),
        (lambda: nd.ones(2, dtype=np.ones(2)), "is not valid: expected one of bool"),
    ],
)
def test_bad_creation(call, says):
    with pytest.raises(errors.MXNetError) as caught:
        call()
    assert says in str(caught.value)


# Values.


def test_values():
    x = nd.array([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]]
    assert (x[1, 0].item(), x.item(1, 1), x[0, :1].asscalar()) == (3.0, 4.0, 1.0)
    assert isinstance(nd.array(3, dtype="int8").item(), int)
    assert nd.array(True, dtype=bool).item() is True
    types = {"bfloat16": np.float32, "float16": np.float16, "float32": np.float32, "int8": np.int8, "bool": np.bool_}
    assert {name: type(nd.ones(1, dtype=name).asscalar()) for name in types} == types  # asscalar gives NumPy's
    with pytest.raises(ValueError, match=r"item: an array of one element is needed, got shape \(2, 2\)"):
        x.item()
    with pytest.raises(ValueError, match=r"one element is needed, got shape \(2, 2\)"):
        x.asscalar()


def test_asnumpy_is_a_copy():
    x = nd.ones(3)
    x.asnumpy()[0] = 5
    assert x.tolist() == [1, 1, 1]


def test_numpy_takes_arrays():
    x = nd.array([1, 2, 3])
    assert np.asarray(x).dtype == np.float32
    assert np.array(x, dtype="int64").tolist() == [1, 2, 3]
    assert np.sum(x) == 6
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="copy=False"):
            np.asarray(x, copy=False)


def test_operators_with_numpy_give_our_arrays():
    x, n = nd.array([1, 2, 3]), np.array([10, 20, 30], "float32")
    for y in (x + n, n + x):
        assert isinstance(y, nd.NDArray)
        assert y.tolist() == [11, 22, 33]
    assert (np.float32(2) * x).tolist() == [2, 4, 6]


def test_repr():
    assert repr(nd.array([[1, 2, 3], [4, 5, 6]])) == "[[1. 2. 3.]\n [4. 5. 6.]]\n<NDArray 2x3 @cpu(0)>"
    assert str(nd.array(2.5, ctx=mx.cpu(1))) == "2.5\n<NDArray () @cpu(1)>"
    assert repr(nd.zeros((2, 0))) == "[]\n<NDArray 2x0 @cpu(0)>"


def test_format():
    assert f"{nd.array(3.14159):.2f} {nd.array([2], dtype='int32'):03d}" == "3.14 002"
    assert f"{nd.array([1, 2])}" == "[1. 2.]\n<NDArray 2 @cpu(0)>"
    with pytest.raises(TypeError, match="one element"):
        f"{nd.array([1, 2]):.2f}"


def test_iteration_and_membership():
    x = nd.array([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    _, second = x
    assert second.tolist() == [3, 4]
    assert 3 in x
    assert 5 not in x
    assert 1 not in nd.zeros((0, 2))
    with pytest.raises(TypeError, match="0-dimensional"):
        iter(nd.array(3))


def test_hash_is_identity():
    x, y = nd.ones(2), nd.ones(2)
    assert {x: 1, y: 2}[x] == 1
    assert hash(x) != hash(y)


@pytest.mark.parametrize("dtype", _dtype.NAMES)
def test_pickle_and_copies(dtype):
    x = nd.array([[0, 1, 2], [3, 4, 5]], dtype=dtype, ctx=mx.cpu(1))[:, 1:]
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.copy()):
        assert (y.dtype, y.shape, y.ctx) == (x.dtype, x.shape, x.ctx)
        assert y.tolist() == x.tolist()
        y[:] = 0
    assert x.tolist() == nd.array([[1, 2], [4, 5]], dtype=dtype).tolist()


def test_astype():
    x = nd.array([1.7, -1.7])
    assert x.astype("int32").tolist() == [1, -1]
    assert x.astype(np.float32, copy=False) is x
    assert x.astype("float32") is not x
    with pytest.raises(errors.DTypeError, match="dtype='quad' is not valid"):
        x.astype("quad")


# Devices.


def test_copies_between_devices():
    x = nd.array([1, 2], ctx=mx.cpu(0))
    assert x.as_in_context(mx.cpu(0)) is x
    moved = x.as_in_context(mx.cpu(1))
    assert (moved.ctx, moved.device, moved.context) == (mx.cpu(1),) * 3
    assert x.to_device("cpu(2)").ctx == mx.cpu(2)
    moved[:] = 5
    assert moved.copyto(x) is x
    assert (x.tolist(), x.ctx) == ([5, 5], mx.cpu(0))
    assert x.copyto(mx.cpu(3)).ctx == mx.cpu(3)
    with pytest.raises(errors.DeviceError):
        x + nd.ones(2, ctx=mx.cpu(1))


# Shapes.


@pytest.mark.parametrize(
    ("shape", "codes", "wanted"),
    [
        ((2, 3, 4), (4, 0, 2), (4, 3, 2)),
        ((2, 3, 4), (6, -1), (6, 4)),
        ((2, 3, 4), (-2,), (2, 3, 4)),
        ((2, 3, 4), (2, -2), (2, 3, 4)),
        ((2, 3, 4, 5), (-3, -3), (6, 20)),
        ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
        ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)),
        ((6,), (-1,), (6,)),
    ],
)
def test_reshape_codes(shape, codes, wanted):
    x = nd.arange(np.prod(shape)).reshape(shape)
    for y in (
        x.reshape(codes),
        x.reshape(*codes),
        x.reshape(shape=codes),
        x.reshape(list(codes)),
        nd.reshape(x, codes),
    ):
        assert y.shape == wanted
        np.testing.assert_array_equal(y.asnumpy().ravel(), x.asnumpy().ravel())


@pytest.mark.parametrize(
    ("shape", "codes", "wanted"),
    [
        ((10, 5, 4), (-1, 0), (50, 4)),
        ((8, 3, 3, 3, 4, 4), (4, -1, 0), (4, 216, 4)),
        ((2, 3, 4), (-3, 0), (6, 4)),
        ((2, 3, 4), (-2, 4), (2, 3, 4)),
    ],
)
def test_reshape_from_the_right(shape, codes, wanted):
    assert nd.zeros(shape).reshape(codes, reverse=True).shape == wanted


def test_reshape_to_nothing_and_to_a_number():
    assert nd.array([5]).reshape(()).shape == ()
    assert nd.array([5]).reshape(shape=()).shape == ()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: x.reshape(), "the new shape is missing"),
        (lambda x: x.reshape(5, 2), "cannot reshape (2, 3)"),
        (lambda x: x.reshape(np.array([4, 2])), "cannot reshape (2, 3)"),
        (lambda x: x.reshape_like((2, 3)), "reshape_like: cannot reshape (2, 3)"),
        (lambda x: x.reshape("ab"), "shape='ab' is not valid"),
        (lambda x: x.reshape(6, size=3), "there is no argument 'size'"),
        (lambda x: x.reshape(6, shape=6), "given twice"),
        (lambda x: x.reshape(-4, 1, 2, reverse=True), "-4 cannot be read from the right"),
        (lambda x: x.transpose(0, 0), "given twice"),
        (lambda x: x.transpose(0, axis=1), "there is no argument 'axis'"),
        (lambda x: x.reshape(2, "b", 1), "shape=(2, 'b', 1) is not valid"),
        (lambda x: x.reshape(0, 0, 0, reverse=True), "from the right"),
        (lambda x: x.broadcast_to((3, 3)), "cannot broadcast (2, 3) to (3, 3)"),
        (lambda x: x.attach_grad("sum"), "grad_req='sum' is not valid"),
        (lambda x: x.attach_grad(stype="csr"), "sparse"),
        (lambda x: x.tostype("row_sparse"), "sparse"),
        (lambda x: x.to_device("tpu(0)"), "device_type='tpu' is not valid"),
        (lambda x: x.to_device(3), "ctx=3 is not valid"),
    ],
)
def test_bad_methods(call, says):
    with pytest.raises(errors.MXNetError) as caught:
        call(nd.ones((2, 3)))
    assert says in str(caught.value)


def test_shapes():
    x = nd.arange(24).reshape(2, 3, 4)
    host = x.asnumpy()
    assert x.flatten().shape == (2, 12)
    assert nd.zeros((0, 3, 4)).flatten().shape == (0, 12)
    assert (nd.ones(3).flatten().shape, nd.array(1).flatten().shape) == ((3, 1), (1, 1))
    for order in [(2, 0, 1), (-1, 0, 1)]:
        np.testing.assert_array_equal(x.transpose(*order).asnumpy(), host.transpose(order))
        np.testing.assert_array_equal(x.transpose(order).asnumpy(), host.transpose(order))
    for y in (x.transpose(), x.transpose(None), x.T, nd.transpose(x)):
        np.testing.assert_array_equal(y.asnumpy(), host.T)
    assert nd.ones((1, 3)).broadcast_to((2, 3)).shape == (2, 3)
    assert nd.ones((1, 3)).broadcast_like(nd.ones((4, 2, 3))).shape == (4, 2, 3)
    assert x.reshape_like(nd.ones((4, 6))).shape == (4, 6)


def test_slices_and_reshapes_are_views():
    x = nd.zeros((2, 3))
    x[1][:] = 5
    x.reshape(6)[0] = 7
    x.T[2, 0] = 9
    assert x.tolist() == [[7, 0, 9], [5, 5, 5]]


def test_one_kind_of_array():
    x = nd.ones(2)
    assert x.as_np_ndarray() is x.as_nd_ndarray() is x.tostype("default") is x
    assert x.stype == "default"
    assert mx.np.ndarray is nd.NDArray


def test_joining():
    x, y = nd.ones((2, 3)), nd.zeros((2, 3))
    assert nd.concatenate([x, y]).shape == (4, 3)
    assert nd.concatenate([x], always_copy=False) is x
    np.testing.assert_array_equal(nd.stack(x, y, axis=-1).asnumpy(), np.stack([x.asnumpy(), y.asnumpy()], -1))
    assert nd.stack([x, y]).shape == (2, 2, 3)


def test_the_right_name_is_suggested():
    with pytest.raises(AttributeError, match="did you mean softmax"):
        nd.softmaxx
    with pytest.raises(AttributeError, match="gluonish has no 'autogrd'; did you mean autograd"):
        mx.autogrd
    assert not hasattr(nd, "__wrapped__")


# Callbacks into Python.


def test_callback():
    def divide(inputs, outputs):
        quotient, rest = np.divmod(inputs[0].asnumpy(), inputs[1].asnumpy())
        outputs[0][:] = quotient
        outputs[1][:] = rest

    a, b = nd.array([7, 9]), nd.array([2, 4])
    quotient, rest = mx.operator.callback(divide, [a, b], [(2, "int32"), ((2,), np.float32)])
    assert (quotient.dtype, quotient.tolist(), rest.tolist()) == (np.int32, [3, 2], [1, 1])


def test_callback_that_fails():
    def fail(inputs, outputs):
        raise KeyError("missing piece")

    (y,) = mx.operator.callback(fail, [nd.ones(1)], [((1,), "float32")])
    with pytest.raises(errors.MXNetError, match="missing piece"):
        y.wait_to_read()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((3, [], []), "fn=3 is not valid"),
        ((print, [], [3]), "expected (shape, dtype) pairs"),
        ((print, [], [((2,), "no")]), "dtype='no' is not valid"),
    ],
)
def test_bad_callback(arguments, says):
    with pytest.raises(errors.MXNetError) as caught:
        mx.operator.callback(*arguments)
    assert says in str(caught.value)


# Memory.


def test_memory_stats_and_limit():
    mx.engine.naive().__enter__()  # nobody else holds what has been computed; the fixture puts it back
    x = nd.ones((1000, 1000))
    x.wait_to_read()
    held = memory.stats()["held"]
    assert held >= x.nbytes
    del x
    assert memory.stats()["held"] < held
    assert memory.stats()["peak"] >= held
    memory.reset_peak()
    assert memory.stats()["peak"] < held
    with memory.set_limit(memory.stats()["held"] + (1 << 20)), pytest.raises(MemoryError, match="out of memory"):
        nd.ones(1 << 28).wait_to_read()
    with pytest.raises(errors.ArgumentError, match="set_limit"):
        memory.set_limit("all")


def test_several_outputs_into_given_arrays():
    x = nd.array([3.0, 1.0, 2.0, 4.0])
    a, b = nd.zeros(2), nd.zeros(2)
    out = [a, b]
    assert nd.split(x, num_outputs=2, axis=0, out=out) is out
    assert (a.tolist(), b.tolist()) == ([3, 1], [2, 4])
    nd.split(x, num_outputs=2, axis=0, out=(x[2:], x[:2]))  # each half is read before it is written
    assert x.tolist() == [2, 4, 3, 1]
    with pytest.raises(mx.errors.ArgumentError, match="2 outputs are made, and 'out' has 1"):
        nd.split(x, num_outputs=2, axis=0, out=a)
    with pytest.raises(mx.errors.ShapeError, match=r"\(2,\) does not fit the output of shape \(3,\)"):
        nd.split(x, num_outputs=2, axis=0, out=[a, nd.zeros(3)])
    with pytest.raises(mx.errors.ArgumentError, match="'out' must be an NDArray, got int"):
        nd.exp(x, out=[3])


def test_messages_name_the_op_that_was_called():
    with pytest.raises(mx.errors.ShapeError, match=r"^dot: cannot multiply"):
        nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))
    with pytest.raises(mx.errors.ShapeError, match=r"^reshape_like: "):
        nd.ones(3).reshape_like(nd.ones(4))


def test_the_number_of_arrays_can_be_said():
    x = nd.ones((2, 2))
    assert nd.concat(x, x, num_args=2, dim=0).shape == (4, 2)
    with pytest.raises(errors.ArgumentError, match="num_args=3, but 2 arrays are given"):
        nd.concat(x, x, num_args=3)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum", "nanprod", "max", "min", "norm", "sum_axis"])
def test_no_axes_are_all_axes(name):
    x, call = nd.array([[1.0, 2.0], [3.0, 5.0]]), getattr(nd, name)
    assert call(x, axis=()).tolist() == call(x).tolist()
    if hasattr(x, name):
        assert getattr(x, name)(axis=()).tolist() == call(x).tolist()


def test_no_axes_are_none_for_numpy():
    x = mx.np.ones((2, 2))
    assert mx.np.sum(x, axis=()).shape == mx.np.max(x, axis=()).shape == x.any(axis=()).shape == (2, 2)
    assert nd.sum(x, axis=(), exclude=True).tolist() == 4


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda x, i: nd.pick(x, i), [2, 4]),
        (lambda x, i: nd.pick(x, -i), [1, 4]),
        (lambda x, i: nd.pick(x, -i, mode="wrap"), [3, 4]),
        (lambda x, i: nd.choose_element_0index(x, i), [2, 4]),
        (lambda x, i: nd.take(x, i), [[4, 5, 6], [1, 2, 3]]),
        (lambda x, i: nd.one_hot(i, 3), [[0, 1, 0], [1, 0, 0]]),
        (lambda x, i: nd.one_hot(-i, 2), [[0, 0], [1, 0]]),
        (lambda x, i: nd.fill_element_0index(x, nd.array([8, 9]), i), [[1, 8, 3], [9, 5, 6]]),
        (lambda x, i: nd.topk(x, k=-1), [[2, 1, 0], [2, 1, 0]]),
        (lambda x, i: nd.topk(x, k=-7, ret_typ="value"), [[3, 2, 1], [6, 5, 4]]),
    ],
)
def test_numbers_that_gluon_takes(call, found):
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    assert call(x, nd.array([1.7, 0.2])).tolist() == found
