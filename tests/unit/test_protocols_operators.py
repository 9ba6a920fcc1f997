"""Python's operators on arrays: what they compute, in place too, and what they refuse."""

import operator

import numpy as np
import pytest

import gluonish as mx
from gluonish import nd
from gluonish.errors import DTypeError, GradientError, ShapeError

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
COMPARE = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
IN_PLACE = {
    operator.add: operator.iadd, operator.sub: operator.isub, operator.mul: operator.imul,
    operator.truediv: operator.itruediv, operator.floordiv: operator.ifloordiv, operator.mod: operator.imod,
    operator.pow: operator.ipow, operator.and_: operator.iand, operator.or_: operator.ior, operator.xor: operator.ixor,
    operator.lshift: operator.ilshift, operator.rshift: operator.irshift, operator.matmul: operator.imatmul,
}  # fmt: skip


def values(dtype):
    return np.array([[3, 5, 1], [2, 4, 6]], dtype), np.array([2, 1, 3], dtype)


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARE, *BITS])
def test_both_ways(op, dtype):
    if op in BITS and dtype == "float32":
        return
    a, b = values(dtype)
    x, y = nd.array(a, dtype=dtype), nd.array(b, dtype=dtype)
    wide = [a, b] if op is not operator.truediv else [a.astype("float32"), b.astype("float32")]
    want = op(*wide)
    lists = [] if dtype == "uint8" else [op(x, b.tolist())]  # which are int64
    for got in (op(x, y), op(a, y), op(x, b), *lists):
        assert isinstance(got, mx.nd.NDArray)
        np.testing.assert_allclose(got.asnumpy(), want)
    assert op(x, y).dtype == want.dtype
    np.testing.assert_allclose(op(x, 2).asnumpy(), op(wide[0], 2))
    np.testing.assert_allclose(op(2, y).asnumpy(), op(2, wide[1]))


@pytest.mark.parametrize("op", IN_PLACE)
def test_in_place(op):
    floats = op in (operator.truediv, operator.matmul)
    a = np.array([[3, 5], [2, 4]], "float32" if floats else "int32")
    for b in (np.array([[2, 1], [3, 2]], a.dtype), 2):
        if op is operator.matmul and isinstance(b, int):
            continue
        x = nd.array(a, dtype=a.dtype)
        before, y = x, nd.array(b, dtype=a.dtype) if isinstance(b, np.ndarray) else b
        x = IN_PLACE[op](x, y)
        assert x is before
        np.testing.assert_allclose(x.asnumpy(), op(a, b))


def test_divmod():
    a, b = np.array([7, -7, 8]), np.array([3, 3, -3])
    for x, y in ((nd.array(a, dtype="int64"), nd.array(b, dtype="int64")), (nd.array(a, dtype="int64"), b)):
        for got, want in zip(divmod(x, y), np.divmod(a, b), strict=True):
            assert (got.asnumpy() == want).all()
    quotient, rest = divmod(20, nd.array([3, 7], dtype="int32"))
    assert quotient.tolist() == [6, 2]
    assert rest.tolist() == [2, 6]
    with pytest.raises(TypeError):
        divmod(nd.ones(2), "a")


def test_matmul():
    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.arange(12, dtype="float32").reshape(3, 4)
    x, y = nd.array(a), nd.array(b)
    for got in (x @ y, a @ y, x @ b):
        assert (got.asnumpy() == a @ b).all()


def test_unary():
    a = np.array([-2, 0, 3], "int16")
    x = nd.array(a, dtype="int16")
    for op in (operator.neg, operator.pos, abs, operator.invert):
        assert (op(x).asnumpy() == op(a)).all()
        assert op(x).dtype == "int16"
    assert (+x) is not x
    mask = nd.array([1, 0], dtype="bool")
    assert (~mask).tolist() == [False, True]
    assert (-mask).tolist() == [-1, 0]


def test_bits_of_bool_and_of_floats():
    p, q = np.array([True, True, False]), np.array([True, False, False])
    x, y = nd.array(p, dtype="bool"), nd.array(q, dtype="bool")
    for op in (operator.and_, operator.or_, operator.xor):
        assert op(x, y).dtype == bool
        assert (op(x, y).asnumpy() == op(p, q)).all()
        assert op(x, True).dtype == bool
    for op in (*BITS, lambda a, b: ~a):
        with pytest.raises(DTypeError, match="no bits to work on"):
            op(nd.ones(3), nd.ones(3))
    with pytest.raises(DTypeError, match="float32 has no bits"):
        nd.ones(3, dtype="int32") & 1.5


def test_in_place_keeps_the_type_or_raises():
    x = nd.ones(2, dtype="int32")
    for op, other in ((operator.iadd, 0.5), (operator.itruediv, 2), (operator.imul, nd.ones(2))):
        with pytest.raises(DTypeError, match="lose its fraction"):
            op(x, other)
    with pytest.raises(DTypeError, match="negative numbers"):
        operator.iadd(nd.ones(2, dtype="uint8"), nd.ones(2, dtype="int64"))
    with pytest.raises(DTypeError, match="whether it is 0"):
        operator.iadd(nd.ones(2, dtype="bool"), nd.ones(2, dtype="int64"))
    with pytest.raises(ShapeError):
        operator.iadd(nd.ones(2), nd.ones((3, 2)))
    x = nd.ones(2, dtype="float16")
    x += nd.ones(2, dtype="float64")
    assert x.dtype == "float16"


def test_what_is_no_number():
    x = nd.ones(3)
    assert (x == None) is False  # noqa: E711 - that is the question
    assert (x != None) is True  # noqa: E711
    assert (x == "a") is False
    assert None not in [x, 1]
    for op in (operator.add, operator.lt, operator.and_, operator.iadd):
        for other in (None, "a", object(), {}):
            with pytest.raises(TypeError):
                op(x, other)
    with pytest.raises(TypeError):
        pow(x, 2, 3)


def test_lists():
    x = nd.array([1, 2, 3], dtype="float64")
    assert operator.add(x, [0.1, 0.2, 0.3]).tolist() == [1.1, 2.2, 3.3]
    assert operator.add(nd.array([1], dtype="int8"), [1.5]).dtype == "float32"
    assert operator.add(nd.array([1], dtype="int8"), [1]).dtype == "int64"
    assert (x == (1, 2, 3)).tolist() == [True] * 3
    assert operator.add(x, [x[0], x[1], 5]).tolist() == [2, 4, 8]
    with pytest.raises(ValueError, match="inhomogeneous"):
        operator.add(x, [1, [2, 3]])


def test_numpy_arrays_go_where_the_array_is():
    x = nd.ones(2, mx.cpu(1))
    for y in (x + np.ones(2), np.ones(2) + x, nd.broadcast_add(np.ones(2), x), nd.broadcast_add(lhs=x, rhs=[1, 2])):
        assert y.ctx == mx.cpu(1)
    assert (x + np.arange(2, dtype=">i4")).tolist() == [1, 2]


def test_operators_are_recorded():
    x = nd.array([1.5, 2.5])
    x.attach_grad()
    with mx.autograd.record():
        quotient, rest = divmod(x * 4, 4)
        y = (+x + rest + quotient + np.ones(2)) * [2, 3]
    y.backward()
    assert x.grad.tolist() == [10, 15]
    with mx.autograd.record(), pytest.raises(GradientError):
        x += 1
