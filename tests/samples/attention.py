"""Samples: attention, against the whole matrix of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from ops.sampling import FLOATS, REALS, Arg, mask, real, refuse, sample

from samples.recurrent import philox


def _weights(q, k, seen, added, causal, scale):
    s = np.einsum("bhqd,bhkd->bhqk", q, np.repeat(k, q.shape[1] // k.shape[1], 1))
    s = s * (1 / np.sqrt(q.shape[-1]) if scale is None else scale) + added
    if causal:
        seen = seen & np.tril(np.ones(s.shape[-2:], bool))
    seen = np.broadcast_to(seen & (added != -np.inf), s.shape)
    e = np.where(seen, np.exp(s - np.max(np.where(seen, s, -1e30), -1, keepdims=True, initial=-1e30)), 0)
    total = e.sum(-1, keepdims=True)
    return np.where(total > 0, e / np.where(total > 0, total, 1), 0)


def _parts(mask):
    """What a mask hides, and what it adds."""
    if mask is None:
        return np.True_, 0.0
    return (mask, 0.0) if mask.dtype == bool else (np.True_, mask)


def _attention(q, k, v, mask=None, *, causal=False, scale=None, dropout=0.0):
    w = _weights(q, k, *_parts(mask), causal, scale)
    return np.einsum("bhqk,bhkd->bhqd", w, np.repeat(v, q.shape[1] // v.shape[1], 1))


def _operands(q: tuple[int, ...], groups: int, columns: int, depth: int) -> list[Arg]:
    batch, _, _, width = q
    shapes = (q, (batch, groups, columns, width), (batch, groups, columns, depth))
    return [real(*s, low=-1.5, high=1.5) for s in shapes]


_NAME = "scaled_dot_product_attention"
_HOW: dict[str, Any] = {"ref": _attention, "rtol": 32, "atol": 64, "special": False}
_SMALL = _operands((2, 2, 3, 5), 2, 4, 6)
sample(_NAME, *_SMALL, grad=(0, 1, 2), dtypes=FLOATS, **_HOW,
       edge=[((0, 2, 3, 5), (0, 2, 4, 5), (0, 2, 4, 6)), ((1, 1, 0, 5), (1, 1, 4, 5), (1, 1, 4, 1)),
             ((1, 2, 3, 5), (1, 2, 0, 5), (1, 2, 0, 6)), ((1, 3, 50, 8), (1, 3, 131, 8), (1, 3, 131, 17)),
             ((9, 1, 7, 1), (9, 1, 7, 1), (9, 1, 7, 1))],
       bad=[refuse(_NAME, "4 axes", "(3, 5)", shapes=((3, 5), (2, 2, 4, 5), (2, 2, 4, 6))),
            refuse(_NAME, "do not fit", "(2, 2, 4, 7)", shapes=((2, 2, 3, 5), (2, 2, 4, 7), (2, 2, 4, 6))),
            refuse(_NAME, "do not fit", "(2, 2, 3, 6)", shapes=((2, 2, 3, 5), (2, 2, 4, 5), (2, 2, 3, 6))),
            refuse(_NAME, "3 heads", "2 heads", shapes=((2, 3, 3, 5), (2, 2, 4, 5), (2, 2, 4, 6))),
            refuse(_NAME, "at least one head", shapes=((2, 0, 3, 5), (2, 0, 4, 5), (2, 0, 4, 6))),
            refuse(_NAME, "width 0", shapes=((2, 2, 3, 0), (2, 2, 4, 0), (2, 2, 4, 6))),
            refuse(_NAME, "dropout=2.0", dropout=2.0), refuse(_NAME, "int32", dtypes=("int32",) * 3)])  # fmt: skip
sample(_NAME, *_operands((2, 6, 5, 4), 2, 3, 4), grad=(0, 1, 2), dtypes=REALS, attrs={"causal": True}, **_HOW,
       edge=[((1, 2, 60, 8), (1, 1, 140, 8), (1, 1, 140, 8))])  # fmt: skip
sample(_NAME, *_operands((1, 4, 5, 3), 1, 7, 2), grad=(0, 1, 2), dtypes=REALS, attrs={"scale": -0.3, "causal": True},
       big=((2, 4, 200, 16), (2, 4, 300, 16), (2, 4, 300, 24)), **_HOW)  # fmt: skip
for _shape in ((2, 2, 3, 4), (3, 4), (2, 1, 1, 4), (1, 2, 3, 1)):
    sample(_NAME, *_SMALL, mask(*_shape), grad=(0, 1, 2), dtypes=REALS, **_HOW,
           bad=[refuse("(2, 2, 3, 5) does not broadcast", "(2, 2, 3, 4)",
                       shapes=(*(a.shape for a in _SMALL), (2, 2, 3, 5)))])  # fmt: skip
    sample(_NAME, *_SMALL, real(*_shape), grad=(0, 1, 2, 3), dtypes=REALS, **_HOW)
sample(_NAME, *_SMALL, real(2, 2, 3, 4), grad=(0, 1, 2, 3), dtypes=REALS, attrs={"causal": True}, **_HOW,
       big=((2, 4, 130, 16), (2, 2, 140, 16), (2, 2, 140, 8), (4, 130, 140)))  # fmt: skip


def _grads(q, k, v, y, dy, sums, ticket, mask=None, *, causal=False, scale=None, dropout=0.0):
    """From the weights that the given logarithms of sums make of the scores."""
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    p = np.exp(np.einsum("bhqd,bhkd->bhqk", q, k) * scale - sums[..., None])
    d = p * (np.einsum("bhqd,bhkd->bhqk", dy, v) - (y * dy).sum(-1, keepdims=True)) * scale
    products = (("bhqk,bhkd->bhqd", d, k), ("bhqk,bhqd->bhkd", d, q), ("bhqk,bhqd->bhkd", p, dy))
    return [np.einsum(*operands) for operands in products]


sample("_attention_grad", *_SMALL, real(2, 2, 3, 6), real(2, 2, 3, 6), real(2, 2, 3, low=2, high=4),
       Arg((3,), dtype="int64"), ref=_grads, result="same same same", dtypes=REALS, rtol=64, atol=256, special=False,
       bad=[refuse("dy must have shape (2, 2, 3, 6)", "(2, 2, 3, 5)",
                   shapes=(*(a.shape for a in _SMALL), (2, 2, 3, 6), (2, 2, 3, 5), (2, 2, 3), (3,)))])  # fmt: skip


def _kept(ticket, *, p, shape, dtype="float32"):
    low = 0xFFFFFFFF
    seed, stream, counter = (int(t) for t in ticket)
    key = philox([counter & low, counter >> 32, stream, 0x676C756F], [seed & low, seed >> 32])[:2]
    drawn = [w for block in range(-(-int(np.prod(shape)) // 4)) for w in philox([block, 0, 0, 0], key)]
    drawn = np.array(drawn[: int(np.prod(shape))], float).reshape(shape)
    return np.where(drawn < p * 2**32, 0.0, 1 / (1 - p))


sample("_attention_mask", Arg((3,), 0, 1000, dtype="int64"), ref=_kept, result="float32", dtypes=("float32",),
       attrs={"p": 0.75, "shape": (2, 3, 5, 7)}, bad=[refuse("(4,)", shapes=((4,),))])  # fmt: skip
