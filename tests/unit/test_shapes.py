"""Functions and methods that move values: against NumPy, as views, over themselves, with gradients."""

import numpy  # noqa: ICN001 - np is the module under test
import pytest

import gluonish as mx
from gluonish import autograd, errors, nd, np


def same(ours, theirs):
    """Equal values, shapes and types, also in lists."""
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for x, y in zip(ours, theirs, strict=True):
            same(x, y)
        return
    assert ours.shape == theirs.shape
    numpy.testing.assert_array_equal(ours.asnumpy(), theirs)


X = numpy.arange(24, dtype="float32").reshape(2, 3, 4)
M = X[0]
V = M[0]
CALLS = [
    lambda f, a: f.reshape(a(X), (4, 6)),
    lambda f, a: f.reshape(a(X), shape=(-1, 6)),
    lambda f, a: f.reshape(a(X), (6, -1), order="C"),
    lambda f, a: f.ravel(a(X.T)),
    lambda f, a: f.moveaxis(a(X), (0, 1), (-1, 0)),
    lambda f, a: f.rollaxis(a(X), 2),
    lambda f, a: f.rollaxis(a(X), 0, 3),
    lambda f, a: f.rollaxis(a(X), -1, -2),
    lambda f, a: f.expand_dims(a(M), (0, -1)),
    lambda f, a: f.broadcast_arrays(a(V), a(M), 3.0),
    lambda f, a: f.meshgrid(a(V), a(M[:, 0])),
    lambda f, a: f.meshgrid(a(V), a(M[:, 0]), [1, 2], indexing="ij", sparse=True),
    lambda f, a: f.meshgrid(a(V), a(V), copy=False),
    lambda f, a: f.meshgrid(a(V)),
    lambda f, a: f.flip(a(X)),
    lambda f, a: f.flip(a(X), (0, 2)),
    lambda f, a: f.fliplr(a(X)),
    lambda f, a: f.flipud(a(V)),
    *[lambda f, a, k=k: f.rot90(a(M), k) for k in range(-1, 5)],
    lambda f, a: f.rot90(a(X), 1, (2, 0)),
    lambda f, a: f.roll(a(X), 5),
    lambda f, a: f.roll(a(X), -1, 1),
    lambda f, a: f.roll(a(X), (1, 7), (0, 2)),
    lambda f, a: f.tile(a(M), 2),
    lambda f, a: f.tile(a(V), (3, 1, 2)),
    lambda f, a: f.repeat(a(X), 2),
    lambda f, a: f.repeat(a(X), 2, -1),
    lambda f, a: f.repeat(a(X), [0, 2, 1], 1),
    lambda f, a: f.repeat(a(V), [1, 0, 2, 3]),
    lambda f, a: f.concatenate([a(M), a(V)], axis=None),
    lambda f, a: f.stack([a(M), a(M)], axis=-1),
    lambda f, a: f.vstack([a(V), a(M)]),
    lambda f, a: f.hstack([a(M), a(M[:, :1])]),
    lambda f, a: f.hstack([a(V), 3.0]),
    lambda f, a: f.dstack([a(M), a(M)]),
    lambda f, a: f.dstack([a(V), a(V)]),
    lambda f, a: f.column_stack([a(V), a(M.T)]),
    lambda f, a: f.append(a(M), a(V)),
    lambda f, a: f.append(a(M), [[1.0, 2, 3, 4]], 0),
    lambda f, a: f.split(a(X), 3, 1),
    lambda f, a: f.split(a(X), [1, 3], -1),
    lambda f, a: f.split(a(V), [3, 1, 9]),
    lambda f, a: f.array_split(a(X), 3, 2),
    lambda f, a: f.array_split(a(V), 7),
    lambda f, a: f.array_split(a(V), [1]),
    lambda f, a: f.hsplit(a(X), 3),
    lambda f, a: f.hsplit(a(V), 2),
    lambda f, a: f.vsplit(a(M), [1]),
    lambda f, a: f.dsplit(a(X), 2),
    lambda f, a: f.atleast_1d(3.0, a(M)),
    lambda f, a: f.atleast_2d(a(V)),
    lambda f, a: f.atleast_3d(3.0, a(V), a(M), a(X)),
    lambda f, a: f.diag(a(V), 1),
    lambda f, a: f.diag(a(M), -1),
    lambda f, a: f.diagflat(a(M), -2),
    lambda f, a: f.diagonal(a(X), 1, 2, 0),
    lambda f, a: f.trace(a(X), 1, 1, 2),
    lambda f, a: f.tril(a(X), -1),
    lambda f, a: f.triu(a(M), 1),
    lambda f, a: f.tri(3, 4, 1, dtype="int32"),
    lambda f, a: f.eye(3, 5, -1, dtype="float32"),
    lambda f, a: f.resize(a(M), (3, 7)),
    lambda f, a: f.resize(a(M), 5),
    lambda f, a: f.resize(a(M), ()),
    lambda f, a: f.pad(a(M), 2),
    lambda f, a: f.pad(a(M), (1, 2), constant_values=7),
    lambda f, a: f.pad(a(M), ((1, 2), (0, 5)), "reflect"),
    lambda f, a: f.pad(a(X), ((1, 2), (0, 5), (2, 2)), "symmetric"),
    lambda f, a: f.pad(a(V), 9, "wrap"),
    lambda f, a: f.pad(a(V), 9, mode="edge"),
    lambda f, a: f.linspace(1, 2, 7, dtype="float64"),
    lambda f, a: f.linspace(5, -1, 4, endpoint=False, dtype="float64"),
    lambda f, a: f.logspace(0, 3, 4, base=2.0, dtype="float64"),
    lambda f, a: f.geomspace(1, 81, 5, dtype="float64"),
]


@pytest.mark.parametrize("call", CALLS)
def test_functions_of_np(call):
    same(call(np, np.array), call(numpy, lambda x: x))


@pytest.mark.filterwarnings("ignore::gluonish.np.NumpyFallbackWarning")
def test_what_numpy_computes():
    x = np.array(M)
    same(np.pad(x, 1, "mean"), numpy.pad(M, 1, "mean"))
    same(np.pad(x, 1, "reflect", reflect_type="odd"), numpy.pad(M, 1, "reflect", reflect_type="odd"))
    same(np.pad(x, 1, constant_values=(1, 2)), numpy.pad(M, 1, constant_values=(1, 2)))
    same(np.insert(x, 1, 9.0, axis=0), numpy.insert(M, 1, 9.0, axis=0))
    same(np.delete(x, 1, axis=1), numpy.delete(M, 1, axis=1))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: np.reshape(np.ones(4), (2, 2), order="X"), "order='X' is not valid: expected 'C', 'F' or 'A'"),
        (lambda: np.ravel(np.ones((2, 2)), order="X"), "order='X'"),
        (lambda: np.rollaxis(np.ones(4), 1), "axis 1 or start 0 is out of range for shape (4,)"),
        (lambda: np.broadcast_arrays(np.ones(2), np.ones(3)), "(2,), (3,)"),
        (lambda: np.meshgrid(np.ones(2), indexing="yx"), "indexing='yx'"),
        (lambda: np.fliplr(np.ones(2)), "at least 2 axes"),
        (lambda: np.rot90(np.ones((2, 2)), 1, (0, -2)), "not two different axes of shape (2, 2)"),
        (lambda: np.diag(np.ones((2, 2, 2))), "shape (2, 2, 2); see diagonal"),
        (lambda: np.repeat(np.ones(3), [1, 2]), "(2,)"),
        (lambda: np.repeat(np.ones(3), [1, 2, -1]), "at least 0"),
        (lambda: np.repeat(np.ones(3), [1, 2, 3], 1), "axis 1"),
        (lambda: np.pad(np.ones((2, 2)), (1, 2, 3)), "pad_width=(1, 2, 3) does not fit an array of shape (2, 2)"),
        (lambda: np.array_split(np.ones(3), 0), "0 parts"),
        (lambda: np.vsplit(np.ones(3), 3), "vsplit: an array of at least 2 axes"),
        (lambda: np.split(np.ones(3), [1], 1), "split: axis 1 is out of range for shape (3,)"),
        (lambda: np.hstack(3), "hstack: a list of arrays is needed, got int"),
        (lambda: np.geomspace(0, 1), "geomspace"),
        (lambda: nd.linspace(nd.ones(1), 2, 3), "numbers"),
        (lambda: nd.split_v2(nd.ones((4, 2)), 3), "cannot split axis 0 of shape (4, 2) into 3"),
        (lambda: nd.split_v2(nd.ones((4, 2)), (2,), squeeze_axis=True), "squeeze"),
        (lambda: nd.zeros(2, stype="csr"), "sparse"),
        (lambda: nd.slice(nd.ones(3), begin=(0, 1), end=(1, 2)), "bounds (0, 1)"),
        (lambda: nd.concat(nd.ones(3), nd.ones(3), dim=0, num_args=3), "num_args=3"),
    ],
)
def test_bad_calls(call, says):
    with pytest.raises(errors.MXNetError) as caught:
        call()
    assert says in str(caught.value)


def test_gluon_names():
    x = nd.array(X)
    same(nd.slice(x, begin=(0, None), end=(1, None), step=(None, -1)), X[0:1, ::-1])
    same(nd.crop(x, begin=(None, 1), end=(None, 2)), X[:, 1:2])
    same(nd.slice_axis(data=x, axis=-1, begin=1, end=None), X[..., 1:])
    same(nd.slice_like(x, nd.ones((1, 2)), axes=(0, 1)), X[:1, :2])
    same(nd.reverse(x, axis=1), X[:, ::-1])
    same(nd.SwapAxis(x, dim1=0, dim2=2), X.swapaxes(0, 2))
    same(nd.moveaxis(tensor=x, source=0, destination=2), numpy.moveaxis(X, 0, 2))
    same(nd.broadcast_axes(nd.ones((1, 2)), axis=0, size=3), numpy.ones((3, 2)))
    same(nd.Pad(x.expand_dims(0), mode="edge", pad_width=(0, 0, 0, 0, 1, 0, 0, 2)),
         numpy.pad(X[None], ((0, 0), (0, 0), (1, 0), (0, 2)), "edge"))  # fmt: skip
    same(nd.shape_array(x), numpy.array([2, 3, 4]))
    same(nd.size_array(x), numpy.array([24]))
    same(nd.SliceChannel(x, num_outputs=3, squeeze_axis=1), [X[:, i] for i in range(3)])
    same(nd.split_v2(x, (1, 2), axis=1, squeeze_axis=True), [X[:, i] for i in range(3)])
    same(nd.split_v2(x, 1), X)
    same(nd.concat(x, x, dim=0, num_args=2), numpy.concatenate([X, X]))
    same(nd.Reshape(x, target_shape=(0, 4)), X.reshape(6, 4))
    same(nd.arange(2, repeat=3), numpy.repeat(numpy.arange(2.0), 3))
    same(nd.eye(2, 0, 1, out=nd.ones((2, 2))), numpy.eye(2, k=1))
    with pytest.warns(DeprecationWarning, match="infer_range"):
        same(nd.arange(2, 4, 1, 1, False), numpy.arange(2.0, 4))


def test_methods():
    x = nd.array(X)
    same(x.repeat(2, axis=1), X.repeat(2, 1))
    same(x.tile((1, 2)), numpy.tile(X, (1, 2)))
    same(x.tile(2, 1, 1), numpy.tile(X, (2, 1, 1)))
    same(x.flip(axis=1), X[:, ::-1])
    same(x.slice(begin=(1,), end=(2,)), X[1:2])
    same(x.slice_axis(axis=1, begin=0, end=2), X[:, :2])
    same(x.slice_like(nd.ones((2, 1, 1))), X[:, :1, :1])
    same(x.split_v2(2, axis=2), numpy.split(X, 2, 2))
    same(x.expand_dims(0).pad(mode="constant", pad_width=(0, 0, 0, 0, 0, 0, 1, 1)), numpy.pad(X[None], [(0, 0)] * 3
         + [(1, 1)]))  # fmt: skip
    same(x.diag(1, axis1=1, axis2=2), numpy.diagonal(X, 1, 1, 2))
    same(x.diagonal(1), numpy.diagonal(X, 1))
    same(x.trace(), numpy.trace(X))
    same(x.ravel(), X.ravel())
    same(x.reshape(1, 8, 3, 1).depth_to_space(2).space_to_depth(2), X.reshape(1, 8, 3, 1))
    same(x.shape_array(), numpy.array([2, 3, 4]))
    same(x.size_array(), numpy.array([24]))
    same(nd.ones((1, 3)).broadcast_axes(axis=0, size=2), numpy.ones((2, 3)))
    same(x.reshape_like(nd.ones((6, 4))), X.reshape(6, 4))


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.flip(axis=1),
        lambda x: x.slice(begin=(0, 1), end=(2, 3), step=(1, None)),
        lambda x: x.slice_axis(axis=2, begin=1, end=3),
        lambda x: x.diag(1, axis1=1, axis2=2),
        lambda x: nd.moveaxis(x, 0, 2),
        lambda x: x.flatten(),
        lambda x: x.ravel(),
        lambda x: x.split_v2((1,))[1],
        lambda x: np.rot90(x),
        lambda x: np.atleast_3d(x[0]),
        lambda x: nd.slice_like(x, nd.ones((1, 1, 1))),
        lambda x: nd.reshape_like(x, nd.ones((4, 6))),
    ],
)
def test_views_share_memory(look):
    x = nd.array(X)
    look(x)[:] = -1
    assert (x.asnumpy() == -1).any()
    assert (look(x).asnumpy() == -1).all()


@pytest.mark.parametrize("size", [7, 100_003])
@pytest.mark.parametrize("naive", [False, True])
def test_writing_over_what_is_read(size, naive):
    before = mx._core.set_naive(naive)
    try:
        base = numpy.arange(size, dtype="float32")
        for ours, theirs in (
            (lambda x: x.__setitem__(slice(1, None), x[:-1]), lambda x: x.__setitem__(slice(1, None), x[:-1].copy())),
            (lambda x: x.__setitem__(slice(None, -1), x[1:]), lambda x: x.__setitem__(slice(None, -1), x[1:].copy())),
            (lambda x: x.__setitem__(slice(None), x[::-1]), lambda x: x.__setitem__(slice(None), x[::-1].copy())),
            (lambda x: nd.concat(x[3:], x[:3], dim=0, out=x), lambda x: x.__setitem__(slice(None), numpy.roll(x, -3))),
            (lambda x: np.roll(x, 2, out=x), lambda x: x.__setitem__(slice(None), numpy.roll(x, 2))),
            (lambda x: nd.flip(x, axis=0, out=x), lambda x: x.__setitem__(slice(None), x[::-1].copy())),
            (lambda x: nd.repeat(x[1:2], size, out=x), lambda x: x.fill(x[1])),
            (lambda x: nd.tile(x[2:3], (size,), out=x), lambda x: x.fill(x[2])),
        ):
            x, y = nd.array(base), base.copy()
            ours(x)
            theirs(y)
            same(x, y)
        square = numpy.arange(49, dtype="float32").reshape(7, 7)
        x = nd.array(square)
        nd.transpose(x, out=x)
        same(x, square.T)
        nd.stack(x[0], x[1], out=x[5:])
        same(x[5:], square.T[:2])
    finally:
        mx._core.set_naive(before)


def test_gradients_through_composed_functions():
    x = np.array(M)
    x.attach_grad()
    with autograd.record():
        parts = np.array_split(np.vstack([x, np.repeat(x, [1, 0, 2], 0)]), 2)
        y = sum((np.pad(p, 1, "reflect") ** 2).sum() for p in parts) + (np.meshgrid(x[0], x[1])[0] * 2).sum()
        y = y + np.trace(np.tril(x)) + nd.split_v2(x, (1, 2))[1].sum() + np.resize(x, (5, 4)).sum()
    y.backward()

    def value(m):
        parts = numpy.array_split(numpy.vstack([m, numpy.repeat(m, [1, 0, 2], 0)]), 2)
        total = sum((numpy.pad(p, 1, "reflect") ** 2).sum() for p in parts)
        total += (numpy.meshgrid(m[0], m[1])[0] * 2).sum() + numpy.trace(numpy.tril(m)) + m[1:2].sum()
        return total + numpy.resize(m, (5, 4)).sum()

    m = M.astype("float64")
    for i in numpy.ndindex(m.shape):
        step = numpy.zeros_like(m)
        step[i] = 1e-3
        slope = (value(m + step) - value(m - step)) / 2e-3
        assert abs(float(x.grad[i].item()) - slope) < 1e-3 * (1 + abs(slope))


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "uint8", "bool"])
@pytest.mark.parametrize("isa", ["portable", "avx2"])
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((33, 70), (1, 0)), ((1031, 517), (1, 0)), ((7, 300), (1, 0)), ((3, 65, 70), (0, 2, 1)),
        ((64, 5, 129), (2, 1, 0)), ((40, 3, 41), (1, 2, 0)), ((4, 33, 5, 66), (3, 0, 2, 1)),
        ((2, 9, 129, 3), (0, 2, 3, 1)),
    ],
)  # fmt: skip
def test_transposed_copies(dtype, isa, shape, order):
    x = (numpy.random.default_rng(0).integers(0, 200, shape) % (2 if dtype == "bool" else 256)).astype(dtype)
    ours = np.array(x)
    with_steps = np.array(numpy.repeat(x, 2, -1))[..., ::2]
    best = mx._core.isa()
    mx._core.limit_isa(isa if best != "portable" else best)
    try:
        same(ours.transpose(order).copy(), x.transpose(order))
        same(with_steps.transpose(order).copy(), x.transpose(order))
        same(ours.flip(axis=0).transpose(order).copy(), x[::-1].transpose(order))
        wide = np.zeros([2 * n + 1 for n in x.transpose(order).shape], dtype)
        wide[(slice(1, None, 2),) * len(shape)] = ours.transpose(order)
        same(wide[(slice(1, None, 2),) * len(shape)], x.transpose(order))
        assert int(wide.astype("int64").sum().item()) == int(x.astype("int64").sum())
    finally:
        mx._core.limit_isa(best)


def test_each_value_several_times():
    x = numpy.random.default_rng(0).standard_normal((61, 203)).astype("float32")
    for times in (2, 3, 7, 8, 9):
        same(np.repeat(np.array(x), times, 1), numpy.repeat(x, times, 1))
        same(np.repeat(np.array(x.T), times, 0), numpy.repeat(x.T, times, 0))
        same(np.repeat(np.array(x.astype("int32")), times), numpy.repeat(x.astype("int32"), times))


MANY = (1,) * 13


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.dot(nd.ones((1,) * 8), nd.ones((1,) * 7)),
        lambda: nd.dot(nd.ones((1,) * 8), nd.ones((1,) * 7), transpose_a=True),
        lambda: np.dot(np.ones((1,) * 8), np.ones((1,) * 7)),
        lambda: np.tensordot(np.ones((1,) * 8), np.ones((1,) * 7), axes=1),
        lambda: np.tensordot(np.ones((1,) * 8), np.ones((1,) * 7), axes=0),
        lambda: nd.one_hot(nd.ones((1,) * 12), 3),
        lambda: nd.expand_dims(nd.ones((1,) * 12), 0),
        lambda: np.expand_dims(np.ones((1,) * 11), (0, 1)),
        lambda: nd.stack(nd.ones((1,) * 12), nd.ones((1,) * 12)),
        lambda: nd.take(nd.ones((1,) * 7), nd.zeros((1,) * 7)),
        lambda: nd.ones((1,) * 12)[None],
        lambda: nd.ones((1,) * 7)[nd.zeros((1,) * 7)],
        lambda: nd.ones((1,) * 7).__setitem__(nd.zeros((1,) * 7), nd.ones(1)),
        lambda: nd.ones((1,) * 12)[True],
        lambda: nd.ones((1,) * 12).reshape((-2, 1)),
        lambda: nd.reshape_like(nd.ones((1,) * 8), nd.ones((1,) * 8), lhs_begin=0, lhs_end=1),
        lambda: nd.linalg.makediag(nd.ones((1,) * 12)),
        lambda: nd.unravel_index(nd.zeros((1,) * 12), shape=(2, 2)),
        lambda: nd.contrib.index_array(nd.ones((1,) * 12)),
        lambda: nd.sample_multinomial(nd.ones((1,) * 7), shape=(1,) * 7),
        lambda: nd.array(numpy.ones(MANY)),
        lambda: nd.zeros(MANY),
        lambda: nd.tile(nd.ones(1), MANY),
        lambda: nd.ones(1).tile(*MANY),
        lambda: nd.broadcast_to(nd.ones(1), MANY),
        lambda: nd.ones(1).reshape(MANY),
        lambda: nd.ones(1).reshape(*MANY),
        lambda: np.reshape(np.ones(1), list(MANY)),
        lambda: nd.sum(nd.ones(1), axis=tuple(range(13))),
        lambda: nd.slice(nd.ones(1), begin=(0,) * 13, end=MANY),
    ],
)
def test_more_dimensions_than_there_can_be(call):
    with pytest.raises(errors.ShapeError, match=r"\d+ dimensions: at most 12 are supported"):
        call()


def test_how_many_dimensions_were_given():
    with pytest.raises(errors.ShapeError, match="tile: reps names 13 dimensions"):
        nd.tile(nd.ones(1), MANY)
    with pytest.raises(errors.ShapeError, match="dot: the result would have 13 dimensions"):
        nd.dot(nd.ones((1,) * 8), nd.ones((1,) * 7))


def test_as_many_dimensions_as_there_can_be():
    x = nd.ones((1,) * 7)
    assert nd.dot(x, x).shape == (1,) * 12
    assert nd.expand_dims(nd.ones((1,) * 11), -12).shape == (1,) * 12


def test_new_axes_out_of_range_name_the_shape():
    for call in (
        lambda: nd.expand_dims(nd.ones(3), axis=-9),
        lambda: nd.expand_dims(nd.ones(3), axis=2),
        lambda: nd.stack(nd.ones(3), nd.ones(3), axis=2),
        lambda: nd.stack(nd.ones(3), nd.ones(3), axis=-3),
    ):
        with pytest.raises(errors.IndexOutOfRange, match=r"axis -?\d is out of range for shape \(3,\)"):
            call()


def test_sizes_that_are_too_large_are_named():
    for size in (2**63, 2**80):
        for call in (lambda n: nd.zeros((n,)), lambda n: nd.ones(1).reshape((1, n)), lambda n: nd.tile(nd.ones(1), n)):
            with pytest.raises(ValueError, match=f"{size}, which is too large"):
                call(size)
    with pytest.raises(ValueError, match=f"shape has {-(2**80)}, which is too small"):
        nd.ones(1).reshape((1, -(2**80)))
    for number in (2**80, -(2**80)):
        with pytest.raises(
            errors.ArgumentError, match=f"axis={number} is not valid: expected an integer of at most 64"
        ):
            nd.softmax(nd.ones((2, 3)), axis=number)
    with pytest.raises(errors.ShapeError, match=str(2**62)):
        nd.zeros((2**62,))
    with pytest.raises(errors.ShapeError, match="too many elements"):
        nd.unravel_index(nd.array([1]), shape=(2**32, 2**31))
