"""Arrays of random numbers, with MXNet's signatures. ``mx.random.seed`` starts them anew.

The same seed gives the same numbers for any number of threads and on both engines; each device has its own sequence.

>>> import gluonish as mx
>>> mx.random.seed(7)
>>> x = mx.nd.random.normal(0, 0.1, shape=(2, 3))
>>> mx.random.seed(7)
>>> bool((mx.nd.random.normal(0, 0.1, shape=(2, 3)) == x).min())
True
"""

import numpy.typing as npt

from gluonish._core import NDArray
from gluonish._dtype import dtype_name
from gluonish._faces import functions
from gluonish._missing import explained
from gluonish.context import ContextLike

__all__ = ["normal", "randn", "uniform"]

_nd = functions("nd")
normal = _nd["random_normal"]
uniform = _nd["random_uniform"]


def randn(
    *shape: int,
    loc: float = 0.0,
    scale: float = 1.0,
    dtype: npt.DTypeLike | None = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
) -> NDArray:
    """Normally distributed numbers, with the shape as separate arguments.

    >>> randn(2, 3, loc=10, scale=0.1).shape
    (2, 3)
    """
    drawn: NDArray = normal(loc, scale, shape=shape, dtype=dtype_name(dtype, "float32"), ctx=ctx, out=out)
    return drawn


__getattr__ = explained("gluonish.nd.random", __all__)
