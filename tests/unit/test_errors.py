import doctest
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gluonish as mx
from gluonish import errors, nd

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md")))])
def test_examples_of_the_pages(page):
    assert doctest.testfile(str(ROOT / page), module_relative=False, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize(
    ("error", "bases"),
    [
        (errors.ShapeError, [ValueError]),
        (errors.DTypeError, [TypeError]),
        (errors.IndexOutOfRange, [IndexError]),
        (errors.ArgumentError, [TypeError, ValueError]),
        (errors.LinAlgError, [np.linalg.LinAlgError, ValueError]),
        (errors.OutOfMemory, [MemoryError]),
        (errors.DeviceError, []),
        (errors.GradientError, []),
        (errors.UnsupportedError, [NotImplementedError]),
    ],
)
def test_each_is_what_users_expect(error, bases):
    for base in (RuntimeError, mx.MXNetError, mx.base.MXNetError, *bases):
        assert issubclass(error, base)
    assert error.__module__ == "gluonish.errors"
    assert error.__doc__


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: nd.ones((2, 3)) + nd.ones(4), errors.ShapeError, "broadcast_add: cannot broadcast (2, 3) with (4,)"),
        (lambda: nd.dot(nd.ones((2, 3)), nd.ones((2, 3))), errors.ShapeError, "(2, 3)"),
        (lambda: nd.ones((2, 3))[5], errors.IndexOutOfRange, "5"),
        (lambda: nd.ones((2, 3)).sum(axis=2), errors.IndexOutOfRange, "axis 2 is out of range for shape (2, 3)"),
        (lambda: nd.ones(3).sum(axes=0), errors.ArgumentError, "there is no argument 'axes'"),
        (lambda: nd.topk(nd.ones(3), ret_typ="all"), errors.ArgumentError, "ret_typ='all' is not valid"),
        (lambda: nd.ones(2) + nd.ones(2, ctx=mx.cpu(1)), errors.DeviceError, "cpu(1)"),
        (lambda: nd.ones(2).backward(), errors.GradientError, "attach_grad"),
        (lambda: nd.one_hot(nd.ones(2)), errors.ArgumentError, "depth"),
    ],
)
def test_messages(call, error, says):
    with pytest.raises(error) as caught:
        call()
    assert says in str(caught.value)


@pytest.mark.usefixtures("queued")
def test_errors_of_queued_work_name_the_line():
    bad = nd.array([[1, 2], [2, 1]])
    y = nd.linalg.potrf(bad) + 1  # not positive definite
    for _ in range(2):
        with pytest.raises(errors.MXNetError, match="linalg_potrf") as caught:
            y.asnumpy()
        assert "test_errors.py" in str(caught.value)


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_wrong_settings_stop_the_import():
    result = run("import gluonish", GLUONISH_ENGIN="naive", GLUONISH_NUM_THREADS="many")
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("gluonish.errors.ArgumentError: GLUONISH_ENGIN is not a setting; the settings are")
    assert "GLUONISH_NUM_THREADS=many is not valid" in last


def test_settings_hold():
    program = "import gluonish as mx; print(mx.engine.is_naive(), mx.engine.num_threads())"
    assert run(program, GLUONISH_ENGINE="naive", GLUONISH_NUM_THREADS="1").stdout.split() == ["True", "1"]


def test_import_is_light():
    """What is rarely needed is not imported."""
    program = "import sys, numpy; before = set(sys.modules); import gluonish; print(*(set(sys.modules) - before))"
    added = set(run(program).stdout.split())
    assert not added & {
        "json",
        "difflib",
        "importlib.metadata",
        "concurrent.futures",
        "subprocess",
        "gluonish.profiler",
    }


def test_version():
    assert mx.__version__.count(".") == 2


def test_dtypes_are_listed():
    with pytest.raises(TypeError, match=r"expected one of bool, uint8, .*, float64"):
        nd.cast(nd.ones(2), "foo")


@pytest.mark.parametrize("length", [0.5, np.nan, -1, -np.inf])
def test_lengths_of_softmax_are_whole_numbers(length):
    x = nd.ones((2, 3))
    with pytest.raises(ValueError, match=r"at position \(1,\) is not valid: expected a whole number of at least 0"):
        nd.softmax(x, nd.array([1, length]), use_length=True).asnumpy()
    got = nd.softmax(x, nd.array([0, 7]), use_length=True)
    np.testing.assert_allclose(got.asnumpy(), [[0, 0, 0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-6)


def test_errors_name_the_op_that_was_called():
    """Though another, which it is made of, found the mistake, and later, on another thread."""
    x = nd.ones((3, 4))
    x.attach_grad()
    with mx.autograd.record():
        y = nd.SoftmaxOutput(x, nd.array([0, np.nan, 1]))

    def gradient():
        y.backward()
        x.grad.wait_to_read()

    with pytest.raises(errors.ArgumentError, match=r"^SoftmaxOutput: .*NaN"):
        gradient()
    with pytest.raises(errors.IndexOutOfRange, match=r"^gather_nd: "):
        nd.gather_nd(x, nd.array([[0, 9]])).wait_to_read()  # and no later op bears the name of an earlier one


def test_outputs_that_share_memory():
    x, both = nd.array([3.0, 1.0, 2.0, 5.0]), nd.zeros(8)
    for first, second in ((both[:4], both[3:7]), (both[:4], both[:4]), (both[::2], both[6::-2])):
        with pytest.raises(errors.ArgumentError, match="two arrays of 'out' share memory"):
            nd.topk(x, k=4, ret_typ="both", dtype="float32", out=[first, second])
    assert float(both.sum().asscalar()) == 0
    nd.topk(x, k=4, ret_typ="both", dtype="float32", out=[both[::2], both[1::2]])
    assert both.tolist() == [5, 3, 3, 0, 2, 2, 1, 1]
