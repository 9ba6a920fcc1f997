"""Samples: sequences of different lengths, against loops over them."""

from __future__ import annotations

import numpy as np
from ops.sampling import ALL, FLOATS, REALS, index, real, refuse, sample

_SHAPE = (4, 3, 2)


def _steps(x, lengths, axis):
    """The array with steps first, and the lengths of its sequences."""
    x = np.swapaxes(x, 0, axis)
    return x, [len(x)] * x.shape[1] if lengths is None else [int(n) for n in lengths]


def _mask(x, lengths=None, *, use_sequence_length=False, value=0.0, axis=0):
    x, lengths = _steps(x.copy(), lengths, axis)
    for i, n in enumerate(lengths):
        x[n:, i] = value
    return np.swapaxes(x, 0, axis)


def _reverse(x, lengths=None, *, use_sequence_length=False, axis=0):
    x, lengths = _steps(x.copy(), lengths, axis)
    for i, n in enumerate(lengths):
        x[:n, i] = x[:n, i][::-1]
    return np.swapaxes(x, 0, axis)


def _last(x, lengths=None, *, use_sequence_length=False, axis=0):
    x, lengths = _steps(x, lengths, axis)
    return np.array([x[n - 1, i] for i, n in enumerate(lengths)], x.dtype).reshape(x.shape[1:])


def _put_last(dy, lengths=None, *, use_sequence_length=False, axis=0, size):
    x = np.zeros((size, *dy.shape), dy.dtype)
    for i, n in enumerate([size] * len(dy) if lengths is None else lengths):
        x[int(n) - 1, i] = dy[i]
    return np.swapaxes(x, 0, axis)


for _op, _ref, _least, _more in (
    ("SequenceMask", _mask, 0, {"value": 2.5}),
    ("SequenceReverse", _reverse, 0, {}),
    ("SequenceLast", _last, 1, {}),
):
    for _axis in (0, 1):
        for _dtype in ("int32", "float32"):
            _n = _SHAPE[_axis]
            _count = _SHAPE[1 - _axis]
            sample(
                _op,
                real(*_SHAPE),
                index(_count, n=_n + 1, low=_least, dtype=_dtype),
                ref=_ref,
                attrs={"use_sequence_length": True, "axis": _axis, **_more},
                dtypes=FLOATS,
                grad=(0,),
                edge=[((5, 6) if _axis else (6, 5), (5,)), (_SHAPE[:2], (_count,)), ((*_SHAPE[:2], 0), (_count,))],
                exact=True,
                bad=[
                    refuse(_op, "sequence_length must have shape", f"({_count},)", "(5,)", shapes=(_SHAPE, (5,))),
                    refuse(_op, "use_sequence_length is False", use_sequence_length=False),
                    refuse(_op, "axis=2", axis=2),
                    refuse(_op, "at least 2 axes", "(4,)", shapes=((4,), (_count,))),
                ],
            )
    sample(
        _op,
        real(*_SHAPE),
        ref=_ref,
        dtypes=ALL if _op != "SequenceMask" else REALS,
        grad=(0,),
        exact=True,
        big=((40, 300, 9),),
        bad=[refuse(_op, "needs the input sequence_length", use_sequence_length=True)],
    )
for _axis in (0, 1):
    sample(
        "_sequence_last_grad",
        real(3, 2),
        index(3, n=5, low=1, dtype="int32"),
        ref=_put_last,
        attrs={"use_sequence_length": True, "axis": _axis, "size": 4},
        dtypes=FLOATS,
        grad=(0,),
        edge=[((3,), (3,))],
        exact=True,
    )
