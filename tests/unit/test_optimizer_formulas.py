"""Every registered optimizer computes what its publication says, over several steps, in every type."""

import warnings

import numpy as np
import pytest
from unit.optimizer_references import APART, CASES, REFERENCES, prepare

import gluonish as mx
from gluonish import nd
from gluonish.optimizer.base import REGISTRY

STEPS = 5
SHAPE = (4, 3)


def own_names():
    return [name for name in REGISTRY.names() if REGISTRY.find(name).__module__.startswith("gluonish.")]


@pytest.mark.parametrize("name", own_names())
def test_every_optimizer_has_a_reference_and_an_example(name):
    assert name in REFERENCES or name in APART, f"{name}: add its formula to optimizer_references.py"
    klass = REGISTRY.find(name)
    assert ">>>" in klass.__doc__
    assert getattr(mx.optimizer, klass.__name__) is klass
    assert klass.__name__ in mx.optimizer.__all__


def values(seed=0, steps=STEPS, shape=SHAPE):
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    return weight, [rng.normal(size=shape) for _ in range(steps)]


HOW = {
    "plain": {},
    "all": {"wd": 0.1, "clip_gradient": 0.6, "rescale_grad": 0.7},
}


def settings(name, how):
    return {k: v for k, v in HOW[how].items() if name != "groupadagrad" or k != "wd"}


def run(name, case, how, dtype, multi_precision=False, schedule=None):
    """The weight of the optimizer and that of the reference, after some steps."""
    arguments, make = REFERENCES[name][case]
    given = settings(name, how)
    host, grads = values()
    weight = nd.array(host, dtype=dtype)
    host = weight.astype("float64").asnumpy()
    scheduler = None if schedule is None else schedule()
    rates = {"learning_rate": 0.1} if schedule is None else {"lr_scheduler": scheduler, "learning_rate": 0.1}
    optimizer = mx.optimizer.create(name, **rates, **arguments, **given, multi_precision=multi_precision)
    state = optimizer.create_state_multi_precision(0, weight)
    reference = make(host)
    for t, grad in enumerate(grads, 1):
        ours = nd.array(grad, dtype=dtype)
        exact = ours.astype("float64").asnumpy()
        prepare(optimizer, t)
        optimizer.update_multi_precision(0, weight, ours, state)
        lr = 0.1 if schedule is None else schedule()(t)
        about = {"lr": lr, "wd": 0.0, "t": float(t), "rescale_grad": 1.0, **given}
        if name == "sgld":
            about["dtype"] = "float32" if multi_precision else dtype
        reference.step(exact, **about)
    master = weight if not multi_precision else optimizer._parted(state)[0]
    return weight, master, reference.weight


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(("name", "case"), CASES)
def test_double_precision(name, case, how):
    weight, _, expected = run(name, case, how, "float64")
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6, atol=1e-9)
    assert np.abs(expected - values()[0]).max() > 1e-3


@pytest.mark.parametrize(("name", "case"), CASES)
def test_single_precision(name, case):
    weight, _, expected = run(name, case, "all", "float32")
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("name", "case"), CASES)
def test_narrow_weights_with_a_copy_in_single_precision(name, case, dtype):
    weight, master, expected = run(name, case, "all", dtype, multi_precision=True)
    assert str(weight.dtype) == dtype
    assert str(master.dtype) == "float32"
    np.testing.assert_allclose(master.asnumpy(), expected, rtol=2e-4, atol=2e-5)
    np.testing.assert_array_equal(weight.astype("float32").asnumpy(), master.astype(dtype).astype("float32").asnumpy())


@pytest.mark.parametrize("name", REFERENCES)
def test_narrow_weights_without_one_warn(name):
    optimizer = mx.optimizer.create(name)
    with pytest.warns(UserWarning, match="multi_precision=True"):
        optimizer.create_state_multi_precision(0, nd.ones(SHAPE, dtype="float16"))


@pytest.mark.parametrize("name", ["sgd", "nag", "adam", "lamb", "ftml", "lars", "muon", "adafactor"])
def test_schedules(name):
    def schedule():
        return mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1)

    weight, _, expected = run(name, 0, "all", "float64", schedule=schedule)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_learning_rate_of_0_leaves_the_weight(name):
    optimizer = mx.optimizer.create(name, learning_rate=0.0)
    host, grads = values()
    weight = nd.array(host, dtype="float64")
    state = optimizer.create_state(0, weight)
    for t, grad in enumerate(grads, 1):
        prepare(optimizer, t)
        optimizer.update(0, weight, nd.array(grad, dtype="float64"), state)
    if name == "test":  # it has no learning rate
        host = host + sum(grads)
    np.testing.assert_allclose(weight.asnumpy(), host, rtol=1e-15)


@pytest.mark.parametrize("name", REFERENCES)
def test_gradients_of_0_give_no_nan(name):
    optimizer = mx.optimizer.create(name)
    weight = nd.ones(SHAPE)
    state = optimizer.create_state(0, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(1, 4):
            prepare(optimizer, t)
            optimizer.update(0, weight, nd.zeros(SHAPE), state)
    assert np.isfinite(weight.asnumpy()).all()


def test_adamw_whose_decay_follows_the_schedule_alone():
    schedule = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.2)
    adamw = mx.optimizer.AdamW(learning_rate=0.2, lr_scheduler=schedule, wd=0.1, decay_with_lr=False)
    weight = nd.array([2.0], dtype="float64")
    state = adamw.create_state(0, weight)
    expected = 2.0
    for t in range(1, 4):
        adamw.update(0, weight, nd.zeros(1, dtype="float64"), state)
        expected -= 0.1 * 0.5 ** (t - 1) * expected
    assert weight[0].item() == pytest.approx(expected, rel=1e-12)


def test_adafactor_of_vectors_and_stacks():
    rng = np.random.default_rng(0)
    for shape in ((5,), (2, 3, 4)):
        host, grad = rng.normal(size=shape), rng.normal(size=shape)
        weight = nd.array(host, dtype="float64")
        adafactor = mx.optimizer.Adafactor(learning_rate=0.1)
        adafactor.update(0, weight, nd.array(grad, dtype="float64"), adafactor.create_state(0, weight))
        squares = grad**2 + 1e-30
        if len(shape) > 1:
            r, c = squares.mean(-1, keepdims=True), squares.mean(-2, keepdims=True)
            squares = r * c / r.mean(-2, keepdims=True)
        u = grad / np.sqrt(squares)
        u /= max(1, np.sqrt(np.mean(u**2)))
        expected = host - 0.1 * np.sqrt(np.mean(host**2)) * u
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-9)


def test_muon_gives_vectors_and_named_matrices_to_adamw():
    names = {0: "conv0_weight", 1: "conv0_bias", 2: "embedding0_weight"}
    muon = mx.optimizer.Muon(
        param_idx2name=names, adamw_match="embedding", learning_rate=1.0, adamw_lr_mult=0.1, wd=0.0
    )
    weights = [nd.ones((2, 3, 1, 2)), nd.ones(2), nd.ones((2, 2))]
    states = [muon.create_state(i, w) for i, w in enumerate(weights)]
    assert [len(s) for s in states] == [1, 2, 2]
    muon.update([0, 1, 2], weights, [nd.ones(w.shape) for w in weights], states)
    for weight in weights[1:]:
        np.testing.assert_allclose(weight.asnumpy(), 0.9, rtol=1e-5)
    assert weights[0].shape == (2, 3, 1, 2)
    assert np.linalg.norm(weights[0].asnumpy() - 1) < 2


def test_lbsgd_by_norms():
    host, (grad, *_) = values(steps=1)
    lbsgd = mx.optimizer.LBSGD(learning_rate=0.1, warmup_strategy="lars", wd=0.1)
    weight = nd.array(host, dtype="float64")
    lbsgd.update(0, weight, nd.array(grad, dtype="float64"), lbsgd.create_state(0, weight))
    w2, g2 = np.sum(host**2), np.sum(grad**2)
    lr = 0.1 * np.clip(np.sqrt(w2 / (g2 + 0.1 * w2)), 0.01, 100)
    np.testing.assert_allclose(weight.asnumpy(), host - lr * (grad + 0.1 * host), rtol=1e-6)


def test_lars_leaves_biases_alone_and_corrects_the_momentum():
    schedule = mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.4)
    names = {0: "dense0_weight", 1: "dense0_bias"}
    lars = mx.optimizer.LARS(learning_rate=0.4, lr_scheduler=schedule, momentum=0.8, eta=0.5, param_idx2name=names)
    weights = [nd.array([3.0, 4.0], dtype="float64") for _ in range(2)]
    states = [lars.create_state(i, w) for i, w in enumerate(weights)]
    grad = np.array([0.0, 2.0])
    expected, moms, last = [np.array([3.0, 4.0])] * 2, [np.zeros(2)] * 2, 0.4
    for lr in (0.4, 0.2, 0.1):
        lars.update([0, 1], weights, [nd.array(grad, dtype="float64")] * 2, states)
        by = [0.5 * np.linalg.norm(expected[0]) / 2, 1.0]
        moms = [0.8 * lr / last * m - lr * b * grad for m, b in zip(moms, by, strict=True)]
        expected = [w + m for w, m in zip(expected, moms, strict=True)]
        last = lr
    for ours, theirs in zip(weights, expected, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-6)
