"""Blocks that compute a weight of another block from what training learns instead of it."""

from math import prod
from typing import Any

from gluonish import autograd, nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import whole
from gluonish.gluon.parameter import Parameter

__all__ = ["SpectralNorm", "WeightNorm"]


class _Reparametrized(HybridBlock):
    """Calls a block with one of its parameters replaced by what a subclass computes of it."""

    def __init__(
        self, block: Block, name: str = "weight", axis: int = 0, prefix: str | None = None, params: Any = None
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        kind = type(self).__name__
        if not isinstance(block, HybridBlock) or type(block).hybrid_forward is HybridBlock.hybrid_forward:
            raise ArgumentError(f"{kind}: {block!r} must be a HybridBlock with a hybrid_forward, such as nn.Dense")
        if not isinstance(getattr(block, name, None), Parameter):
            raise ArgumentError(f"{kind}: {block!r} has no parameter {name!r}")
        self._target, self._axis = name, axis
        self.block = block

    def _parameters(self, x: NDArray) -> dict[str, NDArray]:
        """The block's own parameters, by the names of its attributes, where an input is."""
        return {name: parameter.data(x.context) for name, parameter in self.block._reg_params.items()}

    def _call(self, F: Any, replaced: NDArray, x: NDArray, *args: Any) -> Any:
        return self.block.hybrid_forward(F, x, *args, **{**self._parameters(x), self._target: replaced})

    def _first_weight(self, x: NDArray, *args: Any) -> NDArray:
        """The parameter after the block's own first forward, which tells its shape."""
        with autograd.pause():
            self.block(x, *args)
        weight: NDArray = getattr(self.block, self._target).data(x.context)
        if not -weight.ndim <= self._axis < weight.ndim:
            text = f"axis={self._axis} is not an axis of {self._target!r}, which has shape {weight.shape}"
            raise ArgumentError(f"{type(self).__name__}: {text}")
        return weight

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.block!r}, {self._target})"


class WeightNorm(_Reparametrized):
    """A block whose weight is learned as a direction and a length (Salimans and Kingma, 2016): ``weight = scale * v /
    |v|`` for each of its rows.

    Parameters
    ----------
    block
        The block, such as ``nn.Dense(4)``. Its own parameter is the direction ``v``.
    name
        Which of its parameters; it is passed to the block's ``hybrid_forward``.
    axis
        Axis of the rows, which are as many as the channels of the output: 0, or 1 for transposed convolutions.

    Shapes are those of the block. Holds ``scale (rows,)``, which the first forward sets to the lengths of the rows of
    ``v``: the wrapped block begins as the block itself would. (``initialize(force_reinit=True)`` after that makes them
    1.)

    >>> from gluonish import nd
    >>> from gluonish.gluon import nn
    >>> layer = WeightNorm(nn.Dense(4))
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3))).shape, layer.scale.shape
    ((2, 4), (4,))
    """

    def __init__(
        self, block: Block, name: str = "weight", axis: int = 0, prefix: str | None = None, params: Any = None
    ) -> None:
        super().__init__(block, name, axis, prefix, params)
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(0,), init="ones", allow_deferred_init=True)

    def hybrid_forward(self, F: Any, x: NDArray, *args: Any, scale: NDArray) -> Any:
        v = self._parameters(x)[self._target]
        lengths = self._lengths(v)
        return self._call(F, v * (scale.reshape(lengths.shape) / lengths), x, *args)

    def _lengths(self, v: NDArray) -> NDArray:
        rows = self._axis % v.ndim
        return (v * v).sum(axis=tuple(i for i in range(v.ndim) if i != rows), keepdims=True).sqrt()

    def infer_shape(self, *args: Any) -> None:
        with autograd.pause():
            lengths = self._lengths(self._first_weight(*args)).reshape(-1)
        self.scale.shape = lengths.shape
        self.scale.set_data(lengths)


class SpectralNorm(_Reparametrized):
    """A block whose weight is divided by its largest singular value, as a matrix of rows (Miyato et al., 2018).

    Parameters
    ----------
    block
        The block, such as ``nn.Conv2D(4, 3)``.
    name
        Which of its parameters; it is passed to the block's ``hybrid_forward``.
    axis
        Axis of the rows, which are as many as the channels of the output: 0, or 1 for transposed convolutions.
    iterations
        Steps of the power iteration in each training forward. It goes on from the last one, so one step is enough where
        weights change little; prediction makes none.
    epsilon
        What is added to lengths, so that they are not 0.

    Shapes are those of the block. Holds ``u (rows,)``, the singular vector, which is saved with the parameters.

    >>> from gluonish import nd
    >>> from gluonish.gluon import nn
    >>> layer = SpectralNorm(nn.Dense(4))
    >>> layer.initialize()
    >>> layer(nd.ones((2, 3))).shape, layer.u.shape
    ((2, 4), (4,))
    """

    def __init__(
        self,
        block: Block,
        name: str = "weight",
        axis: int = 0,
        iterations: int = 1,
        epsilon: float = 1e-12,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(block, name, axis, prefix, params)
        self._iterations, self._epsilon = whole("SpectralNorm", "iterations", iterations), epsilon
        with self.name_scope():
            self.u = self.params.get(
                "u", grad_req="null", shape=(0,), init="ones", allow_deferred_init=True, differentiable=False
            )

    def hybrid_forward(self, F: Any, x: NDArray, *args: Any, u: NDArray) -> Any:
        weight = self._parameters(x)[self._target]
        matrix = self._matrix(weight)
        training = autograd.is_training()
        with autograd.pause(train_mode=training):
            # A copy stays in the graph: the next forward writes the state, perhaps before this one's backward.
            left = u.copy()
            right = self._unit(F.dot(left, matrix))
            for _ in range(self._iterations if training else 0):
                left = self._unit(F.dot(matrix, right))
                right = self._unit(F.dot(left, matrix))
            if training:
                u[:] = left
        largest = (left * F.dot(matrix, right)).sum()
        return self._call(F, weight / largest, x, *args)

    def _matrix(self, weight: NDArray) -> NDArray:
        rows = self._axis % weight.ndim
        order = (rows, *(i for i in range(weight.ndim) if i != rows))
        size = weight.shape[rows]
        return weight.transpose(order).reshape(size, prod(weight.shape) // max(size, 1))

    def _unit(self, vector: NDArray) -> NDArray:
        return vector / ((vector * vector).sum().sqrt() + self._epsilon)

    def infer_shape(self, *args: Any) -> None:
        weight = self._first_weight(*args)
        with autograd.pause():
            start = nd.random.normal(shape=(weight.shape[self._axis],), ctx=weight.context)
            self.u.shape = start.shape
            self.u.set_data(self._unit(start))
