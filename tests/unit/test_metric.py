"""Metrics: nothing waits but `get`, names and configurations, functions, lists, errors."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import gluonish as mx
from gluonish import metric as m
from gluonish import nd

Y, P = np.array([0, 1, 1, 0]), np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]], "float32")
WITHOUT_WAIT = [
    *("acc", "top_k_acc", "f1", "mcc", "pcc", "ce", "nll_loss", "loss", "torch", "caffe", "auc", "iou", "precision"),
    *(
        "recall",
        "confusionmatrix",
        "mae",
        "mse",
        "rmse",
        "pearsonr",
        "bleu",
        "fbeta",
        "binary_accuracy",
        "mpd",
        "cos_sim",
    ),
    *(("perplexity", {"ignore_label": 0}), ("f1", {"average": "micro"}), ("pearsonr", {"average": "micro"})),
    *(("custommetric", {"feval": lambda y, p: 1}), ("composite", {"metrics": ["acc", "pcc"]})),
]


@pytest.fixture
def later(threaded):
    """A function that makes an array which is ready only after `release` was called."""
    gate = threading.Event()
    waited_in_vain = []

    def make(values):
        def fill(_, outputs):
            if not gate.wait(60):
                waited_in_vain.append(True)
            outputs[0][...] = values

        (array,) = mx.operator.callback(fill, [], [(values.shape, values.dtype)])
        return array

    make.release = gate.set
    yield make
    gate.set()
    mx.waitall()
    assert not waited_in_vain, "update waited for an array"


@pytest.mark.parametrize("name", WITHOUT_WAIT, ids=str)
def test_update_does_not_wait(name, later):
    name, kwargs = name if isinstance(name, tuple) else (name, {})
    numbers = name in {"mae", "mse", "rmse", "pearsonr", "binary_accuracy", "mpd", "cos_sim"}
    y, p = (P[:, 0], P[:, 1] ** 2) if numbers else (Y[:, None], Y[:, None]) if name == "bleu" else (Y, P)
    metric, wanted = m.create(name, **kwargs), m.create(name, **kwargs)
    for _ in range(3):
        metric.update(later(y), later(p))
        wanted.update(y, p)
    later.release()
    np.testing.assert_array_equal(metric.get()[1], wanted.get()[1])


def test_every_metric_is_among_those_that_do_not_wait():
    """Lists of texts are all that is left out: they are read on the host."""
    tested = {type(m.create(*((n[0],) if isinstance(n, tuple) else (n,)), **(n[1] if isinstance(n, tuple) else {})))
              for n in WITHOUT_WAIT}  # fmt: skip
    classes = {getattr(m, n) for n in m.__all__ if isinstance(getattr(m, n), type)}
    assert classes - {m.EvalMetric} == tested


def test_errors_of_the_network_are_raised_by_get():
    def fail(inputs, outputs):
        raise ValueError("no prediction today")

    (bad,) = mx.operator.callback(fail, [], [((4, 2), "float32")])
    metric = m.Accuracy()
    metric.update(Y, bad)
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match="no prediction today"):
            metric.get()
    metric.reset()
    metric.update(Y, P)
    assert metric.get() == ("accuracy", 0.5)


def test_errors_of_a_function_are_raised_by_get():
    def feval(label, pred):
        raise KeyError("what?")

    metric = m.CustomMetric(feval)
    metric.update(Y, P)
    with pytest.raises(mx.MXNetError, match="what"):
        metric.get()


@pytest.mark.parametrize(
    ("metric", "y", "p", "says"),
    [
        (m.CrossEntropy(), [0, 2, 1, 0], P, "1 labels are no class of the predictions"),
        (m.CrossEntropy(), [0, -1, np.nan, 0], P, "2 labels are no class"),
        (m.Perplexity(None), [-1, -1, 1, 0], P, "2 labels are no class"),
        (m.Perplexity(-1), [-1, -2, 1, 0], P, "1 labels are no class"),
        (m.Fbeta(class_type="multiclass"), [0, 1, 2, 3], P, "2 labels are no class"),
        (m.F1(), [0, 1, 2, 3], P, "2 labels are not 0 or 1"),
        (m.MCC(average="micro"), [0, 1, 2, np.nan], P, "2 labels are not 0 or 1"),
        (m.ROCAUC(), [0, 1, 2, 0], P, "1 labels are not 0 or 1"),
        (
            m.ConfusionMatrix(),
            [0, 1, 2, np.nan],
            P,
            "2 examples have a label or a prediction that is no class from 0 to 1",
        ),
        (m.PCC(), [0, 1, -1, 1], [0, 1, 0, 1], "1 examples .* no class of at least 0"),
        (m.Precision(num_classes=2), [0, 1, 1], [0, 1, 5], "1 examples"),
        (m.Precision(), [0, 1, 2], [0, 1, 2], "3 classes, and average='binary' is for two"),
    ],
)
def test_labels_that_are_none(metric, y, p, says):
    """They cannot be seen without a wait, so `get` raises; and again until `reset`."""
    metric.update(y, p)
    for _ in range(2):
        with pytest.raises(ValueError, match=f"{metric.name}: .*{says}"):
            metric.get()
    for read in (lambda: metric.sum_metric, lambda: metric.global_sum_metric, metric.get_global):
        with pytest.raises(ValueError, match=says):
            read()
    metric.reset_local()
    assert np.isnan(metric.get()[1]).all()
    with pytest.raises(ValueError, match=says):
        metric.get_global()
    metric.reset()
    assert np.isnan(metric.get()[1]).all()


def test_labels_that_are_none_count_nowhere():
    metric = m.CrossEntropy()
    metric.update([0, 2, 1, 0], P)
    for name in ("sum_metric", "num_inst", "global_sum_metric", "global_num_inst"):
        with pytest.raises(ValueError, match="1 labels are no class"):
            getattr(metric, name)
    metric.reset_local()
    metric.update(Y, P)
    assert metric.num_inst == 4
    other = m.CrossEntropy()
    other.update(Y, P)
    assert metric.get() == other.get()


def test_nan_labels_are_wrong_and_nan_numbers_stay():
    metric = m.Accuracy()
    metric.update([0, np.nan, 1, 1], P)
    assert metric.get()[1] == 0.5
    for name in ("mae", "mse", "rmse", "pearsonr"):
        metric = m.create(name)
        metric.update([1.0, np.nan], [1.0, 2.0])
        assert np.isnan(metric.get()[1])


@pytest.mark.parametrize(
    ("metric", "y", "p", "says"),
    [
        (m.Accuracy(), [0, 1, 1], P, r"labels of shape \(3,\) do not fit predictions of shape \(4, 2\)"),
        (m.Accuracy(axis=2), Y, P, r"axis=2 is not an axis of predictions of shape \(4, 2\)"),
        (m.Accuracy(), [nd.zeros(2)], [nd.zeros(2), nd.zeros(2)], "1 arrays of labels and 2 of predictions"),
        (m.TopKAccuracy(2), Y, Y, "scores of shape"),
        (m.CrossEntropy(), [0, 1], P, "probabilities of shape"),
        (m.Perplexity(None, axis=3), Y, P, "probabilities of shape"),
        (m.MAE(), [1, 2], P, "do not fit"),
        (m.PearsonCorrelation(), [[1], [2]], [1, 2], "do not fit"),
        (m.ROCAUC(), Y, np.ones((4, 3)), "scores of shape"),
        (m.ConfusionMatrix(3), Y, P, "scores of 2 classes, not of num_classes=3"),
        (m.ConfusionMatrix(axis=4), Y, P, "axis=4"),
        (m.BLEU(), ["a"], ["a", "b"], "1 references and 2 translations"),
        (m.BLEU(), np.ones(3), np.ones(3), "an array of tokens has the shape"),
        (m.Loss(), None, None, "predictions are needed"),
        (m.BinaryAccuracy(), [0, 1, 1], P, "do not fit"),
        (m.Fbeta(), Y, np.ones((4, 3)), "class_type='binary'"),
        (m.Fbeta(class_type="multilabel"), Y, P, "class_type='multilabel'"),
        (m.Fbeta(class_type="multiclass"), Y, Y, "class_type='multiclass'"),
        (m.MeanPairwiseDistance(), [[1, 2]], [1, 2], "do not fit"),
        (m.MeanCosineSimilarity(), 1.0, 2.0, "do not fit"),
        (m.np(max), [nd.zeros(2)], [nd.zeros(2)] * 2, "allow_extra_outputs"),
        (m.Accuracy(), ["cat"], P, "cannot make an array"),
    ],
)
def test_shapes_that_do_not_fit(metric, y, p, says):
    with pytest.raises((ValueError, TypeError), match=f"{metric.name}.*{says}"):
        metric.update(y, p)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: m.TopKAccuracy(0), "top_k=0"),
        (lambda: m.F1(average="mean"), "average='mean'"),
        (lambda: m.PearsonCorrelation(average="weighted"), "average='weighted'"),
        (lambda: m.Precision(average="mean"), "average='mean' is not valid: expected one of 'binary'"),
        (lambda: m.MeanIoU(average="binary"), "average='binary'"),
        (lambda: m.ConfusionMatrix(normalize="rows"), "normalize='rows'"),
        (lambda: m.ConfusionMatrix(0), "num_classes=0"),
        (lambda: m.BLEU(0), "max_n=0"),
        (lambda: m.Fbeta(class_type="all"), "class_type='all'"),
        (lambda: m.Fbeta(average="binary"), "average='binary'"),
        (lambda: m.Fbeta(beta=0), "beta=0"),
        (lambda: m.MeanPairwiseDistance(p=0), "p=0"),
        (lambda: m.CustomMetric(3), "feval=3"),
        (lambda: m.create("acuracy"), "'acuracy' is not the name of a metric; did you mean 'accuracy'"),
        (lambda: m.create(3), "3 is not a metric"),
        (lambda: m.CompositeEvalMetric(["acc"]).get_metric(1), "no metric 1 among 1"),
    ],
)
def test_bad_arguments(make, says):
    with pytest.raises((ValueError, IndexError), match=says):
        make()


def test_columns_of_one_are_class_0():
    """As in MXNet: predictions of another shape are scores."""
    metric = m.Accuracy()
    metric.update([0, 1, 1], [[0], [1], [1]])
    assert metric.get()[1] == pytest.approx(1 / 3)


def test_fractions_of_classes_are_cut_off():
    metric = m.Accuracy()
    metric.update([1.0, 0.0], [1.9, 0.7])
    assert metric.get()[1] == 1.0


def test_check_label_shapes():
    y, p = nd.zeros(3), nd.zeros((3, 2))
    assert m.check_label_shapes(y, p) == (y, p)
    assert m.check_label_shapes(y, p, wrap=True) == ([y], [p])
    assert m.check_label_shapes([y], [p], wrap=True) == ([y], [p])
    with pytest.raises(ValueError, match="3 labels do not fit 2"):
        m.check_label_shapes(y, nd.zeros(2))
    with pytest.raises(ValueError, match=r"shape \(3,\) do not fit predictions of shape \(3, 2\)"):
        m.check_label_shapes(y, p, shape=True)


def test_update_dict():
    metric = m.Accuracy(output_names=["out"], label_names=["y"])
    metric.update_dict({"y": Y, "other": Y}, {"aux": P, "out": P})
    assert metric.get() == ("accuracy", 0.5)
    with pytest.raises(ValueError, match="no prediction 'out' among 'aux'"):
        metric.update_dict({"y": Y}, {"aux": P})
    every = m.Accuracy()
    every.update_dict({"y": nd.array(Y)}, {"out": nd.array(P)})
    assert every.get() == ("accuracy", 0.5)


def test_composite():
    metric = m.CompositeEvalMetric(["acc", m.F1()], output_names=["out"], label_names=["y"])
    metric.add(lambda y, p: 5)
    assert isinstance(metric.get_metric(1), m.F1)
    metric.update_dict({"y": Y, "more": Y}, {"out": P, "more": P})
    assert metric.get_name_value() == [("accuracy", 0.5), ("f1", 0.5), ("custom(<lambda>)", 5.0)]
    metric.reset_local()
    assert np.isnan(metric.get()[1]).all()
    assert metric.get_global_name_value() == [("accuracy", 0.5), ("f1", 0.5), ("custom(<lambda>)", 5.0)]
    metric.reset()
    assert np.isnan(metric.get_global()[1]).all()


def test_functions():
    def error(label, pred):
        return float((label != pred.argmax(1)).sum()), len(label)

    metric = m.np(error)
    assert metric.name == "error"
    assert m.np(error, "mine").name == "mine"
    assert m.create(lambda y, p: 0).name == "custom(<lambda>)"
    metric.update(Y, P)
    metric.update(Y[:1], P[:1])
    assert metric.get() == ("error", 0.4)
    more = m.np(error, allow_extra_outputs=True)
    more.update([nd.array(Y)], [nd.array(P), nd.zeros(7)])
    assert more.get() == ("error", 0.5)
    with pytest.raises(NotImplementedError, match="no configuration"):
        metric.get_config()


def test_create():
    metric = m.F1()
    assert m.create(metric) is metric
    assert isinstance(m.create(m.F1, average="micro"), m.F1)
    assert m.create("F1", average="micro").average == "micro"
    assert m.create(m.TopKAccuracy(3).get_config()).name == "top_k_accuracy_3"
    both = m.create(["acc", lambda y, p: 1])
    assert [type(x) for x in both.metrics] == [m.Accuracy, m.CustomMetric]


def test_one_of_your_own():
    @m.alias("mine")
    class Mine(m.EvalMetric):
        def __init__(self, name="mine"):
            super().__init__(name)

        def update(self, labels, preds):
            self.sum_metric += float(preds.sum().asscalar())
            self.num_inst += 2

    try:
        metric = m.create("mine")
        metric.update(None, nd.array([1, 2, 3]))
        assert metric.get() == metric.get_global() == ("mine", 3.0)
        assert str(metric) == "EvalMetric: {'mine': 3.0}"
        metric.reset_local()
        assert np.isnan(metric.get_global()[1])
    finally:
        for name in ("mine",):
            del m.base.REGISTRY._classes[name]
    with pytest.raises(NotImplementedError, match="update"):
        m.EvalMetric("x").update([], [])
    with pytest.raises(NotImplementedError, match="measure"):
        m.base.PairMetric("x").update(Y, P)


def test_place_of_mxnet_2():
    assert mx.gluon.metric.__all__ == m.__all__
    assert all(getattr(mx.gluon.metric, name) is getattr(m, name) for name in m.__all__)


def test_attributes_of_mxnet():
    metric = m.Accuracy()
    metric.update(Y, P)
    read = [metric.sum_metric, metric.num_inst, metric.global_sum_metric, metric.global_num_inst]
    assert read == [2.0, 4, 2.0, 4]
    assert [type(one) for one in read] == [float, int, float, int]
    metric.reset_local()
    assert (metric.sum_metric, metric.num_inst) == (0, 0)
    assert (metric.global_sum_metric, metric.global_num_inst) == (2, 4)


@pytest.mark.parametrize(
    ("name", "preds"),
    [*((name, P) for name in ("acc", "ce", "f1", "mcc", "pcc", "precision", "recall", "iou", "auc", "fbeta")),
     *((name, P[:, 1]) for name in ("mae", "mse", "pearsonr", "binary_accuracy"))],
)  # fmt: skip
@pytest.mark.parametrize("how", [{}, {"average": "micro"}])
def test_values_are_sums_by_counts(name, preds, how):
    """As in MXNet; also of metrics that are no means of batches, such as PCC, and F1 of all examples together."""
    if how and name not in {"f1", "mcc", "pearsonr", "fbeta", "precision", "recall"}:
        return
    metric = m.create(name, **how)
    assert (metric.sum_metric, metric.num_inst) == (0, 0)
    metric.update([nd.array(Y)], [nd.array(preds)])
    metric.update([nd.array([0, 1, 0, 1])], [nd.array(preds)])
    metric.update([nd.array(Y)], [nd.array(preds)])
    assert isinstance(metric.num_inst, int)
    assert isinstance(metric.sum_metric, float)
    assert metric.sum_metric / metric.num_inst == pytest.approx(metric.get()[1])
    assert metric.get()[1] != 0
    metric.reset_local()
    assert metric.global_sum_metric / metric.global_num_inst == pytest.approx(metric.get_global()[1])


def test_perplexity_of_what_was_impossible():
    metric = m.Perplexity(None)
    metric.update([0], [[0.0, 1.0]])
    assert metric.get()[1] == pytest.approx(1e10, rel=1e-6)


def test_auc_of_one_class_and_of_nan():
    for y, p in (([1, 1], [0.2, 0.3]), ([0, 1], [np.nan, 0.3])):
        metric = m.ROCAUC()
        metric.update(y, p)
        assert np.isnan(metric.get()[1])


def test_scores_that_change_afterwards():
    """What is kept until `get` is a copy."""
    p = nd.array([0.1, 0.9])
    metric = m.ROCAUC()
    metric.update([0, 1], p)
    p[:] = [0.9, 0.1]
    assert metric.get()[1] == 1.0
