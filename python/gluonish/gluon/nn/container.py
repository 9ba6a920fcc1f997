"""Blocks made of blocks: one after the other, or side by side."""

from collections.abc import Iterator
from copy import copy
from typing import Any

from gluonish import nd
from gluonish.errors import ArgumentError
from gluonish.gluon._state import guard
from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.parameter import ParameterDict

__all__ = ["Concurrent", "HybridConcurrent", "HybridSequential", "Identity", "Sequential"]


class _Stack(Block):
    """What containers share: ``add``, length, ``[i]``, slices of the same type, and iteration."""

    def add(self, *blocks: Block) -> None:
        """Adds blocks at the end."""
        for block in blocks:
            self.register_child(block)

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Makes a block a child; without a name it gets the first number that is free."""
        if name is None:
            number = len(self._children)
            while str(number) in self._children:
                number += 1
            name = str(number)
        super().register_child(block, name)

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(list(self._children.values()))

    def __getitem__(self, key: int | slice) -> Any:
        blocks = list(self._children.values())
        if not isinstance(key, slice):
            return blocks[key]
        part = copy(self)  # which keeps what a subclass has of its own
        part._children.clear()
        part._children.update((str(number), block) for number, block in enumerate(blocks[key]))
        for hooks in (part._forward_hooks, part._forward_pre_hooks, part._gluonish.backward_hooks):
            hooks.clear()
        guard(part)
        return part


class Sequential(_Stack):
    """Blocks one after the other: each gets what the one before it returned; a tuple as several arguments.

    ``add`` takes blocks; ``net[0]`` is one of them, ``net[1:]`` a ``Sequential`` of some, which share their parameters.

    >>> from gluonish import gluon, nd
    >>> net = gluon.nn.Sequential()
    >>> net.add(gluon.nn.Identity(), gluon.nn.Identity())
    >>> len(net), len(net[1:]), net(nd.ones(2)).tolist()
    (2, 1, [1.0, 1.0])
    """

    def forward(self, x: Any, *args: Any) -> Any:
        """``x`` and other arguments go into the first block; the output is that of the last."""
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, list | tuple) and len(x) > 0:
                x, *rest = x
                args = tuple(rest)
        return (x, *args) if args else x


class HybridSequential(HybridBlock, Sequential):
    """Hybrid blocks one after the other; as ``Sequential``, and can be compiled later.

    >>> from gluonish import gluon
    >>> net = gluon.nn.HybridSequential()
    >>> net.add(gluon.nn.Identity())
    >>> net
    HybridSequential(
      (0): Identity()
    )
    """

    forward = Sequential.forward


class Concurrent(Sequential):
    """Blocks side by side: each gets the input, and the outputs are concatenated along an axis.

    >>> from gluonish import gluon, nd
    >>> net = gluon.nn.Concurrent(axis=1)
    >>> net.add(gluon.nn.Identity(), gluon.nn.Identity())
    >>> net(nd.ones((2, 3))).shape
    (2, 6)
    """

    def __init__(
        self,
        axis: int = -1,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        *,
        concat_dim: int | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if concat_dim is not None:
            if axis not in (-1, concat_dim):
                raise ArgumentError(f"{type(self).__name__}: axis={axis} and concat_dim={concat_dim} mean the same")
            axis = concat_dim
        self.axis = axis

    def forward(self, x: Any, *args: Any) -> Any:
        """``x`` of any shape that the blocks take; their outputs differ in ``axis`` only."""
        return nd.concat(*(block(x, *args) for block in self._children.values()), dim=self.axis)


class HybridConcurrent(HybridSequential, Concurrent):
    """Hybrid blocks side by side; as ``Concurrent``, and can be compiled later. ``concat_dim`` is an older ``axis``.

    >>> from gluonish import gluon, nd
    >>> net = gluon.nn.HybridConcurrent(concat_dim=0)
    >>> net.add(gluon.nn.Identity(), gluon.nn.Identity())
    >>> net(nd.ones((2, 3))).shape
    (4, 3)
    """

    forward = Concurrent.forward


class Identity(HybridBlock):
    """Returns its input: the side of a ``Concurrent`` that changes nothing.

    >>> from gluonish import gluon, nd
    >>> x = nd.ones(2)
    >>> gluon.nn.Identity()(x) is x
    True
    """

    def forward(self, x: Any, *args: Any) -> Any:
        """``x``, of any shape."""
        return (x, *args) if args else x

    def __repr__(self) -> str:
        return "Identity()"
