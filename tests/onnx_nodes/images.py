"""Images of another size, and channels that become part of them."""

from __future__ import annotations

from typing import Any

from gluonish import nd
from onnx_nodes.translation import Attributes, Case, node


def enlarged(x: Any, factors: list[int]) -> Any:
    """Each value repeated along both axes."""
    if factors[0] == factors[1]:
        return nd.UpSampling(x, scale=factors[0], sample_type="nearest")
    for axis, factor in zip((2, 3), factors, strict=True):
        x = nd.repeat(x, repeats=factor, axis=axis)
    return x


def ratios(case: Case) -> list[float]:
    """How much larger height and width become."""
    return [case.outputs[0].shape[axis] / case.inputs[0].shape[axis] for axis in (2, 3)]


def nearest_otherwise(case: Case) -> bool:
    repeats = case.a.nearest_mode == "round_prefer_floor" and case.a.coordinate_transformation_mode == "half_pixel"
    return case.a.mode == "nearest" and not (repeats and all(r >= 1 and r == int(r) for r in ratios(case)))


def steps_otherwise(case: Case) -> bool:
    """Whether a scale leads to a fraction of a pixel, which the size forgets but the steps do not."""
    scales = [*case.inputs, None, None][2]
    return scales is not None and [float(s) for s in scales[-2:]] != ratios(case)


def starts_otherwise(case: Case) -> bool:
    return case.a.coordinate_transformation_mode == "pytorch_half_pixel" and 1 in case.outputs[0].shape[2:]


@node(
    "Resize",
    left_out={
        "no op here is cubic": lambda case: case.a.mode == "cubic",
        "no op here smooths before it shrinks": lambda case: case.a.antialias,
        "no op here resizes a part": lambda case: "crop" in case.a.coordinate_transformation_mode,
        "UpSampling takes the nearest for whole factors only": nearest_otherwise,
        "BilinearResize2D's steps are those of the sizes": steps_otherwise,
        "BilinearResize2D takes an only column from the middle, not from the left": starts_otherwise,
    },
)
def resize(a: Attributes, x: Any, _: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    height, width = target(a, x.shape, scales, sizes)
    if a.mode == "nearest":
        return enlarged(x, [height // x.shape[2], width // x.shape[3]])
    aligned = a.coordinate_transformation_mode == "align_corners"
    return nd.contrib.BilinearResize2D(x, height=height, width=width, align_corners=aligned)


def target(a: Attributes, shape: tuple[int, ...], scales: Any, sizes: Any) -> list[int]:
    """Height and width of a resized image."""
    axes = a.axes or range(len(shape))
    given = dict(zip(axes, (sizes if scales is None else scales).tolist(), strict=True))
    if scales is not None:
        return [int(shape[axis] * given[axis]) for axis in (2, 3)]
    if a.keep_aspect_ratio_policy == "stretch":
        return [given[axis] for axis in (2, 3)]
    fitting = min if a.keep_aspect_ratio_policy == "not_larger" else max
    scale = fitting(given[axis] / shape[axis] for axis in (2, 3))
    return [round(shape[axis] * scale) for axis in (2, 3)]


@node("Upsample")
def upsample(_: Attributes, x: Any, scales: Any) -> Any:
    return enlarged(x, [int(s) for s in scales.tolist()[2:]])


def by_columns(x: Any, first: int, second: int) -> Any:
    """Channels that are a table, with its rows and columns exchanged."""
    n, c, *size = x.shape
    return x.reshape(n, first, second, *size).swapaxes(1, 2).reshape(n, c, *size)


@node("DepthToSpace")
def depth_to_space(a: Attributes, x: Any) -> Any:
    block = a.blocksize**2
    return nd.depth_to_space(by_columns(x, -1, block) if a.mode == "CRD" else x, a.blocksize)


@node("SpaceToDepth")
def space_to_depth(a: Attributes, x: Any) -> Any:
    y = nd.space_to_depth(x, a.blocksize)
    return by_columns(y, a.blocksize**2, x.shape[1]) if a.mode == "CRD" else y
