import warnings

import numpy  # noqa: ICN001 - np is the module under test
import pytest

from gluonish import autograd, context, errors, np, npx

X = numpy.array([[1.5, -2.0, 3.0], [4.0, 5.5, -6.0]], "float32")


@pytest.fixture
def quiet():
    """Falling back to NumPy is no error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.NumpyFallbackWarning)
        yield


@pytest.fixture
def double():
    """float64 by default."""
    npx.set_np(dtype=True)
    yield
    npx.reset_np()


# Creation.


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (3, "int64"),
        (2.5, "float32"),
        (True, "bool"),
        ([1, 2.5], "float32"),
        ([[True], [False]], "bool"),
        ([], "float32"),
        (numpy.arange(3, dtype="uint8"), "uint8"),
        (numpy.zeros(3), "float64"),
        (numpy.float64(3), "float64"),
        (numpy.float16(3), "float16"),
    ],
    ids=repr,
)
def test_array_types(source, dtype):
    x = np.array(source)
    assert (x.dtype, x.shape) == (dtype, numpy.shape(source))
    numpy.testing.assert_array_equal(x.asnumpy(), numpy.asarray(source, dtype))


@pytest.mark.usefixtures("double")
def test_float64_by_default():
    assert npx.is_np_default_dtype()
    for x in (np.array(2.5), np.zeros(1), np.ones(1), np.arange(0.5), np.linspace(0, 1, 2), np.eye(1), np.full(1, 0.5)):
        assert x.dtype == "float64"
    assert np.random.uniform(size=3).dtype == "float64"


def test_switches():
    assert not npx.is_np_array()
    npx.set_np()
    assert (npx.is_np_array(), npx.is_np_shape(), npx.is_np_default_dtype()) == (True, True, False)
    npx.reset_np()
    assert not npx.is_np_array()
    assert npx.use_np(len) is len
    with pytest.raises(errors.UnsupportedError):
        npx.set_np(shape=False)


def test_filled_arrays():
    for made, wanted in [
        (np.zeros((2, 3)), numpy.zeros((2, 3), "float32")),
        (np.full((2,), 7), numpy.full((2,), 7)),
        (np.full((2,), True), numpy.full((2,), True)),
        (np.full((2, 2), [1.0, 2.0]), numpy.array([[1, 2], [1, 2]], "float32")),
        (np.zeros_like([1, 2]), numpy.zeros(2, "int64")),
        (np.ones_like(np.zeros(2), dtype="int8"), numpy.ones(2, "int8")),
        (np.full_like(np.zeros(2), 3), numpy.full(2, 3, "float32")),
        (np.arange(2, 8, 3), numpy.arange(2, 8, 3)),
        (np.arange(1, 2, 0.5), numpy.array([1, 1.5], "float32")),
        (np.linspace(1, 2, 3), numpy.linspace(1, 2, 3, dtype="float32")),
        (np.eye(2, 3), numpy.eye(2, 3, dtype="float32")),
        (np.identity(2, dtype=int), numpy.identity(2, int)),
    ]:
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
        numpy.testing.assert_array_equal(made.asnumpy(), wanted)
    assert np.empty_like(np.zeros((2, 3))).shape == (2, 3)
    assert np.zeros(2, ctx=context.cpu(1)).ctx == np.array([1], device="cpu(1)").ctx == context.cpu(1)
    with pytest.raises(errors.UnsupportedError, match="row-major"):
        np.zeros(2, order="F")


def test_asarray():
    x = np.ones(2)
    assert np.asarray(x) is np.asarray(x, dtype="float32") is x
    assert np.asarray(x, dtype="int8").dtype == "int8"
    assert np.array(x) is not x


# Functions.


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f.take(x, [0, -1, 5]),
        lambda f, x: f.take(x, [[0, 1], [1, 0]], axis=0),
        lambda f, x: f.take(x, [7, -9], axis=1, mode="wrap"),
        lambda f, x: f.take(x, [7, -9], mode="clip"),
        lambda f, x: f.dot(x, x.T),
        lambda f, x: f.dot(x, x[0]),
        lambda f, x: f.dot(x[0], x[1]),
        lambda f, x: f.dot(x, f.stack([x.T, x.T])),
        lambda f, x: f.concatenate([x, x], axis=1),
        lambda f, x: f.concatenate((x, x[0]), axis=None),
        lambda f, x: f.stack([x, x], axis=-1),
        lambda f, x: f.concatenate(f.split(x, 3, axis=1), axis=1),
        lambda f, x: f.split(x, [1], axis=0)[1],
        lambda f, x: f.split(x, [0, 2, 2], axis=-1)[2],
        lambda f, x: f.clip(x, -1, 4),
        lambda f, x: f.clip(x, None, 2),
        lambda f, x: f.clip(x, a_min=0, a_max=None),
        lambda f, x: f.where(x > 0, x, 0),
        lambda f, x: f.ravel(x.T),
        lambda f, x: f.reshape(x, (3, -1)),
        lambda f, x: f.transpose(x, (1, 0)),
        lambda f, x: f.swapaxes(x, 0, 1),
        lambda f, x: f.expand_dims(x, 1),
        lambda f, x: f.squeeze(x[:1]),
        lambda f, x: f.broadcast_to(x[0], (4, 3)),
        lambda f, x: f.matmul(x, x.T),
        lambda f, x: f.sum(x, axis=(0, 1), keepdims=True),
        lambda f, x: f.mean(x, axis=0),
        lambda f, x: f.max(x, axis=1),
        lambda f, x: f.argmax(x, axis=1),
        lambda f, x: f.absolute(x),
        lambda f, x: f.hypot(x, 2),
        lambda f, x: f.remainder(x, 2),
        lambda f, x: f.floor_divide(x, 2),
        lambda f, x: f.logical_and(x > 0, x < 4),
        lambda f, x: f.copy(x),
    ],
)
def test_like_numpy(call):
    wanted, made = call(numpy, X), call(np, np.array(X))
    assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
    numpy.testing.assert_allclose(made.asnumpy(), wanted, rtol=1e-6)


def test_dot_with_a_number():
    assert np.dot(np.array(X), 2).tolist() == (X * 2).tolist()


def test_sizes():
    x = np.ones((2, 3))
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1), np.shape([[1]])) == ((2, 3), 2, 6, 3, (1, 1))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: np.take(x, [9]).wait_to_read(), "index 9 is out of range"),
        (lambda x: np.where(x, x), "give both or neither"),
        (lambda x: np.split(x, [1], axis=5), "axis 5 is out of range for shape (2, 3)"),
        (lambda x: np.concatenate([x, np.ones((5, 5))]), "cannot join (2, 3) and (5, 5)"),
    ],
)
def test_bad_calls(call, says):
    with pytest.raises(errors.MXNetError) as caught:
        call(np.array(X))
    assert says in str(caught.value)


# What has no native op.


def test_fallback_is_told_once():
    with pytest.warns(np.NumpyFallbackWarning, match="np.nanpercentile has no native op") as told:
        first, second = (np.nanpercentile(np.array(X), 50) for _ in range(2))
    assert len(told) == 1
    assert isinstance(first, np.ndarray)
    assert (first.dtype, second.item()) == ("float32", numpy.percentile(X, 50))


def test_no_warning_without_arrays():
    before = numpy.get_printoptions()["precision"]
    np.set_printoptions(precision=before)
    assert np.result_type("int8", "int16") == "int16"
    assert np.finfo("float32").bits == 32


@pytest.mark.usefixtures("quiet")
def test_fallback_results():
    x = np.array(X, device="cpu(1)")
    assert np.nanmedian(x).ctx == context.cpu(1)
    assert np.allclose(x, X) is True
    assert [part.tolist() for part in np.divmod(np.array([7, 8]), 4)] == [[1, 2], [3, 0]]
    assert [part.tolist() for part in np.where(np.array([0, 3, 4]))] == [[1, 2]]
    assert np.tri(2).dtype == "float32"
    assert np.tri(2, dtype="float64").dtype == "float64"
    assert np.nanmedian(np.array([1.0], dtype="float64")).dtype == "float64"
    assert np.linalg.norm(x).item() == pytest.approx(numpy.linalg.norm(X))
    assert np.linalg.svd(np.eye(2)).S.tolist() == [1, 1]
    assert isinstance(np.fft.fft(np.ones(2)), numpy.ndarray)  # complex numbers stay NumPy's


@pytest.mark.usefixtures("quiet")
def test_fallback_that_writes():
    x, out = np.zeros((2, 2)), np.zeros(2)
    np.fill_diagonal(x, 3)
    assert x.tolist() == [[3, 0], [0, 3]]
    assert np.nansum(x, axis=0, out=out) is out
    assert out.tolist() == [3, 3]


@pytest.mark.usefixtures("quiet")
def test_no_gradient_through_a_fallback():
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        assert np.nanmedian(np.array([1.0])).item() == 1  # nothing tracked
        assert np.nanmedian(x.detach()).item() == 1.5
        with autograd.pause():
            assert np.nanmedian(x).item() == 1.5
        with pytest.raises(errors.GradientError, match=r"np.nanmedian: it has no native op.*detach"):
            np.nanmedian(x * 2)


def test_names():
    assert (np.pi, np.newaxis, np.float32, np.bfloat16) == (numpy.pi, None, numpy.float32, "bfloat16")
    assert np.isinf is np.isinf
    assert {"exp", "percentile", "zeros"} <= set(dir(np))
    with pytest.raises(AttributeError, match="np has no 'sinn', and neither has NumPy"):
        np.sinn


def test_gradients_flow_through_compositions():
    x = np.array(X)
    x.attach_grad()
    with autograd.record():
        y = np.concatenate(np.split(np.stack([x, x * x]), 2), axis=None).sum()
    y.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy(), 1 + 2 * X)


def test_npx():
    x = np.array(X)
    numpy.testing.assert_allclose(npx.softmax(x).sum(axis=1).asnumpy(), [1, 1], rtol=1e-6)
    assert npx.relu(x).tolist() == numpy.maximum(X, 0).tolist()
    assert npx.pick(x, np.array([0, 2])).tolist() == [1.5, -6.0]
    assert npx.one_hot(np.array([1]), 2).tolist() == [[0, 1]]
    assert npx.num_gpus() == 0
    npx.waitall()
    with pytest.raises(AttributeError, match="did you mean softmax"):
        npx.softmx


def test_inputs_have_numpys_names():
    x = np.array([1.0, 2.0])
    assert np.sum(a=x).item() == 3
    assert np.add(x1=x, x2=x).tolist() == [2.0, 4.0]
    assert np.exp(x=np.array(0.0)).item() == 1


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_have_no_negative_powers(dtype):
    x = np.array([1, 2, 3], dtype=dtype)
    y, one = np.array([2, 0, -1], dtype=dtype), np.array([[-3]], dtype=dtype)
    for call in (
        lambda: np.power(x, y),
        lambda: x**y,
        lambda: 2**y,
        lambda: x**one,
        lambda: np.power(x[:1], y[1:]),
        lambda: x.copy().__ipow__(y),
    ):
        with pytest.raises(ValueError, match=r"an integer cannot be raised to the power -[13]"):
            call().asnumpy()
    assert np.power(x, np.array([2, 0, 1], dtype=dtype)).tolist() == [1, 1, 3]
    assert np.power(x, np.array([2, 0, 1], dtype="uint8")).tolist() == [1, 1, 3]
    assert (x.astype("float32") ** np.array([-1, 0, 1])).tolist() == pytest.approx([1, 1, 3])
    assert (x[:0] ** np.array([-1])).shape == (0,)


@pytest.mark.usefixtures("queued")
def test_negative_powers_are_found_when_they_are_computed():
    y = np.full(100_000, 3, dtype="int64") ** np.arange(99_998, -2, -1, dtype="int64")
    with pytest.raises(ValueError, match="power -1"):
        y.wait_to_read()
