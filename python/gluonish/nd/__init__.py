"""Functions on arrays with MXNet's names, signatures and defaults; ``help(nd.sum)`` shows each.

Most are made from the op table. Arrays follow NumPy: they broadcast, may have no dimensions or no elements, comparisons
give bool, slices are views. What makes arrays makes float32 unless told otherwise.

>>> from gluonish import nd
>>> x = nd.array([[1, 2, 3], [4, 5, 6]])
>>> nd.concat(x, x, dim=0).shape, nd.dot(x, x, transpose_b=True).shape
((4, 3), (2, 2))
>>> x.mean(axis=1)
[2. 5.]
<NDArray 2 @cpu(0)>
"""

from gluonish import _array
from gluonish._core import NDArray
from gluonish._core import wait_all as waitall
from gluonish._faces import functions
from gluonish._missing import explained

_array.attach()
globals().update(functions("nd"))

from gluonish.nd import _internal, contrib, linalg, ndarray, op, random, utils  # noqa: E402, F401 - they need what stands above
from gluonish.nd.composed import (  # noqa: E402
    BlockGrad,
    onehot_encode,
    split_v2,
    stop_gradient,
)
from gluonish.nd.creation import (  # noqa: E402
    arange,
    array,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    linspace,
    ones,
    to_dlpack_for_read,
    to_dlpack_for_write,
    zeros,
)
from gluonish.nd.files import load, load_frombuffer, load_metadata, save  # noqa: E402
from gluonish.nd.optimizers import (  # noqa: E402
    multi_mp_sgd_mom_update,
    multi_mp_sgd_update,
    multi_sgd_mom_update,
    multi_sgd_update,
)
from gluonish.nd.statistics import all_finite, histogram, moments, multi_all_finite  # noqa: E402
from gluonish.operator import Custom  # noqa: E402

__all__ = [
    "BlockGrad",
    "Custom",
    "NDArray",
    "all_finite",
    "arange",
    "array",
    "concatenate",
    "contrib",
    "empty",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "histogram",
    "linalg",
    "linspace",
    "load",
    "load_frombuffer",
    "load_metadata",
    "moments",
    "multi_all_finite",
    "multi_mp_sgd_mom_update",
    "multi_mp_sgd_update",
    "multi_sgd_mom_update",
    "multi_sgd_update",
    "ndarray",
    "onehot_encode",
    "ones",
    "op",
    "random",
    "save",
    "split_v2",
    "stop_gradient",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "utils",
    "waitall",
    "zeros",
]
__all__ += list(functions("nd"))

__getattr__ = explained("gluonish.nd", __all__)
