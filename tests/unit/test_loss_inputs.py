"""Losses with labels of other shapes and types, weights of samples, empty batches, NaN, and what they refuse."""

import numpy as np
import pytest

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from gluonish.gluon import loss as losses

# Losses of a prediction and a label of the same size.
PAIRS = (
    *("L1Loss", "L2Loss", "HuberLoss", "HingeLoss", "SquaredHingeLoss", "LogisticLoss", "FocalLoss", "DiceLoss"),
    *("SigmoidBinaryCrossEntropyLoss", "KLDivLoss"),
)
RNG = np.random.default_rng(1)
PRED = RNG.normal(size=(4, 6))
CLASSES = np.array([0, 3, 5, 2])


def made(name, **kwargs):
    return getattr(losses, name)(**kwargs)


def array(values, dtype="float32"):
    return nd.array(values, dtype=dtype)


class TestShapes:
    @pytest.mark.parametrize("name", [*PAIRS, "PoissonNLLLoss"])
    def test_the_label_gets_the_shape_of_the_prediction(self, name):
        pred, label = abs(PRED) / 10, RNG.integers(0, 2, PRED.shape)
        want = made(name)(array(pred), array(label)).asnumpy()
        for shape in [(24,), (4, 2, 3), (4, 6, 1)]:
            np.testing.assert_array_equal(made(name)(array(pred), array(label.reshape(shape))).asnumpy(), want)

    def test_one_column_and_a_vector(self):
        assert made("L2Loss")(nd.ones((2, 1)), nd.zeros(2)).tolist() == [0.5, 0.5]
        assert made("L2Loss")(nd.ones(2), nd.zeros((2, 1))).tolist() == [0.5, 0.5]

    @pytest.mark.parametrize("name", [*PAIRS, "PoissonNLLLoss"])
    def test_other_sizes_are_refused(self, name):
        with pytest.raises(ShapeError, match=rf"{name}: (label|target) of shape \(4,\) .* pred of shape \(4, 6\)"):
            made(name)(array(PRED), nd.ones(4))

    @pytest.mark.parametrize("name", PAIRS)
    def test_the_batch_may_be_another_axis(self, name):
        pred = abs(RNG.normal(size=(4, 5, 3))) / 10
        label = RNG.integers(0, 2, pred.shape)
        want = made(name)(array(pred), array(label)).asnumpy()
        for axis in (1, 2, -1):
            moved = [array(np.moveaxis(v, 0, axis)) for v in (pred, label)]
            got = made(name, batch_axis=axis)(*moved).asnumpy()
            np.testing.assert_allclose(got, want, rtol=1e-5)

    def test_classes_in_any_axis_and_the_batch_in_another(self):
        pred, label = RNG.normal(size=(3, 4, 5)), RNG.integers(0, 4, (3, 5))
        log_p = pred - np.log(np.exp(pred).sum(1, keepdims=True))
        want = -np.take_along_axis(log_p, label[:, None], 1)[:, 0]
        for axis, kept in ((0, 0), (2, 1)):
            got = made("SoftmaxCrossEntropyLoss", axis=1, batch_axis=axis)(array(pred), array(label)).asnumpy()
            np.testing.assert_allclose(got, want.mean(1 - kept), rtol=1e-5)

    def test_sparse_labels_may_have_an_axis_of_one(self):
        loss = made("SoftmaxCrossEntropyLoss")
        want = loss(array(PRED), array(CLASSES)).asnumpy()
        np.testing.assert_array_equal(loss(array(PRED), array(CLASSES.reshape(4, 1))).asnumpy(), want)

    def test_sparse_labels_of_another_size(self):
        with pytest.raises(
            ShapeError, match=r"label of shape \(4, 6\) .*pred of shape \(4, 6\).*\(4,\) is needed.*sparse"
        ):
            made("SoftmaxCrossEntropyLoss")(array(PRED), array(PRED))
        with pytest.raises(ShapeError, match=r"has no axis 2 of classes"):
            made("SoftmaxCrossEntropyLoss", axis=2)(array(PRED), array(CLASSES))

    def test_one_sample_without_a_batch(self):
        got = made("SoftmaxCrossEntropyLoss")(nd.zeros(4), nd.array(1).reshape(()))
        np.testing.assert_allclose(got.asnumpy(), [np.log(4)], rtol=1e-6)

    def test_poisson_and_cosine_have_shapes_of_their_own(self):
        assert made("PoissonNLLLoss")(nd.ones((4, 3)), nd.ones((4, 3))).shape == (1,)
        assert made("CosineEmbeddingLoss")(nd.ones((4, 3)), nd.ones((4, 3)), nd.ones(4)).shape == (4, 1)


class TestSampleWeights:
    def test_a_vector_weights_the_last_axis_if_it_fits(self):
        pred = nd.array([[1.0, 1], [1, 1]])
        assert made("L1Loss")(pred, nd.zeros((2, 2)), nd.array([1, 3])).tolist() == [2.0, 2.0]
        assert made("L1Loss")(pred, nd.zeros((2, 2)), nd.array([[1], [3]])).tolist() == [1.0, 3.0]

    @pytest.mark.parametrize("name", PAIRS[:-3])
    def test_another_vector_is_refused_with_the_shape_that_fits(self, name):
        with pytest.raises(ShapeError, match=rf"{name}: sample_weight of shape \(4,\).*\(4, 6\).*shape \(4, 1\)"):
            made(name)(array(PRED), array(PRED), nd.ones(4))

    def test_weights_do_not_make_losses_larger(self):
        with pytest.raises(ShapeError, match=r"sample_weight of shape \(2, 4, 6\)"):
            made("L2Loss")(array(PRED), array(PRED), nd.ones((2, 4, 6)))
        with pytest.raises(ShapeError, match=r"sample_weight of shape \(3,\) .* \(2,\); .* has shape \(2,\)"):
            made("CTCLoss", label_layout="TN")(nd.ones((2, 4, 3)), nd.ones((2, 2)), None, None, nd.ones(3))

    def test_of_the_mean_of_all(self):
        pred, weights = abs(PRED), np.array([[1.0], [2], [0], [4]])
        want = ((np.exp(pred) - 2 * pred) * weights).mean()
        got = made("PoissonNLLLoss")(array(pred), nd.full((4, 6), 2), array(weights))
        np.testing.assert_allclose(got.asnumpy(), [want], rtol=1e-5)

    def test_epsilon_of_poisson(self):
        got = made("PoissonNLLLoss", from_logits=False)(nd.zeros(1), nd.ones(1), None, 0.5)
        np.testing.assert_allclose(got.asnumpy(), [np.log(2)], rtol=1e-6)

    def test_positive_weights(self):
        x, z, w = PRED, RNG.integers(0, 2, PRED.shape), RNG.uniform(1, 2, (6,))
        p = 1 / (1 + np.exp(-x))
        want = -(w * z * np.log(p) + (1 - z) * np.log(1 - p)).mean(1)
        loss = made("SigmoidBCELoss")
        np.testing.assert_allclose(loss(array(x), array(z), None, array(w)).asnumpy(), want, rtol=1e-5)
        loss = made("SigmoidBCELoss", from_sigmoid=True)
        np.testing.assert_allclose(loss(array(p), array(z), None, array(w)).asnumpy(), want, rtol=1e-4)

    @pytest.mark.parametrize("dtype", ["int32", "float64", "bool"])
    def test_their_type_does_not_matter(self, dtype):
        y = made("L2Loss")(array(PRED), array(PRED + 1), nd.ones((4, 1)).astype(dtype))
        assert y.dtype == np.float32
        np.testing.assert_allclose(y.asnumpy(), 0.5, rtol=1e-5)


class TestTypes:
    @pytest.mark.parametrize("label", ["bool", "uint8", "int32", "int64", "float16", "float64"])
    @pytest.mark.parametrize("name", PAIRS)
    def test_the_loss_has_the_type_of_the_prediction(self, name, label):
        pred, values = abs(PRED) / 10, RNG.integers(0, 2, PRED.shape)
        want = made(name)(array(pred), array(values)).asnumpy()
        got = made(name)(array(pred), nd.array(values, dtype=label))
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got.asnumpy(), want)

    @pytest.mark.parametrize("label", ["uint8", "int32", "int64", "float16", "float64", "bfloat16"])
    @pytest.mark.parametrize("logs", [False, True])
    def test_classes_of_any_type(self, label, logs):
        loss = made("SoftmaxCrossEntropyLoss", from_logits=logs)
        want = loss(array(PRED), array(CLASSES)).asnumpy()
        np.testing.assert_array_equal(loss(array(PRED), array(CLASSES).astype(label)).asnumpy(), want)

    def test_two_classes_as_bool(self):
        y = made("SoftmaxCrossEntropyLoss")(nd.zeros((2, 2)), nd.array([True, False], dtype="bool"))
        np.testing.assert_allclose(y.asnumpy(), np.log(2), rtol=1e-6)

    @pytest.mark.parametrize("name", [*PAIRS, "SoftmaxCrossEntropyLoss", "PoissonNLLLoss"])
    def test_predictions_must_be_floating(self, name):
        with pytest.raises(DTypeError, match=rf"{name}: pred must be of a floating type, got int32; pred.astype"):
            made(name)(nd.ones((2, 3), dtype="int32"), nd.ones(2))

    @pytest.mark.parametrize("name", [*PAIRS, "SoftmaxCrossEntropyLoss"])
    @pytest.mark.parametrize("label", [[1, 0], np.ones(2)], ids=["list", "NumPy"])
    def test_labels_must_be_arrays(self, name, label):
        with pytest.raises(
            TypeError, match=rf"{name}: label must be an NDArray, got (list|ndarray); nd.array makes one"
        ):
            made(name)(nd.ones((2, 1)), label)

    @pytest.mark.parametrize("name", [*PAIRS, "SoftmaxCrossEntropyLoss"])
    def test_bfloat16(self, name):
        label = nd.ones(4) if name == "SoftmaxCrossEntropyLoss" else nd.ones((4, 6))
        pred = array(abs(PRED) / 10)
        got = made(name)(pred.astype("bfloat16"), label)
        assert got.dtype == "bfloat16"
        np.testing.assert_allclose(
            got.astype("float32").asnumpy(), made(name)(pred, label).asnumpy(), rtol=3e-2, atol=3e-2
        )


class TestLabelsThatAreNoClasses:
    @pytest.mark.parametrize("logs", [False, True])
    @pytest.mark.parametrize("value", [6, -1, 100])
    def test_out_of_range(self, value, logs):
        loss, label = made("SoftmaxCrossEntropyLoss", from_logits=logs), nd.array([0, 1, value, 2])
        with pytest.raises(IndexOutOfRange, match=rf"{value} at position \(2,\).* 6") as caught:
            loss(array(PRED), label).asnumpy()
        assert isinstance(caught.value, IndexError)

    def test_of_queued_work(self, queued):
        y = made("SoftmaxCrossEntropyLoss")(array(PRED), nd.array([0, 1, 9, 2]))
        for _ in range(2):
            with pytest.raises(IndexError, match=r"label 9 at position \(2,\) is not a class: there are 6, from 0 on"):
                y.wait_to_read()

    @pytest.mark.parametrize("logs", [False, True])
    @pytest.mark.parametrize(("value", "shown"), [(1.5, "1.5"), (float("nan"), "NaN")])
    def test_fractions_and_nan(self, value, shown, logs):
        loss, label = made("SoftmaxCrossEntropyLoss", from_logits=logs), nd.array([0, 1, value, 2])
        with pytest.raises(mx.MXNetError, match=shown):
            loss(array(PRED), label).asnumpy()

    def test_of_a_cost_matrix(self):
        loss = made("SoftmaxCrossEntropyLoss", cost_matrix=np.eye(6))
        with pytest.raises(IndexError, match=r"7 at position \(2,\)"):
            loss(array(PRED), nd.array([0, 1, 7, 2])).asnumpy()

    def test_the_position_in_an_image(self):
        loss = made("SoftmaxCrossEntropyLoss", axis=1)
        with pytest.raises(IndexError, match=r"label 3 at position \(0, 1, 1\) is not a class: there are 3"):
            loss(nd.zeros((1, 3, 2, 2)), nd.array([[[0, 1], [2, 3]]])).asnumpy()

    def test_ctc(self):
        with pytest.raises(ValueError, match=r"label holds 5 at position \(0, 1\): classes from 0 to 1"):
            made("CTCLoss")(nd.zeros((1, 4, 3)), nd.array([[0, 5]])).asnumpy()


class TestIgnoredLabels:
    @pytest.mark.parametrize(
        "how", [{}, {"from_logits": True}, {"cost_matrix": np.ones((6, 6))}, {"class_weight": np.ones(6)}]
    )
    @pytest.mark.parametrize("ignored", [-1, 255, 3])
    def test_cost_nothing_and_have_no_gradient(self, how, ignored):
        pred = array(-abs(PRED))
        pred.attach_grad()
        label = nd.array([0, ignored, 5, ignored])
        with autograd.record():
            y = made("SoftmaxCrossEntropyLoss", ignore_label=ignored, **how)(pred, label)
        y.backward()
        assert y.asnumpy()[[1, 3]].tolist() == [0, 0]
        assert not pred.grad.asnumpy()[[1, 3]].any()
        rest = made("SoftmaxCrossEntropyLoss", **how)(pred[::2], nd.array([0, 5]))
        np.testing.assert_allclose(y.asnumpy()[::2], rest.asnumpy(), rtol=1e-6)
        assert pred.grad.asnumpy()[[0, 2]].any()

    @pytest.mark.parametrize("how", [{}, {"from_logits": True}, {"cost_matrix": np.ones((6, 6))}])
    def test_whatever_their_predictions_are(self, how):
        pred = np.log(np.full((4, 6), 1 / 6))
        pred[1, 2], pred[3, :] = np.nan, -np.inf
        x = array(pred)
        x.attach_grad()
        with autograd.record():
            y = made("SoftmaxCrossEntropyLoss", ignore_label=-1, **how)(x, nd.array([0, -1, 1, -1]))
        y.backward()
        assert y.asnumpy()[[1, 3]].tolist() == [0, 0]
        assert np.isfinite(y.asnumpy()).all()
        assert not x.grad.asnumpy()[[1, 3]].any()

    @pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32"])
    @pytest.mark.parametrize("logs", [False, True])
    def test_of_every_type(self, dtype, logs):
        loss = made("SoftmaxCrossEntropyLoss", ignore_label=-1, from_logits=logs)
        assert (loss(array(-abs(PRED)), nd.array(CLASSES, dtype=dtype)).asnumpy() > 0).all()

    def test_count_in_the_mean(self):
        loss = made("SoftmaxCrossEntropyLoss", ignore_label=-1)
        y = loss(nd.zeros((1, 4, 2)), nd.array([[0, -1, 1, -1]]))
        np.testing.assert_allclose(y.asnumpy(), [np.log(2) / 2], rtol=1e-6)

    def test_other_labels_are_still_looked_at(self):
        with pytest.raises(IndexError, match="label -2"):
            made("SoftmaxCrossEntropyLoss", ignore_label=-1)(nd.zeros((2, 2)), nd.array([-1, -2])).asnumpy()


class TestNaN:
    @pytest.mark.parametrize("name", PAIRS)
    def test_a_label_spoils_its_own_sample_alone(self, name):
        label = np.ones((4, 6))
        label[1, 2] = np.nan
        y = made(name)(array(abs(PRED) / 10), array(label)).asnumpy()
        assert np.isnan(y).tolist() == [False, True, False, False]

    def test_of_a_cosine(self):
        y = made("CosineEmbeddingLoss")(array(PRED), array(PRED + 1), nd.array([1, np.nan, -1, 0])).asnumpy()
        assert np.isnan(y[:, 0]).tolist() == [False, True, False, False]
        assert y[3, 0] == 0

    def test_shares_of_classes(self):
        label = np.full((4, 6), 1 / 6)
        label[1, 2] = np.nan
        y = made("SoftmaxCrossEntropyLoss", sparse_label=False)(array(PRED), array(label)).asnumpy()
        assert np.isnan(y).tolist() == [False, True, False, False]

    @pytest.mark.parametrize("name", PAIRS)
    def test_a_prediction(self, name):
        pred = abs(PRED) / 10
        pred[3, 0] = np.nan
        y = made(name)(array(pred), nd.ones((4, 6))).asnumpy()
        assert np.isnan(y).tolist() == [False, False, False, True]


class TestEmptyBatches:
    @pytest.mark.parametrize("name", PAIRS)
    def test_give_no_losses(self, name):
        pred = nd.zeros((0, 6))
        pred.attach_grad()
        with autograd.record():
            y = made(name)(pred, nd.zeros((0, 6)))
        y.backward()
        assert y.shape == (0,)
        assert pred.grad.shape == (0, 6)

    @pytest.mark.parametrize("how", [{}, {"from_logits": True}, {"cost_matrix": np.ones((6, 6))}, {"ignore_label": -1}])
    def test_of_classes(self, how):
        loss = made("SoftmaxCrossEntropyLoss", **how)
        assert loss(nd.zeros((0, 6)), nd.zeros(0)).shape == (0,)
        assert loss(nd.zeros((0, 6)), nd.zeros((0, 1))).shape == (0,)
        assert loss(nd.zeros((0, 3, 6)), nd.zeros((0, 3)), nd.ones((0, 1, 1))).shape == (0,)

    def test_of_vectors(self):
        none = nd.zeros((0, 6))
        assert made("TripletLoss")(none, none, none).shape == (0,)
        assert made("CosineEmbeddingLoss")(none, none, nd.zeros(0)).shape == (0, 1)
        assert made("SDMLLoss")(none, none).shape == (0,)
        assert made("InfoNCELoss")(none, none).shape == (0,)

    def test_the_mean_of_nothing_is_nan(self):
        y = made("PoissonNLLLoss")(nd.zeros((0, 6)), nd.zeros((0, 6)))
        assert y.shape == (1,)
        assert np.isnan(y.asnumpy()[0])

    def test_a_pair_without_others(self):
        for name in ("SDMLLoss", "InfoNCELoss"):
            x = nd.array([[1.0, 2]])
            x.attach_grad()
            with autograd.record():
                y = made(name)(x, x + 1)
            y.backward()
            assert np.isfinite(y.asnumpy()).all()
            assert x.grad.tolist() == [[0, 0]]


class TestNumbersAtTheEdge:
    @pytest.mark.parametrize("name", ["SigmoidBinaryCrossEntropyLoss", "FocalLoss"])
    def test_slopes_at_zero_and_far_away(self, name):
        x = nd.array([0, 200, -200])
        x.attach_grad()
        loss = made(name) if name != "FocalLoss" else made(name, alpha=None, gamma=0)
        with autograd.record():
            y = loss(x, nd.ones(3))
        y.backward()
        np.testing.assert_allclose(y.asnumpy(), [np.log(2), 0, 200], rtol=1e-6)
        np.testing.assert_allclose(x.grad.asnumpy(), [-0.5, 0, -1], atol=1e-7)

    def test_probabilities_of_none_and_all(self):
        for dtype in ("float32", "float16"):
            p = nd.array([0, 1], dtype=dtype)
            y = made("SigmoidBCELoss", from_sigmoid=True)(p, nd.array([0, 1])).asnumpy()
            np.testing.assert_allclose(y, 0, atol=1e-3)
            assert np.isfinite(made("SigmoidBCELoss", from_sigmoid=True)(p, nd.array([1, 0])).asnumpy()).all()

    def test_regions_without_elements_are_alike(self):
        assert made("DiceLoss", from_probabilities=True)(nd.zeros((2, 3)), nd.zeros((2, 3))).tolist() == [0, 0]

    @pytest.mark.parametrize("name", ["CosineEmbeddingLoss", "InfoNCELoss"])
    def test_vectors_of_no_length_have_a_finite_gradient(self, name):
        x = nd.zeros((2, 3))
        x.attach_grad()
        with autograd.record():
            y = made(name)(x, nd.ones((2, 3)), *([nd.ones(2)] if name == "CosineEmbeddingLoss" else []))
        y.backward()
        assert np.isfinite(y.asnumpy()).all()
        assert np.isfinite(x.grad.asnumpy()).all()

    def test_counts_of_zero_with_stirlings_formula(self):
        target = nd.array([0, 1, 5])
        target.attach_grad()
        with autograd.record():
            y = made("PoissonNLLLoss", compute_full=True)(nd.zeros(3), target)
        y.backward()
        assert np.isfinite(y.asnumpy()).all()
        assert np.isfinite(target.grad.asnumpy()).all()

    def test_labels_that_cannot_be_spelled(self):
        pred = nd.zeros((1, 2, 3))
        pred.attach_grad()
        with autograd.record():
            y = made("CTCLoss")(pred, nd.array([[0, 0, 1]]))
        y.backward()
        assert np.isinf(y.asnumpy()[0])
        assert not pred.grad.asnumpy().any()


class TestArguments:
    @pytest.mark.parametrize(
        ("name", "kwargs", "says"),
        [
            ("L2Loss", {"weight": nd.ones(3)}, "weight must be a number"),
            ("L2Loss", {"weight": "1"}, "weight must be a number"),
            ("HuberLoss", {"rho": 0}, "rho=0 must be above 0"),
            ("LogisticLoss", {"label_format": "sign"}, "label_format='sign' must be 'signed' or 'binary'"),
            ("FocalLoss", {"gamma": -1}, "gamma=-1"),
            ("FocalLoss", {"alpha": 2}, "alpha=2"),
            ("DiceLoss", {"axis": 0}, "axis=0 is the axis of the samples"),
            ("SoftmaxCELoss", {"label_smoothing": 1.5}, "label_smoothing=1.5"),
            ("SoftmaxCELoss", {"ignore_label": 0, "sparse_label": False}, "ignore_label=0 is for sparse labels"),
            ("SoftmaxCELoss", {"ignore_label": float("nan")}, "ignore_label=nan must be a whole number"),
            ("SoftmaxCELoss", {"class_weight": np.ones((2, 2))}, r"class_weight of shape \(2, 2\) must be a vector"),
            ("SoftmaxCELoss", {"cost_matrix": np.ones((2, 3))}, r"cost_matrix of shape \(2, 3\) must be a square"),
            ("CTCLoss", {"layout": "CTN"}, "layout='CTN'"),
            ("CTCLoss", {"label_layout": "T"}, "label_layout='T'"),
            ("CosineEmbeddingLoss", {"batch_axis": 1}, "batch_axis=1 must be 0"),
            ("SDMLLoss", {"batch_axis": 1}, "batch_axis=1 must be 0"),
            ("SDMLLoss", {"smoothing_parameter": 1}, "smoothing_parameter=1"),
            ("InfoNCELoss", {"batch_axis": 1}, "batch_axis=1 must be 0"),
            ("InfoNCELoss", {"temperature": 0}, "temperature=0 must be above 0"),
        ],
    )
    def test_are_looked_at(self, name, kwargs, says):
        with pytest.raises(ValueError, match=says):
            made(name, **kwargs)

    def test_that_do_not_exist(self):
        with pytest.raises(TypeError, match="batchaxis"):
            losses.L2Loss(batchaxis=1)

    def test_numbers_for_other_classes(self):
        for name, values in (("class_weight", np.ones(5)), ("cost_matrix", np.ones((5, 5)))):
            with pytest.raises(ShapeError, match=rf"{name} is for 5 classes, pred of shape \(4, 6\) has 6"):
                made("SoftmaxCELoss", **{name: values})(array(PRED), array(CLASSES))

    def test_weights_of_classes_may_be_arrays(self):
        for weights in ([1, 2, 3, 4, 5, 6], np.arange(1, 7), nd.arange(1, 7)):
            got = made("SoftmaxCELoss", class_weight=weights)(array(PRED), array(CLASSES)).asnumpy()
            plain = made("SoftmaxCELoss")(array(PRED), array(CLASSES)).asnumpy()
            np.testing.assert_allclose(got, plain * (CLASSES + 1), rtol=1e-6)

    def test_vectors_that_are_no_rows(self):
        with pytest.raises(ShapeError, match=r"SDMLLoss: x1 of shape \(2, 3\) and x2 of shape \(3, 3\)"):
            made("SDMLLoss")(nd.ones((2, 3)), nd.ones((3, 3)))
        with pytest.raises(ShapeError, match=r"InfoNCELoss: query of shape \(2,\)"):
            made("InfoNCELoss")(nd.ones(2), nd.ones(2))
        with pytest.raises(ShapeError, match=r"negatives of shape \(3, 4\) must be \(count, 3\) or \(2, count, 3\)"):
            made("InfoNCELoss")(nd.ones((2, 3)), nd.ones((2, 3)), nd.ones((3, 4)))
        with pytest.raises(ArgumentError, match="symmetric=True"):
            made("InfoNCELoss", symmetric=True)(nd.ones((2, 3)), nd.ones((2, 3)), nd.ones((4, 3)))


def test_ctc_lengths_and_layouts():
    pred, label = RNG.normal(size=(2, 6, 4)), np.array([[1, 0, 2], [2, 1, 1]])
    want = made("CTCLoss")(array(pred), array(label), nd.array([5, 6]), nd.array([2, 3])).asnumpy()
    turned = made("CTCLoss", layout="TNC", label_layout="TN")
    got = turned(array(pred.swapaxes(0, 1)), array(label.T), nd.array([5, 6]), nd.array([2, 3])).asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-6)
    alone = made("CTCLoss")(array(pred[:1, :5]), array(label[:1, :2])).asnumpy()
    np.testing.assert_allclose(want[:1], alone, rtol=1e-6)


def test_ctc_known_numbers():
    """Those of MXNet's own tests."""
    loss = made("CTCLoss")
    label = nd.array([[1, 0, -1, -1], [2, 1, 1, -1]])
    np.testing.assert_allclose(loss(nd.ones((2, 20, 4)), label).asnumpy(), [18.82820702, 16.50581741], rtol=1e-6)


def test_losses_of_ones_own_use_mxnets_helpers():
    from gluonish.gluon.loss import Loss, _apply_weighting, _reshape_like

    class Cube(Loss):
        def __init__(self, weight=None, batch_axis=0, **kwargs):
            super().__init__(weight, batch_axis, **kwargs)

        def hybrid_forward(self, F, pred, label, sample_weight=None):
            each = F.abs(pred - _reshape_like(F, label, pred)) ** 3
            each = _apply_weighting(F, each, self._weight, sample_weight)
            return F.mean(each, axis=self._batch_axis, exclude=True)

    assert Cube(weight=2)(nd.full((2, 2), 2), nd.zeros(4), nd.array([[1], [3]])).tolist() == [16, 48]
    with pytest.raises(NotImplementedError, match="hybrid_forward"):
        Loss(None, 0)(nd.ones(2), nd.ones(2))


def test_losses_train():
    """Gradient descent on the mean of a batch, as Gluon code writes it."""
    x, w = nd.array(RNG.normal(size=(64, 3))), nd.zeros((3, 2))
    label = (x[:, 0] > 0).astype("int32")
    w.attach_grad()
    loss = made("SoftmaxCELoss", label_smoothing=0.05)
    for _ in range(50):
        with autograd.record():
            y = loss(nd.dot(x, w), label)
        y.backward()
        w -= 2 / 64 * w.grad
    right = (nd.dot(x, w).argmax(axis=1) == label).asnumpy()
    assert right.mean() > 0.95
