"""Samples: dropout, against Philox written out, and embeddings."""

from __future__ import annotations

import numpy as np
from ops.sampling import FLOATS, index, real, refuse, sample

_LOW = np.uint64(0xFFFFFFFF)


def _philox(counter, key):
    """Philox4x32-10 on arrays of counters (Salmon et al., 2011)."""
    c = [np.asarray(v, np.uint64) for v in counter]
    k = [np.uint64(v) for v in key]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        shift = np.uint64(32)
        c = [p1 >> shift ^ c[1] ^ k[0], p1 & _LOW, p0 >> shift ^ c[3] ^ k[1], p0 & _LOW]
        k = [(k[0] + np.uint64(0x9E3779B9)) & _LOW, (k[1] + np.uint64(0xBB67AE85)) & _LOW]
    return c


def _words(ticket, n):
    """The random word of each of `n` values."""
    seed, stream, counter = (int(v) & 0xFFFFFFFFFFFFFFFF for v in ticket)
    mixed = _philox(
        [counter & 0xFFFFFFFF, counter >> 32, stream & 0xFFFFFFFF, 0x676C756F], [seed & 0xFFFFFFFF, seed >> 32]
    )
    i = np.arange(n, dtype=np.uint64)
    block = i // np.uint64(64) * np.uint64(16) + i % np.uint64(16)
    zero = np.zeros_like(block)
    words = _philox([block & _LOW, block >> np.uint64(32), zero, zero], [int(mixed[0]), int(mixed[1])])
    return np.choose((i // np.uint64(16) % np.uint64(4)).astype(int), words) if n else zero


def _dropped(ticket, n, p):
    """Which of `n` values are dropped: half a word decides where that says the shares to a thousandth, else a word."""
    half = round(p * 2**16)
    if abs(half / 2**16 - p) > min(p, 1 - p) * 1e-3 or half == 2**16:
        return _words(ticket, n) < p * 2**32
    i = np.arange(n)
    words = _words(ticket, -(-n // 128) * 64)[i // 128 * 64 + i % 64]
    return np.where(i // 64 % 2, words >> np.uint64(16), words & np.uint64(0xFFFF)) < half


def _again(x, ticket, p=0.5, axes=None):
    shape = [1 if axes and d in axes else n for d, n in enumerate(x.shape)]
    dropped = _dropped(ticket, int(np.prod(shape)), p).reshape(shape)
    return np.where(dropped, 0, x / (1 - p) if p < 1 else 0 * x)


for _attrs in ({}, {"p": 0.2}, {"p": 0.001}, {"p": 0.0}, {"p": 1.0}, {"p": 0.3, "axes": (1,)}, {"axes": (0, 2)}):
    sample(
        "_dropout_again",
        real(3, 40, 5),
        index(3, n=1000),
        ref=_again,
        attrs=_attrs,
        grad=(0,),
        dtypes=FLOATS,
        edge=[((2, 0, 3), (3,)), ((1, 17, 33), (3,))],
        big=((30, 70, 40), (3,)),
        rtol=2,
        bad=[refuse("ticket must be 3 numbers of int64", "(2,)", shapes=((3, 40, 5), (2,)))],
    )
sample(
    "Dropout",
    real(3, 4),
    ref=lambda x, p=0.5: x,
    grad=(0,),
    dtypes=FLOATS,
    edge=[((0, 2),), ((),)],
    bad=[refuse("Dropout", "p=1.5", p=1.5), refuse("axis 2", axes=(2,)), refuse("int32", dtypes=("int32",))],
)
sample("Dropout", real(3, 4), ref=lambda x, p, mode: x, attrs={"p": 0.0, "mode": "always"}, grad=(0,), dtypes=FLOATS)


def _embedding(i, w, input_dim, output_dim):
    return w[i.astype(int)]


_attrs = {"input_dim": 7, "output_dim": 3}
for _dtype in ("int32", "float32", "uint8"):
    sample(
        "Embedding",
        index(2, 5, n=7, dtype=_dtype),
        real(7, 3),
        ref=_embedding,
        attrs=_attrs,
        grad=(1,),
        dtypes=FLOATS,
        edge=[((0,), (7, 3)), ((), (7, 3)), ((33,), (7, 3))],
        big=((60, 300), (7, 3)),
        bad=[refuse("Embedding", "weight must have shape (7, 3)", "(7, 4)", shapes=((2, 5), (7, 4)))],
    )
