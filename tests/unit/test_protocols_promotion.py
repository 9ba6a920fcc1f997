"""In which type operands meet: NumPy 2's rules with weak Python numbers, over all types and all elementwise ops.

The exceptions are few: an integer with a floating array gives the floating type, a Python float makes float32 of
integers, bool arrays add and subtract as int64, and NumPy knows no bfloat16.
"""

import operator
from itertools import product

import numpy as np
import pytest

from gluonish import _core, nd
from gluonish._dtype import NAMES
from gluonish.errors import DTypeError

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTS = [name for name in NAMES if name not in FLOATS and name != "bool"]
ROWS = [row["name"] for row in _core.op_table() if row["elementwise"] and len(row["inputs"]) == 2 and not row["attrs"]]
# What two bool arrays make, where it is not bool.
COUNTS = {"broadcast_add": "int64", "broadcast_sub": "int64", "broadcast_power": "int64", "left_shift": "int8",
          "right_shift": "int8", "gcd": "int64", "lcm": "int64"}  # fmt: skip


def met(a, b):
    if a in FLOATS and b in FLOATS:
        if "bfloat16" not in (a, b):
            return np.result_type(a, b).name
        other = b if a == "bfloat16" else a
        return {"bfloat16": "bfloat16", "float16": "float32"}.get(other, other)
    for floating in (a, b):
        if floating in FLOATS:
            return floating
    return np.result_type(a, b).name


def test_the_rule_is_numpys_but_for_the_exceptions():
    plain = [name for name in NAMES if name != "bfloat16"]
    for a, b in product(plain, plain):
        mixed = (a in FLOATS) != (b in FLOATS)
        assert met(a, b) == np.result_type(a, b).name or mixed, (a, b)


@pytest.mark.parametrize("row", ROWS)
def test_two_arrays(row):
    made = {name: nd.ones(2, dtype=name) for name in NAMES}

    def kind(a, b):
        try:
            return str(_core.invoke(row, [made[a], made[b]], {}).dtype)
        except DTypeError:
            return None

    of_ints = kind("int32", "int32")
    for a, b in product(NAMES, NAMES):
        want = met(a, b)
        if of_ints == "bool":
            want = "bool"
        elif of_ints == "float32":
            want = want if want in FLOATS else "float32"
        elif kind("float32", "float32") is None:  # integers only
            want = None if want in FLOATS else want
        if (a, b) == ("bool", "bool") and want == "bool" and of_ints != "bool":
            want = COUNTS.get(row, "bool")
        assert kind(a, b) == want, (a, b)


@pytest.mark.parametrize("dtype", NAMES)
def test_python_numbers_are_weak(dtype):
    x = nd.ones(2, dtype=dtype)
    floating = dtype in FLOATS
    for number, want in ((True, dtype), (3, "int64" if dtype == "bool" else dtype),
                         (2.5, dtype if floating else "float32")):  # fmt: skip
        for got in (x * number, number * x, x * np.array(number).item()):
            assert str(got.dtype) == want
        if dtype != "bfloat16" and (floating or number != 2.5):
            assert want == (np.ones(2, dtype) * number).dtype
    for scalar in (np.float64(2), np.float32(2), np.int64(2)):  # NumPy's scalars count as Python's numbers
        assert str((x * scalar).dtype) == str((x * scalar.item()).dtype) == str((scalar * x).dtype)


@pytest.mark.parametrize("dtype", INTS)
def test_integers_out_of_range(dtype):
    x, host = nd.ones(2, dtype=dtype), np.ones(2, dtype)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for number in (least - 1, most + 1, 2**64, -(2**64), 10**30):
        for op in (operator.add, operator.mul, operator.floordiv, operator.and_, operator.iadd):
            for call in (lambda: op(x, number), lambda: op(number, x)):  # noqa: B023 - called at once
                with pytest.raises(OverflowError, match=f"does not fit in {dtype}"):
                    call()
            with pytest.raises(OverflowError):
                op(host, number)
        for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge):
            assert compare(x, number).tolist() == compare(host, number).tolist()
            assert compare(number, x).tolist() == compare(number, host).tolist()
    for number in (least, most):
        assert (x * number).dtype == dtype
        assert (x * number).tolist() == [number, number]
        assert (nd.full(2, number, dtype=dtype) == number).asnumpy().all()
    with pytest.raises(OverflowError, match="does not fit"):
        nd.full((2,), most + 1 if dtype != "uint64" else -1, dtype=dtype)


def test_large_integers_with_floats():
    assert (nd.ones(1, dtype="float64") * 10**30).tolist() == [1e30]
    assert (nd.ones(1) * 2**63).tolist() == [2.0**63]
    x = nd.array(np.array([2**63 - 1, -(2**63)]), dtype="int64")
    assert (x == 2**63).tolist() == [False, False]
    assert (x >= 2**63).tolist() == [False, False]
    big = nd.array(np.array([2**63, 1], "uint64"), dtype="uint64")
    assert (big == 2**63).tolist() == [True, False]
    assert (big > -1).tolist() == [True, True]
    with pytest.raises(OverflowError):
        nd.ones(1, dtype="bool") + 2**63
