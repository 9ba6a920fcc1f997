"""A step over many weights: the same as one by one, on every device, skipped where the factor says so."""

import threading

import numpy as np
import pytest
from unit.optimizer_references import REFERENCES, prepare

import gluonish as mx
from gluonish import nd
from gluonish.errors import ArgumentError

SHAPES = [(3, 2), (70, 51), (5, 4), (1, 2049)]


def arrays(seed=0, dtype="float32", shapes=SHAPES, ctx=None):
    rng = np.random.default_rng(seed)
    return [nd.array(rng.normal(size=shape), dtype=dtype, ctx=ctx) for shape in shapes]


def made(name, **how):
    return mx.optimizer.create(name, learning_rate=0.05, **REFERENCES[name][0][0], **how)


def bits(array):
    return array.astype("float32").asnumpy() if str(array.dtype) == "bfloat16" else array.asnumpy()


def leaves(state):
    if isinstance(state, (tuple, list)):
        return [x for one in state for x in leaves(one)]
    return [] if state is None else [state]


def train(name, together, dtypes, steps=3, **how):
    """Weights and states after some steps, all at once or one by one."""
    optimizer = made(name, multi_precision=True, **how)
    weights = [w.astype(d) for w, d in zip(arrays(), dtypes, strict=True)]
    states = [optimizer.create_state_multi_precision(i, w) for i, w in enumerate(weights)]
    for t in range(1, steps + 1):
        grads = [g.astype(d) for g, d in zip(arrays(t), dtypes, strict=True)]
        prepare(optimizer, t)
        if together:
            optimizer.update_multi_precision([0, 1, 2, 3], weights, grads, states)
        else:
            for i in range(4):
                optimizer.update_multi_precision(i, weights[i], grads[i], states[i])
    return [bits(x) for x in (*weights, *(leaf for s in states for leaf in leaves(s)))]


@pytest.mark.parametrize("name", REFERENCES)
def test_all_at_once_is_one_by_one_to_the_last_bit(name):
    dtypes = ["float32", "float16", "float64", "bfloat16"]
    together, apart = train(name, True, dtypes), train(name, False, dtypes)
    assert len(together) == len(apart)
    for ours, theirs in zip(together, apart, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", REFERENCES)
def test_threads_do_not_change_a_bit(name):
    with mx.engine.set_num_threads(1):
        one = train(name, True, ["float32"] * 4)
    with mx.engine.set_num_threads(2):
        two = train(name, True, ["float32"] * 4)
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("factor", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", REFERENCES)
def test_a_factor_that_is_not_finite_changes_nothing(name, factor, dtype):
    optimizer = made(name, wd=0.0, multi_precision=True)
    weights = arrays(dtype=dtype)
    states = [optimizer.create_state_multi_precision(i, w) for i, w in enumerate(weights)]
    prepare(optimizer, 1)
    optimizer.update_multi_precision([0, 1, 2, 3], weights, arrays(1, dtype), states)
    kept = [leaf for s in states for leaf in leaves(s)]
    if name == "lbsgd":  # but for the sum of gradients of which the step would have been: it begins anew
        totals = [(s[0] if dtype == "float16" else s)[1] for s in states]
        kept = [x for x in kept if not any(x is total for total in totals)]
    before = [bits(x) for x in (*weights, *kept)]
    optimizer.rescale_grad = nd.array([factor])
    prepare(optimizer, 2)
    optimizer.update_multi_precision([0, 1, 2, 3], weights, arrays(2, dtype), states)
    for ours, theirs in zip((*weights, *kept), before, strict=True):
        np.testing.assert_array_equal(bits(ours), theirs)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_factor_on_the_device_is_as_good_as_a_number(name):
    results = []
    for factor in (0.25, nd.array(0.25, dtype="float32"), nd.array([0.25], dtype="float64")):
        optimizer = made(name, rescale_grad=factor)
        weights = arrays()
        states = [optimizer.create_state(i, w) for i, w in enumerate(weights)]
        prepare(optimizer, 1)
        optimizer.update([0, 1, 2, 3], weights, arrays(1), states)
        results.append([w.asnumpy() for w in weights])
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["sgd", "adam", "adafactor", "muon", "lars"])
def test_the_norm_of_all_gradients_is_bounded(name):
    host = np.concatenate([g.asnumpy().ravel() for g in arrays(1)])
    norm = np.linalg.norm(host) * 0.5
    results = []
    for bound, rescale in ((norm / 4, 0.5), (None, 0.125), (norm * 2, 0.5), (None, 0.5)):
        optimizer = made(name, clip_global_norm=bound, rescale_grad=rescale)
        weights = arrays()
        states = [optimizer.create_state(i, w) for i, w in enumerate(weights)]
        optimizer.update([0, 1, 2, 3], weights, arrays(1), states)
        results.append([w.asnumpy() for w in weights])
    for bounded, plain in (results[:2], results[2:]):
        for ours, theirs in zip(bounded, plain, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_norm_that_is_not_finite_skips_the_step(value):
    sgd = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, clip_global_norm=1.0)
    weights = arrays()
    states = [sgd.create_state(i, w) for i, w in enumerate(weights)]
    grads = arrays(1)
    grads[1][3, 3] = value
    sgd.update([0, 1, 2, 3], weights, grads, states)
    for ours, theirs in zip(weights, arrays(), strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), theirs.asnumpy())


@pytest.mark.parametrize("name", REFERENCES)
def test_weights_of_several_devices_in_one_call(name):
    results = []
    for devices in ([mx.cpu(0)] * 4, [mx.cpu(0), mx.cpu(1), mx.cpu(0), mx.cpu(1)]):
        optimizer = made(name, rescale_grad=0.5)
        weights = [w.as_in_context(d) for w, d in zip(arrays(), devices, strict=True)]
        grads = [w.as_in_context(d) for w, d in zip(arrays(1), devices, strict=True)]
        states = [optimizer.create_state(i, w) for i, w in enumerate(weights)]
        prepare(optimizer, 1)
        optimizer.update([0, 1, 2, 3], weights, grads, states)
        assert [w.context for w in weights] == devices
        results.append([w.asnumpy() for w in weights])
    if name == "sgld":  # devices draw numbers of their own
        assert all(np.isfinite(w).all() for w in results[1])
        return
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", REFERENCES)
def test_scalars_and_empty_weights(name):
    if name == "groupadagrad":
        pytest.skip("it is for matrices")
    optimizer = made(name)
    weights = [nd.array(2.0), nd.zeros((0, 3))]
    states = [optimizer.create_state(i, w) for i, w in enumerate(weights)]
    for t in (1, 2):
        prepare(optimizer, t)
        optimizer.update([0, 1], weights, [nd.array(0.5), nd.zeros((0, 3))], states)
    assert weights[0].shape == ()
    assert np.isfinite(weights[0].asnumpy())
    assert weights[1].shape == (0, 3)


@pytest.mark.usefixtures("threaded")
@pytest.mark.parametrize("name", REFERENCES)
def test_a_step_does_not_wait(name):
    """A gradient that is not there yet: the step is queued, and whoever wants the weight waits."""
    gate, in_vain = threading.Event(), []

    def fill(inputs, outputs):
        if not gate.wait(60):
            in_vain.append(True)
        outputs[0][:] = inputs[0]

    optimizer = made(name, clip_global_norm=1.0)
    weight = nd.ones((2, 2))
    state = optimizer.create_state(0, weight)
    prepare(optimizer, 1)
    (late,) = mx.operator.callback(fill, [nd.ones((2, 2))], [((2, 2), "float32")])
    optimizer.update(0, weight, late, state)
    gate.set()
    assert np.isfinite(weight.asnumpy()).all()
    assert not in_vain, "the step waited for its gradient"


def test_a_step_inside_record_is_not_recorded():
    weight = nd.ones((2, 2))
    weight.attach_grad()
    adam = mx.optimizer.Adam()
    state = adam.create_state(0, weight)
    with mx.autograd.record():
        adam.update(0, weight, nd.ones((2, 2)), state)
        loss = (weight * weight).sum()
    loss.backward()
    np.testing.assert_allclose(weight.grad.asnumpy(), 2 * weight.asnumpy())


def test_wrong_arrays_are_refused_before_anything_changes():
    adam = mx.optimizer.Adam()
    weight = nd.ones((2, 3))
    state = adam.create_state(0, weight)
    with pytest.raises(
        ValueError, match=r"gradient of weight 0 of shape \(3,\) must have that of the weight, \(2, 3\)"
    ):
        adam.update(0, weight, nd.ones(3), state)
    with pytest.raises(TypeError, match="floating type"):
        adam.update(0, weight, nd.ones((2, 3), dtype="int32"), state)
    with pytest.raises(ArgumentError, match="must be NDArrays, got ndarray"):
        adam.update(0, weight, np.ones((2, 3)), state)
    with pytest.raises(ArgumentError, match="as many weights, gradients and states as indices"):
        adam.update([0, 1], [weight], [weight], [state])
    assert weight.tolist() == [[1.0] * 3] * 2
    assert all(s.asnumpy().sum() == 0 for s in state)


def test_gradients_of_another_real_type():
    weight = nd.ones(3)
    sgd = mx.optimizer.SGD(learning_rate=0.5)
    sgd.update(0, weight, nd.ones(3, dtype="float16"), None)
    assert weight.tolist() == [0.5] * 3


def test_a_factor_of_several_numbers_is_refused():
    sgd = mx.optimizer.SGD(rescale_grad=nd.ones(2))
    with pytest.raises(ArgumentError, match="must be one number"):
        sgd.update(0, nd.ones(2), nd.ones(2), None)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("size", [0.0, 1e-6, 1e-4, 1e-2, 1.0, 100.0, 3e4])
@pytest.mark.parametrize("name", ["muon", "adafactor"])
@pytest.mark.filterwarnings("ignore:.*poor accuracy")
def test_narrow_weights_are_computed_in_float32(name, size, dtype):
    """Squares of these gradients are beyond the range of float16, or 0 in it."""
    gradient = nd.array(size * np.random.default_rng(0).uniform(0.5, 1, (4, 4)), dtype=dtype)
    made = {}
    for kind in (dtype, "float32"):
        weight = nd.ones((4, 4), dtype=kind)
        update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.05))
        for _ in range(3):
            update(0, gradient.astype(kind), weight)
        made[kind] = weight.astype("float32").asnumpy()
    np.testing.assert_allclose(made[dtype], made["float32"], atol=0.03)


def test_the_norm_is_that_of_all_gradients_for_muon():
    """Also where it is AdamW that steps: its mean of gradients tells."""
    muon = mx.optimizer.Muon(clip_global_norm=1.0)
    update, weights = mx.optimizer.get_updater(muon), [nd.zeros((2, 2)), nd.zeros(2)]
    update([0, 1], [nd.full((2, 2), 30.0), nd.ones(2)], weights)
    np.testing.assert_allclose(update.states[1][0].asnumpy(), 0.1 / np.sqrt(3602) * np.ones(2), rtol=1e-5)
