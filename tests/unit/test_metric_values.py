"""Every metric against a plain formula over all batches, on both engines, in any form of input."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.metric.base import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable

R = np.random.default_rng(7)


def probabilities(*shape):
    p = R.random(shape).astype("float32") + 0.05
    return (p / p.sum(axis=-1, keepdims=True)).astype("float32")


def scores(n, classes):
    return R.normal(size=(n, classes)).astype("float32")


def labels(n, classes):
    return R.integers(0, classes, n).astype("float32")


def joined(batches):
    return [np.concatenate([b[i].reshape(len(b[i]), -1) if b[i].ndim == 1 else b[i] for b in batches]) for i in (0, 1)]


def accuracy(batches):
    return np.mean(np.concatenate([(p.argmax(1) == y).ravel() for y, p in batches]))


def top(k):
    def share(batches):
        hits = [int(c) in np.argsort(row)[-k:] for y, p in batches for c, row in zip(y, p, strict=True)]
        return np.mean(hits)

    return share


def counts(y, p):
    found = p.argmax(1) if p.ndim == 2 else p
    pairs = list(zip(y.astype(int).tolist(), found.astype(int).tolist(), strict=True))
    return [pairs.count(pair) for pair in ((1, 1), (0, 1), (1, 0), (0, 0))]


def f1(tp, fp, fn, _):
    precision = tp / (tp + fp) if tp + fp else 0
    recall = tp / (tp + fn) if tp + fn else 0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0


def mcc(tp, fp, fn, tn):
    below = math.prod(s for s in (tp + fp, tp + fn, tn + fp, tn + fn) if s)
    return (tp * tn - fp * fn) / math.sqrt(below)


def macro(score):
    return lambda batches: np.mean([score(*counts(y, p)) for y, p in batches])


def micro(score):
    return lambda batches: score(*np.sum([counts(y, p) for y, p in batches], axis=0))


def of_label(y, p):
    return np.array([row[int(c)] for c, row in zip(y.ravel(), p.reshape(-1, p.shape[-1]), strict=True)], "float64")


def cross_entropy(batches):
    return np.mean(np.concatenate([-np.log(of_label(y, p) + 1e-12) for y, p in batches]))


def perplexity(ignored):
    def value(batches):
        kept = [of_label(y[y != ignored], p[y != ignored]) for y, p in batches]
        return np.exp(np.mean(-np.log(np.concatenate(kept))))

    return value


def over_batches(function):
    return lambda batches: np.mean([function(y.astype("float64") - p.reshape(y.shape)) for y, p in batches])


def matrix(batches, classes):
    m = np.zeros((classes, classes), int)
    for y, p in batches:
        found = p if p.shape == y.shape else p.argmax(1)
        for a, b in zip(y.ravel().astype(int), found.ravel().astype(int), strict=True):
            m[a, b] += 1
    return m


def pcc(batches):
    """Pearson's correlation of one-hot rows, summed over classes: Gorodkin's definition."""
    m = matrix(batches, 3)
    x, y = (np.repeat(np.eye(3)[side], m.ravel(), axis=0) for side in np.divmod(np.arange(9), 3))
    x, y = x - x.mean(0), y - y.mean(0)
    return (x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum())


def precisions(m):
    return [m[c, c] / max(m[:, c].sum(), 1) for c in range(len(m))]


def recalls(m):
    return [m[c, c] / max(m[c].sum(), 1) for c in range(len(m))]


def ious(m):
    return [m[c, c] / max(m[c].sum() + m[:, c].sum() - m[c, c], 1) for c in range(len(m))]


def area(batches):
    """How often a positive example beats a negative one, pair by pair."""
    pairs = [(c, s) for y, p in batches for c, s in zip(y, p if p.ndim == 1 else p[:, 1], strict=True)]
    won = [1.0 if a > b else 0.5 * (a == b) for c, a in pairs if c == 1 for d, b in pairs if d == 0]
    return np.mean(won)


@dataclass
class Sample:
    batches: list[tuple[Any, Any]]
    expected: Callable[[Any], Any]
    kwargs: dict[str, Any] = field(default_factory=dict)
    arrays: bool = True


SIZES = (5, 8, 3)
THREE = [(labels(n, 3), scores(n, 3)) for n in SIZES]
TWO = [(labels(n, 2), scores(n, 2)) for n in SIZES]
LIKELY = [(labels(n, 4), probabilities(n, 4)) for n in SIZES]
NUMBERS = [(R.normal(size=n).astype("float32"), R.normal(size=n).astype("float32")) for n in SIZES]
COLUMNS = [(y, p.reshape(-1, 1)) for y, p in NUMBERS]
PAIRS = [(np.add(y.reshape(-1, 1), [[0, 1]]), p.reshape(-1, 1) * [[2, 3]]) for y, p in NUMBERS]
IMAGES = [(R.integers(0, 3, (2, 4, 4)).astype("int32"), R.normal(size=(2, 3, 4, 4)).astype("float32"))] * 2
FOUND = [(y, p.argmax(1).astype("float32")) for y, p in THREE]
PADDED = [
    (np.where(np.arange(n) % 3 == 1, -1, y).astype("float32"), p) for n, (y, p) in zip(SIZES, LIKELY, strict=True)
]
LOSSES = [(np.zeros(n, "float32"), R.random(n).astype("float32")) for n in SIZES]
TIES = [(labels(20, 2), np.round(R.random(20), 1).astype("float32")) for _ in range(2)]


def mean_loss(batches):
    return np.mean(np.concatenate([p.astype("float64") for _, p in batches]))


def largest(label, pred):
    return np.abs(label - pred).max()


# From the paper by Papineni and others: seven times "the", two of which are in the first reference.
THE = [[["the cat is on the mat", "there is a cat on the mat"]], ["the the the the the the the"]]


def fbeta(beta, truth, found):
    """From precision and recall of columns of truth values; their mean over columns."""
    values = []
    for y, p in zip(truth.T, found.T, strict=True):
        precision, recall = (y & p).sum() / max(p.sum(), 1), (y & p).sum() / max(y.sum(), 1)
        below = beta**2 * precision + recall
        values.append((1 + beta**2) * precision * recall / below if below else 0.0)
    return np.array(values)


def hot(batches, classes):
    truth = np.concatenate([np.eye(classes, dtype=bool)[y.astype(int)] for y, _ in batches])
    return truth, np.concatenate([np.eye(classes, dtype=bool)[p.argmax(1)] for _, p in batches])


def marked(batches):
    return [np.concatenate([(b[i] > 0.5).reshape(len(b[i]), -1) for b in batches]) for i in (0, 1)]


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def binary_share(batches):
    return np.mean(np.concatenate([(p > 0.5) == (y == 1) for y, p in batches]))


TOLD = [(labels(n, 2), R.random(n).astype("float32")) for n in SIZES]
MANY = [(R.integers(0, 2, (n, 3)).astype("float32"), R.random((n, 3)).astype("float32")) for n in SIZES]
VECTORS = [(R.normal(size=(n, 4)), R.normal(size=(n, 4))) for n in SIZES]
MULTICLASS = {"class_type": "multiclass", "average": "macro", "beta": 2}

SAMPLES: dict[str, list[Sample]] = {
    "binaryaccuracy": [Sample(TOLD, binary_share)],
    "binary_accuracy": [Sample(TOLD, binary_share)],
    "fbeta": [
        Sample(TOLD, lambda b: fbeta(1, *marked(b))[0]),
        Sample(TWO, lambda b: fbeta(0.5, *hot(b, 2))[1], {"beta": 0.5}),
        Sample(THREE, lambda b: fbeta(2, *hot(b, 3)).mean(), MULTICLASS),
        Sample(THREE, accuracy, {"class_type": "multiclass"}),
        Sample(MANY, lambda b: fbeta(1, *marked(b)), {"class_type": "multilabel", "average": None}),
    ],
    "meanpairwisedistance": [
        Sample(VECTORS, lambda b: np.mean([math.dist(y, p) for ys, ps in b for y, p in zip(ys, ps, strict=True)]))
    ],
    "mpd": [Sample(VECTORS, lambda b: np.mean(np.concatenate([np.abs(y - p).sum(1) for y, p in b])), {"p": 1})],
    "meancosinesimilarity": [
        Sample(VECTORS, lambda b: np.mean([cosine(y, p) for ys, ps in b for y, p in zip(ys, ps, strict=True)]))
    ],
    "cos_sim": [Sample([(np.eye(2), np.eye(2)[::-1])], lambda _: 0.0)],
    "accuracy": [Sample(THREE, accuracy), Sample(IMAGES, accuracy), Sample(THREE, accuracy, {"axis": -1})],
    "acc": [Sample(TWO, accuracy)],
    "topkaccuracy": [Sample(LIKELY, top(2), {"top_k": 2}), Sample(LIKELY, lambda _: 1, {"top_k": 9})],
    "top_k_accuracy": [Sample(LIKELY, top(1))],
    "top_k_acc": [Sample(LIKELY, top(3), {"top_k": 3})],
    "f1": [Sample(TWO, macro(f1)), Sample(TWO, micro(f1), {"average": "micro"})],
    "mcc": [Sample(TWO, macro(mcc)), Sample(TWO, micro(mcc), {"average": "micro"})],
    "pcc": [Sample(THREE, pcc), Sample(FOUND, pcc)],
    "crossentropy": [Sample(LIKELY, cross_entropy)],
    "ce": [Sample(LIKELY, cross_entropy)],
    "negativeloglikelihood": [Sample(LIKELY, cross_entropy)],
    "nll_loss": [Sample(LIKELY, cross_entropy)],
    "perplexity": [
        Sample(LIKELY, lambda b: np.exp(cross_entropy(b)), {"ignore_label": None}),
        Sample(PADDED, perplexity(-1), {"ignore_label": -1}),
        Sample(
            [(y, p.T) for y, p in LIKELY],
            lambda b: np.exp(cross_entropy([(y, p.T) for y, p in b])),
            {"ignore_label": None, "axis": 0},
        ),
    ],
    "mae": [
        Sample(NUMBERS, over_batches(lambda d: np.abs(d).mean())),
        Sample(PAIRS, over_batches(lambda d: np.abs(d).mean())),
    ],
    "mse": [Sample(COLUMNS, over_batches(lambda d: (d * d).mean()))],
    "rmse": [Sample(NUMBERS, over_batches(lambda d: math.sqrt((d * d).mean())))],
    "pearsoncorrelation": [
        Sample(NUMBERS, lambda b: np.mean([np.corrcoef(y, p)[0, 1] for y, p in b])),
        Sample(PAIRS, lambda b: np.corrcoef(*(x.ravel() for x in joined(b)))[0, 1], {"average": "micro"}),
    ],
    "pearsonr": [Sample(NUMBERS, lambda b: np.corrcoef(*(x.ravel() for x in joined(b)))[0, 1], {"average": "micro"})],
    "loss": [Sample(LOSSES, mean_loss)],
    "torch": [Sample(LOSSES, mean_loss)],
    "caffe": [Sample(LOSSES, mean_loss)],
    "custommetric": [
        Sample(NUMBERS, lambda b: np.mean([np.abs(y - p).max() for y, p in b]), {"feval": largest}),
        Sample(
            NUMBERS,
            lambda b: sum(p.sum() for _, p in b) / sum(len(p) for _, p in b),
            {"feval": lambda y, p: (p.sum(), len(y))},
        ),
    ],
    "compositeevalmetric": [Sample(THREE, lambda b: [accuracy(b), pcc(b)], {"metrics": ["acc", "pcc"]})],
    "composite": [Sample(THREE, lambda b: [accuracy(b)], {"metrics": ["acc"]})],
    "confusionmatrix": [
        Sample(THREE, lambda b: matrix(b, 3)),
        Sample(FOUND, lambda b: matrix(b, 3)),
        Sample(FOUND, lambda b: matrix(b, 5), {"num_classes": 5}),
        Sample(IMAGES, lambda b: (m := matrix(b, 3)) / m.sum(1, keepdims=True), {"normalize": "true"}),
        Sample(IMAGES, lambda b: (m := matrix(b, 3)) / m.sum(0), {"normalize": "pred"}),
        Sample(IMAGES, lambda b: (m := matrix(b, 3)) / m.sum(), {"normalize": "all"}),
        Sample(THREE, lambda b: matrix(b, 3) * [[1], [0], [1]], {"ignore_label": 1}),
        Sample(FOUND, lambda b: matrix(b, 3) * [[1], [0], [1]], {"ignore_label": 1}),
    ],
    "precision": [
        Sample(TWO, lambda b: precisions(matrix(b, 2))[1]),
        Sample(THREE, lambda b: np.mean(precisions(matrix(b, 3))), {"average": "macro"}),
        Sample(THREE, accuracy, {"average": "micro"}),
        Sample(THREE, lambda b: precisions(matrix(b, 3)), {"average": None}),
    ],
    "recall": [
        Sample(TWO, lambda b: recalls(matrix(b, 2))[1]),
        Sample(THREE, lambda b: np.mean(recalls(matrix(b, 3))), {"average": "macro"}),
        Sample(THREE, accuracy, {"average": "weighted"}),
    ],
    "meaniou": [
        Sample(IMAGES, lambda b: np.mean(ious(matrix(b, 3)))),
        Sample(FOUND, lambda b: [*ious(matrix(b, 3)), 0.0], {"average": None, "num_classes": 4}),
        Sample(FOUND, lambda b: np.mean(ious(matrix(b, 3))), {"num_classes": 4}),
    ],
    "iou": [Sample(IMAGES, lambda b: ious(matrix(b, 3)), {"average": None})],
    "miou": [Sample(IMAGES, lambda b: np.average(ious(m := matrix(b, 3)), weights=m.sum(1)), {"average": "weighted"})],
    "mean_iou": [
        Sample(IMAGES, lambda b: (m := matrix(b, 3)).trace() / (2 * m.sum() - m.trace()), {"average": "micro"})
    ],
    "rocauc": [Sample(TWO, area), Sample(TIES, area)],
    "auc": [Sample(TIES, area)],
    "roc_auc": [Sample(TIES, area)],
    "bleu": [
        Sample([THE], lambda _: 2 / 7, {"max_n": 1}, arrays=False),
        Sample([THE], lambda _: 0.0, {}, arrays=False),
        Sample(
            [(["the cat is on the mat"], ["the cat sat on the mat"]), (["a b"], ["a"])],
            lambda _: math.sqrt(6 / 7 * 3 / 5) * math.exp(1 - 8 / 7),
            {"max_n": 2},
            arrays=False,
        ),
        Sample([(["a b c d"], ["a b c d"])], lambda _: 1.0, {}, arrays=False),
        Sample(
            [(["a b c"], ["a b d"])],
            lambda _: (2 / 3 * 2 / 3 * 1 / 2) ** (1 / 3),
            {"max_n": 3, "smooth": True},
            arrays=False,
        ),
        Sample(
            [(np.array([[5, 6, 7, 0], [1, 2, 0, 9]]), np.array([[5, 6, 8, 0], [1, 2, 0, 4]]))],
            lambda _: math.sqrt(4 / 5 * 2 / 3),
            {"max_n": 2, "ignore_label": 0},
        ),
    ],
}
NAMES = REGISTRY.names()
CASES = [(name, sample) for name, samples in SAMPLES.items() for sample in samples]
IDS = [f"{name}-{i}" for i, (name, _) in enumerate(CASES)]
ARRAYS = [case for case in CASES if case[1].arrays]
ARRAY_IDS = [id for id, case in zip(IDS, CASES, strict=True) if case[1].arrays]


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_has_a_sample(name):
    assert name in SAMPLES, f"{name} has no sample: add a line to SAMPLES"


def close(got, wanted):
    np.testing.assert_allclose(np.asarray(got, "float64"), np.asarray(wanted, "float64"), rtol=2e-6, atol=1e-9)


def run(metric, batches, form):
    for y, p in batches:
        metric.update(form(y), form(p))
    return metric.get()[1]


def as_is(values):
    return values


@pytest.mark.parametrize(("name", "sample"), CASES, ids=IDS)
def test_values(name, sample):
    """What NumPy's arrays, and texts, give."""
    close(run(mx.metric.create(name, **sample.kwargs), sample.batches, as_is), sample.expected(sample.batches))


@pytest.mark.parametrize(("name", "sample"), ARRAYS, ids=ARRAY_IDS)
def test_values_of_arrays(name, sample, engine):
    metric = mx.metric.create(name, **sample.kwargs)
    close(run(metric, sample.batches, lambda x: nd.array(x, dtype=x.dtype)), sample.expected(sample.batches))


@pytest.mark.parametrize(("name", "sample"), ARRAYS, ids=ARRAY_IDS)
def test_values_of_several_devices(name, sample):
    """Predictions of two devices, labels of a third."""
    metric = mx.metric.create(name, **sample.kwargs)
    for i, (y, p) in enumerate(sample.batches):
        metric.update(nd.array(y, dtype=y.dtype, ctx=mx.cpu(2)), nd.array(p, dtype=p.dtype, ctx=mx.cpu(i % 2)))
    close(metric.get()[1], sample.expected(sample.batches))


@pytest.mark.parametrize(("name", "sample"), [c for c in ARRAYS if c[0] != "bleu"])
def test_one_list_of_arrays_is_many_batches(name, sample):
    """As Gluon code does it: one array for each device."""
    metric = mx.metric.create(name, **sample.kwargs)
    metric.update([nd.array(y, dtype=y.dtype) for y, _ in sample.batches], [nd.array(p) for _, p in sample.batches])
    close(metric.get()[1], sample.expected(sample.batches))


def test_bleu_local_and_global():
    metric = mx.metric.BLEU(max_n=1)
    metric.update([["a", "b"]], [["a", "c"]])
    metric.reset_local()
    metric.update(nd.array([[1, 2]]), nd.array([[1, 2]]))
    assert metric.get() == ("bleu", 1.0)
    close(metric.get_global()[1], 3 / 4)


@pytest.mark.parametrize(("name", "sample"), [c for c in CASES if c[0] != "bleu"])
def test_local_and_global(name, sample):
    metric = mx.metric.create(name, **sample.kwargs)
    run(metric, sample.batches, as_is)
    metric.reset_local()
    run(metric, sample.batches[:1], as_is)
    close(metric.get()[1], sample.expected(sample.batches[:1]))
    close(metric.get_global()[1], sample.expected([*sample.batches, *sample.batches[:1]]))
    metric.reset()
    run(metric, sample.batches[-1:], as_is)
    close(metric.get_global()[1], sample.expected(sample.batches[-1:]))


@pytest.mark.parametrize(("name", "sample"), CASES, ids=IDS)
def test_nothing_is_nan(name, sample):
    for metric in (mx.metric.create(name, **sample.kwargs), mx.metric.create(name, **sample.kwargs)):
        value = metric.get()[1]
        if name == "confusionmatrix":
            assert (value == 0).all()
        else:
            assert np.isnan(value).all()
        run(metric, sample.batches, as_is)
        metric.reset()
        np.testing.assert_array_equal(metric.get()[1], value)
        np.testing.assert_array_equal(metric.get_global()[1], value)


@pytest.mark.parametrize(("name", "sample"), ARRAYS, ids=ARRAY_IDS)
def test_empty_batches_count_for_nothing(name, sample):
    metric = mx.metric.create(name, **sample.kwargs)
    if "feval" in sample.kwargs:
        return  # the function says what is what
    for y, p in sample.batches:
        metric.update(y, p)
        axis = sample.kwargs.get("axis", -1) == 0  # where examples are the second axis
        metric.update(y[:0], p[:, :0] if axis else p[:0])
    close(metric.get()[1], sample.expected(sample.batches))


@pytest.mark.parametrize(("name", "sample"), [c for c in CASES if "feval" not in c[1].kwargs])
def test_copies_and_configuration(name, sample):
    metric = mx.metric.create(name, **sample.kwargs)
    run(metric, sample.batches[:1], as_is)
    for again in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        close(run(again, sample.batches[1:], as_is), sample.expected(sample.batches))
    fresh = mx.metric.create(metric.get_config())
    assert type(fresh) is type(metric)
    assert fresh.get_config() == metric.get_config()
    close(run(fresh, sample.batches, as_is), sample.expected(sample.batches))


@pytest.mark.parametrize(("name", "sample"), ARRAYS, ids=ARRAY_IDS)
def test_nothing_is_recorded(name, sample):
    metric = mx.metric.create(name, **sample.kwargs)
    y, p = sample.batches[0]
    x = nd.array(p)
    x.attach_grad()
    with mx.autograd.record():
        scaled = x * 2
        metric.update(nd.array(y, dtype=y.dtype), scaled)
        assert mx.autograd.is_recording()
        loss = scaled.sum()
    loss.backward()
    assert (x.grad == 2).all().item()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32"])
def test_sums_are_exact_whatever_the_type(dtype):
    """A hundred batches of a hundred: float16 counts only to 2048, float32 sums of tenths drift."""
    metric = mx.metric.Loss()
    for _ in range(100):
        metric.update(None, nd.ones(100, dtype=dtype))
    assert metric.get()[1] == 1.0
    assert metric.num_inst == 10000


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float64", "bool"])
@pytest.mark.parametrize("name", ["acc", "f1", "mcc", "pcc", "auc", "iou", "precision", "ce"])
def test_labels_of_any_type(name, dtype):
    y = np.array([0, 1, 1, 0, 1])
    p = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8]], "float32")
    wanted, got = mx.metric.create(name), mx.metric.create(name)
    wanted.update(y.astype("float32"), p)
    got.update(nd.array(y, dtype=dtype), nd.array(p))
    assert got.get() == wanted.get()
