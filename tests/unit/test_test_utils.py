"""The helpers for tests are tested: they pass what is right, and fail what is not."""

from __future__ import annotations

import gzip
import os
import struct
import sys

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish import test_utils as tu
from gluonish._waiting import GLUON
from gluonish.gluon import HybridBlock, nn


def fails(function, *args, says=None, **kwargs):
    with pytest.raises(AssertionError, match=says):
        function(*args, **kwargs)


def test_same():
    x = nd.array([1, 2])
    assert tu.same(x, np.array([1, 2]))
    assert not tu.same(x, np.array([1, 3]))
    assert not tu.same(x, np.array([[1, 2]]))
    y = nd.zeros((2, 3))
    assert tu.same_array(y, y[:])
    assert not tu.same_array(y, nd.zeros((2, 3)))
    assert (y == 0).all().item()


@pytest.mark.parametrize("form", [np.asarray, nd.array, list])
def test_almost_equal(form):
    a, b = [1.0, 2.0, 3.0], [1.0, 2.0, 3.0 + 1e-6]
    tu.assert_almost_equal(form(a), form(b), rtol=1e-5, atol=1e-8)
    assert tu.almost_equal(form(a), form(b), rtol=1e-5, atol=0)
    assert not tu.almost_equal(form(a), form([1.0, 2.0, 3.1]), rtol=1e-5, atol=0)
    fails(tu.assert_almost_equal, form(a), form([1.0, 2.5, 3.1]), says=r"differ at 2 of 3 places .* at \(1,\)")


def test_tolerances_are_those_of_the_types():
    one = np.ones(1)
    for dtype, good, bad in (("float16", 1.05, 1.3), ("float32", 1.0005, 1.01), ("float64", 1.000001, 1.0001)):
        tu.assert_almost_equal(one.astype(dtype), (one * good).astype(dtype))
        fails(tu.assert_almost_equal, one.astype(dtype), (one * bad).astype(dtype))
    tu.assert_almost_equal(nd.array([1.0], dtype="bfloat16"), np.array([1.05], "float32"))
    fails(tu.assert_almost_equal, nd.array([1], dtype="int32"), nd.array([2], dtype="int32"))
    fails(tu.assert_almost_equal, np.array([1], "uint8"), np.array([2], "uint8"), says="off by 1")
    assert tu.get_tols(one, one.astype("float16"), None, None) == (1e-2, 1e-1)
    assert tu.get_tolerance(one, {np.dtype("float64"): 5}, {}) == 5
    assert tu.get_rtol() == 1e-5
    assert tu.get_atol(3) == 3
    assert tu.get_etol() == 0
    assert tu.default_numeric_eps()[np.dtype("float64")] == 2**-14


def test_nan_shapes_and_errors():
    nan = np.array([1.0, np.nan])
    fails(tu.assert_almost_equal, nan, nan, says="1 of 2 places")
    tu.assert_almost_equal(nan, nan, equal_nan=True)
    tu.assert_allclose(nan, nan)
    fails(tu.assert_allclose, [1.0], [1.0 + 1e-6])
    tu.assert_almost_equal_ignore_nan(nan, np.array([1.0, 3.0]))
    fails(tu.assert_almost_equal_ignore_nan, nan, np.array([2.0, 3.0]))
    tu.assert_almost_equal(np.ones((2, 2)), np.ones(2))
    fails(tu.assert_almost_equal, np.ones((2, 2)), np.ones(2), use_broadcast=False, says="shapes")
    fails(tu.assert_almost_equal, np.ones(3), np.ones(2), says=r"a has shape \(3,\)")
    fails(tu.assert_almost_equal, np.ones(1), np.zeros(1), names=("ours", "theirs"), says="ours and theirs differ")
    fails(tu.checkShapes, np.ones(3), np.ones(2))
    few, many = np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 9, 4])
    tu.assert_almost_equal_with_err(few, many, etol=0.25)
    fails(tu.assert_almost_equal_with_err, few, many, etol=0.2)
    fails(tu.assert_almost_equal_with_err, few, many)
    tu.compare_ndarray_tuple((nd.ones(2), (nd.ones(2), None)), (nd.ones(2), (nd.ones(2), None)))
    fails(tu.compare_ndarray_tuple, (nd.ones(2),), (nd.zeros(2),))
    fails(tu.compare_ndarray_tuple, (nd.ones(2),), (nd.ones(2), nd.ones(2)))


def test_the_worst_places_are_shown_first():
    a, b = np.zeros((3, 3)), np.zeros((3, 3))
    b[0, 1], b[2, 2] = 1, 5
    with pytest.raises(AssertionError) as raised:
        tu.assert_almost_equal(a, b, rtol=0, atol=0.5)
    text = str(raised.value)
    assert "off by 5 at (2, 2): a=0.0, b=5.0" in text
    assert text.index("(2, 2)") < text.index("(0, 1)")
    with pytest.raises(AssertionError) as raised:
        tu.assert_almost_equal(a, b, rtol=0, atol=0.5, mismatches=(1, 1))
    assert "(0, 1)" not in str(raised.value)


def test_random_inputs():
    assert tu.random_arrays((2, 3)).shape == (2, 3)
    assert [x.shape for x in tu.random_arrays((2,), ())] == [(2,), ()]
    (x,) = tu.random_uniform_arrays((1000,), low=2, high=3, dtype="float64")
    assert x.dtype == "float64"
    assert 2 <= x.min() < 2.1
    assert 2.9 < x.max() < 3
    with pytest.raises(TypeError, match="no argument 'loww'"):
        tu.random_uniform_arrays((2,), loww=1)
    for _ in range(50):
        assert all(1 <= n <= 4 for n in tu.rand_shape_nd(3, 4))
        assert all(1 <= n <= m for n, m in zip(tu.rand_shape_3d(2, 3, 4), (2, 3, 4), strict=True))
        assert all(1 <= n <= m for n, m in zip(tu.rand_shape_2d(2, 3), (2, 3), strict=True))
    assert 0 in {tu.rand_shape_nd(1, 2, allow_zero_size=True)[0] for _ in range(50)}
    assert tu.rand_coord_2d(3, 4, 6, 7) == (3, 6)
    assert sorted(tu.random_sample(list("abc"), 3)) == list("abc")
    fails(tu.random_sample, [1], 2)
    x = tu.rand_ndarray((50, 3), dtype="float64", ctx=mx.cpu(1))
    assert (x.ctx, x.dtype) == (mx.cpu(1), np.dtype("float64"))
    assert -1 <= x.min().item() < 0 < x.max().item() <= 1
    assert (tu.rand_ndarray((5,), modifier_func=lambda _: 3) == 3).all().item()
    with pytest.raises(NotImplementedError, match="sparse"):
        tu.rand_ndarray((2, 2), stype="csr")
    with pytest.raises(TypeError, match="density"):
        tu.rand_ndarray((2, 2), density=0.5)


def test_seed_of_numpy_fixes_inputs():
    drawn = []
    for _ in range(2):
        np.random.seed(3)
        drawn.append([*tu.random_arrays((2,), (3,)), tu.rand_ndarray((2,)).asnumpy(), tu.rand_shape_nd(4)])
    for a, b in zip(*drawn, strict=True):
        assert tu.same(a, b)


def test_matrices():
    q = tu.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
    s = tu.new_sym_matrix_with_real_eigvals_nd((2, 3, 4, 4))
    np.testing.assert_allclose(s, np.swapaxes(s, -1, -2), atol=1e-12)
    a = tu.new_matrix_with_real_eigvals_nd((2, 3, 3))
    assert np.isreal(np.linalg.eigvals(a)).all()
    assert not np.allclose(a, np.swapaxes(a, -1, -2))
    fails(tu.new_matrix_with_real_eigvals_nd, (2, 3))
    assert tu.get_identity_mat(2).tolist() == [[1, 0], [0, 1]]
    assert tu.get_identity_mat_batch(2).shape == (2, 2, 2)
    assert tu.create_2d_tensor(2, 3).tolist() == [[0] * 3, [1] * 3]
    assert tu.create_vector(3, "float32").tolist() == [0, 1, 2]


def test_reductions():
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in (None, 0, -1, (0, 2), [1]):
        for keep in (True, False):
            wanted = x.max(axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=keep)
            np.testing.assert_array_equal(tu.np_reduce(x, axis, keep, np.max), wanted)
    np.testing.assert_array_equal(tu.collapse_sum_like(x, (1, 4)), x.sum((0, 1))[None])
    np.testing.assert_array_equal(tu.collapse_sum_like(x, ()), x.sum())
    np.testing.assert_array_equal(tu.collapse_sum_like(x, (2, 3, 4)), x)
    fails(tu.collapse_sum_like, x, (2, 4))
    np.testing.assert_array_equal(tu.assign_each(x, lambda v: -v), -x)
    np.testing.assert_array_equal(tu.assign_each(x, None), x)
    np.testing.assert_array_equal(tu.assign_each2(x, x, lambda u, v: u * v), x * x)
    np.testing.assert_array_equal(tu.assign_each2(x, x, None), x)
    fails(tu.assign_each2, x, x[0], max)


def test_generators():
    np.random.seed(0)
    buckets, probs = tu.gen_buckets_probs_with_ppf(lambda q: 2 * q - 1, 10)
    assert buckets[0] == pytest.approx((-1, -0.8))
    tu.verify_generator(lambda n: nd.random.uniform(-1, 1, shape=n), buckets, probs, nsamples=10000)
    fails(tu.verify_generator, lambda n: np.random.normal(size=n), buckets, probs, nsamples=10000, says="0 of 5")
    tu.verify_generator(lambda n: np.random.randint(0, 3, n), [0, 1, 2], [1 / 3] * 3, nsamples=10000)
    fails(tu.verify_generator, lambda n: np.random.randint(0, 4, n), [0, 1, 2], [1 / 3] * 3, nsamples=1000)
    assert tu.mean_check(lambda n: np.random.normal(2, 3, n), 2, 3, 10000)
    assert not tu.mean_check(lambda n: np.random.normal(2.5, 3, n), 2, 3, 10000)
    assert tu.var_check(lambda n: np.random.normal(2, 3, n), 3, 10000)
    assert not tu.var_check(lambda n: np.random.normal(2, 3.3, n), 3, 10000)
    fails(tu.gen_buckets_probs_with_ppf, abs, 0)
    fails(tu.chi_square_check, abs, [0], [0.5, 0.5])


@pytest.mark.parametrize(
    ("counts", "p"),
    # From tables of the chi-square distribution: 3.84 with 1 degree of freedom, 5.99 with 4.
    [((50, 50), 1.0), ((59.8, 40.2), 0.05), ((29.79, 17.5525, 17.5525, 17.5525, 17.5525), 0.2)],
)
def test_chi_square_probabilities(counts, p):
    from gluonish.test_utils.statistics import _chi_square_p, _upper_gamma

    expected = [sum(counts) / len(counts)] * len(counts)
    got = _chi_square_p(list(counts), expected)
    assert got == pytest.approx(p, abs=0.001)
    assert _upper_gamma(0.5, 3.841459 / 2) == pytest.approx(0.05, abs=1e-6)
    assert _upper_gamma(2, 9.487729 / 2) == pytest.approx(0.05, abs=1e-6)
    assert _upper_gamma(4.5, 4.168159 / 2) == pytest.approx(0.9, abs=1e-6)


def test_numeric_gradient_of_functions():
    x, y = tu.random_arrays((2, 3), (3,))
    tu.check_numeric_gradient(lambda x, y: (x * y).tanh(), [x, y])
    tu.check_numeric_gradient(lambda a, b: [a * b, a.exp()], {"a": x, "b": y}, dtype="float64")
    tu.check_numeric_gradient(nd.take, [x, np.array([0, 1, 1])])
    tu.check_numeric_gradient(lambda x, y: x * y, [x, y], grad_nodes=["arg1"], ctx=mx.cpu(1))
    np.testing.assert_allclose(tu.numeric_grad(nd.sin, [x], eps=1e-3)[0], np.cos(x), atol=1e-3)
    assert set(tu.numeric_grad(lambda u: u * 2, {"u": y})) == {"u"}


class Wrong(mx.autograd.Function):
    def forward(self, x):
        return x * x

    def backward(self, dy):
        return dy * 3


def test_numeric_gradient_that_is_wrong():
    fails(
        tu.check_numeric_gradient,
        lambda x: Wrong()(x),
        [np.ones(2)],
        says="the gradient of arg0 and finite differences",
    )
    for kwargs, says in (
        ({"grad_nodes": ["arg7"]}, "no 'arg7' among 'arg0'"),
        ({"aux_states": {}}, "auxiliary states"),
        ({"grad_stype_dict": {}}, "sparse"),
    ):
        with pytest.raises(TypeError, match=says):
            tu.check_numeric_gradient(nd.sin, [np.ones(2)], **kwargs)


class Scaled(HybridBlock):
    """Counts its calls in a parameter without gradient, as running statistics do."""

    def __init__(self, wrong=False):
        super().__init__()
        self._wrong = wrong
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(3,), init="normal")
            self.calls = self.params.get("calls", shape=(1,), init="zeros", grad_req="null")

    def hybrid_forward(self, F, x, weight, calls):
        with mx.autograd.pause():
            calls += 1
        y = x * weight
        return Wrong()(y) if self._wrong else y * y


def test_numeric_gradient_of_blocks():
    block = Scaled()
    block.initialize()
    tu.check_numeric_gradient(block, [np.random.randn(2, 3)])
    assert block.calls.data().item() == 1  # the one call that finds out shapes
    weight = next(name for name in block.collect_params() if name.endswith("weight"))
    tu.check_numeric_gradient(block, {"x": np.random.randn(2, 3)}, grad_nodes=[weight])
    tu.numeric_grad(block, [np.random.randn(2, 3)])
    wrong = Scaled(wrong=True)
    wrong.initialize()
    fails(tu.check_numeric_gradient, wrong, [np.random.randn(2, 3)])


def test_consistency():
    runs = [
        {"ctx": mx.cpu(i), "x": (3, 4), "type_dict": {"x": t}} for i, t in enumerate(["float32", "float64", "float16"])
    ]
    truth = tu.check_consistency(lambda x: x.tanh(), runs)
    assert {x.dtype.name for x in truth.values()} == {"float64"}
    tu.check_consistency(lambda x: x.tanh(), runs, grad_req="null", use_uniform=True, scale=0.1)
    x = np.random.randn(3, 4)
    truth = tu.check_consistency(lambda x: x * 2, runs, arg_params={"x": x})
    np.testing.assert_allclose(truth["output 0"], 2 * x)
    odd = lambda x: x * (2 if str(x.dtype) == "float16" else 1)  # noqa: E731
    fails(tu.check_consistency, odd, runs, says="float16")
    fails(tu.check_consistency, lambda x: x, runs[:1], arg_params={"x": x}, ground_truth=truth)


def test_consistency_can_print(capsys):
    runs = [{"ctx": mx.cpu(), "x": (3,), "type_dict": {"x": t}} for t in ("float64", "float32")]
    tu.check_consistency(lambda x: x * (2 if str(x.dtype) == "float32" else 1), runs, raise_on_err=False)
    assert "differ at" in capsys.readouterr().out
    with pytest.raises(ValueError, match="same inputs"):
        tu.check_consistency(lambda x: x, [*runs, {"ctx": mx.cpu(), "x": (4,)}])
    with pytest.raises(ValueError, match="grad_req='read'"):
        tu.check_consistency(lambda x: x, runs, grad_req="read")


class Momentum:
    """An optimizer in NumPy's words."""

    def __init__(self, rate=0.1, off=0.0):
        self.rate, self.off = rate, off

    def create_state_multi_precision(self, index, weight):
        return nd.zeros(weight.shape, dtype=weight.dtype)

    def update_multi_precision(self, index, weight, grad, state):
        many = isinstance(index, list)
        for w, g, s in zip(weight, grad, state, strict=True) if many else [(weight, grad, state)]:
            s *= 0.9
            s += g + self.off
            w -= self.rate * s


def test_compare_optimizer():
    for n in (1, 3):
        tu.compare_optimizer(Momentum(), Momentum(), (2, 3), "float32", ntensors=n)
        fails(tu.compare_optimizer, Momentum(), Momentum(0.2), (2, 3), "float32", ntensors=n, says="weight")
        fails(tu.compare_optimizer, Momentum(0), Momentum(0, off=1), (2, 3), "float32", ntensors=n)
        tu.compare_optimizer(Momentum(0), Momentum(0, off=1), (2, 3), "float64", compare_states=False, ntensors=n)
    with pytest.raises(NotImplementedError, match="sparse"):
        tu.compare_optimizer(Momentum(), Momentum(), (2, 3), "float32", g_stype="row_sparse")


def test_device():
    tu.set_default_context(mx.cpu(2))
    assert tu.default_context() == mx.cpu(2)
    assert nd.zeros(1).ctx == mx.cpu(2)
    tu.set_default_context(mx.cpu())
    with pytest.raises(mx.MXNetError, match="GPU"):
        tu.set_default_context(mx.gpu())
    assert list(tu.list_gpus()) == []
    assert tu.is_op_runnable()
    assert not tu.has_tvm_ops()


def test_assert_exception():
    tu.assert_exception(int, ValueError, "x")
    fails(tu.assert_exception, int, ValueError, "3", says="int did not raise ValueError")
    with pytest.raises(TypeError):
        tu.assert_exception(int, ValueError, [])


def test_retry():
    tries = []

    @tu.retry(3)
    def flaky(limit):
        """Doc."""
        tries.append(1)
        assert len(tries) >= limit
        return limit

    assert flaky(2) == 2
    assert (len(tries), flaky.__doc__) == (2, "Doc.")
    fails(flaky, 100)
    assert len(tries) == 5
    with pytest.raises(ValueError, match="n=0"):
        tu.retry(0)


def test_environment(monkeypatch):
    monkeypatch.setenv("A_TEST", "old")
    monkeypatch.delenv("B_TEST", raising=False)
    with tu.environment({"A_TEST": None, "B_TEST": 5}):
        assert ("A_TEST" in os.environ, os.environ["B_TEST"]) == (False, "5")
    assert (os.environ["A_TEST"], "B_TEST" in os.environ) == ("old", False)

    def raising():
        with tu.environment("A_TEST", "new"):
            raise KeyError

    tu.assert_exception(raising, KeyError)
    assert os.environ["A_TEST"] == "old"
    with pytest.raises(TypeError, match="a dict is needed"), tu.environment("A_TEST"):
        pass
    with tu.environment("CD_JOB", "0"):
        assert not tu.is_cd_run()


def test_discard_stderr(capfd):
    with tu.discard_stderr():
        print("no", file=sys.stderr)
        os.write(2, b"no")
    os.write(2, b"yes")
    assert capfd.readouterr().err == "yes"


def test_download(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("hello")
    path = tu.download(source.as_uri(), dirname=str(tmp_path / "new"))
    assert path == str(tmp_path / "new" / "source.txt")
    source.write_text("changed")
    tu.download(source.as_uri(), dirname=str(tmp_path / "new"))
    assert (tmp_path / "new" / "source.txt").read_text() == "hello"
    tu.download(source.as_uri(), dirname=str(tmp_path / "new"), overwrite=True)
    assert (tmp_path / "new" / "source.txt").read_text() == "changed"


def idx(*shape):
    values = np.arange(np.prod(shape), dtype="uint8")
    return b"\x00\x00\x08" + bytes([len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + values.tobytes()


def test_mnist(tmp_path, monkeypatch):
    monkeypatch.setattr("gluonish.test_utils.data.data_dir", lambda: str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no 'train-images-idx3-ubyte' or .*datasets.mnist.*digits\(\)"):
        tu.get_mnist()
    folder = tmp_path / "datasets" / "mnist"
    folder.mkdir(parents=True)
    (folder / "train-images-idx3-ubyte").write_bytes(idx(2, 3, 3))
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(2)))
    (folder / "t10k-images-idx3-ubyte").write_bytes(idx(1, 3, 3))
    with pytest.raises(FileNotFoundError, match="no 't10k-labels-idx1-ubyte'"):
        tu.get_mnist()
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx(1))
    mnist = tu.get_mnist()
    assert {k: v.shape for k, v in mnist.items()} == {
        "train_data": (2, 1, 3, 3),
        "train_label": (2,),
        "test_data": (1, 1, 3, 3),
        "test_label": (1,),
    }
    assert mnist["train_data"].max() == pytest.approx(17 / 255)
    for damaged in (b"", b"\x00\x00\x09\x01", b"\x00\x00\x08\x03\x00", idx(1, 3, 3)[:-1]):
        (folder / "t10k-images-idx3-ubyte").write_bytes(damaged)
        with pytest.raises(ValueError, match="t10k-images"):
            tu.get_mnist()


WAITING = [(n.removeprefix("test_utils."), why) for why, names in GLUON.items() for n in names.split() if "test_" in n]


@pytest.mark.parametrize(("name", "why"), WAITING)
def test_names_that_wait_say_what_for(name, why):
    assert not hasattr(tu, name)
    with pytest.raises(NotImplementedError, match=f"no '{name}' yet: it waits for {why}"):
        getattr(tu, name)


def test_names_that_are_none():
    with pytest.raises(AttributeError, match="did you mean assert_almost_equal"):
        tu.assert_almost_equals


def test_numeric_gradient_of_layers():
    for layer, shape in ((nn.Dense(3), (2, 4)), (nn.BatchNorm(), (4, 3))):
        layer.initialize(mx.init.Normal(0.5))
        tu.check_numeric_gradient(layer, [np.random.randn(*shape)], rtol=1e-2, atol=2e-3)
        tu.check_numeric_gradient(layer, [np.random.randn(*shape)], rtol=1e-2, atol=2e-3, use_forward_train=False)
