"""Samples: operations on bits."""

import numpy as np
from ops.sampling import INTS, binary, real, refuse, sample, unary

_WHOLE = (*INTS, "bool")
_wide = {"low": -100, "high": 100}
_float = refuse("no bits to work on", "float32", shapes=((2, 3), (2, 3)), dtypes=("float32", "float32"))

for _op, _ref in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
    binary(f"bitwise_{_op}", _ref, real(2, 3, **_wide), real(2, 3, **_wide), dtypes=_WHOLE, grad=(), exact=True,
           bad=[_float, refuse("cannot broadcast", shapes=((2, 3), (4,)))])  # fmt: skip

# NumPy promises nothing for counts that are negative or too large.
for _op, _ref in (("left_shift", np.left_shift), ("right_shift", np.right_shift)):
    binary(_op, _ref, real(2, 3, **_wide), real(2, 3, low=0, high=7), dtypes=INTS, grad=(), exact=True, bad=[_float])
    binary(_op, _ref, dtypes=("bool",), result="int8", grad=(), exact=True, bad=[])


def _shift(ref, beyond):
    def shifted(a, n):
        a, n = (v.astype(np.result_type(a, n)) for v in (a, n))
        bits = 8 * a.dtype.itemsize
        fits = (n >= 0) & (n < bits)
        return np.where(fits, ref(a, np.where(fits, n, 0)), beyond(a, bits - 1))

    return shifted


_left = _shift(np.left_shift, lambda a, _: np.zeros_like(a))
_right = _shift(np.right_shift, lambda a, most: np.right_shift(a, a.dtype.type(most)))
for _op, _ref in (("left_shift", _left), ("right_shift", _right)):
    sample(_op, real(5, 7, **_wide), real(5, 7, low=-70, high=70), ref=_ref, dtypes=INTS, exact=True, work="as is")

unary("bitwise_not", np.invert, -100, 100, dtypes=_WHOLE, result="same", grad=(), exact=True)
unary("_bitwise_not", np.invert, -100, 100, dtypes=INTS, result="same", grad=(), exact=True)
