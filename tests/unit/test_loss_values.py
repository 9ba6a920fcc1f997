"""Every loss against its formula in NumPy, its gradient against finite differences; copies, types, devices."""

from __future__ import annotations

import copy
import doctest
import itertools
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from numpy import exp, log

import gluonish as mx
from gluonish import autograd, nd
from gluonish.gluon import loss as losses

RNG = np.random.default_rng(5)


class Sample(NamedTuple):
    """A loss, what it is called with, and the same in NumPy, without weights and the mean."""

    kwargs: dict
    inputs: tuple
    reference: object  # of the inputs: losses of elements
    variables: tuple = (0,)  # inputs whose gradient is checked


def sigmoid(x):
    return 1 / (1 + exp(-x))


def log_softmax(x, axis=-1):
    return x - log(exp(x).sum(axis=axis, keepdims=True))


def cosine(a, b):
    return (a * b).sum(-1, keepdims=True) / np.sqrt((a * a).sum(-1, keepdims=True) * (b * b).sum(-1, keepdims=True))


def huber(rho):
    return lambda p, t: np.where(abs(t - p) > rho, abs(t - p) - rho / 2, (t - p) ** 2 / (2 * rho))


def entropy(p, z, positive=1.0):
    return -(positive * z * log(p) + (1 - z) * log(1 - p))


def focal(alpha, gamma, p_of=sigmoid):
    def reference(x, z):
        p = p_of(x)
        yes, no = (1, 1) if alpha is None else (alpha, 1 - alpha)
        return -yes * z * (1 - p) ** gamma * log(p) - no * (1 - z) * p**gamma * log(1 - p)

    return reference


def dice(smooth, p_of=sigmoid, keep=()):
    def reference(x, z):
        p = p_of(x)
        axes = tuple(d for d in range(1, x.ndim) if d not in keep)
        return 1 - (2 * (p * z).sum(axes) + smooth) / ((p + z).sum(axes) + smooth)

    return reference


def cross_entropy(weights=None, smoothing=0.0, cost=None, axis=-1, logs=False):
    def reference(x, label):
        log_p = x if logs else log_softmax(x, axis)
        log_p = np.moveaxis(log_p, axis, -1)
        classes = log_p.shape[-1]
        target = np.eye(classes)[label.astype(int)] if label.ndim < x.ndim else np.moveaxis(label, axis, -1)
        smooth = target * (1 - smoothing) + smoothing / classes
        each = -(smooth * log_p * (1 if weights is None else np.array(weights))).sum(-1)
        if cost is not None:
            each = each + np.einsum("...i,ij,...j", target, np.array(cost), exp(log_p))
        return np.expand_dims(each, axis)

    return reference


def triplet(margin):
    return lambda a, p, n: np.maximum(((p - a) ** 2 - (n - a) ** 2).sum(1) + margin, 0)


def cosine_embedding(margin):
    def reference(a, b, label):
        y = label.reshape(-1, 1)
        return np.where(y == 1, 1 - cosine(a, b), np.maximum(cosine(a, b) - margin, 0))

    return reference


def poisson(logs, full=False):
    def reference(x, t):
        each = exp(x) - t * x if logs else x - t * log(x + 1e-8)
        if full:
            stirling = t * log(np.maximum(t, 1)) - t + 0.5 * log(2 * np.pi * np.maximum(t, 1))
            each = each + np.where(t > 1, stirling, 0)
        return each.mean(keepdims=True).reshape(1)

    return reference


def divergence(logs, axis=-1):
    def reference(x, t):
        log_p = x if logs else log_softmax(x, axis)
        each = t * (log(t + 1e-12) - log_p)
        return each.sum(tuple(range(1, x.ndim)))

    return reference


def metric_learning(smoothing):
    def reference(a, b):
        n = len(a)
        log_p = log_softmax(-((a[:, None] - b[None]) ** 2).sum(2))
        label = np.where(np.eye(n) == 1, 1 - smoothing, smoothing / (n - 1))
        return (label * (log(label + 1e-12) - log_p)).sum(1)

    return reference


def contrastive(temperature, symmetric=False, unit=True):
    def reference(q, k, negatives=None):
        lengths = [np.linalg.norm(v, axis=-1, keepdims=True) if unit else 1 for v in (q, k)]
        q, k = q / lengths[0], k / lengths[1]
        if negatives is None:
            s = q @ k.T / temperature
            ways = [-np.diag(log_softmax(s))] + ([-np.diag(log_softmax(s.T))] if symmetric else [])
            return np.mean(ways, axis=0)
        others = negatives / (np.linalg.norm(negatives, axis=-1, keepdims=True) if unit else 1)
        others = np.broadcast_to(others, (len(q), *others.shape[-2:]))
        s = np.concatenate([(q * k).sum(1, keepdims=True), np.einsum("nd,nmd->nm", q, others)], 1)
        return -log_softmax(s / temperature)[:, 0]

    return reference


def alignments(blank):
    """CTC by trying every way to spell a label."""

    def reference(x, labels):
        result = []
        for frames, label in zip(log_softmax(x), labels, strict=True):
            wanted = [int(c) for c in label if c >= 0]
            total = 0.0
            for path in itertools.product(range(x.shape[2]), repeat=x.shape[1]):
                spelled = [c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)]
                if spelled == wanted:
                    total += exp(sum(frames[t, c] for t, c in enumerate(path)))
            result.append(-log(total))
        return np.array(result)

    return reference


def normal(*shape):
    return RNG.normal(size=shape)


def shares(*shape, axis=-1):
    values = RNG.uniform(0.1, 1, shape)
    return values / values.sum(axis=axis, keepdims=True)


def classes(count, *shape):
    return RNG.integers(0, count, shape).astype(float)


def binary(*shape):
    return RNG.integers(0, 2, shape).astype(float)


X, Y, P = normal(4, 5), normal(4, 5), RNG.uniform(0.1, 0.9, (4, 5))
X3 = normal(2, 5, 3, 2)
W5, COST = [1.0, 2.0, 0.5, 3.0, 1.5], RNG.uniform(0, 2, (5, 5))
SIGNS = 2 * binary(4, 5) - 1

SAMPLES = {
    "L1Loss": [
        Sample({}, (X, Y), lambda p, t: abs(t - p)),
        Sample({"weight": 3}, (X3, X3 + 1), lambda p, t: abs(t - p)),
    ],
    "L2Loss": [
        Sample({}, (X, Y), lambda p, t: (t - p) ** 2 / 2),
        Sample({"weight": None}, (X, Y), lambda p, t: (t - p) ** 2 / 2),
    ],
    "HuberLoss": [Sample({}, (X, Y), huber(1)), Sample({"rho": 0.4, "weight": 2}, (X, Y), huber(0.4))],
    "PoissonNLLLoss": [
        Sample({}, (X, classes(6, 4, 5)), poisson(True)),
        Sample({"from_logits": False, "compute_full": True, "weight": 2}, (P, classes(6, 4, 5)), poisson(False, True)),
    ],
    "SigmoidBinaryCrossEntropyLoss": [
        Sample({}, (X, binary(4, 5)), lambda x, z: entropy(sigmoid(x), z)),
        Sample({}, (X * 0, P), lambda x, z: entropy(sigmoid(x), z)),
        Sample({"from_sigmoid": True, "weight": 2}, (P, binary(4, 5)), entropy),
    ],
    "LogisticLoss": [
        Sample({}, (X, SIGNS), lambda x, z: log(1 + exp(-x * z))),
        Sample({"label_format": "binary"}, (X, binary(4, 5)), lambda x, z: log(1 + exp(-x * (2 * z - 1)))),
    ],
    "HingeLoss": [Sample({"margin": 0.7}, (X, SIGNS), lambda x, z: np.maximum(0, 0.7 - x * z))],
    "SquaredHingeLoss": [Sample({}, (X, SIGNS), lambda x, z: np.maximum(0, 1 - x * z) ** 2)],
    "FocalLoss": [
        Sample({}, (X, binary(4, 5)), focal(0.25, 2)),
        Sample({"alpha": None, "gamma": 0.5}, (X, P), focal(None, 0.5)),
        Sample({"alpha": 0.6, "gamma": 3, "from_sigmoid": True}, (P, binary(4, 5)), focal(0.6, 3, lambda p: p)),
    ],
    "DiceLoss": [
        Sample({}, (X, binary(4, 5)), dice(1)),
        Sample({"smooth": 0.5, "from_probabilities": True, "weight": 2}, (P, binary(4, 5)), dice(0.5, lambda p: p)),
        Sample({"axis": 1}, (X3, shares(2, 5, 3, 2, axis=1)), dice(1, lambda x: exp(log_softmax(x, 1)), keep=(1,))),
        Sample({"axis": -1}, (X, shares(4, 5)), dice(1, lambda x: exp(log_softmax(x)), keep=(1,))),
    ],
    "SoftmaxCrossEntropyLoss": [
        Sample({}, (X, classes(5, 4)), cross_entropy()),
        Sample({"weight": 2}, (normal(2, 3, 5), classes(5, 2, 3)), cross_entropy()),
        Sample({"axis": 1}, (X3, classes(5, 2, 3, 2)), cross_entropy(axis=1)),
        Sample({"sparse_label": False}, (X, shares(4, 5)), cross_entropy(), (0, 1)),
        Sample({"from_logits": True}, (log(P), classes(5, 4)), cross_entropy(logs=True)),
        Sample(
            {"from_logits": True, "sparse_label": False, "axis": 1},
            (-abs(X3), shares(2, 5, 3, 2, axis=1)),
            cross_entropy(axis=1, logs=True),
            (0, 1),
        ),
        Sample({"class_weight": W5, "label_smoothing": 0.2}, (X, classes(5, 4)), cross_entropy(W5, 0.2)),
        Sample(
            {"class_weight": W5, "label_smoothing": 0.2, "axis": 1},
            (X3, classes(5, 2, 3, 2)),
            cross_entropy(W5, 0.2, axis=1),
        ),
        Sample(
            {"class_weight": W5, "label_smoothing": 0.2, "from_logits": True, "axis": 1},
            (-abs(X3), classes(5, 2, 3, 2)),
            cross_entropy(W5, 0.2, axis=1, logs=True),
        ),
        Sample(
            {"class_weight": W5, "label_smoothing": 0.2, "sparse_label": False},
            (X, shares(4, 5)),
            cross_entropy(W5, 0.2),
        ),
        Sample(
            {"class_weight": W5, "label_smoothing": 0.2, "sparse_label": False, "from_logits": True},
            (log(P), shares(4, 5)),
            cross_entropy(W5, 0.2, logs=True),
        ),
        Sample({"cost_matrix": COST}, (X, classes(5, 4)), cross_entropy(cost=COST)),
        Sample(
            {"cost_matrix": COST, "axis": 1, "class_weight": W5},
            (X3, classes(5, 2, 3, 2)),
            cross_entropy(W5, cost=COST, axis=1),
        ),
        Sample(
            {"cost_matrix": COST, "axis": 1, "sparse_label": False},
            (X3, shares(2, 5, 3, 2, axis=1)),
            cross_entropy(cost=COST, axis=1),
        ),
        Sample(
            {"cost_matrix": COST, "from_logits": True}, (log(P), classes(5, 4)), cross_entropy(cost=COST, logs=True)
        ),
    ],
    "KLDivLoss": [
        Sample({}, (log(P), shares(4, 5)), divergence(True)),
        Sample({"from_logits": False, "axis": 1, "weight": 2}, (X3, shares(2, 5, 3, 2, axis=1)), divergence(False, 1)),
    ],
    "TripletLoss": [Sample({"margin": 2, "weight": 2}, (X, Y, normal(4, 5)), triplet(2), (0, 1, 2))],
    "CosineEmbeddingLoss": [Sample({"margin": 0.1}, (X, Y, np.array([1.0, -1, 1, -1])), cosine_embedding(0.1), (0, 1))],
    "SDMLLoss": [
        Sample({"weight": 2}, (X, Y), metric_learning(0.3), (0, 1)),
        Sample({"smoothing_parameter": 0}, (X, Y), metric_learning(0)),
    ],
    "InfoNCELoss": [
        Sample({}, (X, Y), contrastive(0.1), (0, 1)),
        Sample({"temperature": 0.5, "symmetric": True, "weight": 2}, (X, Y), contrastive(0.5, True), (0, 1)),
        Sample({"normalize": False, "temperature": 2}, (X, Y, normal(3, 5)), contrastive(2, unit=False), (0, 1, 2)),
        Sample({"temperature": 1}, (X, Y, normal(4, 3, 5)), contrastive(1), (0, 1, 2)),
    ],
    "CTCLoss": [
        Sample({"weight": 2}, (normal(2, 4, 3), np.array([[1, 0], [0, -1]])), alignments(2)),
        Sample({}, (normal(2, 4, 3), np.array([[1, 1], [-1, -1]])), alignments(2)),
    ],
}
ALIASES = {"SigmoidBCELoss": "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss": "SoftmaxCrossEntropyLoss"}
CASES = [
    pytest.param(name, sample, id=f"{name}-{i}") for name, all_ in SAMPLES.items() for i, sample in enumerate(all_)
]


def arrays(sample, dtype="float64", ctx=None):
    return [nd.array(x, dtype=dtype, ctx=ctx) for x in sample.inputs]


def expected(name, sample):
    each = sample.reference(*sample.inputs) * (sample.kwargs.get("weight") or 1)
    if name == "CosineEmbeddingLoss" or each.ndim == 1:
        return each
    return each.mean(tuple(range(1, each.ndim)))


def test_every_loss_has_a_sample():
    assert set(losses.__all__) == {*SAMPLES, *ALIASES, "Loss"}
    for alias, name in ALIASES.items():
        assert getattr(losses, alias) is getattr(losses, name)
    assert all(SAMPLES.values())


@pytest.mark.parametrize("name", [*SAMPLES, "Loss"])
def test_documentation_has_an_example(name):
    text = vars(getattr(losses, name))["__doc__"]
    assert any(name in example.source for example in doctest.DocTestParser().get_examples(text))


@pytest.mark.parametrize(("name", "sample"), CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-7), ("float32", 2e-5), ("float16", 2e-2)])
def test_value(name, sample, dtype, tolerance):
    y = getattr(losses, name)(**sample.kwargs)(*arrays(sample, dtype))
    want = expected(name, sample)
    assert y.dtype == np.dtype(dtype)
    assert y.shape == want.shape
    np.testing.assert_allclose(y.asnumpy(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "sample"), CASES)
def test_gradient(name, sample):
    block, inputs = getattr(losses, name)(**sample.kwargs), arrays(sample)
    for i in sample.variables:
        inputs[i].attach_grad()
    with autograd.record():
        y = block(*inputs)
    head = RNG.normal(size=y.shape)
    y.backward(nd.array(head, dtype="float64"))
    for i in sample.variables:
        step = nd.array(RNG.normal(size=inputs[i].shape) * 1e-6, dtype="float64")
        ends = [block(*inputs[:i], inputs[i] + s * step, *inputs[i + 1 :]).asnumpy() for s in (1, -1)]
        got = float((inputs[i].grad * step).sum().asscalar()) * 2
        assert got == pytest.approx(float(((ends[0] - ends[1]) * head).sum()), rel=2e-5, abs=1e-11)


def is_bent(name, sample):
    """Whether the slope of a loss depends on the prediction."""
    linear = name in ("L1Loss", "HingeLoss") or (name == "KLDivLoss" and sample.kwargs.get("from_logits", True))
    return not linear and (not sample.kwargs.get("from_logits") or "cost_matrix" in sample.kwargs)


@pytest.mark.parametrize(("name", "sample"), [case for case in CASES if is_bent(*case.values)])
def test_second_gradient(name, sample):
    block, (x, *rest) = getattr(losses, name)(**sample.kwargs), arrays(sample)

    def slope(x):
        x.attach_grad()
        with autograd.record():
            (first,) = autograd.grad(block(x, *rest), x, create_graph=True)
        return first, x

    first, _ = slope(x)
    head = nd.array(RNG.normal(size=x.shape), dtype="float64")
    first.backward(head)
    step = nd.array(RNG.normal(size=x.shape) * 1e-5, dtype="float64")
    ends = [float((slope((x + sign * step).detach())[0] * head).sum().asscalar()) for sign in (1, -1)]
    assert float((x.grad * step).sum().asscalar()) * 2 == pytest.approx(ends[0] - ends[1], rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(("name", "sample"), [(name, all_[-1]) for name, all_ in SAMPLES.items()])
def test_copies_are_the_same_loss(name, sample):
    block = getattr(losses, name)(**sample.kwargs)
    want = block(*arrays(sample)).asnumpy()
    for other in (copy.deepcopy(block), pickle.loads(pickle.dumps(block))):
        np.testing.assert_array_equal(other(*arrays(sample)).asnumpy(), want)
    assert repr(block).startswith(f"{name}(batch_axis=")
    assert not block.collect_params()


@pytest.mark.parametrize(("name", "sample"), [(name, all_[-1]) for name, all_ in SAMPLES.items()])
def test_losses_are_where_predictions_are(name, sample):
    block = getattr(losses, name)(**sample.kwargs)
    on = [block(*arrays(sample, "float32", ctx)) for ctx in (mx.cpu(0), mx.cpu(1))]
    assert [y.context for y in on] == [mx.cpu(0), mx.cpu(1)]
    np.testing.assert_array_equal(on[0].asnumpy(), on[1].asnumpy())


UNWEIGHTED = ("TripletLoss", "SDMLLoss", "PoissonNLLLoss")  # the last one's mean is over all


@pytest.mark.parametrize(("name", "sample"), [case for case in CASES if case.values[0] not in UNWEIGHTED])
def test_sample_weights_multiply_before_the_mean(name, sample):
    block, inputs = getattr(losses, name)(**sample.kwargs), arrays(sample)
    plain = block(*inputs).asnumpy()
    weights = RNG.uniform(0.5, 2, len(plain))
    axes = inputs[0].ndim
    if name in ("InfoNCELoss", "CTCLoss", "DiceLoss"):
        axes = 2 if sample.kwargs.get("axis") else 1  # those of a sample are summed already
    given = nd.array(weights.reshape(-1, *[1] * (axes - 1)), dtype="float64")
    between = {"InfoNCELoss": 3 - len(inputs), "CTCLoss": 2}.get(name, 0)
    got = block(*inputs, *[None] * between, given).asnumpy()
    np.testing.assert_allclose(got, plain * weights.reshape(-1, *[1] * (plain.ndim - 1)), rtol=1e-12)
