"""Sums and the like, along axes or step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, node, nodes

if TYPE_CHECKING:
    from collections.abc import Callable


def reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(x, axis=..., keepdims=...)` as ONNX calls it: axes are an input; none means all, or really none."""

    def call(a: Attributes, x: Any, axes: Any = None) -> Any:
        axis = tuple(a.axes or [] if axes is None else axes.tolist())
        if not axis and a.noop_with_empty_axes:
            return function(x, axis=(), keepdims=True)
        return function(x, axis=axis or None, keepdims=bool(a.keepdims))

    return call


nodes(
    {
        "ReduceSum": reduction(mnp.sum),
        "ReduceMean": reduction(mnp.mean),
        "ReduceProd": reduction(mnp.prod),
        "ReduceL1": reduction(lambda x, **how: mnp.abs(x).sum(**how)),
        "ReduceL2": reduction(lambda x, **how: mnp.sqrt(mnp.square(x).sum(**how))),
        "ReduceLogSum": reduction(lambda x, **how: mnp.log(x.sum(**how))),
        "ReduceLogSumExp": reduction(lambda x, **how: mnp.log(mnp.exp(x).sum(**how))),
        "ReduceSumSquare": reduction(lambda x, **how: mnp.square(x).sum(**how)),
    }
)

OF_NOTHING = {"no largest or smallest of nothing, as in NumPy": lambda case: case.inputs[0].size == 0}
node("ReduceMax", left_out=OF_NOTHING)(reduction(mnp.max))
node("ReduceMin", left_out=OF_NOTHING)(reduction(mnp.min))


def place(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function(x, axis=..., keepdims=...)` says where; ONNX may want the last such place."""

    def call(a: Attributes, x: Any) -> Any:
        if not a.select_last_index:
            return function(x, axis=a.axis, keepdims=bool(a.keepdims))
        return x.shape[a.axis] - 1 - function(mnp.flip(x, a.axis), axis=a.axis, keepdims=bool(a.keepdims))

    return call


nodes({"ArgMax": place(mnp.argmax), "ArgMin": place(mnp.argmin)})


def running(function: Callable[..., Any], start: int) -> Callable[..., Any]:
    """`function(x, axis=...)` of the first elements, of the last, or of those before."""

    def call(a: Attributes, x: Any, axis: Any) -> Any:
        axis = axis.item()
        y = function(mnp.flip(x, axis) if a.reverse else x, axis=axis, dtype=x.dtype)
        if a.exclusive:
            first = mnp.full_like(nd.slice_axis(y, axis=axis, begin=0, end=1), start)
            y = mnp.concatenate([first, nd.slice_axis(y, axis=axis, begin=0, end=-1)], axis=axis)
        return mnp.flip(y, axis) if a.reverse else y

    return call


nodes({"CumSum": running(mnp.cumsum, 0), "CumProd": running(mnp.cumprod, 1)})


@node("Hardmax")
def hardmax(a: Attributes, x: Any) -> Any:
    return mnp.moveaxis(nd.one_hot(mnp.argmax(x, axis=a.axis), depth=x.shape[a.axis]), -1, a.axis)


@node("TopK")
def largest(a: Attributes, x: Any, k: Any) -> Any:
    return nd.topk(x, axis=a.axis, k=k.item(), ret_typ="both", is_ascend=not a.largest, dtype="int64")


@node("Det")
def determinant(_: Attributes, x: Any) -> Any:
    return mnp.linalg.det(x)
