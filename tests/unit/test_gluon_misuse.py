"""Mistakes that people make with networks and trainers: refused with a word that helps, or what is meant is done."""

import contextlib
import json

import pytest

import gluonish as mx
from gluonish import autograd, gluon, nd
from gluonish.gluon import nn


def one_weight(value: str = "zeros") -> nn.Dense:
    net = nn.Dense(1, in_units=1, use_bias=False)
    net.initialize(value)
    return net


def learn(trainer: gluon.Trainer, *nets: nn.Dense, x: float = 1.0) -> None:
    with autograd.record():
        loss = nd.add_n(*(net(nd.array([[x]])) for net in nets))
    loss.backward()
    trainer.step(1)


def value(net: nn.Dense) -> float:
    return net.weight.data().asscalar()


def test_gradients_of_parameters_that_are_unfrozen_are_added_up_too():
    frozen, free = one_weight(), one_weight()
    frozen.setattr("grad_req", "null")
    net = nn.Sequential()
    net.add(frozen, free)
    trainer = gluon.Trainer(net, "sgd", {"learning_rate": 1.0}, accumulate=2)
    frozen.setattr("grad_req", "write")
    for x in (10.0, 1.0, 4.0, 2.0):
        learn(trainer, frozen, free, x=x)
    assert value(frozen) == value(free) == -8.5


def test_a_trainer_that_adds_up_leaves_nothing_to_the_next_one():
    net = one_weight("ones")
    gluon.Trainer(net, "sgd", {"learning_rate": 1.0}, accumulate=2)
    trainer = gluon.Trainer(net, "sgd", {"learning_rate": 1.0})
    for _ in range(3):
        learn(trainer, net)
    assert value(net) == -2
    net.setattr("grad_req", "add")  # what users ask for stays
    gluon.Trainer(net, "sgd")
    assert net.weight.grad_req == "add"


@pytest.mark.parametrize("zero", [lambda net: net.zero_grad(), lambda net: net.weight.zero_grad()])
def test_gradients_that_failed_are_healed_by_zeros(queued, zero):
    net = nn.Embedding(4, 1)
    net.initialize()
    net.setattr("grad_req", "add")
    with autograd.record():
        loss = net(nd.array([*[0] * 70000, 9])).sum()
    loss.backward()
    with pytest.raises(IndexError, match="9"):
        net.weight.grad().asnumpy()
    zero(net)
    assert net.weight.grad().sum().asscalar() == 0
    with pytest.raises(IndexError, match="9"):
        loss.asnumpy()


@pytest.mark.parametrize("rate", [-1, float("nan"), None, "a"])
def test_rates_of_schedules_are_checked(rate):
    class Schedule(mx.lr_scheduler.LRScheduler):
        def __call__(self, num_update):
            return rate

    net = one_weight()
    trainer = gluon.Trainer(net, "sgd", {"learning_rate": 0.1, "lr_scheduler": Schedule(base_lr=0.1)})
    with pytest.raises(ValueError, match=r"the learning rate of update 1=.* is not valid"):
        learn(trainer, net)
    assert value(net) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Sequential(nn.Dense(2), nn.Dense(3)), "prefix must be a str, got Dense; give blocks to add"),
        (lambda: nn.HybridSequential([nn.Dense(2)]), "prefix must be a str, got list"),
        (lambda: gluon.Trainer(one_weight(), "sgd", kvstore="foo"), "'foo' is not the name of a store; there are"),
        (lambda: gluon.Trainer(one_weight(), "sgd", {"lr": 1}), "no argument 'lr'; did you mean learning_rate"),
        (lambda: gluon.Trainer(one_weight(), "sgd", {"clip_global_norm": 0}), "clip_global_norm=0 would stop"),
    ],
)  # fmt: skip
def test_refused(make, message):
    with pytest.raises(mx.MXNetError, match=message):
        make()


@pytest.mark.parametrize(
    "do",
    [
        lambda block: block(nd.ones(1)),
        repr,
        lambda block: block.initialize(),
        lambda block: block.collect_params(),
        lambda block: list(block.named_parameters()),
        lambda block: block.name,
        lambda block: block.prefix,
        lambda block: block.params,
        lambda block: block.cast("float16"),
        lambda block: block.save_parameters("never.params"),
        lambda block: block.register_buffer("steps", [1]),
        lambda block: nn.Sequential().add(block),
        lambda block: gluon.Trainer(block, "sgd"),
    ],
)
def test_a_block_without_its_init(do):
    class Bare(gluon.Block):
        def __init__(self):
            self.width = 3

        def forward(self, x):
            return x

    with pytest.raises(mx.MXNetError, match=r"Bare: its __init__ does not call super\(\).__init__\(\)"):
        do(Bare())


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"lr": -5}},
        {"settings": {"lr": None}},
        {"settings": {"beta1": 1.5}},
        {"settings": {"clip_gradient": "x"}},
        {"settings": {"clip_gradient": -3}},
        {"counts": [[0, 0, -5]]},
        {"num_update": 2**70},
        {"states": [[0, {"tuple": [{"array": 0}, {"array": 0}]}]]},
    ],
    ids=str,
)
def test_states_in_which_no_optimizer_is_are_refused(tmp_path, change):
    net = one_weight()
    trainer = gluon.Trainer(net, "adam")
    learn(trainer, net)
    good, bad = tmp_path / "good", tmp_path / "bad"
    trainer.save_states(good)
    data = good.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    (name,) = header["__metadata__"]
    about = json.loads(header["__metadata__"][name])
    for key, new in change.items():
        about[key] = {**about[key], **new} if isinstance(new, dict) else new
    header["__metadata__"][name] = json.dumps(about)
    text = json.dumps(header).encode()
    bad.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    with pytest.raises(mx.MXNetError, match="set_states"):
        trainer.load_states(bad)
    assert trainer.learning_rate == 0.001
    trainer.load_states(good)
    learn(trainer, net)
    assert value(net) == pytest.approx(-0.002, rel=1e-4)


@pytest.mark.parametrize("how", [{}, {"multi_precision": True}])
@pytest.mark.parametrize(("before", "after"), [("float32", "float16"), ("float16", "float32")])
def test_a_step_after_a_cast(before, after, how):
    net = nn.Dense(1, in_units=1, use_bias=False, prefix="net_")
    net.cast(before)
    net.initialize("ones")
    trainer = gluon.Trainer(net, "adam", how)
    narrow = before == "float16" and not how
    with pytest.warns(UserWarning, match="float16") if narrow else contextlib.nullcontext():
        learn(trainer, net)
    net.cast(after)
    learn(trainer, net)
    assert str(net.weight.data().dtype) == after
    assert value(net) == pytest.approx(1 - 2 * 0.001, abs=6e-4)  # two steps of Adam, on values 5e-4 apart


def test_inputs_of_another_type_after_a_cast():
    net = one_weight("ones")
    net.cast("float16")
    assert net(nd.array([[2.0]])).tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda net: net.collect_params("*weight"), r"select='\*weight' is not a regular.*did you mean '\.\*weight'"),
        (lambda net: net.collect_params(3), "select=3 is not a regular expression"),
        (lambda net: net.share_parameters(3), "share_parameters: a dict by path is needed, got int"),
        (lambda net: net.load_dict([1]), "load_dict: a dict by path is needed, got list"),
        (lambda net: net.register_buffer(3, [1]), "register_buffer: 3 is not a name"),
        (lambda net: nn.Dense(1, params={}), "params must be a ParameterDict, as other.params is one, got dict"),
        (lambda net: nn.Dense(1, params=net), "params must be a ParameterDict, as other.params is one, got Dense"),
    ],
)  # fmt: skip
def test_refused_by_blocks(do, message):
    with pytest.raises(TypeError, match=message):
        do(one_weight())


def test_a_first_input_of_another_shape():
    net = nn.Conv2D(3, 3, prefix="net_")
    net.initialize()
    with pytest.raises(ValueError, match=r"^Convolution: data of shape \(3, 28, 28\) must .*\n.*'net_weight'"):
        net(nd.ones((3, 28, 28)))
