"""Samples: Fourier transforms in MXNet's layout, and sketches."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, index, real, refuse, sample


def _fft(x, compute_size=128):
    y = np.fft.fft(x) if x.shape[-1] else x.astype(complex)
    return np.stack([y.real, y.imag], -1).reshape(*x.shape[:-1], 2 * x.shape[-1])


def _ifft(x, compute_size=128):
    n = x.shape[-1] // 2
    z = x[..., 0::2] + 1j * x[..., 1::2]
    return (np.fft.ifft(z) * n).real if n else z.real


_near = {"grad": (0,), "dtypes": FLOATS, "rtol": 16, "atol": 256}
sample(
    "fft",
    real(3, 8),
    ref=_fft,
    **_near,
    edge=[((1,),), ((0, 4),), ((2, 0),), ((7,),), ((2, 3, 30),)],
    big=((400, 128),),
    bad=[
        refuse("fft", "()", shapes=((),)),
        refuse("compute_size=0", compute_size=0),
        refuse("int32", dtypes=("int32",)),
    ],
)
sample("fft", real(5, 6), attrs={"compute_size": 2}, ref=_fft, **_near)
sample(
    "ifft",
    real(3, 8),
    ref=_ifft,
    **_near,
    edge=[((2,),), ((0, 4),), ((2, 0),), ((14,),), ((2, 3, 30),)],
    big=((400, 128),),
    bad=[refuse("ifft", "pairs", "(3, 5)", shapes=((3, 5),))],
)


def _count_sketch(data, h, s, out_dim):
    made = np.zeros((*data.shape[:-1], out_dim))
    for j, (to, sign) in enumerate(zip(h.ravel().astype(int), s.ravel(), strict=True)):
        made[..., to] += sign * data[..., j]
    return made


_sketch = {"ref": _count_sketch, "attrs": {"out_dim": 4}, "grad": (0, 2), "dtypes": FLOATS, "rtol": 4, "atol": 32}
sample(
    "count_sketch",
    real(3, 6),
    index(6, n=4),
    real(6),
    **_sketch,
    edge=[((2, 1), (1,), (1,)), ((0, 5), (5,), (5,))],
    bad=[refuse("count_sketch", "(3, 6)", "(5,)", shapes=((3, 6), (5,), (6,))), refuse("out_dim=0", out_dim=0)],
)
sample("count_sketch", real(2, 6), index(1, 6, n=4, dtype="float32"), real(1, 6), **_sketch)
