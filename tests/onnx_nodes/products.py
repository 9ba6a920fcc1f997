"""Products and sequences."""

from __future__ import annotations

from typing import Any

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, node


@node("Gemm")
def matrix_product(a: Attributes, x: Any, y: Any, z: Any = None) -> Any:
    shape = (x.shape[1 if a.transA else 0], y.shape[0 if a.transB else 1])
    if a.alpha == a.beta == 1 and not a.transA and (z is None or z.shape == (1, shape[1])):
        bias = None if z is None else z.reshape(-1)
        weight = y if a.transB else y.T
        return nd.FullyConnected(x, weight, bias, num_hidden=shape[1], no_bias=z is None)
    z = mnp.broadcast_to(z, shape)
    how = {"transpose_a": bool(a.transA), "transpose_b": bool(a.transB), "alpha": a.alpha, "beta": a.beta}
    return nd.linalg.gemm(x, y, z, **how)


@node("MatMul")
def matmul(_: Attributes, x: Any, y: Any) -> Any:
    return mnp.matmul(x, y)


@node("Einsum")
def einsum(a: Attributes, *operands: Any) -> Any:
    return mnp.einsum(a.equation, *operands)


@node("ReverseSequence")
def reverse_sequences(a: Attributes, x: Any, lengths: Any) -> Any:
    return nd.SequenceReverse(x, lengths, use_sequence_length=True, axis=a.time_axis)
