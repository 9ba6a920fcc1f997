"""NumPy's functions, with its signatures, on the arrays of this package.

Many are rows of the op table: they run on the array's device, asynchronously, and have gradients. Whatever else NumPy
has works too, on the host: it is computed by NumPy, which is said once for each function, and has no gradient.

Numbers with a decimal point become float32, not float64 (``npx.set_np(dtype=True)`` changes that); an integer array
with a floating one gives the floating type.

>>> from gluonish import np
>>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
>>> np.sum(x * 2, axis=0)
[ 8. 12.]
<NDArray 2 @cpu(0)>
>>> x.dtype, np.arange(3).dtype
(dtype('float32'), dtype('int64'))
"""

from typing import Any

import numpy  # noqa: ICN001 - np is this package

from gluonish import nd as _nd  # noqa: F401 - it completes the array type
from gluonish._core import NDArray
from gluonish._faces import functions
from gluonish.np import (
    composed,
    constants,
    creation,
    elementwise,
    joining,
    linalg,
    memory,
    order,
    positions,
    products,
    random,
    ranges,
    reductions,
    shaping,
    statistics,
)
from gluonish.np._fallback import NumpyFallbackWarning, fallback, public

globals().update(functions("np"))

# These replace functions of the table where NumPy's do more.
from gluonish.np.composed import *  # noqa: E402, F403
from gluonish.np.constants import *  # noqa: E402, F403
from gluonish.np.creation import *  # noqa: E402, F403
from gluonish.np.einsum import einsum  # noqa: E402
from gluonish.np.elementwise import *  # noqa: E402, F403
from gluonish.np.files import load, save, savez  # noqa: E402
from gluonish.np.joining import *  # noqa: E402, F403
from gluonish.np.memory import *  # noqa: E402, F403
from gluonish.np.order import *  # noqa: E402, F403
from gluonish.np.positions import *  # noqa: E402, F403
from gluonish.np.products import *  # noqa: E402, F403
from gluonish.np.ranges import *  # noqa: E402, F403
from gluonish.np.reductions import *  # noqa: E402, F403
from gluonish.np.shaping import *  # noqa: E402, F403
from gluonish.np.statistics import *  # noqa: E402, F403

ndarray = NDArray

__all__ = ["NumpyFallbackWarning", "einsum", "linalg", "ndarray", "random"]
__all__ += composed.__all__
__all__ += constants.__all__
__all__ += creation.__all__
__all__ += elementwise.__all__
__all__ += ["load", "save", "savez"]
__all__ += joining.__all__
__all__ += memory.__all__
__all__ += positions.__all__
__all__ += ranges.__all__
__all__ += reductions.__all__
__all__ += shaping.__all__
__all__ += products.__all__
__all__ += order.__all__
__all__ += statistics.__all__
__all__ += [name for name in functions("np") if name not in __all__]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    value = globals()[name] = fallback(numpy, name, "np")
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *public(numpy)})
