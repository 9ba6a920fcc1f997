"""Convolution and pooling: what slides over images."""

from __future__ import annotations

from typing import Any

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, node

HOLES = {"Pooling has no dilation": lambda case: max(case.a.dilations or [1]) > 1}


def sizes(a: Attributes, x: Any, kernel: Any) -> tuple[Any, Any, list[int], list[int]]:
    """Strides, dilations, and what is added before and after each axis."""
    axes = range(len(kernel))
    stride, dilate = a.strides or [1 for _ in axes], a.dilations or [1 for _ in axes]
    if a.auto_pad == "NOTSET":
        pads = a.pads or [0 for _ in (*axes, *axes)]
        return stride, dilate, pads[: len(kernel)], pads[len(kernel) :]
    total = [
        max((-(-x.shape[2 + i] // stride[i]) - 1) * stride[i] + (kernel[i] - 1) * dilate[i] + 1 - x.shape[2 + i], 0)
        for i in axes
    ]
    return stride, dilate, *shares(a, total)


def shares(a: Attributes, total: list[int]) -> tuple[list[int], list[int]]:
    """What a total means before and after: the larger half stands where `auto_pad` says."""
    small, large = [t // 2 for t in total], [t - t // 2 for t in total]
    return (large, small) if a.auto_pad == "SAME_LOWER" else (small, large)


def padded(x: Any, before: list[int], after: list[int], value: float = 0.0) -> Any:
    """Images with a margin."""
    margin = [n for pair in zip(before, after, strict=True) for n in pair]
    return nd.pad(x, mode="constant", pad_width=(0, 0, 0, 0, *margin), constant_value=value)


@node("Conv")
def convolution(a: Attributes, x: Any, weight: Any, bias: Any = None) -> Any:
    kernel = weight.shape[2:]
    stride, dilate, before, after = sizes(a, x, kernel)
    if before != after:
        x, before = padded(x, before, after), [0 for _ in kernel]
    how = {"num_filter": weight.shape[0], "num_group": a.group, "no_bias": bias is None}
    return nd.Convolution(x, weight, bias, kernel=kernel, stride=stride, dilate=dilate, pad=before, **how)


@node("CausalConvWithState")
def causal_convolution(a: Attributes, x: Any, weight: Any, bias: Any = None, past: Any = None) -> tuple[Any, Any]:
    channels, _, length = weight.shape
    x = padded(x, [length - 1], [0]) if past is None else mnp.concatenate([past, x], axis=2)
    how = {"num_filter": channels, "num_group": channels, "no_bias": bias is None}
    y = nd.Convolution(x, weight, bias, kernel=[length], **how)
    return (y if a.activation == "none" else nd.silu(y)), x[:, :, x.shape[2] - (length - 1) :]


@node("ConvTranspose")
def transposed_convolution(a: Attributes, x: Any, weight: Any, bias: Any = None) -> Any:
    kernel = weight.shape[2:]
    axes = range(len(kernel))
    stride, dilate = a.strides or [1 for _ in axes], a.dilations or [1 for _ in axes]
    more = a.output_padding or [0 for _ in axes]
    if a.output_shape or a.auto_pad != "NOTSET":
        wanted = a.output_shape or [x.shape[2 + i] * stride[i] for i in axes]
        whole = [(x.shape[2 + i] - 1) * stride[i] + (kernel[i] - 1) * dilate[i] + 1 for i in axes]
        more = [max(m, w - n) for m, w, n in zip(more, wanted, whole, strict=True)]
        before, after = shares(a, [n + m - w for n, m, w in zip(whole, more, wanted, strict=True)])
    else:
        pads = a.pads or [0 for _ in (*axes, *axes)]
        before, after = pads[: len(kernel)], pads[len(kernel) :]
    # Where the margins differ, the common part is left to the op and the rest is cut off.
    common = [min(pair) for pair in zip(before, after, strict=True)]
    how = {"num_filter": weight.shape[1] * a.group, "num_group": a.group, "no_bias": bias is None, "adj": more}
    y = nd.Deconvolution(x, weight, bias, kernel=kernel, stride=stride, dilate=dilate, pad=common, **how)
    cuts = [slice(b - c, size - (e - c)) for b, e, c, size in zip(before, after, common, y.shape[2:], strict=True)]
    return y[(..., *cuts)]


def pooled(a: Attributes, x: Any, margin: float, **how: Any) -> Any:
    """Windows of a padded image; those that would begin behind it do not count."""
    kernel = a.kernel_shape
    stride, _, before, after = sizes(a, x, kernel)
    ends = [size + b for size, b in zip(x.shape[2:], before, strict=True)]
    if before != after:
        x, before = padded(x, before, after, margin), [0 for _ in kernel]
    convention = "full" if a.ceil_mode else "valid"
    y = nd.Pooling(x, kernel, stride=stride, pad=before, pooling_convention=convention, **how)
    return y[(..., *(slice(0, -(-end // step)) for end, step in zip(ends, stride, strict=True)))]


@node(
    "MaxPool",
    left_out={
        "Pooling does not say where the largest values stood": lambda case: len(case.outputs) > 1,
        "Pooling takes floats": lambda case: case.types[0] == "uint8",
        **HOLES,
    },
)
def largest(a: Attributes, x: Any) -> Any:
    return pooled(a, x, float("-inf"), pool_type="max")


@node("AveragePool", left_out=HOLES)
def average(a: Attributes, x: Any) -> Any:
    if a.auto_pad == "NOTSET":
        return pooled(a, x, 0.0, pool_type="avg", count_include_pad=bool(a.count_include_pad))
    return pooled(a, x, 0.0, pool_type="sum") / pooled(a, mnp.ones_like(x), 0.0, pool_type="sum")


@node("LpPool", left_out=HOLES)
def norm(a: Attributes, x: Any) -> Any:
    return pooled(a, x, 0.0, pool_type="lp", p_value=a.p)


@node("GlobalAveragePool")
def global_average(_: Attributes, x: Any) -> Any:
    return nd.Pooling(x, global_pool=True, pool_type="avg")


@node("GlobalMaxPool")
def global_largest(_: Attributes, x: Any) -> Any:
    return nd.Pooling(x, global_pool=True, pool_type="max")


@node("Col2Im")
def patches(a: Attributes, columns: Any, image_shape: Any, block_shape: Any) -> Any:
    kernel = block_shape.tolist()
    pads = a.pads or [0 for _ in (*kernel, *kernel)]
    how = {"stride": a.strides, "dilate": a.dilations, "pad": pads[: len(kernel)]}
    return nd.col2im(columns, image_shape.tolist(), kernel, **how)
