"""What NumPy asks of an array: its values, and what its functions do with it."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gluonish import _core

__all__ = ["NumPyProtocols"]

if TYPE_CHECKING:
    from gluonish._core import NDArray

    _Array = NDArray  # so that the methods below are checked against what the stub promises
else:
    _Array = object


class NumPyProtocols(_Array):
    """NumPy's functions work on arrays and give arrays: by the function of `np` of that name, else on the host."""

    __array_priority__ = 1000.0  # for libraries that know no __array_ufunc__

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("an NDArray becomes a NumPy array by a copy: copy=False is not possible")
        host = _core.to_numpy(self)
        return host if dtype is None else host.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from gluonish.np._dispatch import call_ufunc

        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from gluonish.np._dispatch import call_function

        return call_function(func, types, args, kwargs)
