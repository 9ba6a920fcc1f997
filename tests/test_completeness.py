"""Every row of the op table has samples, and every gradient rule is differentiated by one."""

from pathlib import Path

import pytest
from ops.driver import NAMES, TABLE
from samples import SAMPLES


@pytest.mark.parametrize("name", NAMES)
def test_every_op_has_samples(name):
    assert any(s.op == name for s in SAMPLES), f"{name} has no sample: add a line to tests/samples/"


# Their gradient is not that of what they compute: a test of its own has the formulas.
OUTPUT_LAYERS = {
    "IdentityAttachKLSparseReg",
    "LinearRegressionOutput",
    "LogisticRegressionOutput",
    "MAERegressionOutput",
    "MakeLoss",
    "SVMOutput",
    "Softmax",
    "SoftmaxOutput",
    "make_loss",
}


@pytest.mark.parametrize("name", sorted(OUTPUT_LAYERS))
def test_output_layers_are_tested_apart(name):
    assert name in (Path(__file__).parent / "unit" / "test_output_layers.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [n for n in NAMES if TABLE[n]["grad"] == "rule" and n not in OUTPUT_LAYERS])
def test_every_gradient_is_tested(name):
    assert any(s.op == name and s.grad for s in SAMPLES), f"{name} has a gradient that no sample differentiates"


@pytest.mark.parametrize("name", sorted({s.op for s in SAMPLES}))
def test_every_sample_has_an_op(name):
    assert name in TABLE


# Inputs of which backward() says that they have no gradient, those that give their shape alone, and a sample whose
# density is the same wherever it lies; and data whose largest values are only looked for.
APART = {
    "random_pdf_uniform": {"sample"},
    "sample_gamma": {"alpha"},
    "fill_element_0index": {"rhs"},
    "index_copy": {"index_vector"},
    "reshape_like": {"rhs"},
    "broadcast_like": {"rhs"},
    "slice_like": {"shape_like"},
    "_pool_max_grad": {"data"},
    "_pool_pick": {"data"},
    "Embedding": {"data"},
    "_dropout_again": {"ticket"},
    "_smooth_l1": {"slope"},
    "_softmax_cross_entropy": {"weight"},
    "softmax_cross_entropy": {"label"},
    "BilinearResize2D": {"like"},
    "CTCLoss": {"label", "data_lengths", "label_lengths"},
}


@pytest.mark.parametrize("name", NAMES)
def test_every_input_is_differentiated(name):
    """A differentiable op takes gradients of all inputs that are not positions, conditions or state."""
    told = {i for s in SAMPLES if s.op == name for i in s.grad}
    apart = {"indices", "index", "condition", "factor", "h", "length", "order", "sequence_length", "total", "mask"}
    apart |= {"moving_mean", "moving_var"} | APART.get(name, set())
    if TABLE[name]["grad"] == "rule" and name not in OUTPUT_LAYERS:
        wanted = {i for i, x in enumerate(TABLE[name]["inputs"]) if x["name"] not in apart}
        assert wanted <= told


@pytest.mark.parametrize("name", NAMES)
def test_row_is_whole(name):
    row = TABLE[name]
    assert row["doc"].endswith((".", ")"))
    assert all(a["doc"] for a in row["attrs"])
    assert row["internal"] == (not any(row["faces"].values()) and not row["operator"])
    assert name.startswith("_") or not row["internal"]
