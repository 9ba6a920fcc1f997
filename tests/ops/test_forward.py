"""Every op against NumPy: types, odd shapes, layouts, promotion, values at the edge."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from ops.driver import (
    KNOWN,
    LAYOUTS,
    TABLE,
    array,
    call,
    cases,
    check,
    core,
    expected,
    inputs_of,
    is_float,
    lay,
    promote,
    type_of,
    types_of,
    with_number,
)  # fmt: skip
from ops.sampling import ALL, rounded

WITH_REFERENCE = [s for s in KNOWN if s.ref is not None]


def compare(sample, dtypes, inputs, values, note=""):
    got = call(sample.op, inputs, sample.attrs)
    want = expected(sample, values, dtypes)
    assert len(got) == len(want)
    for g, (w, d) in zip(got, want, strict=True):
        check(g, w, d, sample, note)


@pytest.mark.parametrize(("sample", "dtype"), [c for s in WITH_REFERENCE for c in cases([s], s.dtypes)])
def test_types(sample, dtype):
    dtypes = types_of(sample, dtype)
    values = sample.make(dtype)
    compare(sample, dtypes, inputs_of(sample, values, dtypes), values, dtype)


@pytest.mark.parametrize(("sample", "shapes"), [c for s in WITH_REFERENCE for c in cases([s], s.edge)])
def test_odd_shapes(sample, shapes):
    sample = sample.with_shapes(shapes)
    for dtype in {"float32", "int32", "float64"} & set(sample.dtypes) or sample.dtypes[:1]:
        dtypes = types_of(sample, dtype)
        values = sample.make(dtype)
        compare(sample, dtypes, inputs_of(sample, values, dtypes), values, f"{dtype} {shapes}")


def changes_inputs(sample, dtype):
    """Whether a call writes over some of its inputs."""
    values = sample.make(dtype)
    inputs = inputs_of(sample, values, types_of(sample, dtype))
    row = TABLE[sample.op]
    may = row["changes"] or any(x["kind"] == "auxiliary" for x in row["inputs"])
    arrays = [x for x in inputs if isinstance(x, core.NDArray)] if may else []
    before = [core.to_numpy(x, True).copy() for x in arrays]
    if arrays:
        core.invoke(sample.op, inputs, sample.attrs)
    return any((core.to_numpy(x, True) != old).any() for x, old in zip(arrays, before, strict=True))


@pytest.mark.parametrize(
    ("sample", "layout"), cases([s for s in WITH_REFERENCE if any(a.shape for a in s.args)], LAYOUTS)
)
def test_layouts(sample, layout):
    if layout == "broadcast" and any(a.form not in {"", "whole"} for a in sample.args):
        pytest.skip("equal rows are not what the op takes")
    dtype = next((d for d in ("float32", "int32") if d in sample.dtypes), sample.dtypes[0])
    dtypes = types_of(sample, dtype)
    inputs, values = [], []
    for a, v, d in zip(sample.args, sample.make(dtype), dtypes, strict=True):
        x, y = (v, v) if a.number is not None else lay(v, d, layout)
        inputs.append(x)
        values.append(y)
    if layout == "broadcast" and changes_inputs(sample, dtype):
        with pytest.raises(core.ArgumentError, match="repeats its elements"):
            call(sample.op, inputs, sample.attrs)
        return
    if (
        sample.op == "boolean_mask"
        or not any(sample.op.startswith(p) for p in ("arg", "topk"))
        or layout != "broadcast"
    ):
        compare(sample, dtypes, inputs, values, f"{dtype} {layout}")


@pytest.mark.parametrize("sample", cases([s for s in WITH_REFERENCE if s.big]))
def test_large(sample):
    sample = sample.with_shapes(sample.big)
    dtype = "float32" if "float32" in sample.dtypes else sample.dtypes[0]
    dtypes = types_of(sample, dtype)
    values = sample.make(dtype)
    compare(sample, dtypes, inputs_of(sample, values, dtypes), values, "large")


MIXED = [("int32", "float16"), ("uint8", "int8"), ("bool", "float32"), ("float16", "bfloat16"), ("int64", "float32"),
         ("uint32", "int32"), ("float64", "bfloat16"), ("bool", "int16")]  # fmt: skip
BINARY = [s for s in WITH_REFERENCE if len(s.args) == 2 and all(a.dtype is None and a.number is None for a in s.args)
          and TABLE[s.op]["elementwise"]]  # fmt: skip


@pytest.mark.parametrize(("sample", "pair"), cases(BINARY, MIXED))
def test_mixed_types(sample, pair):
    if promote(*pair) not in sample.dtypes or not set(pair) <= {*sample.dtypes, "bool"} - (
        {"bool"} - set(sample.dtypes)
    ):
        pytest.skip("not in the sample's domain")
    for dtypes in (pair, pair[::-1]):
        rng = sample.rng()
        values = [a.make(d, rng) for a, d in zip(sample.args, dtypes, strict=True)]
        compare(sample, dtypes, inputs_of(sample, values, dtypes), values, str(dtypes))


@pytest.mark.parametrize("pair", [pytest.param(p, id="-".join(p)) for p in itertools.product(ALL, ALL)])
def test_promotion(pair):
    a, b = (array([1, 0, 1], d) for d in pair)
    want = promote(*pair)
    assert type_of(a * b) == want
    assert type_of(a + b) == ("int64" if want == "bool" else want)
    assert type_of(a / b) == (want if is_float(want) else "float32")
    assert type_of(a < b) == "bool"
    assert type_of(core.invoke("where", [a, a, b], {})) == want
    assert type_of(core.invoke("concat", [a, b], {"dim": 0})) == want


@pytest.mark.parametrize(("dtype", "number"), [*itertools.product(ALL, (True, 2, 2.5))])
def test_weak_numbers(dtype, number):
    x = array([1, 0, 1], dtype)
    want = with_number(dtype, number)
    values = np.array([1, 0, 1])
    for got, value in ((x * number, values * number), (number * x, values * number)):
        assert type_of(got) == want
        np.testing.assert_array_equal(core.to_numpy(got), rounded(value, want))
    assert type_of(x == number) == "bool"
    assert type_of(x / number) == (want if is_float(want) else "float32")


@pytest.mark.parametrize(("dtype", "shape"), [*itertools.product(ALL, ((), (1,), (0,), (1, 1)))])
def test_numbers_with_arrays_of_one_value(dtype, shape):
    values = np.full(shape, 1)
    x = array(values, dtype)
    for number in (True, 2, 2.5):
        want = with_number(dtype, number)
        for got in (x * number, number * x):
            assert (type_of(got), got.shape) == (want, shape)
            np.testing.assert_array_equal(core.to_numpy(got), rounded(values * number, want))
        assert core.to_numpy(x < number).tolist() == (values < number).tolist()


@pytest.mark.parametrize("sample", cases([s for s in WITH_REFERENCE if TABLE[s.op]["elementwise"] and not s.number]))
def test_numbers_alone(sample):
    """Without an array, Python numbers make one: bool, int64 or float32."""
    for values, dtype in (([2.5, 1.5, 3.5, 0.5], "float32"), ([2, 1, 3, 1], "int64")):
        if dtype in sample.dtypes and all(a.dtype is None for a in sample.args):
            numbers = values[: len(sample.args)]
            plain = replace(sample, args=tuple(replace(a, number=None) for a in sample.args))
            (want, to), *_ = expected(plain, [np.asarray(v, dtype) for v in numbers], [dtype] * len(numbers))
            check(call(sample.op, numbers, sample.attrs)[0], want, to, sample, str(numbers))


@pytest.mark.parametrize(
    ("dtype", "number"), [("uint8", -1), ("uint8", 256), ("int8", 200), ("int32", 2**31), ("uint64", -5)]
)
def test_number_that_does_not_fit(dtype, number):
    x = array([1, 2], dtype)
    with pytest.raises((ValueError, OverflowError), match=str(number)):
        x + number
    assert core.to_numpy(x == number).tolist() == [False, False]  # a comparison has an answer
    assert core.to_numpy(x < number).tolist() == [number > 0] * 2


SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, -1e-42, 1e-30, 3.4e38, -3.4e38, 1.0, -1.0, 0.5, 2.0, 1e10], np.float32
)
ELEMENTWISE = [s for s in WITH_REFERENCE if TABLE[s.op]["elementwise"] and s.special and "float32" in s.dtypes
               and all(a.dtype is None and a.number is None for a in s.args) and len(s.args) <= 2]  # fmt: skip


@pytest.mark.parametrize(("sample", "dtype"), cases(ELEMENTWISE, ("float32", "float64")))
def test_special_values(sample, dtype):
    """NaN, infinities, zeros, denormal and huge numbers, and every pair of them."""
    values = [SPECIAL.astype(dtype)] if len(sample.args) == 1 else list(np.meshgrid(SPECIAL, SPECIAL))
    values = [np.ascontiguousarray(v).astype(dtype) for v in values]
    got = core.to_numpy(call(sample.op, [array(v) for v in values], sample.attrs)[0])
    ((want, _),) = expected(sample, values, [dtype] * len(values))
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    # Below the normal numbers, results may be flushed or not; everything else is as near as usual.
    np.testing.assert_allclose(got, want, rtol=32 * np.finfo(dtype).eps, atol=4e-38 if dtype == "float32" else 4e-300)


@pytest.mark.parametrize(("dtype", "to"), [*itertools.product(ALL, ALL)])
def test_cast_of_every_pair(dtype, to):
    values = np.array([0, 1, 2, 100, 127] if dtype != "bool" else [0, 1])
    got = core.invoke("cast", [array(values, dtype)], {"dtype": to})
    assert type_of(got) == to
    np.testing.assert_array_equal(core.to_numpy(got), rounded(rounded(values, dtype), to))


def test_cast_of_floats_saturates():
    x = array([np.nan, np.inf, -np.inf, 300.0, -300.0, 1.9, -1.9], "float32")
    assert core.to_numpy(core.invoke("cast", [x], {"dtype": "int8"})).tolist() == [0, 127, -128, 127, -128, 1, -1]
    assert core.to_numpy(core.invoke("cast", [x], {"dtype": "uint8"})).tolist() == [0, 255, 0, 255, 0, 1, 0]


@pytest.mark.parametrize("sample", cases([s for s in KNOWN if s.check]))
def test_random_numbers(sample):
    dtypes = types_of(sample, sample.dtypes[0])
    inputs = inputs_of(sample, sample.make(sample.dtypes[0]), dtypes)
    got, again = (core.invoke(sample.op, inputs, sample.attrs) for _ in range(2))
    assert type_of(got) == sample.result
    sample.check(core.to_numpy(got), **sample.attrs)
    assert got.size == 0 or not np.array_equal(core.to_numpy(got), core.to_numpy(again))


def test_state_is_updated_in_training_only():
    data, total = array([1.0, 2.0], "float32"), array([10.0, 20.0], "float32")
    core.invoke("_test_accumulate", [data, total], {})
    assert core.to_numpy(total).tolist() == [10, 20]
    core.set_training(True)
    for k in (1, 2):
        got = core.invoke("_test_accumulate", [data, total], {})
        assert core.to_numpy(got).tolist() == [10 + k, 20 + 2 * k]
        assert core.to_numpy(total).tolist() == [10 + k, 20 + 2 * k]


def test_largest_of_numbers_with_nan_is_nan():
    x = array([1.0, np.nan, 3.0], "float32")
    for op in ("max", "min", "sum", "mean"):
        assert np.isnan(core.item(core.invoke(op, [x], {})))
    for op in ("argmax", "argmin"):
        assert core.item(core.invoke(op, [x], {})) == 1


def test_many_dimensions():
    x = np.arange(2**12, dtype=np.float32).reshape((2,) * 12)
    y = array(x)
    np.testing.assert_array_equal(core.to_numpy(y.T + y), x.T + x)
    np.testing.assert_array_equal(core.to_numpy(core.invoke("sum", [y.T], {"axis": (0, 3, 11)})), x.T.sum((0, 3, 11)))
    with pytest.raises(core.MXNetError, match="13 dimensions: at most 12"):
        core.invoke("expand_dims", [y], {"axis": 0})


def test_faces_are_the_rows():
    """The functions of nd and np call the rows, with names and defaults of their own."""
    faces = core.faces()
    x = array(np.arange(12.0).reshape(3, 4), "float32")
    i = array([0, 7], "int32")
    assert core.to_numpy(faces["nd"]["take"](x, i)).tolist() == core.to_numpy(x).take([0, 2], 0).tolist()
    assert faces["nd"]["concat"](x, x).shape == (3, 8)
    assert faces["np"]["concatenate"]([x, x]).shape == (6, 4)
    assert faces["np"]["concatenate"]([x, x], axis=1).shape == (3, 8)
    assert (
        faces["nd"]["swapaxes"](x, dim1=0, dim2=1).shape == faces["np"]["swapaxes"](x, axis1=0, axis2=1).shape == (4, 3)
    )
    assert core.item(faces["nd"]["sum"](x)) == core.item(x.sum()) == 66
    assert faces["nd"]["sum"](x, axis=0, exclude=True).shape == (3,)
    assert str(faces["np"]["sum"](x, dtype="float64").dtype) == "float64"
    with pytest.raises(core.ArgumentError, match="exclude"):
        faces["np"]["sum"](x, exclude=True)
    for row in TABLE.values():
        for face, names in row["faces"].items():
            assert set(names) <= set(faces[face]), f"{row['name']} is missing from {face}"
