"""Torch's words for what blocks do, in one place. Each is one line of Gluon's."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gluonish._core import NDArray
from gluonish._dtype import NAMES
from gluonish.autograd import is_training
from gluonish.context import Context
from gluonish.gluon._walk import children, saved, walk

if TYPE_CHECKING:
    from gluonish.gluon.block import Block
    from gluonish.gluon.parameter import Parameter

    _Block = Block
else:
    _Block = object

__all__ = ["TorchNames"]


class _Training:
    """Whether the block would run as in training now. No property: Gluon's code may have an attribute of this name."""

    def __get__(self, block: Any, _: type) -> bool:
        pinned = None if block is None else block._gluonish.pinned
        return is_training() if pinned is None else bool(pinned)


class TorchNames:
    """Mixed into ``Block``. Gluon's own names are in the second column.

    =======================================  ==================================================
    ``parameters()``                         ``collect_params().values()``
    ``state_dict()``, ``load_state_dict()``  the arrays that ``save_parameters`` writes
    ``children()``, ``named_children()``     ``_children``
    ``modules()``, ``named_modules()``       the block itself and all below it
    ``buffers()``, ``named_buffers()``       what ``register_buffer`` made
    ``add_module(name, block)``              ``register_child(block, name)``
    ``to(device or dtype)``                  ``reset_ctx``, ``cast``
    ``half()``, ``float()``, ``double()``    ``cast("float16")``, ...
    ``requires_grad_(on)``                   ``setattr("grad_req", "write" or "null")``
    ``training``                             ``autograd.is_training()``, or what ``eval()`` pinned
    =======================================  ==================================================
    """

    def parameters(self: Any) -> "Iterator[Parameter]":
        """All parameters, each once."""
        return (parameter for _, parameter in self.named_parameters())

    def state_dict(self: Any) -> dict[str, NDArray]:
        """The values of parameters and buffers by attribute path, in the memory that the block uses."""
        return {path: parameter.data().detach() for path, parameter in saved(self).items()}

    def load_state_dict(self: Any, state_dict: Mapping[str, NDArray], strict: bool = True) -> None:
        """Loads values by attribute path; without ``strict`` missing and unknown names are left alone."""
        self.load_dict(state_dict, allow_missing=not strict, ignore_extra=not strict, cast_dtype=True)

    def named_children(self: Any) -> "Iterator[tuple[str, Block]]":
        """The direct children by name."""
        return iter(children(self))

    def children(self: Any) -> "Iterator[Block]":
        """The direct children."""
        return (child for _, child in children(self))

    def named_modules(self: Any, prefix: str = "") -> "Iterator[tuple[str, Block]]":
        """The block and all below it, each once, by attribute path."""
        return walk(self, prefix)

    def modules(self: Any) -> "Iterator[Block]":
        """The block and all below it, each once."""
        return (block for _, block in walk(self))

    def named_buffers(self: Any) -> Iterator[tuple[str, NDArray]]:
        """The buffers of the block and of all below it, by attribute path."""
        for path, block in walk(self):
            for name, buffer in block._gluonish.buffers.items():
                yield f"{path}.{name}" if path else name, buffer.data()

    def buffers(self: Any) -> Iterator[NDArray]:
        """The buffers of the block and of all below it."""
        return (buffer for _, buffer in self.named_buffers())

    def add_module(self: Any, name: str, module: "Block") -> None:
        """Registers a child under a name."""
        setattr(self, name, module)

    def to(self: Any, *where: Any, device: Any = None, dtype: Any = None) -> "Block":
        """Moves to a device, casts to a type, or both; returns the block.

        >>> import gluonish as mx
        >>> net = mx.gluon.Block()
        >>> net.to(mx.cpu(1)).to("float16") is net
        True
        """
        for one in where:
            if isinstance(one, Context | list | tuple) or (isinstance(one, str) and one not in NAMES):
                device = one
            else:
                dtype = one
        if device is not None:
            self.reset_ctx(device)
        if dtype is not None:
            self.cast(dtype)
        return self  # type: ignore[no-any-return]

    def half(self: Any) -> "Block":
        """Casts to float16."""
        return self.to("float16")  # type: ignore[no-any-return]

    def bfloat16(self: Any) -> "Block":
        """Casts to bfloat16."""
        return self.to("bfloat16")  # type: ignore[no-any-return]

    def float(self: Any) -> "Block":
        """Casts to float32."""
        return self.to("float32")  # type: ignore[no-any-return]

    def double(self: Any) -> "Block":
        """Casts to float64."""
        return self.to("float64")  # type: ignore[no-any-return]

    def requires_grad_(self: Any, requires_grad: bool = True) -> "Block":
        """Whether backward computes the gradients of all parameters; constants have none either way."""
        for parameter in self.collect_params().values():
            if parameter._differentiable:
                parameter.grad_req = "write" if requires_grad else "null"
        return self  # type: ignore[no-any-return]

    training = _Training()
