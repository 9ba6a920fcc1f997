"""Shapes: arrays in other ones, put together, and taken apart."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import Any

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, node, nodes

TYPES = {1: "float32", 11: "float64"}  # the numbers that ONNX gives to types

nodes(
    {
        "Concat": lambda a, *xs: mnp.concatenate(xs, axis=a.axis),
        "Transpose": lambda a, x: mnp.transpose(x, a.perm),
        "Flatten": lambda a, x: x.reshape(prod(x.shape[: a.axis]), prod(x.shape[a.axis :])),
        "Squeeze": lambda a, x, axes: mnp.squeeze(x, axis=tuple(axes.tolist())),
        "Unsqueeze": lambda a, x, axes: mnp.expand_dims(x, axis=tuple(axes.tolist())),
        "Tile": lambda a, x, counts: mnp.tile(x, counts.tolist()),
        "Shape": lambda a, x: nd.shape_array(x)[a.start : a.end],
        "Size": lambda a, x: nd.size_array(x).reshape(()),
        "EyeLike": lambda a, x: mnp.eye(*x.shape, k=a.k, dtype=TYPES.get(a.dtype, x.dtype)),
        "Range": lambda a, first, end, step: mnp.arange(first.item(), end.item(), step.item(), dtype=first.dtype),
    }
)


@node("Reshape")
def reshape(a: Attributes, x: Any, shape: Any) -> Any:
    # `nd.reshape` copies a size where the shape says 0, which ONNX can forbid.
    return mnp.reshape(x, shape.tolist()) if a.allowzero else nd.reshape(x, shape=shape.tolist())


@node("Expand")
def expand(_: Attributes, x: Any, shape: Any) -> Any:
    return mnp.broadcast_arrays(x, mnp.zeros(shape.tolist()))[0]


@node("Split")
def split(a: Attributes, x: Any, sizes: Any = None) -> Any:
    if sizes is not None:
        return mnp.split(x, list(accumulate(sizes.tolist()))[:-1], axis=a.axis)
    # Equal parts; the last one is smaller where that does not work out.
    size = -(-x.shape[a.axis] // a.outputs)
    return mnp.split(x, list(range(size, x.shape[a.axis], size)), axis=a.axis)


@node("Slice")
def cut(_: Attributes, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    starts, ends = starts.tolist(), ends.tolist()
    axes = range(len(starts)) if axes is None else axes.tolist()
    steps = [1 for _ in starts] if steps is None else steps.tolist()
    key = [slice(None) for _ in x.shape]
    for axis, *ends_and_step in zip(axes, starts, ends, steps, strict=True):
        key[axis] = slice(*ends_and_step)
    return x[tuple(key)]


@node("Pad")
def pad(a: Attributes, x: Any, widths: Any, value: Any = None, axes: Any = None) -> Any:
    widths = widths.tolist()
    half = len(widths) // 2
    pairs = [(0, 0) for _ in x.shape]
    for axis, *pair in zip(range(half) if axes is None else axes.tolist(), widths[:half], widths[half:], strict=True):
        pairs[axis] = tuple(pair)
    how = {"constant_values": 0 if value is None else value.item()} if a.mode == "constant" else {}
    return mnp.pad(x, pairs, a.mode, **how)


@node("Trilu")
def triangle(a: Attributes, x: Any, k: Any = None) -> Any:
    return (mnp.triu if a.upper else mnp.tril)(x, 0 if k is None else k.item())
