"""Bad calls of every op: refused before anything runs, by a message that names the op and what was wrong."""

import re
from dataclasses import replace

import numpy as np
import pytest
from ops.driver import KNOWN, NAMES, TABLE, array, call, cases, core, inputs_of, types_of
from samples import SAMPLES

OURS = (core.MXNetError, TypeError)
FIRST = {s.op: s for s in reversed(KNOWN)}
ONE_EACH = [FIRST[n] for n in NAMES if n in FIRST]
PANIC = ("internal error", "panicked", "unwrap", "index out of bounds")


def good_call(sample):
    dtype = sample.dtypes[0] if "float32" not in sample.dtypes else "float32"
    return inputs_of(sample, sample.make(dtype), types_of(sample, dtype))


def spoken(name):
    """A row's name as messages have it: without the marks of rows that are internal or one face's own."""
    return name.lstrip("_").removeprefix("np_") if name.startswith("_") else name


def refused(op, inputs, attrs, *says, kinds=OURS):
    """The call raises one of our exceptions, with these words."""
    with pytest.raises(kinds) as e:
        [core.wait(y) for y in call(op, inputs, attrs)]
    text = str(e.value)
    for word in (spoken(w) for w in says):
        assert word in text, f"{word!r} is not in: {text}"
    assert not any(p in text for p in PANIC), text
    return e.value


@pytest.mark.parametrize(
    ("sample", "bad"), [pytest.param(s, b, id=f"{s.name}-{k}") for s in SAMPLES for k, b in enumerate(s.bad)]
)
def test_samples(sample, bad):
    plain = replace(sample, args=tuple(replace(a, form="") for a in sample.args))
    changed = plain.with_shapes(bad.shapes) if bad.shapes else sample
    dtype = bad.dtypes[0] if bad.dtypes else "float32" if "float32" in sample.dtypes else sample.dtypes[0]
    values, dtypes = changed.make(dtype), types_of(changed, dtype)
    if bad.dtypes:
        dtypes = [dtype] * len(dtypes)
        values = [np.ones(a.shape, dtype) for a in changed.args]
    attrs = {**sample.attrs, **bad.attrs}
    if not bad.attrs and not bad.shapes and not bad.dtypes:  # what is required is left out
        attrs = {}
    refused(sample.op, inputs_of(changed, values, dtypes), attrs, *bad.says, kinds=core.MXNetError)


@pytest.mark.parametrize("sample", cases(ONE_EACH))
def test_unknown_attribute(sample):
    refused(sample.op, good_call(sample), {**sample.attrs, "colour": 1}, sample.op, "colour", kinds=core.ArgumentError)


WRONG = {
    "bool": ["yes", (1, 2), {}],
    "int": ["a", 1.5, (1,), {}, 2**70],
    "float": ["a", (1.0,), {}],
    "Sequence": ["ab", 1.5, (1, "x"), (1.5,), {}, (2**70,), (1,) * 40],
    "DTypeLike": ["int7", {}, 3.5],
    "Literal": ["nonsense", {}, 1.5],
}


def wrong_values(kind):
    """Values that an attribute of this annotation must refuse."""
    base = next(k for k in ("Sequence", "DTypeLike", "Literal", "bool", "float", "int") if k in kind)
    return WRONG[base] + ([] if "None" in kind or base == "DTypeLike" else [None])


ATTRIBUTES = [(n, a["name"], v) for n in NAMES for a in TABLE[n]["attrs"] for v in wrong_values(a["kind"])]


@pytest.mark.parametrize(
    ("name", "attr", "value"), [pytest.param(*a, id=f"{a[0]}-{a[1]}-{a[2]!r:.20}") for a in ATTRIBUTES]
)
def test_wrong_attribute(name, attr, value):
    sample = FIRST[name]
    e = refused(name, good_call(sample), {**sample.attrs, attr: value}, name, attr)
    if isinstance(value, str):
        assert value in str(e)
    assert isinstance(e, core.MXNetError | TypeError | ValueError)


@pytest.mark.parametrize("name", [n for n in NAMES if any(a["kind"] == "DTypeLike" for a in TABLE[n]["attrs"])])
def test_no_type_is_the_default(name):
    """NumPy takes None for float64; here it is what the row says."""
    sample = FIRST[name]
    default = next(a.get("default") for a in TABLE[name]["attrs"] if a["kind"] == "DTypeLike")
    attrs = {**sample.attrs, "dtype": None}
    if default is None:
        refused(name, good_call(sample), attrs, name, "dtype")
    else:
        assert str(call(name, good_call(sample), attrs)[0].dtype) == str(default).strip("'")


REQUIRED = [(n, a["name"]) for n in NAMES for a in TABLE[n]["attrs"] if "default" not in a]


@pytest.mark.parametrize(("name", "attr"), REQUIRED)
def test_required_attribute(name, attr):
    sample = FIRST[name]
    attrs = {k: v for k, v in sample.attrs.items() if k != attr}
    refused(name, good_call(sample), attrs, name, attr, kinds=core.ArgumentError)


@pytest.mark.parametrize("sample", cases(ONE_EACH))
def test_number_of_inputs(sample):
    inputs = good_call(sample)
    extra = array([1.0], "float32")
    if not any(i["kind"] == "variadic" for i in TABLE[sample.op]["inputs"]):
        too_many = [extra] * (len(TABLE[sample.op]["inputs"]) - len(inputs) + 1)
        refused(sample.op, [*inputs, *too_many], sample.attrs, sample.op, kinds=core.ArgumentError)
    if inputs:
        refused(sample.op, [], sample.attrs, sample.op, kinds=core.ArgumentError)
    if len(inputs) > 1 and not any(i["kind"] in {"variadic", "optional"} for i in TABLE[sample.op]["inputs"]):
        refused(sample.op, inputs[:-1], sample.attrs, sample.op, kinds=core.ArgumentError)


@pytest.mark.parametrize("sample", cases([s for s in ONE_EACH if s.args]))
def test_what_is_not_an_array(sample):
    for k in range(len(sample.args)):
        for wrong in (None, "text", object(), {}, b"bytes", 1j):
            kinds = [i["kind"] for i in TABLE[sample.op]["inputs"]]
            if wrong is None and "optional" in kinds[k : k + 1]:
                continue
            inputs = good_call(sample)
            inputs[k] = wrong
            refused(sample.op, inputs, sample.attrs, sample.op)


@pytest.mark.parametrize("sample", cases([s for s in ONE_EACH if s.args and s.ref]))
def test_arrays_of_other_libraries(sample):
    """They are taken for what they are, or refused with their type in the message: nothing in between."""
    good = good_call(sample)
    want = [core.to_numpy(y) for y in call(sample.op, good, sample.attrs)]
    for k, a in enumerate(sample.args):
        if a.number is not None:
            continue
        values = core.to_numpy(good[k])
        for other in (values, values.tolist(), memoryview(values)):
            inputs = list(good)
            inputs[k] = other
            try:
                got = [core.to_numpy(y) for y in call(sample.op, inputs, sample.attrs)]
            except OURS as e:
                if not isinstance(other, int | float):  # a list of a 0-d array is a number
                    assert {spoken(sample.op), type(other).__name__} <= set(re.findall(r"\w+", str(e))), e  # noqa: PT017
                continue
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-6)


@pytest.mark.parametrize("sample", cases([s for s in ONE_EACH if sum(a.number is None for a in s.args) > 1]))
def test_two_devices(sample):
    for k, a in enumerate(sample.args):
        if a.number is None:
            inputs = good_call(sample)
            inputs[k] = core.copy_to_device(inputs[k], 1)
            refused(sample.op, inputs, sample.attrs, sample.op, "cpu(0)", "cpu(1)", kinds=core.DeviceError)


def test_unknown_op():
    with pytest.raises(core.MXNetError, match="no_such_op"):
        core.invoke("no_such_op", [], {})


def test_first_error_of_a_newcomer():
    with pytest.raises(core.ShapeError) as e:
        array(np.zeros((2, 3))) + array(np.zeros(4))
    assert str(e.value).startswith("broadcast_add: cannot broadcast (2, 3) with (4,)")
    assert isinstance(e.value, ValueError)
    assert isinstance(e.value, core.MXNetError)


def test_kinds_of_exceptions():
    assert issubclass(core.MXNetError, RuntimeError)
    for kind, also in ((core.ShapeError, ValueError), (core.DTypeError, TypeError), (core.IndexOutOfRange, IndexError),
                       (core.OutOfMemory, MemoryError), (core.ArgumentError, TypeError), (core.ArgumentError,
                       ValueError),
                       (core.UnsupportedError, NotImplementedError), (core.DeviceError, core.MXNetError),
                       (core.GradientError, core.MXNetError)):  # fmt: skip
        assert issubclass(kind, also)
        assert issubclass(kind, core.MXNetError)


def test_positions_out_of_range():
    x, i = array(np.zeros((3, 4), np.float32)), array([1, 7], "int64")
    with pytest.raises(IndexError, match=r"index 7 is out of range for axis 0 of size 3"):
        core.wait(core.invoke("take", [x, i], {"mode": "raise"}))
    with pytest.raises(core.MXNetError, match=r"1\.5"):
        core.wait(core.invoke("take", [x, array([1.5], "float32")], {"mode": "raise"}))
    with pytest.raises(core.MXNetError, match=r"(?i)nan"):
        core.wait(core.invoke("take", [x, array([np.nan], "float32")], {}))
    with pytest.raises(core.DTypeError, match="bool"):
        core.invoke("take", [x, array([True], "bool")], {})


def test_matrix_that_is_not_positive_definite():
    x = array(-np.eye(3, dtype=np.float32))
    with pytest.raises(core.MXNetError, match="positive definite") as e:
        core.wait(core.invoke("linalg_potrf", [x], {}))
    assert "linalg_potrf" in str(e.value)


FACES = core.faces()


def test_calls_of_functions():
    """Functions made from rows check their calls as Python's own do."""
    x = array(np.zeros((2, 3), np.float32))
    total, split = FACES["nd"]["sum"], FACES["nd"]["split"]
    for bad, words in (
        (lambda: total(), ("sum", "data")),
        (lambda: total(x, axes=1), ("sum", "axes")),
        (lambda: total(x, 1, axis=1), ("sum", "axis")),
        (lambda: total(x, data=x), ("sum", "data")),
        (lambda: total(x, 1, False, False, 1, 2, 3), ("sum",)),
        (lambda: split(x), ("split", "num_outputs")),
        (lambda: split(x, num_outputs="3"), ("split", "num_outputs", "'3'")),
        (lambda: x.sum(axes=1), ("sum", "axes")),
        (lambda: total(x, axis=1, out=3), ("sum", "out")),
    ):
        with pytest.raises(TypeError) as e:
            bad()
        assert all(w in str(e.value) for w in words), e.value
