"""Vectors for indices."""

from typing import Any

from gluonish._core import NDArray
from gluonish._types import DTypeLike
from gluonish.errors import UnsupportedError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import whole

__all__ = ["Embedding"]


class Embedding(HybridBlock):
    """Row ``x[...]`` of ``weight`` for each index. An index that is not from 0 to ``input_dim - 1`` is an error.

    Parameters
    ----------
    input_dim
        Number of rows: the size of the vocabulary.
    output_dim
        Length of a row.
    sparse_grad
        MXNet's gradients of a few rows, which wait for sparse arrays; the dense gradient is summed row by row, without
        a product.

    Input ``(...)`` of indices, whole numbers of any type; output ``(..., output_dim)``. Holds ``weight
    (input_dim, output_dim)``.

    >>> from gluonish import nd
    >>> layer = Embedding(10, 3)
    >>> layer.initialize()
    >>> layer(nd.array([[1, 2], [3, 9]])).shape
    (2, 2, 3)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: DTypeLike = "float32",
        weight_initializer: Any = None,
        sparse_grad: bool = False,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if sparse_grad:
            raise UnsupportedError(
                "Embedding: sparse_grad=True waits for sparse arrays; leave it out, values are the same"
            )
        self.__input_dim = whole("Embedding", "input_dim", input_dim)
        self.__output_dim = whole("Embedding", "output_dim", output_dim)
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(input_dim, output_dim), dtype=dtype, init=weight_initializer, allow_deferred_init=True
            )

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray) -> NDArray:
        y: NDArray = F.Embedding(x, weight, input_dim=self.__input_dim, output_dim=self.__output_dim)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__input_dim} -> {self.__output_dim}, {self.weight.dtype})"
