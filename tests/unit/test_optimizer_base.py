"""Names, learning rates, decays, groups, counts, and optimizers of one's own."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.optimizer.base import REGISTRY

NAMES = [
    "sgd",
    "nag",
    "adam",
    "adagrad",
    "adadelta",
    "rmsprop",
    "adamax",
    "nadam",
    "ftrl",
    "ftml",
    "signum",
    "sgld",
    "dcasgd",
    "lbsgd",
    "lars",
    "lamb",
    "groupadagrad",
    "ccsgd",
    "test",
    "adamw",
    "lion",
    "muon",
    "adabelief",
    "lans",
    "adafactor",
    "eve",
    "lbfgs",
]

# Constructors of MXNet 1.9.1, without self and **kwargs.
SIGNATURES = {
    "AdaDelta": "(rho=0.9, epsilon=1e-05)",
    "AdaGrad": "(eps=1e-07)",
    "Adam": "(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, lazy_update=True)",
    "Adamax": "(learning_rate=0.002, beta1=0.9, beta2=0.999)",
    "DCASGD": "(momentum=0.0, lamda=0.04)",
    "FTML": "(beta1=0.6, beta2=0.999, epsilon=1e-08)",
    "Ftrl": "(lamda1=0.01, learning_rate=0.1, beta=1)",
    "GroupAdaGrad": "(eps=1e-05)",
    "LAMB": "(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-06, lower_bound=None, upper_bound=None, "
    "bias_correction=True)",
    "LARS": "(momentum=0.0, lazy_update=True, eta=0.001, eps=0, momentum_correction=True)",
    "LBSGD": "(momentum=0.0, multi_precision=False, warmup_strategy='linear', warmup_epochs=5, batch_scale=1, "
    "updates_per_epoch=32, begin_epoch=0, num_epochs=60)",
    "NAG": "(momentum=0.0)",
    "Nadam": "(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, schedule_decay=0.004)",
    "Optimizer": "(rescale_grad=1.0, param_idx2name=None, wd=0.0, clip_gradient=None, learning_rate=None, "
    "lr_scheduler=None, sym=None, begin_num_update=0, multi_precision=False, param_dict=None)",
    "RMSProp": "(learning_rate=0.001, gamma1=0.9, gamma2=0.9, epsilon=1e-08, centered=False, clip_weights=None)",
    "SGD": "(momentum=0.0, lazy_update=True)",
    "Signum": "(learning_rate=0.01, momentum=0.9, wd_lh=0.0)",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_whatever_their_case(name):
    for spelled in (name, name.upper(), name.title()):
        assert type(mx.optimizer.create(spelled)).__name__.lower() == name
    assert mx.optimizer.Optimizer.create_optimizer(name).num_update == 0


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_are_mxnets(name):
    parameters = inspect.signature(getattr(mx.optimizer, name)).parameters.values()
    shown = [f"{p.name}={p.default!r}" for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert f"({', '.join(shown)})" == SIGNATURES[name]


def test_methods_are_mxnets():
    methods = "create_optimizer create_state create_state_multi_precision register set_learning_rate set_lr_mult "
    methods += "set_lr_scale set_wd_mult update update_multi_precision learning_rate"
    assert not [m for m in methods.split() if not hasattr(mx.optimizer.Optimizer, m)]
    assert not [m for m in ("get_states", "set_states", "sync_state_context") if not hasattr(mx.optimizer.Updater, m)]
    assert mx.opt is mx.optimizer


def test_the_registry_can_be_read():
    registry = mx.optimizer.Optimizer.opt_registry
    assert registry["adam"] is mx.optimizer.Adam
    assert set(NAMES) <= set(registry)
    with pytest.raises(TypeError):
        registry["mine"] = mx.optimizer.SGD  # register does that


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"'adma' is not the name of an optimizer; did you mean .*'adam'.*rmsprop"):
        mx.optimizer.create("adma")
    with pytest.raises(ValueError, match="3 is not an optimizer"):
        mx.optimizer.create(3)
    with pytest.raises(TypeError, match=r"'momentm'; help\(mx\.optimizer\.SGD\) says"):
        mx.optimizer.create("sgd", momentm=0.9)


BAD = [
    ("sgd", {"learning_rate": -0.1}, "learning_rate=-0.1"),
    ("sgd", {"learning_rate": float("nan")}, "learning_rate=nan"),
    ("sgd", {"learning_rate": "0.1"}, "learning_rate='0.1' is not valid: expected a number"),
    ("sgd", {"learning_rate": True}, "learning_rate=True"),
    ("sgd", {"learning_rate": "0.1", "lr_scheduler": mx.lr_scheduler.FactorScheduler(2)}, "learning_rate='0.1'"),
    ("sgd", {"wd": False}, "wd=False"),
    ("sgd", {"wd": -1}, "wd=-1"),
    ("sgd", {"clip_gradient": -1}, "clip_gradient=-1"),
    ("sgd", {"clip_global_norm": -1}, "clip_global_norm=-1"),
    ("sgd", {"begin_num_update": -1}, "begin_num_update=-1"),
    ("sgd", {"momentum": -0.5}, "momentum=-0.5"),
    ("sgd", {"momentum": "much"}, "momentum='much'"),
    ("sgd", {"param_idx2name": ["w"]}, "param_idx2name"),
    ("sgd", {"no_decay": "biases"}, "expected 'norms_and_biases'"),
    ("sgd", {"param_groups": [{"lr_mult": 2}]}, "'match'"),
    ("sgd", {"param_groups": [{"match": "x", "lr": 2}]}, "'lr_mult' or 'wd_mult'"),
    ("sgd", {"param_groups": [{"match": "(", "lr_mult": 2}]}, "pattern"),
    ("adam", {"beta1": 1.0}, "beta1=1"),
    ("adam", {"beta2": 1.5}, "beta2=1.5"),
    ("adam", {"epsilon": -1e-8}, "epsilon"),
    ("adamw", {"learning_rate": 0, "decay_with_lr": False}, "above 0"),
    ("lbsgd", {"warmup_strategy": "cubic"}, "'cubic'"),
    ("lbfgs", {"line_search": "armijo"}, "'armijo'"),
    ("muon", {"ns_steps": 0}, "ns_steps=0"),
]


@pytest.mark.parametrize(("name", "how", "says"), BAD)
def test_arguments_that_make_no_sense(name, how, says):
    with pytest.raises(ArgumentError, match=says) as caught:
        mx.optimizer.create(name, **how)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError)


def test_symbols_wait():
    with pytest.raises(UnsupportedError, match="symbols"):
        mx.optimizer.SGD(sym=object())


def test_learning_rates():
    assert mx.optimizer.SGD().learning_rate == 0.01
    sgd = mx.optimizer.SGD(learning_rate=0.5)
    sgd.set_learning_rate(0)
    assert sgd.learning_rate == 0
    with pytest.raises(ValueError, match="learning_rate=-1"):
        sgd.set_learning_rate(-1)
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1.0)
    sgd = mx.optimizer.SGD(lr_scheduler=schedule)
    assert sgd.learning_rate == 1.0
    with pytest.raises(UserWarning, match="lr_scheduler decides"):
        sgd.set_learning_rate(0.1)
    with pytest.warns(UserWarning, match="becomes the base_lr"):
        mx.optimizer.SGD(lr_scheduler=schedule, learning_rate=0.5)
    assert schedule.base_lr == 0.5
    with pytest.raises(DeprecationWarning):
        sgd.set_lr_scale({})


def test_the_schedule_sees_the_number_of_updates():
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1.0)
    sgd = mx.optimizer.SGD(lr_scheduler=schedule, begin_num_update=1)
    weight, lengths = nd.zeros(1), []
    for _ in range(4):
        before = weight.asnumpy()
        sgd.update(0, weight, nd.ones(1), None)
        lengths.append(float((before - weight.asnumpy())[0]))
    assert lengths == [1.0, 0.5, 0.5, 0.25]
    assert sgd.num_update == 5


def test_factors_by_index_and_name():
    sgd = mx.optimizer.SGD(learning_rate=1.0, wd=1.0, param_idx2name={0: "a_weight", 1: "a_bias", 2: "a_gamma"})
    assert sgd._get_wds([0, 1, 2]) == [1.0, 0.0, 1.0]
    sgd.set_lr_mult({"a_weight": 0.5, 2: 0.25})
    sgd.set_wd_mult({"a_bias": 2.0})
    assert sgd._get_lrs([0, 1, 2]) == [0.5, 1.0, 0.25]
    assert sgd._get_wds([0, 1, 2]) == [1.0, 2.0, 1.0]
    assert sgd._get_lr(3) == 1.0
    lars = mx.optimizer.LARS(wd=1.0, param_idx2name={0: "a_weight", 1: "a_gamma"})
    assert lars._get_wds([0, 1]) == [1.0, 0.0]


def parameters():
    made = {}
    for i, (name, shape) in enumerate([("net_dense0_weight", (2, 2)), ("net_dense0_bias", (2,)), ("net_scale", (3,))]):
        made[i] = mx.gluon.Parameter(name, shape=shape)
    return made


def test_parameters_have_factors_of_their_own():
    known = parameters()
    known[0].lr_mult, known[1].wd_mult = 0.5, 0.25
    sgd = mx.optimizer.SGD(learning_rate=1.0, wd=1.0, param_dict=known)
    assert sgd._get_lrs([0, 1, 2]) == [0.5, 1.0, 1.0]
    assert sgd._get_wds([0, 1, 2]) == [1.0, 0.25, 1.0]
    known[0].lr_mult = 2.0
    assert sgd._get_lr(0) == 2.0


def test_groups_by_name():
    groups = [{"match": ".*bias", "wd_mult": 0}, {"match": "net_", "lr_mult": 0.5}]
    sgd = mx.optimizer.SGD(learning_rate=1.0, wd=1.0, param_dict=parameters(), param_groups=groups)
    assert sgd._get_lrs([0, 1, 2]) == [0.5, 0.5, 0.5]
    assert sgd._get_wds([0, 1, 2]) == [1.0, 0.0, 1.0]
    sgd = mx.optimizer.SGD(learning_rate=1.0, wd=1.0, param_dict=parameters(), no_decay="norms_and_biases")
    assert sgd._get_wds([0, 1, 2]) == [1.0, 0.0, 0.0]
    weights = [nd.ones(shape) for shape in ((2, 2), (2,), (3,))]
    sgd.update([0, 1, 2], weights, [nd.zeros(w.shape) for w in weights], [None] * 3)
    assert [w.asnumpy().ravel()[0] for w in weights] == [0.0, 1.0, 1.0]
    nameless = mx.optimizer.SGD(no_decay="norms_and_biases")
    with pytest.raises(ArgumentError, match="weight 0 has none"):
        nameless.update(0, nd.ones(2), nd.ones(2), None)


def test_layouts_of_states():
    half = nd.ones(2, dtype="float16")
    sgd = mx.optimizer.SGD(momentum=0.9, multi_precision=True)
    momentum, master = sgd.create_state_multi_precision(0, half)
    assert str(momentum.dtype) == str(master.dtype) == "float32"
    none, master = mx.optimizer.NAG(multi_precision=True).create_state_multi_precision(0, half)
    assert none is None
    assert master.tolist() == [1.0, 1.0]
    master, (mean, var) = mx.optimizer.Adam(multi_precision=True).create_state_multi_precision(0, half)
    assert {str(x.dtype) for x in (master, mean, var)} == {"float32"}
    assert mx.optimizer.SGD().create_state(0, half) is None
    assert mx.optimizer.Adam(multi_precision=True).create_state_multi_precision(0, nd.ones(2))[0].shape == (2,)
    assert str(mx.optimizer.AdaGrad().create_state(0, nd.ones(2, dtype="float64")).dtype) == "float64"


def test_one_of_your_own_in_the_forms_of_gluon_1_and_2():
    class First(mx.optimizer.Optimizer):
        def create_state(self, index, weight):
            return nd.zeros(weight.shape, dtype=weight.dtype)

        def update(self, index, weight, grad, state):
            self._update_count(index)
            state[:] = grad
            weight[:] -= self._get_lr(index) * grad

    class Second(First):
        update = mx.optimizer.Optimizer.update

        def step(self, indices, weights, grads, states):
            for each in zip(indices, weights, grads, states, strict=True):
                First.update(self, *each)

    for klass in (First, Second):
        update = mx.optimizer.get_updater(klass(learning_rate=0.5, multi_precision=True))
        weights = [nd.ones(2), nd.ones(3, dtype="float16")]
        update([0, 1], [nd.ones(2), nd.ones(3, dtype="float16")], weights)
        assert [w.tolist() for w in weights] == [[0.5] * 2, [0.5] * 3]
        assert str(weights[1].dtype) == "float16"
        assert update.states[1][0].tolist() == [0.5] * 3
        assert update.optimizer.num_update == 1
    with pytest.raises(NotImplementedError, match="has no step"):
        mx.optimizer.Optimizer().update(0, nd.ones(1), nd.ones(1), None)


@pytest.mark.parametrize("name", ["sgd", "adam", "muon", "adafactor", "test"])
def test_a_class_of_a_built_in_one_may_change_its_step(name):
    seen = []

    class First(REGISTRY.find(name)):
        def update(self, index, weight, grad, state):
            seen.append(index)
            super().update(index, weight, 2 * grad, state)

    class Second(REGISTRY.find(name)):
        def step(self, indices, weights, grads, states):
            seen.extend(indices)
            super().step(indices, weights, [2 * grad for grad in grads], states)

    results = []
    for klass, factor in ((First, 1), (Second, 1), (REGISTRY.find(name), 2)):
        update = mx.optimizer.get_updater(klass(multi_precision=True))
        weights = [nd.ones((2, 2)), nd.ones((2, 2), dtype="float16")]
        for _ in range(2):
            update([0, 1], [factor * nd.ones((2, 2), dtype=w.dtype) for w in weights], weights)
        results.append([w.asnumpy() for w in weights])
    assert seen == [0, 1] * 4
    for ours in results[:2]:
        for one, other in zip(ours, results[2], strict=True):
            np.testing.assert_array_equal(one, other)


def test_registration():
    @mx.optimizer.register
    class Shrink(mx.optimizer.Optimizer):
        def step(self, indices, weights, grads, states):
            self._update_count(indices)
            for weight in weights:
                weight *= 0.5

    weight = nd.ones(1)
    mx.optimizer.create("shrink").update(0, weight, weight, None)
    assert weight.tolist() == [0.5]
    with pytest.warns(UserWarning, match="'shrink' is now"):
        mx.optimizer.register(type("Shrink", (Shrink,), {}))
    with pytest.raises(ArgumentError, match="expected a class"):
        mx.optimizer.register(object)
    del REGISTRY._classes["shrink"]


def test_updater_takes_bytes_and_checks_lengths():
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    weight = nd.ones(1)
    update(b"weight", nd.ones(1), weight)
    assert list(update.states) == ["weight"]
    update([], [], [])
    with pytest.raises(ArgumentError, match="as many gradients and weights"):
        update([0, 1], [weight], [weight])


def test_eve_wants_a_loss_for_each_step():
    eve = mx.optimizer.Eve()
    weight = nd.ones(2)
    state = eve.create_state(0, weight)
    with pytest.raises(ArgumentError, match="set_loss"):
        eve.update(0, weight, nd.ones(2), state)
    eve.set_loss(3.0)
    eve.update(0, weight, nd.ones(2), state)
    with pytest.raises(ArgumentError, match="set_loss"):
        eve.update(0, weight, nd.ones(2), state)


def test_group_adagrad_refuses_what_it_has_not():
    group = mx.optimizer.GroupAdaGrad(wd=0.1)
    with pytest.raises(ValueError, match="two axes"):
        group.create_state(0, nd.ones(3))
    weight = nd.ones((2, 2))
    with pytest.raises(ArgumentError, match="no weight decay"):
        group.update(0, weight, weight, group.create_state(0, weight))
    assert weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_training_a_small_problem_with_each():
    """All of them find the least of a bowl."""
    target = np.array([[1.0, -2.0], [0.5, 3.0]])
    for name in NAMES:
        if name in {"test", "sgld", "lbfgs", "dcasgd"}:
            continue
        rate = {"lars": 200.0, "muon": 0.05, "ftrl": 1.0, "adadelta": 30.0}.get(name, 0.1)
        optimizer = mx.optimizer.create(name, learning_rate=rate)
        weight = nd.zeros((2, 2)) + 0.1
        state = optimizer.create_state(0, weight)
        losses = []
        for _ in range(60):
            difference = weight - nd.array(target)
            losses.append(float((difference**2).mean().asnumpy()))
            if name == "eve":
                optimizer.set_loss(losses[-1])
            optimizer.update(0, weight, difference, state)
        assert losses[-1] < 0.7 * losses[0], f"{name}: {losses[0]} to {losses[-1]}"


def test_the_document_says_where_optimizers_differ():
    text = (Path(__file__).parents[2] / "docs/differences-from-mxnet.md").read_text(encoding="utf-8")
    for name in ("AdaDelta", "Nadam", "Adamax", "LBSGD", ".states"):
        assert name in text, json.dumps(name)
