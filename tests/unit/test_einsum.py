"""einsum and the products of np against NumPy."""

import numpy as np
import pytest

from gluonish import autograd
from gluonish import np as mnp

rng = np.random.default_rng(5)


def numbers(*shape):
    return rng.integers(-4, 5, shape).astype("float64")


def same(got, want):
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got.asnumpy(), want)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("i->", [(3,)]),
        ("ij->ji", [(2, 3)]),
        ("ij->j", [(2, 3)]),
        ("ij", [(2, 3)]),
        ("ba", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iji->j", [(3, 2, 3)]),
        ("iii->i", [(2, 2, 2)]),
        ("iijj->ij", [(2, 2, 3, 3)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("i,i", [(3,), (3,)]),
        ("i,j", [(3,), (2,)]),
        ("bij,bjk->bik", [(4, 2, 3), (4, 3, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
        ("ij,ij", [(2, 3), (2, 3)]),
        ("ij,kj->", [(2, 3), (4, 3)]),
        ("...ij,...jk->...ik", [(4, 2, 3), (5, 1, 3, 2)]),
        ("...i,...i", [(4, 3), (3,)]),
        ("i...->...", [(2, 3, 4)]),
        ("...", [(2, 3)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("ij,jk", [(2, 1), (3, 4)]),
        ("i,i->i", [(1,), (4,)]),
        ("ij,jk,kl", [(2, 3), (3, 4), (4, 2)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("abc,cd,d,ae->eb", [(2, 3, 4), (4, 5), (5,), (2, 6)]),
        (",", [(), ()]),
        (",i->i", [(), (3,)]),
        ("ij,j->i", [(0, 3), (3,)]),
        ("ij,jk->ik", [(2, 0), (0, 3)]),
        ("ijk,jil->kl", [(2, 3, 4), (3, 2, 5)]),
        (" ij , jk -> ik ", [(2, 3), (3, 4)]),
    ],
)
@pytest.mark.parametrize("optimize", [False, True, "greedy", "optimal"])
def test_einsum(text, shapes, optimize):
    arrays = [numbers(*s) for s in shapes]
    same(mnp.einsum(text, *map(mnp.array, arrays), optimize=optimize), np.einsum(text, *arrays))


def test_lists_of_labels():
    a, b = numbers(2, 3), numbers(3, 4)
    same(mnp.einsum(mnp.array(a), [0, 1], mnp.array(b), [1, 2], [2, 0]), np.einsum(a, [0, 1], b, [1, 2], [2, 0]))
    same(mnp.einsum(mnp.array(a), [1, 0], mnp.array(b), [0, 5]), np.einsum(a, [1, 0], b, [0, 5]))
    same(mnp.einsum(mnp.array(a), [Ellipsis, 0], [0, Ellipsis]), np.einsum(a, [Ellipsis, 0], [0, Ellipsis]))


def test_a_path_of_ones_own():
    a, b, c = numbers(2, 3), numbers(3, 4), numbers(4, 2)
    want = np.einsum("ij,jk,kl", a, b, c)
    for path in (["einsum_path", (1, 2), (0, 1)], ["einsum_path", (0, 1, 2)]):
        same(mnp.einsum("ij,jk,kl", *map(mnp.array, (a, b, c)), optimize=path), want)


def test_types_and_out():
    a = mnp.array([[1, 2], [3, 4]], dtype="int32")
    assert str(mnp.einsum("ij->i", a).dtype) == "int32"
    assert str(mnp.einsum("ij,jk", a, a, dtype="float64").dtype) == "float64"
    mask = mnp.array([[True, False], [True, True]])
    assert mnp.einsum("ij->j", mask).tolist() == [True, True]
    out = mnp.zeros((2, 2), dtype="int32")
    assert mnp.einsum("ij->ji", a, out=out) is out
    assert out.tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("text", "shapes", "says"),
    [
        ("ij,jk", [(2, 3)], "2 arrays, but 1"),
        ("ij", [(2, 3, 4)], "does not fit an array of 3 axes"),
        ("ij,jk", [(2, 3), (4, 5)], "'j'.* has sizes 3 and 4"),
        ("ii", [(2, 3)], "sizes 2 and 3"),
        ("i->j", [(2,)], "'j' in the result"),
        ("i->ii", [(2,)], "label twice"),
        ("i%", [(2, 2)], "expected letters"),
    ],
)
def test_bad_input(text, shapes, says):
    with pytest.raises(ValueError, match=says):
        mnp.einsum(text, *(mnp.ones(s) for s in shapes))
    if "->" not in text and says != "expected letters":
        with pytest.raises(ValueError, match=r"optimize=|expected|einsum"):
            mnp.einsum(text, *(mnp.ones(s) for s in shapes), optimize=True)
    with pytest.raises(ValueError, match="optimize=3"):
        mnp.einsum("ij,jk", mnp.ones((2, 2)), mnp.ones((2, 2)), optimize=3)


def test_gradient():
    a, b = mnp.array(numbers(4, 2, 3)), mnp.array(numbers(4, 3, 5))
    for x in (a, b):
        x.attach_grad()
    with autograd.record():
        y = mnp.einsum("bij,bjk->", a, b)
    y.backward()
    same(a.grad, np.broadcast_to(b.asnumpy().sum(-1)[:, None], a.shape))
    same(b.grad, np.broadcast_to(a.asnumpy().sum(1)[:, :, None], b.shape))
    c = mnp.array(numbers(3, 3))
    c.attach_grad()
    with autograd.record():
        y = mnp.einsum("ii", c)
    y.backward()
    same(c.grad, np.eye(3))


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("matmul", [numbers(4, 2, 3), numbers(3)], {}),
        ("vdot", [numbers(2, 3), numbers(3, 2)], {}),
        ("vdot", [3, 4], {}),
        ("inner", [numbers(2, 3), numbers(4, 5, 3)], {}),
        ("inner", [numbers(3), 2.0], {}),
        ("outer", [numbers(2, 2), numbers(3)], {}),
        ("tensordot", [numbers(2, 3, 4), numbers(3, 4, 5)], {}),
        ("tensordot", [numbers(2, 3), numbers(3, 4)], {"axes": 1}),
        ("tensordot", [numbers(2, 3), numbers(3, 4)], {"axes": 0}),
        ("tensordot", [numbers(2, 3), numbers(4, 2)], {"axes": (0, 1)}),
        ("tensordot", [numbers(2, 3, 4), numbers(4, 5, 2)], {"axes": ([0, -1], [2, 0])}),
        ("kron", [numbers(2, 3), numbers(4)], {}),
        ("kron", [numbers(2), numbers(3, 2, 2)], {}),
        ("kron", [2.0, numbers(3)], {}),
        ("cross", [numbers(4, 3), numbers(3)], {}),
        ("cross", [numbers(3, 4), numbers(3, 4)], {"axis": 0}),
        ("cross", [numbers(2, 3), numbers(3, 2)], {"axisa": 1, "axisb": 0, "axisc": 0}),
    ],
)
def test_products(name, arguments, keywords):
    ours = [mnp.array(x) if isinstance(x, np.ndarray) else x for x in arguments]
    same(getattr(mnp, name)(*ours, **keywords), getattr(np, name)(*arguments, **keywords))


def test_cross_of_two_components():
    a, b = numbers(5, 2), numbers(5, 2)
    same(mnp.cross(mnp.array(a), mnp.array(b)), a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    flat = mnp.cross(mnp.array(a), mnp.array(np.pad(b, ((0, 0), (0, 1)), constant_values=3.0)))
    same(flat, np.cross(np.pad(a, ((0, 0), (0, 1))), np.pad(b, ((0, 0), (0, 1)), constant_values=3.0)))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mnp.tensordot(mnp.ones((2, 3)), mnp.ones((2, 3)), 1), "sizes differ"),
        (lambda: mnp.tensordot(mnp.ones(2), mnp.ones(2), ([0, 0], [0])), "as many"),
        (lambda: mnp.tensordot(mnp.ones(2), mnp.ones(2), ([5], [0])), "no such axis"),
        (lambda: mnp.vdot(mnp.ones(2), mnp.ones(3)), "2 and 3"),
        (lambda: mnp.cross(mnp.ones(4), mnp.ones(3)), "components"),
        (lambda: mnp.cross(mnp.ones(3), mnp.ones(3), axisa=3), "axis 3"),
    ],
)
def test_products_that_do_not_fit(call, says):
    with pytest.raises(ValueError, match=says):
        call()
