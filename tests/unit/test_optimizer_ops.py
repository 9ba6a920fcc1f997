"""Steps of optimizers: what changes in place, what does not, and what is refused before anything changes."""

import numpy as np
import pytest
from samples import optimizers as formulas

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ArgumentError, GradientError, ShapeError

HOW = {"lr": 0.1, "wd": 0.1, "rescale_grad": 0.7, "clip_gradient": 0.5}
FTML = {"lr": 0.1, "t": 3}
LAMB = {"t": 2, "wd": 0.1}
ROWS = [
    (nd.sgd_update, formulas.sgd, 0, HOW),
    (nd.sgd_mom_update, formulas.momentum, 1, {**HOW, "momentum": 0.9}),
    (nd.nag_mom_update, formulas.nesterov, 1, {**HOW, "momentum": 0.9}),
    (nd.signum_update, formulas.signum, 1, {**HOW, "momentum": 0.9}),
    (nd.adam_update, formulas.adam, 2, HOW),
    (nd.ftml_update, formulas.ftml, 3, FTML),
    (nd.ftrl_update, formulas.ftrl, 2, HOW),
    (nd.rmsprop_update, formulas.rmsprop, 1, HOW),
    (nd.rmspropalex_update, formulas.rmspropalex, 3, {**HOW, "gamma1": 0.5}),
    (nd.lamb_update_phase1, formulas.direction, 2, LAMB),
]


def made(count, shape=(5, 7), seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    hosts = [rng.uniform(0.1, 1.0, shape) + (i == 2) for i in range(count)]
    return hosts, [nd.array(x, dtype=dtype) for x in hosts]


def close(ours, theirs, tolerance=1e-12):
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x.asnumpy(), y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("row", "formula", "states", "how"), ROWS)
def test_states_change_and_the_weight_where_it_is_told(row, formula, states, how):
    hosts, arrays = made(states + 2)
    expected = formula(*hosts, **how)
    result = row(*arrays, **how)
    close([result, *arrays[2:]], expected)
    close(arrays[:2], hosts[:2])
    hosts, arrays = made(states + 2)
    assert row(*arrays, out=arrays[0], **how) is arrays[0]
    close([arrays[0], *arrays[2:]], expected)


@pytest.mark.parametrize(("row", "formula", "states", "how"), ROWS)
def test_views_of_one_buffer(row, formula, states, how):
    rng = np.random.default_rng(1)
    host = rng.uniform(0.1, 1.0, (states + 2, 6, 5))
    host[2:3] += 1
    buffer = nd.array(host, dtype="float64")
    parts = [buffer[i].T for i in range(states + 2)]
    row(*parts, out=parts[0], **how)
    expected = formula(*(x.T for x in host), **how)
    close([parts[0], *parts[2:]], expected)
    np.testing.assert_array_equal(buffer[1].asnumpy(), host[1])


def test_a_narrow_weight_follows_its_copy():
    weight, grad = nd.ones(3, dtype="float16"), nd.ones(3, dtype="float16")
    master, mom = nd.ones(3), nd.zeros(3)
    for _ in range(10):
        nd.mp_sgd_mom_update(weight, grad, mom, master, lr=1e-4, momentum=0.5, out=weight)
    exact = 1 - 1e-4 * sum(1 - 0.5**k for k in range(1, 11)) * 2
    np.testing.assert_allclose(master.asnumpy(), exact, rtol=1e-6)
    assert weight.dtype == "float16"
    np.testing.assert_array_equal(weight.asnumpy(), master.asnumpy().astype("float16"))


def test_the_direction_of_lamb_and_the_step():
    (w, g, m, v), arrays = made(4)
    to = nd.lamb_update_phase1(*arrays, **LAMB)
    nd.lamb_update_phase2(arrays[0], to, arrays[0].norm(), to.norm(), lr=0.1, out=arrays[0])
    close([arrays[0], *arrays[2:]], formulas.lamb(w, g, m, v, lr=0.1, **LAMB), 1e-9)
    half, master = nd.ones(4, dtype="float16"), nd.ones(4)
    nd.mp_lamb_update_phase2(half, nd.ones(4), nd.array([2.0]), nd.array([1.0]), master, lr=0.1, out=half)
    close([master], [np.full(4, 0.8)], 1e-6)


@pytest.mark.parametrize("factor", [0.0, float("nan"), float("inf")])
def test_adamw_skips_a_step_that_overflowed(factor):
    hosts, arrays = made(4)
    nd.contrib.adamw_update(*arrays, factor, lr=0.1, eta=1.0, out=arrays[0])
    nd.contrib.multi_adamw_update(*([x] for x in arrays), factor, [0.1], [0.0], [1.0], out=[arrays[0]])
    close(arrays, hosts, 0)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_weights_are_as_many_single_ones(threads, dtype):
    shapes = [(3,), (70, 51), (0,), (2049,), ()]
    groups = [made(4, shape, i, dtype)[1] for i, shape in enumerate(shapes)]
    twins = [made(4, shape, i, dtype)[1] for i, shape in enumerate(shapes)]
    lrs, wds = [0.1, 0.2, 0.3, 0.4, 0.5], [0.0, 0.1, 0.2, 0.3, 0.4]
    flat = [x for group in groups for x in group[:3]]
    weights = [group[0] for group in groups]
    with mx.engine.set_num_threads(threads):
        nd.multi_sgd_mom_update(*flat, lrs=lrs, wds=wds, momentum=0.9, num_weights=5, out=weights)
    for (w, g, m, _), lr, wd in zip(twins, lrs, wds, strict=True):
        nd.sgd_mom_update(w, g, m, lr=lr, wd=wd, momentum=0.9, out=w)
    with mx.engine.set_num_threads(threads):
        nd.contrib.multi_lamb_update(*zip(*groups, strict=True), [1, 2, 3, 4, 5], lrs, wds, out=weights)
    for i, (w, g, m, v) in enumerate(twins):
        to = nd.lamb_update_phase1(w, g, m, v, t=i + 1, wd=wds[i])
        nd.lamb_update_phase2(w, to, w.norm(), to.norm(), lr=lrs[i], out=w)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for ours, theirs in zip(groups, twins, strict=True):
        close(ours, [x.asnumpy() for x in theirs], tolerance)


def test_weights_of_several_types_at_once():
    single, double = made(2, dtype="float32")[1], made(2, seed=1)[1]
    expected = [w.asnumpy() - 0.5 * g.asnumpy() for w, g in (single, double)]
    nd.multi_sgd_update(*single, *double, lrs=[0.5, 0.5], wds=[0, 0], num_weights=2, out=[single[0], double[0]])
    close([single[0], double[0]], expected, 1e-6)


def test_nothing_changes_when_something_is_wrong():
    hosts, (w, g, m, v) = made(4)
    with pytest.raises(ShapeError, match=r"adam_update: .*second state of shape \(3,\).*\(5, 7\)"):
        nd.adam_update(w, g, m, nd.ones(3, dtype="float64"), lr=0.1, out=w)
    with pytest.raises(ArgumentError, match="share memory"):
        nd.adam_update(w, g, m, m, lr=0.1, out=w)
    with pytest.raises(ArgumentError, match="the attribute 'lr' is missing"):
        nd.adam_update(w, g, m, v, out=w)
    with pytest.raises(mx.MXNetError, match="broadcast view"):
        nd.sgd_mom_update(w, g, nd.ones((1, 7), dtype="float64").broadcast_to((5, 7)), lr=0.1)
    with pytest.raises(ArgumentError, match="share memory"):
        nd.multi_sgd_update(w, g, w, g, lrs=[0.1, 0.1], wds=[0, 0], num_weights=2, out=[w, w])
    close([w, g, m, v], hosts, 0)
    line = nd.arange(8)
    for step in (nd.sgd_mom_update, nd.signum_update):
        with pytest.raises(ArgumentError, match="share memory"):
            step(line[:4], nd.ones(4), line[1:5], lr=0.1, out=line[:4])
    assert line.tolist() == list(range(8))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"lrs": [0.1]}, r"lrs=\[0.1\] is not valid: expected a number for each of 2 weights"),
     ({"lrs": None}, "lrs=None is not valid"), ({"lrs": 0.1}, "lrs=0.1 is not valid"), ({"wds": ["a", 0]}, "wds="),
     ({"wds": "12"}, "wds='12' is not valid"), ({"num_weights": "1"}, "num_weights='1' is not valid"),
     ({"num_weights": None}, "num_weights=None"), ({"num_weights": -1}, "num_weights=-1"),
     ({"num_weights": True}, "num_weights=True"), ({"num_weights": np.ones(2)}, "num_weights=array"),
     ({"num_weights": 3}, r"needs 6 arrays \(weight, grad of each\)")],
)  # fmt: skip
def test_lists_of_many_weights(wrong, says):
    hosts, arrays = made(4)
    with pytest.raises(ArgumentError, match=f"^multi_sgd_update: .*{says}"):
        nd.multi_sgd_update(*arrays, **{"lrs": [0.1, 0.1], "wds": [0, 0], "num_weights": 2, **wrong})
    with pytest.raises(TypeError, match=r"multi_sgd_update\(\).*momentun"):
        nd.multi_sgd_update(*arrays, lrs=[0.1, 0.1], wds=[0, 0], num_weights=2, momentun=3)
    close(arrays, hosts, 0)


@pytest.mark.parametrize("step", [0, -1, 1.5, None, "x", True])
def test_updates_are_numbered_from_one(step):
    hosts, arrays = made(4)
    lists = [[x] for x in arrays]
    with pytest.raises(ArgumentError, match=r"^multi_lamb_update: step_count\[0\]=.* is not valid: expected an int"):
        nd.contrib.multi_lamb_update(*lists, [step], [0.1], [0], out=lists[0])
    with pytest.raises(ArgumentError, match=r"^multi_lamb_update: step_count=None"):
        nd.contrib.multi_lamb_update(*lists, None, [0.1], [0], out=lists[0])
    close(arrays, hosts, 0)


@pytest.mark.parametrize("step", [0, -1, 1.5, float("nan")])
def test_numbers_of_updates_in_an_array(step):
    lists = [[x] for x in made(4)[1]]
    with pytest.raises(ArgumentError, match=r"step_count\[0\]=.* is not valid: expected an integer of at least 1"):
        nd.contrib.multi_lamb_update(*lists, nd.array([step]), [0.1], [0])[0].wait_to_read()


def test_lists_of_arrays_are_of_one_length():
    _, arrays = made(4)
    lists = [[x] for x in arrays]
    rest = (nd.array([1.0]), [0.1], [0], [1])
    for i in range(4):
        longer = [x * (2 if k == i else 1) for k, x in enumerate(lists)]
        with pytest.raises(
            ArgumentError, match=r"^multi_adamw_update: . weights need as many arrays in each list, got \["
        ):
            nd.contrib.multi_adamw_update(*longer, *rest)
        assert len(nd.contrib.multi_adamw_update(*longer, *rest, size=1)) == 1
        with pytest.raises(ArgumentError, match=r"^multi_adamw_update: (weights|grads|mean|var)=None is not valid"):
            nd.contrib.multi_adamw_update(*(None if k == i else x for k, x in enumerate(lists)), *rest)
    with pytest.raises(ArgumentError, match=r"^multi_adamw_update: size=-1 is not valid"):
        nd.contrib.multi_adamw_update(*lists, *rest, size=-1)


def test_a_step_is_not_recorded():
    _, (w, g, m) = made(3)
    w.attach_grad()
    with autograd.record(), pytest.raises(GradientError, match=r"sgd_mom_update: .*outside record"):
        nd.sgd_mom_update(w, g, m, lr=0.1, out=w)
    with autograd.record():
        y = (w * w).sum()
        with autograd.pause():
            nd.sgd_mom_update(w.detach(), g, m, lr=0.1)
    y.backward()
    close([w.grad], [2 * w.asnumpy()])


def test_where_the_result_is_read_too():
    (w, g), (a, b) = made(2)
    nd.sgd_update(a, b, lr=0.5, out=b)
    close([b], [w - 0.5 * g])
    close([a], [w], 0)


def test_arrays_become_zero():
    x, y = nd.ones((2, 3)), nd.ones(4, dtype="int32")
    nd.reset_arrays(x, y, num_arrays=2)
    assert x.sum().item() == y.sum().item() == 0
