"""Elements by their positions."""

from __future__ import annotations

from typing import Any

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, node, nodes

nodes(
    {
        "Gather": lambda a, x, indices: mnp.take(x, indices, axis=a.axis, mode="wrap"),
        "GatherElements": lambda a, x, indices: mnp.take_along_axis(x, indices, axis=a.axis),
        "Compress": lambda a, x, chosen: mnp.compress(chosen, x, axis=a.axis),
        "NonZero": lambda a, x: mnp.stack(mnp.nonzero(x)),
    }
)


def coordinates(indices: Any) -> Any:
    """ONNX has them last, ours first."""
    return mnp.moveaxis(indices, -1, 0)


@node("GatherND", left_out={"gather_nd has no axes that go along": lambda case: case.a.batch_dims})
def gather(_: Attributes, x: Any, indices: Any) -> Any:
    return nd.gather_nd(x, coordinates(indices))


REDUCES = {"writing at positions does not reduce": lambda case: case.a.reduction != "none"}


@node("ScatterND", left_out=REDUCES)
def scatter(_: Attributes, x: Any, indices: Any, updates: Any) -> Any:
    x[tuple(coordinates(indices))] = updates
    return x


@node("Scatter")
@node("ScatterElements", left_out=REDUCES)
def scatter_along(a: Attributes, x: Any, indices: Any, updates: Any) -> Any:
    mnp.put_along_axis(x, indices, updates, axis=a.axis)
    return x


@node("OneHot")
def one_hot(a: Attributes, indices: Any, depth: Any, values: Any) -> Any:
    depth, (off, on) = int(depth.item()), values.tolist()
    whole = mnp.where(indices < 0, indices + depth, indices)
    y = nd.one_hot(whole, depth=depth, on_value=on, off_value=off, dtype=values.dtype)
    return mnp.moveaxis(y, -1, a.axis)


@node(
    "Unique",
    left_out={
        "unique sorts": lambda case: not case.a.sorted,
        "unique along an axis is NumPy's": lambda case: case.a.axis is not None,
    },
)
def unique(_: Attributes, x: Any) -> Any:
    return mnp.unique(x, return_index=True, return_inverse=True, return_counts=True)
