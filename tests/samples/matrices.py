"""Samples: products of matrices, and what is solved with them."""

from __future__ import annotations

import numpy as np
from ops.sampling import NUMBERS, REALS, real, refuse, sample


def _turned(x, yes=True):
    return np.swapaxes(x, -1, -2) if yes else x


def _potrf(a, lower=True):
    factor = np.linalg.cholesky((a + _turned(a)) / 2)
    return _turned(factor, not lower)


def _trsm(a, b, transpose=False, rightside=False, lower=True, alpha=1.0):
    a = _turned(np.tril(a) if lower else np.triu(a), transpose)
    x = np.linalg.solve(_turned(a), _turned(b)) if rightside else np.linalg.solve(a, b)
    return alpha * (_turned(x) if rightside else x)


for _lower in (True, False):
    sample("linalg_potrf", real(2, 4, 4, form="spd"), ref=_potrf, attrs={"lower": _lower}, grad=(0,), dtypes=REALS,
           rtol=64, atol=64,
           symmetric=True, edge=[((1, 1),), ((0, 3, 3),), ((0, 0),), ((37, 37),)], big=((3, 90, 90),),
           bad=[refuse("linalg_potrf", "square", "(3, 4)", shapes=((3, 4),)), refuse("linalg_potrf", "int32",
                dtypes=("int32",))])  # fmt: skip
    for _transpose in (False, True):
        for _right in (False, True):
            sample("linalg_trsm", real(3, 3, form="triangle"), real(3, 3), ref=_trsm, grad=(0, 1), dtypes=REALS,
                   rtol=64, atol=64,
                   attrs={"transpose": _transpose, "rightside": _right, "lower": _lower, "alpha": 1.5},
                   bad=[refuse("linalg_trsm", "(3, 3)", "(4, 5)", shapes=((3, 3), (4, 5))),
                        refuse("linalg_trsm", "(3, 3)", "(3,)", shapes=((3, 3), (3,)))])  # fmt: skip
sample("linalg_trsm", real(2, 4, 4, form="triangle"), real(2, 4, 3), ref=_trsm, grad=(0, 1), dtypes=REALS, rtol=64,
       atol=64,
       edge=[((0, 0), (0, 2)), ((1, 1), (1, 1)), ((3, 3), (3, 0)), ((41, 41), (41, 7))])  # fmt: skip
sample("_half_triangle", real(2, 3, 3), ref=lambda a: np.tril(a) - np.eye(a.shape[-1]) * a / 2, grad=(0,), dtypes=REALS,
       bad=[refuse("_half_triangle", "square", shapes=((2, 3),))])  # fmt: skip
for _lower in (True, False):
    sample("_triangle", real(2, 3, 3), attrs={"lower": _lower}, ref=lambda a,
           lower: (np.tril if lower else np.triu)(a), grad=(0,),
           dtypes=REALS, edge=[((0, 0),), ((1, 1),)])  # fmt: skip

_product = {"ref": np.matmul, "dtypes": NUMBERS, "grad": (0, 1), "atol": 2000}
sample("matmul", real(3, 4), real(4, 5), **_product, big=((130, 300), (300, 170)),
       edge=[((3, 0), (0, 2)), ((0, 3), (3, 2)), ((1, 1), (1, 1)), ((7, 13), (13, 11)), ((17,), (17,)), ((2, 1, 3, 2),
             (5, 2, 3))],
       bad=[refuse("matmul", "(2, 3)", "(4, 5)", "3 and 4", shapes=((2, 3), (4, 5))), refuse("matmul", "()",
            shapes=((), (2,))),
            refuse("matmul", "cannot broadcast (2,) with (3,)", shapes=((2, 4, 4), (3, 4, 4)))])  # fmt: skip
sample("matmul", real(4), real(4), **_product)
sample("matmul", real(2, 3, 4), real(4), **_product)
sample("matmul", real(4), real(2, 4, 3), **_product)
sample("matmul", real(3, 1, 2, 3), real(2, 3, 2), **_product)


def _dot(a, b, transpose_a=False, transpose_b=False):
    return np.tensordot(a, b, ([0 if transpose_a else -1], [-1 if transpose_b else 0]))


_product["ref"] = _dot
sample("dot", real(3, 4), real(4, 2), **_product, edge=[((4,), (4,)), ((3, 0), (0, 2)), ((2, 3, 4), (4, 2))],
       bad=[refuse("(3, 4)", "(5, 2)", shapes=((3, 4), (5, 2)))])  # fmt: skip
sample("dot", real(4, 3), real(4, 2), attrs={"transpose_a": True}, **_product)
sample("dot", real(3, 4), real(2, 4), attrs={"transpose_b": True}, **_product)
sample("dot", real(2, 3, 4), real(4, 3, 2), **_product)
sample("dot", real(4, 3, 2), real(2, 3, 4), attrs={"transpose_a": True, "transpose_b": True}, **_product)
