"""HybridBlock: a block that can be compiled later, and whose parameters may learn their shapes from the first input."""

from typing import Any, NoReturn

from gluonish import nd
from gluonish._core import NDArray
from gluonish._types import ArrayLike
from gluonish.autograd import pause
from gluonish.context import from_index
from gluonish.errors import ArgumentError, UnsupportedError
from gluonish.gluon._deferred import Placeholder, functions_that_tell_shapes
from gluonish.gluon.block import Block

__all__ = ["HybridBlock"]


class HybridBlock(Block):
    """A block in one of two forms, whose children are hybrid as well.

    ``hybrid_forward(self, F, x, weight)`` gets `nd` as F, and its parameters as keywords named after their attributes;
    dimensions that these do not know (0) are told by the functions of F at the first call. ``forward(self, x)`` is
    plain Python that takes ``self.weight.data()``; where dimensions are unknown, it needs ``infer_shape(self, x)``,
    which sets ``self.weight.shape``.

    >>> import gluonish as mx
    >>> from gluonish.gluon import HybridBlock, Parameter
    >>> class Linear(HybridBlock):
    ...     def __init__(self, units):
    ...         super().__init__()
    ...         self.units = units
    ...         self.weight = Parameter(shape=(units, 0), init="ones", allow_deferred_init=True)
    ...     def hybrid_forward(self, F, x, weight):
    ...         return F.FullyConnected(x, weight, num_hidden=self.units, no_bias=True)
    >>> layer = Linear(2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3))).tolist(), layer.weight.shape
    ([[3.0, 3.0]], (2, 3))
    """

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Makes a hybrid block a child; others raise, as they could not be compiled."""
        if not isinstance(block, HybridBlock):
            raise ArgumentError(
                f"{self._gluonish.label}: children of a HybridBlock must be HybridBlocks, but {name or 'this one'} "
                f"is a {type(block).__name__}; take HybridSequential for Sequential, HybridLambda for Lambda, or make "
                "the parent a Block"
            )
        super().register_child(block, name)

    # Forward.

    def forward(self, x: Any, *args: Any) -> Any:
        """Calls ``hybrid_forward`` with `nd` and the parameters on the input's device."""
        params: dict[str, Any] = {}
        try:
            device = x._device
            for name, parameter in self._reg_params.items():  # quicker than a comprehension
                params[name] = parameter._copies[device]
        except (AttributeError, KeyError):
            return _forward_first(self, x, args)
        return self.hybrid_forward(self._gluonish.functions or nd, x, *args, **params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **params: Any) -> Any:
        """Computes the output with functions of F. Every hybrid block defines this or ``forward``."""
        raise UnsupportedError(
            f"{self._gluonish.label} has no forward: define hybrid_forward(self, F, x) or forward(self, x) in its class"
        )

    def infer_shape(self, *args: ArrayLike) -> None:
        """Tells parameters their shapes from inputs, by a forward that is not recorded.

        Those that are not initialized stay so. A class whose ``forward`` cannot tell shapes defines this itself, and
        sets ``self.weight.shape``.
        """
        without = [p for p in self.collect_params().values() if not p._copies and p._waiting is None]
        try:
            for parameter in without:
                parameter.initialize("zeros", from_index(_device_of(self, args)))
            with pause():
                self(*args)
        finally:
            for parameter in without:
                parameter._forget()

    def infer_type(self, *args: ArrayLike) -> NoReturn:
        """MXNet's way to tell parameters their types. Here they have the types that they were given."""
        raise UnsupportedError(
            f"{self._gluonish.label}: infer_type: parameters keep the dtype they were given; cast() changes it"
        )

    # Compiling.

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Compiles the block. It is not built yet: only ``hybridize(False)`` does not raise."""
        if active:
            raise _not_compiled(self, "hybridize()")

    def optimize_for(
        self,
        x: Any,
        *args: Any,
        backend: str | None = None,
        clear: bool = False,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> NoReturn:
        """MXNet's way to compile for a backend. Compiling is not built yet."""
        raise _not_compiled(self, "optimize_for()")

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> NoReturn:
        """Writes the compiled graph and the values to files. Compiling is not built yet."""
        raise _not_compiled(self, "export()")


def _forward_first(block: HybridBlock, x: Any, args: tuple[Any, ...]) -> Any:
    """The forward where the first input is no array, or parameters have no values on its device yet."""
    device = _device_of(block, (x, *args))
    waiting = {name: p for name, p in block._reg_params.items() if p._waiting is not None}
    for name, parameter in list(waiting.items()):
        if parameter._known():
            parameter._finish_deferred_init()
            del waiting[name]
    ctx = from_index(device)
    params: dict[str, Any] = {
        name: Placeholder(p, device) if name in waiting else p.data(ctx) for name, p in block._reg_params.items()
    }
    functions = block._gluonish.functions or nd
    with ctx:
        if not waiting:
            return block.hybrid_forward(functions, x, *args, **params)
        return block.hybrid_forward(functions_that_tell_shapes(functions), x, *args, **params)


def _device_of(block: HybridBlock, args: Any) -> int:
    """The device of the first array among inputs, also in lists."""
    stack = [args]
    while stack:
        one = stack.pop()
        if isinstance(one, NDArray):
            return one._device
        if isinstance(one, list | tuple):
            stack.extend(reversed(one))
    kinds = ", ".join(type(arg).__name__ for arg in args)
    label = block._gluonish.label
    raise ArgumentError(f"{label}: an NDArray is needed among its inputs, got {kinds}; nd.array makes one")


def _not_compiled(block: HybridBlock, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{block._gluonish.label}: {what}: compiling is not built yet; the block runs as it is, and save_parameters "
        "saves it"
    )
