"""Samples: products of matrices, Cholesky factors and triangular systems."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, NUMBERS, REALS, real, refuse, sample


def _turned(x, yes=True):
    return np.swapaxes(x, -1, -2) if yes else x


def _potrf(a, lower=True):
    factor = np.linalg.cholesky((a + _turned(a)) / 2)
    return _turned(factor, not lower)


def _potri(a, lower=True):
    factor = np.tril(a) if lower else np.triu(a)
    return np.linalg.inv(factor @ _turned(factor) if lower else _turned(factor) @ factor)


def _trmm(a, b, transpose=False, rightside=False, lower=True, alpha=1.0):
    a = _turned(np.tril(a) if lower else np.triu(a), transpose)
    return alpha * (b @ a if rightside else a @ b)


def _trsm(a, b, transpose=False, rightside=False, lower=True, alpha=1.0):
    a = _turned(np.tril(a) if lower else np.triu(a), transpose)
    x = np.linalg.solve(_turned(a), _turned(b)) if rightside else np.linalg.solve(a, b)
    return alpha * (_turned(x) if rightside else x)


for _lower in (True, False):
    sample("linalg_potrf", real(2, 4, 4, form="spd"), ref=_potrf, attrs={"lower": _lower}, grad=(0,), dtypes=FLOATS,
           rtol=64, atol=64,
           symmetric=True, edge=[((1, 1),), ((0, 3, 3),), ((0, 0),), ((37, 37),)], big=((3, 90, 90),),
           bad=[refuse("linalg_potrf", "square", "(3, 4)", shapes=((3, 4),)), refuse("linalg_potrf", "int32",
                dtypes=("int32",))])  # fmt: skip
    sample("linalg_potri", real(2, 3, 3, form="regular"), ref=_potri, attrs={"lower": _lower}, grad=(0,),
           dtypes=FLOATS, rtol=64, atol=64, edge=[((0, 0),), ((1, 1),), ((45, 45),)], big=((3, 90, 90),),
           bad=[refuse("linalg_potri", "square", "(3, 4)", shapes=((3, 4),))])  # fmt: skip
    for _transpose in (False, True):
        for _right in (False, True):
            sample("linalg_trmm", real(3, 3, form="triangle"), real(3, 3), ref=_trmm, grad=(0, 1), dtypes=FLOATS,
                   rtol=4, atol=64, edge=[((0, 0), (0, 0)), ((1, 1), (1, 1)), ((2, 3, 3), (2, 3, 3))],
                   attrs={"transpose": _transpose, "rightside": _right, "lower": _lower, "alpha": 1.5},
                   bad=[refuse("linalg_trmm", "(3, 3)", "(4, 4)", shapes=((3, 3), (4, 4))),
                        refuse("linalg_trmm", "square", "(3, 4)", shapes=((3, 4), (4, 4)))])  # fmt: skip
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


# The products with MXNet's names.
_product["ref"] = lambda a, b, transpose_a=False, transpose_b=False: _turned(a, transpose_a) @ _turned(b, transpose_b)
sample(
    "batch_dot",
    real(2, 3, 4),
    real(2, 4, 5),
    **_product,
    big=((4, 65, 70), (4, 70, 90)),
    edge=[((0, 3, 4), (0, 4, 2)), ((2, 3, 0), (2, 0, 2)), ((1, 1, 1), (1, 1, 1)), ((2, 3, 2, 5), (2, 3, 5, 1))],
    bad=[
        refuse("batch_dot", "3 and 4", shapes=((2, 3, 3), (2, 4, 5))),
        refuse("batch_dot", "(3, 4)", "dot", shapes=((3, 4), (4, 5))),
    ],
)
for _a in (False, True):
    for _b in (False, True):
        sample("batch_dot", real(2, 3, 3), real(2, 3, 3), attrs={"transpose_a": _a, "transpose_b": _b}, **_product)


def _gemm2(a, b, transpose_a=False, transpose_b=False, alpha=1.0, axis=-2):
    a, b = np.swapaxes(a, axis, -2), np.swapaxes(b, axis, -2)
    return np.swapaxes(alpha * (_turned(a, transpose_a) @ _turned(b, transpose_b)), axis, -2)


def _gemm(a, b, c, transpose_a=False, transpose_b=False, alpha=1.0, beta=1.0, axis=-2):
    return _gemm2(a, b, transpose_a, transpose_b, alpha, axis) + beta * c


_scaled = {"dtypes": FLOATS, "atol": 256}
sample(
    "linalg_gemm2",
    real(2, 3, 4),
    real(2, 4, 5),
    ref=_gemm2,
    grad=(0, 1),
    **_scaled,
    edge=[((3, 4), (4, 2)), ((0, 0), (0, 0)), ((1, 1), (1, 1))],
    bad=[
        refuse("linalg_gemm2", "3 and 4", shapes=((2, 3, 3), (2, 4, 5))),
        refuse("linalg_gemm2", "(4,)", shapes=((4,), (4,))),
        refuse("linalg_gemm2", "axis 5", axis=5),
    ],
)
sample(
    "linalg_gemm2",
    real(3, 2, 4),
    real(5, 2, 4),
    ref=_gemm2,
    grad=(0, 1),
    **_scaled,
    attrs={"transpose_b": True, "alpha": -0.5, "axis": 0},
)
sample(
    "linalg_gemm2",
    real(2, 4, 3),
    real(2, 4, 5),
    ref=_gemm2,
    grad=(0, 1),
    **_scaled,
    attrs={"transpose_a": True, "alpha": 2.0},
)
sample(
    "linalg_gemm",
    real(2, 3, 4),
    real(2, 4, 5),
    real(2, 3, 5),
    ref=_gemm,
    grad=(0, 1, 2),
    **_scaled,
    edge=[((3, 4), (4, 2), (3, 2)), ((0, 2), (2, 0), (0, 0))],
    bad=[refuse("linalg_gemm", shapes=((3, 4), (4, 2), (3, 3)))],
)
sample(
    "linalg_gemm",
    real(3, 2, 4),
    real(3, 2, 5),
    real(4, 2, 5),
    ref=_gemm,
    grad=(0, 1, 2),
    **_scaled,
    attrs={"transpose_a": True, "alpha": 1.5, "beta": -2.0, "axis": 0},
    edge=[((4, 2, 4), (4, 2, 4), (4, 2, 4))],
)
for _transpose in (False, True):
    sample(
        "linalg_syrk",
        real(2, 3, 4),
        attrs={"transpose": _transpose, "alpha": 0.5},
        grad=(0,),
        **_scaled,
        ref=lambda a, transpose, alpha: alpha * (_turned(a) @ a if transpose else a @ _turned(a)),
        edge=[((0, 2),), ((1, 1),), ((5, 3),)],
    )


def _khatri_rao(first, *rest):
    for x in rest:
        first = (first[:, None] * x[None]).reshape(len(first) * len(x), x.shape[1])
    return first


sample(
    "khatri_rao",
    real(2, 3),
    real(4, 3),
    ref=_khatri_rao,
    grad=(0, 1),
    dtypes=NUMBERS,
    edge=[((1, 1), (1, 1)), ((0, 2), (3, 2)), ((3, 0), (2, 0))],
    bad=[refuse("khatri_rao", "(2, 3)", "(4, 2)", shapes=((2, 3), (4, 2)))],
)
sample("khatri_rao", real(2, 3), real(1, 3), real(3, 3), ref=_khatri_rao, grad=(0, 1, 2), dtypes=FLOATS, rtol=2)
