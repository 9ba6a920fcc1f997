"""L-BFGS finds the least of smooth functions, with and without a line search, which keeps Wolfe's conditions."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import gluon, nd
from gluonish.errors import ArgumentError, FormatError
from gluonish.gluon import Trainer
from gluonish.optimizer._line_search import strong_wolfe


def rosenbrock(dtype="float64"):
    x = nd.array([-1.2, 1.0, -1.2, 1.0], dtype=dtype)
    x.attach_grad()
    calls = []

    def closure():
        with mx.autograd.record():
            loss = (100 * (x[1::2] - x[::2] ** 2) ** 2 + (1 - x[::2]) ** 2).sum()
        loss.backward()
        calls.append(1)
        return loss

    return x, closure, calls


def test_rosenbrocks_valley():
    x, closure, calls = rosenbrock()
    lbfgs = mx.optimizer.LBFGS(line_search="strong_wolfe", max_iter=100)
    first = lbfgs.minimize(closure, [x], [x.grad])
    assert first == pytest.approx(2 * 24.2)
    np.testing.assert_allclose(x.asnumpy(), 1.0, rtol=1e-5)
    assert len(calls) < 100
    assert lbfgs.num_update == 1


def test_a_quadratic_of_several_weights_in_as_many_iterations():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 6))
    a = a @ a.T + np.eye(6)
    b = rng.normal(size=6)
    parts = [nd.array(rng.normal(size=(2, 2)), dtype="float64"), nd.array(rng.normal(size=2), dtype="float64")]
    for part in parts:
        part.attach_grad()
    matrix, vector = nd.array(a, dtype="float64"), nd.array(b, dtype="float64")

    def closure():
        with mx.autograd.record():
            x = nd.concat(parts[0].reshape(-1), parts[1], dim=0)
            loss = 0.5 * (x * nd.dot(matrix, x)).sum() - (vector * x).sum()
        loss.backward()
        return loss

    lbfgs = mx.optimizer.create("lbfgs", line_search="strong_wolfe", max_iter=60, tolerance_change=1e-12)
    lbfgs.minimize(closure, parts, [p.grad for p in parts])
    found = np.concatenate([p.asnumpy().ravel() for p in parts])
    np.testing.assert_allclose(found, np.linalg.solve(a, b), atol=1e-5)


def test_without_a_line_search_and_with_decay():
    x = nd.array([3.0, -2.0], dtype="float64")
    x.attach_grad()

    def closure():
        with mx.autograd.record():
            loss = 0.5 * ((x - 1) ** 2).sum()
        loss.backward()
        return loss

    lbfgs = mx.optimizer.LBFGS(wd=1.0)
    for _ in range(3):
        lbfgs.minimize(closure, [x], [x.grad])
    np.testing.assert_allclose(x.asnumpy(), 0.5, rtol=1e-6)


def far_from(target, *parameters):
    """A function of the distance of parameters from a number."""

    def closure():
        with mx.autograd.record():
            loss = sum(0.5 * ((p.data() - target) ** 2).sum() for p in parameters)
        loss.backward()
        return loss

    return closure


def parameters(**shapes):
    made = [gluon.Parameter(name, shape=shape, init="ones", dtype="float64") for name, shape in shapes.items()]
    for one in made:
        one.initialize()
        one.set_data(nd.full(one.shape, 3.0, dtype="float64"))
    return made


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_decay_is_a_part_of_what_is_minimized(line_search):
    """The least of sum((w - 1) ** 2) / 2 / batch + wd * sum(w ** 2) / 2, by hand."""
    (w,) = parameters(w=(2, 2))
    trainer = Trainer([w], "lbfgs", {"wd": 0.5, "line_search": line_search})
    losses = [trainer.step(4, closure=far_from(1.0, w)) for _ in range(4)]
    np.testing.assert_allclose(w.data().asnumpy(), (1 / 4) / (1 / 4 + 0.5), rtol=1e-6)
    np.testing.assert_allclose([losses[0], losses[-1]], [0.5 * 4 * 4 / 4, 0.5 * 4 * (2 / 3) ** 2 / 4], rtol=1e-6)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_decays_of_each_weight(line_search):
    w, bias, other = parameters(w=(2, 2), bias=(2,), other=(1, 1))
    options = {"no_decay": "norms_and_biases", "param_groups": [{"match": "other", "wd_mult": 3.0}]}
    trainer = Trainer([w, bias, other], "lbfgs", {"wd": 1.0, "line_search": line_search, **options})
    other.wd_mult = 2.0
    for _ in range(6):
        trainer.step(1, closure=far_from(1.0, w, bias, other))
    for parameter, decay in ((w, 1), (bias, 0), (other, 6)):
        np.testing.assert_allclose(parameter.data().asnumpy(), 1 / (1 + decay), rtol=1e-5)


@pytest.mark.parametrize("by_group", [True, False])
def test_learning_rates_of_each_weight_are_refused(by_group):
    w, bias = parameters(w=(2, 2), bias=(2,))
    groups = {"param_groups": [{"match": "bias", "lr_mult": 2.0}]} if by_group else {}
    trainer = Trainer([w, bias], "lbfgs", groups)
    if not by_group:
        bias.lr_mult = 2.0
    with pytest.raises(ArgumentError, match=r"'bias' is multiplied by 2\.0"):
        trainer.step(1, closure=far_from(1.0, w, bias))
    assert (w.data().asnumpy() == 3).all()


def test_states_of_another_network_are_refused(tmp_path):
    (w,), (other,) = parameters(w=(3,)), parameters(w=(5,))
    first, second = Trainer([w], "lbfgs", {"max_iter": 2}), Trainer([other], "lbfgs")
    first.step(1, closure=far_from(1.0, w))
    first.save_states(tmp_path / "states")
    with pytest.raises(FormatError, match="3 numbers, and the parameters are 5"):
        second.load_states(tmp_path / "states")
    second.step(1, closure=far_from(1.0, other))
    np.testing.assert_allclose(other.data().asnumpy(), 1, rtol=1e-6)


def test_what_is_remembered_follows_the_weights():
    """Frozen ones, another device, another type."""
    w, bias = parameters(w=(3,), bias=(2,))
    trainer = Trainer([w, bias], "lbfgs", {"max_iter": 2})
    trainer.step(1, closure=far_from(1.0, w, bias))
    bias.grad_req = "null"
    before = bias.data().asnumpy()
    for change in (lambda p: p.reset_ctx(mx.cpu(1)), lambda p: p.reset_ctx(mx.cpu(0)), lambda p: p.cast("float32")):
        for one in (w, bias):
            change(one)
        trainer.step(1, closure=far_from(4.0, w))
    np.testing.assert_allclose(w.data().asnumpy(), 4, rtol=1e-4)
    np.testing.assert_array_equal(bias.data().asnumpy(), before.astype("float32"))


@pytest.mark.parametrize("wrong", [None, "x", [1.0]])
def test_a_function_without_a_loss(wrong):
    (w,) = parameters(w=(3,))
    with pytest.raises(TypeError, match="must return the loss"):
        Trainer([w], "lbfgs").step(1, closure=lambda: wrong)


def test_it_goes_on_from_where_it_was_saved():
    def run(save):
        x, closure, _ = rosenbrock()
        lbfgs = mx.optimizer.LBFGS(max_iter=4, line_search="strong_wolfe")
        for i in range(6):
            lbfgs.minimize(closure, [x], [x.grad])
            if save and i == 2:
                data = mx.optimizer.get_updater(lbfgs).get_states()
                lbfgs = mx.optimizer.LBFGS(max_iter=4, line_search="strong_wolfe")
                mx.optimizer.get_updater(lbfgs).set_states(data)
        return x.asnumpy()

    np.testing.assert_array_equal(run(False), run(True))


def test_misuse():
    lbfgs = mx.optimizer.LBFGS()
    assert lbfgs.needs_closure
    w = nd.ones(2)
    with pytest.raises(NotImplementedError, match="closure"):
        lbfgs.update(0, w, w, None)
    with pytest.raises(ArgumentError, match="function"):
        lbfgs.minimize(3, [w], [w])
    with pytest.raises(ArgumentError, match="as many gradients"):
        lbfgs.minimize(lambda: 0.0, [w], [])
    with pytest.raises(ArgumentError, match="one type"):
        lbfgs.minimize(lambda: 0.0, [w, nd.ones(2, dtype="float64")], [w, w])


FUNCTIONS = {
    "bowl": (lambda x: (x - 3) ** 2, lambda x: 2 * (x - 3)),
    "steep": (lambda x: np.exp(x) - 5 * x, lambda x: np.exp(x) - 5),
    "waves": (lambda x: np.sin(3 * x) * 0.3 - x + 0.05 * x**2, lambda x: np.cos(3 * x) * 0.9 - 1 + 0.1 * x),
    "far": (lambda x: -x / (x**2 + 2), lambda x: (x**2 - 2) / (x**2 + 2) ** 2),
    "wall": (lambda x: -np.log(1 - x) - 2 * x if x < 1 else np.inf, lambda x: 1 / (1 - x) - 2 if x < 1 else np.inf),
}


@pytest.mark.parametrize("first", [0.01, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_lengths_fulfil_wolfes_conditions(name, first):
    f, slope = FUNCTIONS[name]
    length, loss, _ = strong_wolfe(lambda x: (f(x), None, slope(x)), first, f(0.0), None, slope(0.0))
    assert loss == f(length)
    assert loss <= f(0.0) + 1e-4 * length * slope(0.0)
    assert abs(slope(length)) <= 0.9 * abs(slope(0.0))


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
@pytest.mark.parametrize("late", [0, 1, 3])
def test_a_function_that_raises_leaves_everything_as_it_was(line_search, late):
    x, closure, calls = rosenbrock()
    lbfgs = mx.optimizer.LBFGS(learning_rate=0.001, line_search=line_search, max_iter=5)
    lbfgs.minimize(closure, [x], [x.grad])
    before, history = x.asnumpy(), list(lbfgs._history)
    assert history

    def failing():
        if len(calls) == bad:
            raise ZeroDivisionError("no loss")
        return closure()

    bad = len(calls) + late
    with pytest.raises(ZeroDivisionError, match="no loss"):
        lbfgs.minimize(failing, [x], [x.grad])
    np.testing.assert_array_equal(x.asnumpy(), before)
    assert (lbfgs.num_update, len(lbfgs._history)) == (1, len(history))
    assert all(a is b for a, b in zip(lbfgs._history, history, strict=True))
    lbfgs.minimize(closure, [x], [x.grad])
    assert lbfgs.num_update == 2
