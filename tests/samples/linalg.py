"""Samples: equations, determinants, orthogonal factors, eigenvalues, singular values, diagonals and triangles."""

from __future__ import annotations

import numpy as np
from ops.sampling import ALL, FLOATS, REALS, real, refuse, sample


def _turned(x):
    return np.swapaxes(x, -1, -2)


_two, _three = {"result": "same same"}, {"result": "same same same"}
_near = {"rtol": 64, "atol": 128}
_not_square = refuse("square", "(3, 4)", shapes=((3, 4),))
_not_float = refuse("int32", "astype", dtypes=("int32",))

# Inverses, determinants, equations.
_square = {"edge": [((0, 0),), ((1, 1),), ((0, 3, 3),), ((2, 3, 1, 1),), ((41, 41),)], "big": ((70, 20, 20),)}
sample(
    "linalg_inverse",
    real(2, 4, 4, form="regular"),
    ref=np.linalg.inv,
    grad=(0,),
    dtypes=FLOATS,
    **_near,
    **_square,
    bad=[_not_square, _not_float, refuse("(3,)", shapes=((3,),))],
)
sample(
    "linalg_det",
    real(2, 4, 4, form="regular"),
    ref=np.linalg.det,
    grad=(0,),
    dtypes=FLOATS,
    rtol=64,
    atol=4000,
    edge=[((0, 0),), ((1, 1),), ((0, 3, 3),), ((7, 7),)],
    big=((70, 12, 12),),
    bad=[_not_square],
)
sample(
    "_linalg_cofactors",
    real(2, 4, 4, form="regular"),
    ref=lambda a: np.linalg.det(a)[..., None, None] * _turned(np.linalg.inv(a)),
    grad=(0,),
    dtypes=FLOATS,
    rtol=64,
    atol=40000,
    edge=[((0, 0),), ((1, 1),), ((0, 3, 3),), ((7, 7),)],
    big=((70, 12, 12),),
    bad=[_not_square],
)
sample(
    "linalg_slogdet",
    real(2, 4, 4, form="regular"),
    ref=lambda a: [*np.linalg.slogdet(a)],
    **_two,
    grad=(0,),
    dtypes=FLOATS,
    **_near,
    edge=[((0, 0),), ((1, 1),), ((0, 3, 3),), ((41, 41),)],
    big=((70, 12, 12),),
    bad=[_not_square],
)
sample(
    "_np_solve",
    real(2, 4, 4, form="regular"),
    real(2, 4, 3),
    ref=np.linalg.solve,
    grad=(0, 1),
    dtypes=FLOATS,
    **_near,
    edge=[
        ((0, 0), (0, 2)),
        ((1, 1), (1, 1)),
        ((3, 3), (3, 0)),
        ((41, 41), (41, 7)),
        ((3, 1, 2, 2), (4, 2, 1)),
        ((2, 2), (3, 2, 2)),
    ],
    big=((200, 200), (200, 150)),
    bad=[
        refuse("solve", "(3, 3)", "(4, 5)", shapes=((3, 3), (4, 5))),
        refuse("solve", "square", shapes=((3, 4), (3, 4))),
        refuse("solve", "(3,)", shapes=((3, 3), (3,))),
        refuse("cannot broadcast (2,) with (3,)", shapes=((2, 3, 3), (3, 3, 1))),
    ],
)


# Orthogonal factors: the signs are LAPACK's.
def _qr(a, complete=False):
    return [*np.linalg.qr(a, "complete" if complete else "reduced")]


def _gelqf(a):
    q, r = np.linalg.qr(_turned(a))
    return [_turned(q), _turned(r)]


_tall = [((1, 1),), ((4, 4),), ((0, 4, 2),), ((43, 37),)]
sample(
    "_np_qr",
    real(2, 5, 3, form="triangle"),
    ref=_qr,
    **_two,
    grad=(0,),
    dtypes=REALS,
    **_near,
    edge=_tall,
    big=((3, 300, 70),),
    bad=[refuse("qr", "(3,)", shapes=((3,),)), refuse("qr", "int32", dtypes=("int32",))],
)
sample(
    "_np_qr",
    real(2, 3, 5, form="triangle"),
    ref=_qr,
    **_two,
    grad=(0,),
    dtypes=REALS,
    **_near,
    edge=[((1, 4),), ((9, 40),)],
)
sample(
    "_np_qr", real(3, 5, form="triangle"), ref=_qr, **_two, attrs={"complete": True}, grad=(0,), dtypes=REALS, **_near
)
sample(
    "linalg_gelqf",
    real(2, 3, 5, form="triangle"),
    ref=_gelqf,
    **_two,
    grad=(0,),
    dtypes=REALS,
    **_near,
    edge=[((1, 1),), ((4, 4),), ((0, 2, 4),), ((37, 43),)],
    bad=[refuse("linalg_gelqf", "rows than columns", "(4, 3)", shapes=((4, 3),))],
)


# Eigenvalues and singular values: the largest component of a vector is positive.
def _signs(v):
    """For each column."""
    if not v.size:
        return np.ones((*v.shape[:-2], 1, v.shape[-1]))
    largest = np.take_along_axis(v, np.argmax(np.abs(v), -2, keepdims=True), -2)
    return np.where(largest < 0, -1.0, 1.0)


def _syevd(a):
    w, v = np.linalg.eigh((a + _turned(a)) / 2)
    return [_turned(v * _signs(v)), w]


def _eigvalsh(a):
    return np.linalg.eigvalsh((a + _turned(a)) / 2)


def _svd(a, full_matrices=False):
    u, s, vt = np.linalg.svd(a, full_matrices)
    k = s.shape[-1]
    signs = _signs(u)
    u = u * signs
    vt = np.concatenate(
        [vt[..., :k, :] * _turned(signs[..., :k]), vt[..., k:, :] * _turned(_signs(_turned(vt[..., k:, :])))], -2
    )
    return [u, s, vt]


_spectrum = {"rtol": 64, "atol": 512}
_mirrored = {
    "symmetric": True,
    "edge": [((0, 0),), ((1, 1),), ((0, 3, 3),), ((2, 2),), ((30, 30),)],
    "big": ((70, 12, 12),),
}
sample(
    "linalg_syevd",
    real(2, 4, 4, form="mirrored"),
    ref=_syevd,
    **_two,
    grad=(0,),
    dtypes=REALS,
    **_spectrum,
    **_mirrored,
    bad=[_not_square, _not_float],
)
sample(
    "_np_eigvalsh",
    real(2, 4, 4, form="mirrored"),
    ref=_eigvalsh,
    grad=(0,),
    dtypes=FLOATS,
    **_spectrum,
    **_mirrored,
    bad=[_not_square],
)
for _shape in ((2, 4, 4), (2, 5, 3), (2, 3, 5)):
    sample(
        "_np_svd",
        real(*_shape, form="apart"),
        ref=_svd,
        **_three,
        attrs={"full_matrices": False},
        grad=(0,),
        dtypes=REALS,
        **_spectrum,
        edge=[((1, 1),), ((1, 3),), ((0, 3, 2),), ((20, 23),)],
        big=((70, 12, 9),),
        bad=[refuse("svd", "(3,)", shapes=((3,),))],
    )
sample(
    "_np_svd",
    real(3, 4, 4, form="apart"),
    ref=_svd,
    **_three,
    attrs={"full_matrices": True},
    grad=(0,),
    dtypes=REALS,
    **_spectrum,
)
sample(
    "_np_svdvals",
    real(2, 4, 3, form="apart"),
    ref=lambda a: np.linalg.svd(a, compute_uv=False),
    grad=(0,),
    dtypes=FLOATS,
    **_spectrum,
    edge=[((1, 1),), ((0, 3),), ((3, 0),), ((0, 3, 2),), ((20, 23),)],
)


def _pinv(a, rcond=None):
    return np.linalg.pinv(a, rcond or 1e-6)


for _shape in ((2, 4, 4), (2, 5, 3), (2, 3, 5)):
    sample(
        "_np_pinv",
        real(*_shape, form="regular"),
        ref=_pinv,
        grad=(0,),
        dtypes=FLOATS,
        **_near,
        edge=[((1, 1),), ((0, 3),), ((3, 0),), ((0, 3, 2),), ((20, 23),)],
    )
sample("_np_pinv", real(4, 3, form="regular"), ref=_pinv, attrs={"rcond": 1e-3}, grad=(0,), dtypes=REALS, **_near)

# Diagonals and triangles.
_exact = {"grad": (0,), "dtypes": ALL, "exact": True, "work": "as is"}


def _makediag(x, offset=0):
    n = x.shape[-1] + abs(offset)
    made = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    made[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return made


def _places(n, offset, lower):
    """Rows and columns of a triangle: the lower one by rows, the upper one by columns."""
    below = offset < 0 or (offset == 0 and lower)
    i, j = np.tril_indices(n, -abs(offset))
    return (i, j) if below else (j, i)


def _extracttrian(a, offset=0, lower=True):
    return a[(..., *_places(a.shape[-1], offset, lower))]


def _maketrian(x, offset=0, lower=True):
    n = round((np.sqrt(8 * x.shape[-1] + 1) - 1) / 2) + abs(offset)
    made = np.zeros((*x.shape[:-1], n, n), x.dtype)
    made[(..., *_places(n, offset, lower))] = x
    return made


for _offset in (0, 1, -2):
    sample(
        "linalg_extractdiag",
        real(2, 4, 5),
        attrs={"offset": _offset},
        **_exact,
        ref=lambda a, offset: np.diagonal(a, offset, -2, -1),
        edge=[((3, 3),), ((0, 3, 3),)],
        bad=[
            refuse("linalg_extractdiag", "(4,)", shapes=((4,),)),
        ],
    )
    sample(
        "linalg_makediag",
        real(2, 3),
        attrs={"offset": _offset},
        ref=_makediag,
        **_exact,
        edge=[((1,),), ((0,),), ((5, 0),), ((7,),)],
        bad=[refuse("linalg_makediag", "()", shapes=((),))],
    )
    for _lower in (True, False):
        sample(
            "linalg_extracttrian",
            real(2, 4, 4),
            attrs={"offset": _offset, "lower": _lower},
            ref=_extracttrian,
            **_exact,
            edge=[((3, 3),), ((0, 4, 4),)],
            bad=[_not_square, refuse("offset=5", offset=5)],
        )
        sample(
            "linalg_maketrian",
            real(2, 6),
            attrs={"offset": _offset, "lower": _lower},
            ref=_maketrian,
            **_exact,
            edge=[((1,),), ((0,),), ((0, 3),)],
            bad=[refuse("linalg_maketrian", "4 elements", shapes=((4,),))],
        )
sample(
    "linalg_sumlogdiag",
    real(2, 4, 4, low=0.3, high=3),
    ref=lambda a: np.log(np.diagonal(a, 0, -2, -1)).sum(-1),
    grad=(0,),
    dtypes=FLOATS,
    rtol=4,
    atol=8,
    edge=[((1, 1),), ((0, 3, 3),)],
    bad=[refuse("linalg_sumlogdiag", "(3,)", shapes=((3,),))],
)
