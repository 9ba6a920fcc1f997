"""Initializers: distributions and matrices against their formulas, the rule of names, JSON, errors."""

from __future__ import annotations

import copy
import itertools
import logging
import math
import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from distributions import kolmogorov_p, normal_cdf

import gluonish as mx
from gluonish import nd
from gluonish.init.base import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable


def uniform_within(scale):
    def check(x):
        assert (np.abs(x) <= scale).all()
        assert kolmogorov_p(x, lambda v: (v + scale) / (2 * scale)) > 1e-4

    return check


def normal_with(sigma):
    return lambda x: _above(kolmogorov_p(x, lambda v: normal_cdf(v / sigma)), 1e-4)


def cut_normal(mean, sigma):
    low, high = normal_cdf(-2.0), normal_cdf(2.0)

    def check(x):
        assert (np.abs(x - mean) <= 2 * sigma * (1 + 1e-6)).all()
        assert kolmogorov_p(x, lambda v: (normal_cdf((v - mean) / sigma) - low) / (high - low)) > 1e-4

    return check


def _above(value, limit):
    assert value > limit


def all_equal(value):
    return lambda x: np.testing.assert_array_equal(x, np.full(x.shape, value))


def orthogonal_of_length(scale):
    def check(x):
        m = x.reshape(len(x), -1).astype("float64")
        gram = m @ m.T if m.shape[0] <= m.shape[1] else m.T @ m
        np.testing.assert_allclose(gram, scale**2 * np.eye(len(gram)), atol=2e-6 * scale**2 * 10)

    return check


def bilinear(x):
    """As in the paper on fully convolutional networks: 1 - |distance from the centre| / factor, down times across."""
    n = x.shape[3]
    factor = (n + 1) // 2
    centre = factor - 1 if n % 2 == 1 else factor - 0.5
    row = 1 - np.abs(np.arange(n) - centre) / factor
    np.testing.assert_allclose(x, np.broadcast_to(np.outer(row, row), x.shape), rtol=1e-6)


def forget_second(value):
    def check(x):
        wanted = np.zeros(x.shape)
        wanted[len(x) // 4 : len(x) // 2] = value
        np.testing.assert_array_equal(x, wanted)

    return check


def fused_lstm(x):
    """Two layers of three units in one direction, five inputs: 12 rows of 5 + 3 and of 3 + 3, then 4 * 12 biases."""
    weights, biases = x[: 12 * 8 + 12 * 6], x[12 * 8 + 12 * 6 :]
    assert (weights == 7).all()
    np.testing.assert_array_equal(biases, np.tile(np.repeat([0, 2, 0, 0], 3), 4))


@dataclass
class Sample:
    shape: tuple[int, ...]
    check: Callable[[Any], None]
    kwargs: dict[str, Any] = field(default_factory=dict)


# One line or more for every name that is registered.
SAMPLES: dict[str, list[Sample]] = {
    "zero": [Sample((2, 3), all_equal(0))],
    "zeros": [Sample((3,), all_equal(0))],
    "one": [Sample((2, 3), all_equal(1))],
    "ones": [Sample((), all_equal(1))],
    "constant": [
        Sample((2, 3), all_equal(2.5), {"value": 2.5}),
        Sample((2, 3), lambda x: np.testing.assert_array_equal(x, [[1, 2, 3]] * 2), {"value": [1, 2, 3]}),
    ],
    "uniform": [Sample((50, 40), uniform_within(0.07)), Sample((2000,), uniform_within(3.0), {"scale": 3})],
    "normal": [Sample((50, 40), normal_with(0.01)), Sample((2000,), normal_with(2.0), {"sigma": 2})],
    "truncnorm": [
        Sample((50, 40), cut_normal(0, 0.01)),
        Sample((2000,), cut_normal(3.0, 0.5), {"mean": 3, "stdev": 0.5}),
    ],
    "xavier": [
        Sample((30, 60), uniform_within(math.sqrt(3 / 45))),
        Sample((30, 60), uniform_within(math.sqrt(3 / 60)), {"factor_type": "in"}),
        Sample((30, 60), uniform_within(math.sqrt(3 / 30)), {"factor_type": "out"}),
        Sample((10, 20, 3, 3), uniform_within(math.sqrt(2 / (20 * 9))), {"factor_type": "in", "magnitude": 2}),
        Sample((30, 60), normal_with(math.sqrt(3 / 45)), {"rnd_type": "gaussian"}),
    ],
    "msraprelu": [
        Sample((30, 60), normal_with(math.sqrt(2 / (1 + 0.25**2) / 45))),
        Sample((16, 8, 3, 5), normal_with(math.sqrt(2 / (8 * 15))), {"factor_type": "in", "slope": 0}),
    ],
    "orthogonal": [
        Sample((8, 20), orthogonal_of_length(1.414)),
        Sample((20, 8), orthogonal_of_length(1.0), {"scale": 1, "rand_type": "normal"}),
        Sample((6, 2, 3, 3), orthogonal_of_length(0.5), {"scale": 0.5}),
    ],
    "bilinear": [Sample((2, 3, 4, 4), bilinear), Sample((1, 1, 5, 5), bilinear), Sample((1, 2, 1, 1), bilinear)],
    "lstmbias": [Sample((8,), forget_second(1.0)), Sample((12,), forget_second(2.5), {"forget_bias": 2.5})],
    "fusedrnn": [
        Sample(
            (12 * 8 + 12 * 6 + 48,),
            fused_lstm,
            {"init": '["constant", {"value": 7}]', "num_hidden": 3, "num_layers": 2, "mode": "lstm", "forget_bias": 2},
        )
    ],
}
NAMES = REGISTRY.names()
CASES = [(name, sample) for name, samples in SAMPLES.items() for sample in samples]
IDS = [f"{name}-{i}" for i, (name, _) in enumerate(CASES)]


@pytest.mark.parametrize("name", NAMES)
def test_every_initializer_has_a_sample(name):
    assert name in SAMPLES, f"{name} has no sample: add a line to SAMPLES"


def filled(init, shape, dtype="float32", ctx=None, name="anything"):
    array = nd.full(shape, -99, dtype=dtype, ctx=ctx)
    init.fill(mx.init.InitDesc(name), array)
    return array


@pytest.mark.parametrize(("name", "sample"), CASES, ids=IDS)
def test_values(name, sample):
    sample.check(filled(mx.init.create(name, **sample.kwargs), sample.shape).asnumpy())


@pytest.mark.parametrize(("name", "sample"), CASES, ids=IDS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_types_and_devices(name, sample, dtype):
    """The array keeps its type and its place; values are those of the type, close to what float32 would hold."""
    init = mx.init.create(name, **sample.kwargs)
    x = filled(init, sample.shape, dtype, mx.cpu(1))
    assert (str(x.dtype), x.ctx) == (dtype, mx.cpu(1))
    assert not (x == -99).any().item()
    assert np.isfinite(x.asnumpy().astype("float64")).all()
    if dtype == "float64":
        sample.check(x.asnumpy())


@pytest.mark.parametrize(("name", "sample"), CASES, ids=IDS)
def test_seeds_hold(name, sample):
    init = mx.init.create(name, **sample.kwargs)
    drawn = []
    for _ in range(2):
        mx.random.seed(5)
        drawn.append(filled(init, sample.shape).asnumpy())
    np.testing.assert_array_equal(*drawn)


@pytest.mark.parametrize(("name", "sample"), CASES, ids=IDS)
def test_json_pickle_and_copies(name, sample):
    init = mx.init.create(name, **sample.kwargs)
    again = mx.init.create(init.dumps())
    assert type(again) is type(init)
    assert again.dumps() == init.dumps()
    for other in (again, pickle.loads(pickle.dumps(init)), copy.deepcopy(init)):
        assert other == init
        assert hash(other) == hash(init)
        mx.random.seed(5)
        wanted = filled(init, sample.shape).asnumpy()
        mx.random.seed(5)
        np.testing.assert_array_equal(filled(other, sample.shape).asnumpy(), wanted)


def test_thirteen_names_of_mxnet():
    mxnets = "zero zeros one ones constant uniform normal xavier msraprelu orthogonal bilinear lstmbias fusedrnn"
    assert set(mxnets.split()) <= set(NAMES)


@pytest.mark.parametrize("name", ["zeros", "uniform", "xavier", "orthogonal"])
def test_arrays_without_elements(name):
    assert filled(mx.init.create(name), (0, 3)).shape == (0, 3)


def test_create():
    assert mx.init.create(None) == mx.init.Uniform(0.07)
    assert mx.init.create("Xavier", magnitude=2).magnitude == 2
    init = mx.init.Normal(3)
    assert mx.init.create(init) is init
    assert mx.init.create('["Normal", {"sigma": 3}]') == init
    assert init != mx.init.Normal(2)
    assert init != "normal"


@pytest.mark.parametrize("given", ["xavir", "[1, 2]", '["xavier", 3]', "[", 5, ["xavier"]])
def test_create_of_what_is_none(given):
    with pytest.raises(ValueError, match="initializer"):
        mx.init.create(given)


def test_create_says_what_looks_like_it():
    with pytest.raises(ValueError, match="'xavir' is not the name of an initializer; did you mean 'xavier'"):
        mx.init.create("xavir")
    with pytest.raises(TypeError, match="made already"):
        mx.init.create(mx.init.Zero(), value=3)


ENDS = [
    ("fc_weight", 5),
    ("fc_bias", 0),
    ("bn_gamma", 1),
    ("bn_beta", 0),
    ("bn_moving_mean", 0),
    ("bn_running_mean", 0),
    ("bn_moving_var", 1),
    ("bn_running_var", 1),
    ("data_min", 0),
    ("data_max", 1),
]


@pytest.mark.parametrize(("name", "wanted"), ENDS)
@pytest.mark.parametrize("kind", [str, mx.init.InitDesc])
def test_called_directly_the_end_of_the_name_decides(name, wanted, kind):
    x = nd.full((2, 2), -1)
    mx.init.Constant(5)(kind(name), x)
    assert x.tolist() == [[wanted] * 2] * 2


def test_filled_by_gluon_the_name_does_not_matter():
    for name, _ in [*ENDS, ("whatever", 0)]:
        assert filled(mx.init.Constant(5), (2,), name=name).tolist() == [5, 5]


def test_called_directly_with_another_name():
    with pytest.raises(ValueError, match="nothing is known about 'fc_scale'"):
        mx.init.Uniform()(mx.init.InitDesc("fc_scale"), nd.zeros(2))
    with pytest.raises(TypeError, match="name of the parameter"):
        mx.init.Uniform()(nd.zeros(2), "fc_weight")
    with pytest.raises(TypeError, match="an NDArray is needed, got list"):
        mx.init.Uniform()("fc_weight", [0.0])


def test_attribute_wins():
    x = nd.zeros(2)
    mx.init.Zero()(mx.init.InitDesc("fc_bias", {"__init__": mx.init.Constant(3).dumps()}), x)
    assert x.tolist() == [3, 3]


def test_description():
    desc = mx.init.InitDesc("fc_weight", {"a": 1}, mx.init.Zero())
    assert desc == "fc_weight"
    again = pickle.loads(pickle.dumps(desc))
    assert (again, again.attrs, again.global_init) == (desc, {"a": 1}, mx.init.Zero())


@pytest.mark.parametrize("init", ["xavier", "msraprelu", "orthogonal"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_vectors_are_refused_by_name(init, shape):
    with pytest.raises(ValueError, match=r"cannot fill 'fc_weight' of shape \(.*2 or more dimensions"):
        mx.init.create(init)(mx.init.InitDesc("fc_weight"), nd.zeros(shape))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: mx.init.Xavier("normal"), "rnd_type='normal' is not valid: expected one of 'uniform', 'gaussian'"),
        (lambda: mx.init.Xavier(factor_type="mean"), "factor_type='mean'"),
        (lambda: mx.init.MSRAPrelu("mean"), "MSRAPrelu: factor_type='mean'"),
        (lambda: mx.init.Orthogonal(rand_type="gaussian"), "rand_type='gaussian'"),
        (lambda: mx.init.FusedRNN("zeros", 2, 1, "rnn"), "mode='rnn'"),
        (lambda: mx.init.FusedRNN("zeros", 0, 1, "gru"), "num_hidden=0"),
        (lambda: mx.init.Mixed([".*"], []), "1 patterns and 0 initializers"),
        (lambda: mx.init.Load([1]), "fname"),
    ],
)
def test_bad_arguments(make, says):
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize(
    ("init", "shape", "says"),
    [
        (mx.init.Bilinear(), (3, 3), "4 dimensions"),
        (mx.init.LSTMBias(), (6,), "four times"),
        (mx.init.Constant([1, 2, 3]), (2,), "cannot fill 'p' of shape"),
        (mx.init.FusedRNN("zeros", 2, 1, "lstm"), (7,), "is not the vector of 1 lstm layers"),
        (mx.init.FusedRNN(None, 2, 1, "rnn_tanh"), (14,), "nothing says how to fill 'p'"),
    ],
)
def test_shapes_that_do_not_fit(init, shape, says):
    with pytest.raises(ValueError, match=says):
        init.fill("p", nd.zeros(shape))


def test_base_class_has_no_values():
    with pytest.raises(NotImplementedError, match="_init_weight"):
        mx.init.Initializer().fill("p", nd.zeros(2))


def test_nothing_is_recorded():
    x = nd.zeros((3, 3))
    with mx.autograd.record():
        mx.init.Orthogonal().fill("w", x)
        mx.init.Constant(2)("w_weight", x)
        assert mx.autograd.is_recording()
    with pytest.raises(mx.MXNetError):
        x.backward()


@pytest.mark.parametrize(
    ("mode", "bidirectional", "layers"),
    list(itertools.product(["rnn_relu", "rnn_tanh", "gru", "lstm"], [False, True], [1, 3])),
)
def test_fused_vector_is_that_of_the_op(mode, bidirectional, layers):
    """Every place of the vector is filled, and the op takes it; the weights come before all biases."""
    hidden, width, sides = 3, 5, 1 + bidirectional
    gates = {"gru": 3, "lstm": 4}.get(mode, 1)
    rows = gates * hidden
    weights = sides * rows * (width + hidden) + (layers - 1) * sides * rows * (hidden * sides + hidden)
    biases = 2 * layers * sides * rows
    seen = []

    class Noted(mx.init.Initializer):
        def __call__(self, desc, arr):
            seen.append((str(desc), arr.shape))
            arr[...] = 1 if desc.endswith("weight") else 0

    init = mx.init.FusedRNN("zeros", hidden, layers, mode, bidirectional, 2.0)
    init._init = Noted()
    x = filled(init, (weights + biases,))
    assert (x[:weights] == 1).all().item()
    assert set(x[weights:].tolist()) == ({0.0, 2.0} if mode == "lstm" else {0.0})
    names = [name for name, _ in seen]
    assert len(names) == len(set(names)) == 4 * layers * sides * gates - (2 * layers * sides if mode == "lstm" else 0)
    state = [nd.zeros((layers * sides, 2, hidden))] * (2 if mode == "lstm" else 1)
    out = nd.RNN(
        nd.ones((4, 2, width)), x, *state, state_size=hidden, num_layers=layers, mode=mode, bidirectional=bidirectional
    )
    assert (out[0] if isinstance(out, list | tuple) else out).shape == (4, 2, hidden * sides)


def test_fused_falls_back_to_the_global_initializer():
    x = nd.zeros(2 * (3 + 2) + 4)
    mx.init.FusedRNN(None, 2, 1, "rnn_tanh").fill(mx.init.InitDesc("p", global_init=mx.init.Constant(4)), x)
    assert x.tolist() == [4] * 10 + [0] * 4


def test_load(tmp_path, caplog):
    path = str(tmp_path / "model.params")
    nd.save(path, {"arg:a_weight": nd.array([1, 2]), "aux:b": nd.array([3.0])})
    init = mx.init.Load(path, default_init="ones", verbose=True)
    a, b, c = nd.zeros(2, dtype="float16"), nd.zeros(1), nd.zeros(3)
    with caplog.at_level(logging.INFO):
        init("a_weight", a)
        init.fill("b", b)
        init.fill("c", c)
    assert (a.tolist(), b.tolist(), c.tolist()) == ([1, 2], [3], [1, 1, 1])
    assert caplog.text.count("by loading") == 2
    assert caplog.text.count("by default") == 1
    with pytest.raises(ValueError, match=r"'a_weight' has shape \(3,\), and \(2,\)"):
        init("a_weight", nd.zeros(3))
    with pytest.raises(ValueError, match="'c' is not in what is loaded"):
        mx.init.Load({"a": nd.zeros(2)})("c", c)
    nd.save(path, [nd.zeros(2)])
    with pytest.raises(ValueError, match="without names"):
        mx.init.Load(path)


def test_mixed():
    init = mx.init.Mixed(["fc.*_bias", "fc"], ["ones", mx.init.Constant(4)])
    x, y = nd.zeros(2), nd.zeros(2)
    init.fill("fc0_bias", x)
    init("fc0_weight", y)
    assert (x.tolist(), y.tolist()) == ([1, 1], [4, 4])
    with pytest.raises(ValueError, match="'conv0_weight' matches none of the patterns"):
        init("conv0_weight", x)
    assert pickle.loads(pickle.dumps(init)) == init
    for other in (init, mx.init.Load({})):
        with pytest.raises(ValueError, match="dumps"):
            other.dumps()


def test_verbosity(caplog):
    init = mx.init.Constant(3).set_verbosity(True)
    with caplog.at_level(logging.INFO):
        init("a_weight", nd.zeros(4))
        init.set_verbosity(True, lambda x: f"sum {x.sum().item()}")("b_bias", nd.ones(4))
        init.set_verbosity(False)("c_weight", nd.zeros(4))
    assert [r.getMessage() for r in caplog.records] == [
        "initialized a_weight as weight: 3.0",
        "initialized b_bias as bias: sum 0.0",
    ]


def test_register():
    class Fives(mx.init.Initializer):
        def _init_weight(self, _, arr):
            arr[:] = 5

    assert mx.init.register(Fives) is Fives
    try:
        assert filled(mx.init.create("fives"), (2,)).tolist() == [5, 5]
        other = type("Fives", (Fives,), {})
        with pytest.warns(UserWarning, match="'fives' is now .*Fives, it was"):
            mx.init.register(other)
        assert type(mx.init.create("fives")) is other
    finally:
        del REGISTRY._classes["fives"]
    with pytest.raises(TypeError, match="expected a class"):
        mx.init.register(int)


def test_long_name_is_the_same_module():
    assert {n: getattr(mx.initializer, n) for n in mx.init.__all__} == {n: getattr(mx.init, n) for n in mx.init.__all__}
    assert mx.initializer.__all__ == mx.init.__all__


@pytest.mark.parametrize("given", ["ones", mx.init.One(), mx.init.One().dumps(), mx.init.Mixed([".*"], ["ones"])])
def test_blocks_take_any_form(given):
    layer = mx.gluon.nn.Dense(2, in_units=3)
    layer.initialize(given)
    assert layer.weight.data().tolist() == [[1, 1, 1]] * 2
    assert layer.bias.data().tolist() == [0, 0]  # its own initializer wins


def test_blocks_and_vectors():
    layer = mx.gluon.nn.Dense(2, in_units=3, bias_initializer="xavier", prefix="fc_")
    with pytest.raises(ValueError, match="'fc_bias' of shape"):
        layer.initialize()
