"""Parameters: the arrays that training changes, with a name, an initializer, and a copy on each device.

>>> import gluonish as mx
>>> weight = mx.gluon.Parameter("weight", shape=(2, 3), init="ones")
>>> weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
>>> weight.list_ctx(), weight.data(mx.cpu(1)).ctx
([cpu(0), cpu(1)], cpu(1))
>>> weight.grad(mx.cpu(0)).tolist()
[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from gluonish import _core, nd
from gluonish._core import NDArray
from gluonish._create import dense
from gluonish._dtype import dtype_name
from gluonish._types import ArrayLike, DTypeLike, Shape
from gluonish.autograd import pause
from gluonish.context import Context, device_index, from_index
from gluonish.errors import ArgumentError, DTypeError, UnsupportedError
from gluonish.gluon._arguments import Contexts, KeepsItsMethods, device_indices, partial_shape
from gluonish.gluon._errors import (
    DeferredInitializationError,
    DeferredShapeError,
    NotInitializedError,
    ParameterError,
    deferred,
)
from gluonish.gluon._freshness import kept
from gluonish.init import InitDesc, Initializer, create

__all__ = [
    "Constant",
    "DeferredInitializationError",
    "DeferredShapeError",
    "NotInitializedError",
    "Parameter",
    "ParameterError",
]


class _Waiting(NamedTuple):
    """What is done when the shape is known: which initializer, the one for parameters that have none, where."""

    init: Initializer
    default_init: Initializer
    devices: list[int]
    value: NDArray | None  # that set_data gave; else the initializer makes it


class Parameter(KeepsItsMethods, but=frozenset({"_finish_deferred_init", "_reduce"})):  # MXNet's have these too
    """An array that training changes, of one name and shape, with a copy on each device that it is initialized on.

    Parameters
    ----------
    name
        What ``collect_params`` calls it. A block that gets it as an attribute names it after itself and that.
    grad_req
        What ``backward`` does with the gradient: "write" it, "add" it to what is there, or "null": there is none.
    shape
        A dimension of 0 is unknown; the first forward tells it, if ``allow_deferred_init``.
    lr_mult, wd_mult
        Factors of the learning rate and of the weight decay, which optimizers look at.
    init
        The initializer of this parameter; None: the one that ``initialize`` is given.
    differentiable
        False: there is never a gradient.

    >>> weight = Parameter("weight", shape=(2, 2), init="zeros")
    >>> weight.initialize()
    >>> weight.data().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    >>> weight
    Parameter weight (shape=(2, 2), dtype=float32)
    """

    def __init__(
        self,
        name: str = "weight",
        grad_req: str = "write",
        shape: int | Sequence[int] | None = None,
        dtype: DTypeLike = "float32",
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        dense(stype, f"Parameter '{name}'")
        dense(grad_stype, f"Parameter '{name}': grad_stype")
        self.name = name
        self.lr_mult, self.wd_mult = lr_mult, wd_mult
        self.init = init
        self.allow_deferred_init = allow_deferred_init
        self._differentiable = differentiable
        self._shape = None if shape is None else partial_shape(shape, name)
        self._dtype = dtype_name(dtype)
        self._grad_req = self._checked_req(grad_req)
        self._named = False  # whether a block or a ParameterDict gave it its name
        self._copies: dict[int, NDArray] = {}  # by the core's number of the device
        self._sole: NDArray | None = None  # the only copy, where there is one: what data() mostly gives
        self._waiting: _Waiting | None = None
        self._used: dict[int, int] = {}  # versions of gradients, for _freshness
        self._added_up = False  # whether a trainer made its grad_req "add"
        self._zeroed = 0  # how often gradients have become 0, whatever they were

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self._shape}, dtype={self._dtype})"

    # What it is.

    @property
    def shape(self) -> Shape | None:
        """The shape; 0 is an unknown dimension, None an unknown shape. Only what is unknown can be set.

        >>> weight = Parameter("weight", shape=(4, 0))
        >>> weight.shape = (4, 3)
        >>> weight.shape
        (4, 3)
        """
        return self._shape

    @shape.setter
    def shape(self, shape: int | Sequence[int]) -> None:
        self._shape = self._agreed(partial_shape(shape, self.name), "the new shape")

    @property
    def dtype(self) -> Any:
        """A numpy.dtype, or the string "bfloat16", as arrays have it; setting it casts."""
        return self._dtype if self._dtype == "bfloat16" else np.dtype(self._dtype)

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self.cast(dtype)

    @property
    def grad_req(self) -> str:
        """What backward does with the gradient: "write", "add" or "null". A change makes or drops its memory.

        >>> weight = Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.grad_req = "add"
        >>> weight.grad().tolist()
        [0.0, 0.0]
        """
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        req = self._checked_req(req)
        if req != self._grad_req:
            self._attach(self._copies.values(), req)
            self._grad_req = req

    # Values.

    def initialize(
        self,
        init: Any = None,
        ctx: Contexts = None,
        default_init: Any = None,
        force_reinit: bool = False,
        *,
        device: Contexts = None,
    ) -> None:
        """Gives it values, and a gradient, on one device or several: the same values on each.

        The initializer is ``init``, else the parameter's own, else ``default_init``, else ``Uniform(0.07)``: an
        instance, a name or the JSON of one. Where the shape is not known yet, this happens at the first forward.

        >>> weight = Parameter("weight", shape=(2,))
        >>> weight.initialize(init="ones")
        >>> weight.data().tolist()
        [1.0, 1.0]
        """
        if self._copies and not force_reinit:
            warnings.warn(
                f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to re-initialize.",
                UserWarning,
                stacklevel=2,
            )
            return
        devices = device_indices(ctx, device)
        default = create(default_init)
        chosen = next((create(one) for one in (init, self.init) if one is not None), default)
        waiting = _Waiting(chosen, default, devices, None)
        if self._known():
            self._fulfil(waiting)
        elif self.allow_deferred_init:
            self._forget()
            self._waiting = waiting
        else:
            raise ArgumentError(
                f"Parameter '{self.name}' cannot be initialized: its shape {self._shape} is not known whole. Give the "
                "missing dimensions, or allow_deferred_init=True if the first forward can tell them"
            )

    def data(self, ctx: Context | str | None = None) -> NDArray:
        """The values on a device; without one: the only copy, or that of the current device.

        >>> weight = Parameter("weight", shape=(2,))
        >>> weight.data()
        Traceback (most recent call last):
            ...
        gluonish.gluon.parameter.NotInitializedError: Parameter 'weight' has not been initialized...
        """
        if ctx is None and self._sole is not None:
            return self._sole
        return self._on(device_index(ctx))

    def list_data(self) -> list[NDArray]:
        """The values on each device, in the order in which ``initialize`` was given these."""
        return list(self._present().values())

    def grad(self, ctx: Context | str | None = None) -> NDArray:
        """The gradient on a device; without one as ``data`` does."""
        if self._grad_req == "null" and self._copies:
            raise NotInitializedError(
                f"Parameter '{self.name}' has no gradient, because grad_req='null'; set grad_req = 'write' to get one"
            )
        return _gradient(self.data(ctx))

    def list_grad(self) -> list[NDArray]:
        """The gradient on each device."""
        self.grad(next(iter(self._present().values())).ctx)  # which says why there is none
        return [_gradient(copy) for copy in self._copies.values()]

    def list_ctx(self) -> list[Context]:
        """The devices that it is initialized on, or will be."""
        devices = self._waiting.devices if self._waiting is not None else self._present()
        return [from_index(device) for device in devices]

    list_device = list_ctx

    def set_data(self, data: ArrayLike) -> None:
        """Writes values to every copy. While the shape is not known, they are kept for the first forward.

        >>> weight = Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.set_data([1, 2])
        >>> weight.data().tolist()
        [1.0, 2.0]
        """
        value = data if isinstance(data, NDArray) else nd.array(data, dtype=self._dtype)
        shape = self._taking(value.shape, "data of shape")
        if not self._copies and self._waiting is None:
            raise ParameterError(
                f"Parameter '{self.name}' has not been initialized: call initialize() before set_data()"
            )
        if self._waiting is not None:
            self._waiting = self._waiting._replace(value=value.copy())
        self._shape = shape
        with pause():
            for copy in self._copies.values():
                _core.copy_into(copy, value)

    def zero_grad(self) -> None:
        """Sets the gradient to 0 on every device; does nothing where there is none."""
        if self._grad_req != "null":
            self._zeroed += 1
            with pause(), kept([self]):
                for copy in self._copies.values():
                    _core.copy_into(_gradient(copy), 0)

    # Changes.

    def reset_ctx(self, ctx: Contexts = None, *, device: Contexts = None) -> None:
        """Moves it to other devices. Copies that differ are averaged.

        >>> import gluonish as mx
        >>> weight = Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.reset_ctx([mx.cpu(1), mx.cpu(2)])
        >>> weight.list_ctx()
        [cpu(1), cpu(2)]
        """
        devices = device_indices(ctx, device)
        if self._waiting is not None:
            self._waiting = self._waiting._replace(devices=devices)
        elif self._copies:
            self._place(self._reduce(), devices)
        else:
            raise ArgumentError(f"Parameter '{self.name}' has not been initialized, so it cannot be moved to a device")

    reset_device = reset_ctx

    def cast(self, dtype: DTypeLike) -> None:
        """Makes values and gradient another type.

        >>> weight = Parameter("weight", shape=(2,))
        >>> weight.initialize()
        >>> weight.cast("float16")
        >>> weight.data().dtype, weight.grad().dtype
        (dtype('float16'), dtype('float16'))
        """
        name = dtype_name(dtype)
        if name != self._dtype:
            with pause():
                cast = {device: copy.astype(name).detach() for device, copy in self._copies.items()}
                if self._grad_req != "null":
                    self._check_differentiable(name, self._grad_req)
                    for device, copy in self._copies.items():
                        _core.mark_variable(cast[device], _gradient(copy).astype(name), self._grad_req)
            self._dtype = name
            self._keep(cast)

    # What waits for other parts.

    def var(self) -> NoReturn:
        """MXNet's symbol of the parameter. There are no symbols yet."""
        raise UnsupportedError(f"Parameter '{self.name}': var() waits for symbols, which are not built yet")

    def row_sparse_data(self, row_id: NDArray) -> NoReturn:
        """Rows of a sparse parameter. There are no sparse arrays yet."""
        raise UnsupportedError(
            f"Parameter '{self.name}': row_sparse_data waits for sparse arrays, which are not built yet"
        )

    def list_row_sparse_data(self, row_id: NDArray) -> NoReturn:
        """Rows of a sparse parameter on each device. There are no sparse arrays yet."""
        self.row_sparse_data(row_id)

    # For blocks, files and trainers.

    def _known(self) -> bool:
        return self._shape is not None and 0 not in self._shape

    def _finish_deferred_init(self) -> None:
        """Makes what ``initialize`` promised, now that the shape is known."""
        if self._waiting is not None:
            if not self._known():
                raise self._deferred_error()
            self._fulfil(self._waiting)

    def _fulfil(self, waiting: _Waiting) -> None:
        if waiting.value is None:
            self._place(self._initial(waiting), waiting.devices, fresh=True)
        else:
            self._place(waiting.value, waiting.devices)
        self._waiting = None

    def _initial(self, waiting: _Waiting) -> NDArray:
        """The first values, whose shape is known, on the first device."""
        assert self._shape is not None
        array = _core.full(self._shape, 0, self._dtype, waiting.devices[0])
        with pause(), from_index(waiting.devices[0]):
            waiting.init.fill(InitDesc(self.name, global_init=waiting.default_init), array)
        return array

    def _place(self, value: NDArray, devices: Sequence[int], fresh: bool = False) -> None:
        """Puts a copy of the values on each device, with a gradient, instead of what was there. Fresh: its own."""
        with pause():
            typed = value.astype(self._dtype, copy=False)
            copies = {device: _core.copy_to_device(typed, device).detach() for device in devices[fresh:]}
            if fresh:
                copies = {devices[0]: typed, **copies}
            self._attach(copies.values(), self._grad_req)
        self._keep(copies)

    def _keep(self, copies: dict[int, NDArray]) -> None:
        self._copies, self._used = copies, {}
        self._sole = next(iter(copies.values())) if len(copies) == 1 else None

    def _forget(self) -> None:
        """Drops the values: it is as if it had never been initialized."""
        self._keep({})
        self._waiting = None

    def _attach(self, arrays: Any, req: str) -> None:
        self._check_differentiable(self._dtype, req)
        self._used, self._zeroed = {}, self._zeroed + 1
        for array in arrays:
            _core.attach_grad(array, req)

    def _reduce(self) -> NDArray:
        """The values on the first device: the mean of the copies, where these are several numbers with fractions."""
        first, *others = self._present().values()
        if not others or "float" not in self._dtype:
            return first
        with pause():
            total: NDArray = nd.add_n(first, *(_core.copy_to_device(other, first._device) for other in others))
            return total / (1 + len(others))

    def _present(self) -> dict[int, NDArray]:
        if not self._copies:
            raise self._absent()
        return self._copies

    def _on(self, device: int) -> NDArray:
        found = self._present().get(device)
        if found is None:
            has = ", ".join(str(from_index(other)) for other in self._copies)
            raise NotInitializedError(
                f"Parameter '{self.name}' was not initialized on context {from_index(device)}, only on {has}: move the "
                "input there, or the parameters with reset_ctx"
            )
        return found

    def _absent(self) -> NotInitializedError | DeferredInitializationError:
        if self._waiting is not None:
            return self._deferred_error()
        return NotInitializedError(
            f"Parameter '{self.name}' has not been initialized: call initialize() on the outermost block, or load "
            "parameters; block.params has no parameters of children, block.collect_params() has"
        )

    def _deferred_error(self, why: str = "") -> DeferredInitializationError:
        """Says which dimension is unknown, and how to give it."""
        return deferred(self.name, self._shape, self._known(), why)

    def _agreed(self, shape: Shape, what: str) -> Shape:
        """The shape that both are, where one may know what the other does not."""
        mine = self._shape
        if mine is None:
            return shape
        if len(mine) != len(shape) or any(a != b and a and b for a, b in zip(mine, shape, strict=True)):
            raise ParameterError(f"Parameter '{self.name}': {what} {shape} does not fit its shape {mine}")
        return tuple(a or b for a, b in zip(mine, shape, strict=True))

    def _taking(self, shape: Shape, what: str) -> Shape:
        """The shape of an array that becomes the values: as ``_agreed``, but nothing about it is unknown."""
        if 0 in shape:
            raise ParameterError(f"Parameter '{self.name}': {what} {shape} has no elements; its shape is {self._shape}")
        return self._agreed(shape, what)

    def _checked_req(self, req: object) -> str:
        if req not in ("write", "add", "null"):
            raise ParameterError(
                f"Parameter '{self.name}': grad_req={req!r} is not valid: expected one of 'write', 'add', 'null'"
            )
        return str(req) if self._differentiable else "null"

    def _check_differentiable(self, dtype: str, req: str) -> None:
        if req != "null" and "float" not in dtype:
            raise DTypeError(f"Parameter '{self.name}': numbers of {dtype} have no gradient: give grad_req='null'")

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_sole"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies and pickles have the values; their gradients start at 0."""
        self.__dict__.update(state)
        self._attach(self._copies.values(), self._grad_req)
        self._keep(self._copies)


class Constant(Parameter):
    """A parameter that training does not change: it is on each device, and saved, but has no gradient.

    >>> import gluonish as mx
    >>> scale = mx.gluon.Constant("scale", [1, 2])
    >>> scale.initialize()
    >>> scale.data().tolist(), scale.grad_req
    ([1.0, 2.0], 'null')
    """

    def __init__(self, name: Any, value: ArrayLike | None = None) -> None:
        if value is None:  # MXNet 2's form has no name
            name, value = "const", name
        self.value = value if isinstance(value, NDArray) else nd.array(value)
        super().__init__(name, "null", self.value.shape, self.value.dtype, differentiable=False)

    def _known(self) -> bool:
        return True

    def _taking(self, shape: Shape, what: str) -> Shape:
        if shape != self._shape:
            raise ParameterError(f"Constant '{self.name}': {what} {shape} does not fit its shape {self._shape}")
        return shape

    def _initial(self, waiting: _Waiting) -> NDArray:
        return self.value.copy().as_in_context(from_index(waiting.devices[0])).astype(self._dtype, copy=False)

    def _checked_req(self, req: object) -> str:
        if super()._checked_req(req) != req:
            warnings.warn(
                f"Constant '{self.name}' has no gradient: grad_req={req!r} is ignored", UserWarning, stacklevel=3
            )
        return "null"


def _gradient(array: NDArray) -> NDArray:
    gradient = array.grad
    assert gradient is not None
    return gradient
