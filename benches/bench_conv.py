"""Convolutions of ResNet-18 and -50, VGG-16 and Inception v3 in float32: forward with images that stay in blocks,
forward of plain images, and the gradients of images and filters, in blocks.

Peers are torch, which calls oneDNN: the best of its layouts, without a graph; and going forward onnxruntime, with
filters that are packed before. CONV_BATCHES="1,8,16" chooses the sizes of batches.
"""

import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import conv_onnxruntime
from conv_shapes import LAYERS, NETWORKS, Layer
from harness import Case, Mean, Names, Prepared, Timer

BATCHES = [int(n) for n in os.environ.get("CONV_BATCHES", "1,8,16").split(",")]
SECONDS = 0.04
SAMPLES = 12  # about as many as a shared third-level cache takes to settle
KINDS = ("forward", "plain", "backward")
EACH = {"forward": 0.93, "plain": 0.8, "backward": 0.93}
FIRST = 0.85  # of a layer with three channels
FAR_OFF = 1.5  # times the best layout's time: a layout that is not measured again


def operands(layer: Layer, batch: int) -> tuple[Any, Any, Any]:
    """Images, filters, and the gradient of the result."""
    import numpy as np

    some = np.random.default_rng(0).standard_normal(99_991, np.float32)  # a prime number: no two rows are the same
    images = np.resize(some, (batch, layer.inputs, layer.side, layer.side))
    filters = np.resize(some, (layer.outputs, layer.inputs // layer.groups, *layer.kernel))
    return images, filters, np.resize(some, (batch, layer.outputs, *layer.out))


def timed(call: Callable[[], Any], sync: Callable[[], Any] = lambda: None) -> Timer:
    def run(n: int) -> float:
        begin = time.perf_counter()
        for _ in range(n):
            call()
        sync()
        return time.perf_counter() - begin

    return Timer(run, SECONDS, least=SAMPLES)


def ours(kind: str, layer: Layer, batch: int) -> Prepared:
    def make(names: Names) -> Timer:
        core, array, sync = names["core"], names["array"], names["sync"]
        x, w, dy = map(array, operands(layer, batch))
        how = {"stride": (layer.stride,) * 2, "pad": layer.pad, "num_group": layer.groups}
        if kind == "plain":
            attrs = {**how, "kernel": layer.kernel, "num_filter": layer.outputs, "no_bias": True}
            return timed(lambda: core.invoke("Convolution", [x, w], attrs), sync)
        to_blocks = lambda a: core.invoke("_conv_to_blocked", [a], {})  # noqa: E731
        xb, dyb = x if layer.is_first else to_blocks(x), to_blocks(dy)
        if kind == "forward":
            return timed(lambda: core.invoke("_conv_blocked_result", [xb, w], how), sync)
        filters = {**how, "size": layer.kernel, "channels": layer.inputs, "num_filter": layer.outputs}
        images = {**how, "size": (layer.side,) * 2}

        def backward() -> None:
            if not layer.is_first:
                core.invoke("_conv_blocked_images", [dyb, w], images)
            core.invoke("_conv_blocked_filters", [xb, dyb], filters)

        return timed(backward, sync)

    return Prepared(make)


def in_blocks(torch: Any, layer: Layer, images: Any, filters: Any) -> Callable[[], Any]:
    """Torch's convolution of images that are in oneDNN's own blocks, with filters packed for it."""

    def pack(weight: Any, how: tuple[Any, ...]) -> Any:
        stride, pad, _, groups = how
        return torch._C._nn.mkldnn_reorder_conv2d_weight(
            weight.to_mkldnn(), pad, stride, [1, 1], groups, list(images.shape)
        )

    plain, how = ([1, 1], [0, 0], 1, 1), ([layer.stride] * 2, list(layer.pad), 1, layer.groups)
    itself = torch.eye(layer.inputs)[:, :, None, None]
    blocks = torch.conv2d(images.to_mkldnn(), pack(itself, plain), None, *plain)  # what a convolution leaves
    return partial(torch.conv2d, blocks, pack(filters, how), None, *how)


def torch_side(kind: str, layer: Layer, batch: int) -> Prepared:
    def make(names: Names) -> Callable[[], float]:
        torch, timers = names["torch"], []
        for layout in (torch.contiguous_format, torch.channels_last):
            x, w, dy = (torch.from_numpy(a).contiguous(memory_format=layout) for a in operands(layer, batch))
            stride, pad = [layer.stride] * 2, list(layer.pad)
            call = partial(torch.conv2d, x, w, None, stride, pad, 1, layer.groups)
            if kind == "backward":
                wanted = [not layer.is_first, True, False]
                rest = (stride, pad, [1, 1], False, [0, 0], layer.groups, wanted)
                call = partial(torch.ops.aten.convolution_backward, dy, x, w, None, *rest)
            with torch.inference_mode():
                timers.append(timed(call))
            if kind == "plain":
                break
        if kind == "forward" and not layer.is_first:
            with torch.inference_mode():
                timers.append(timed(in_blocks(torch, layer, *map(torch.from_numpy, operands(layer, batch)[:2]))))
        soonest = min(timer.once for timer in timers)
        hopeful = [timer for timer in timers if timer.once < FAR_OFF * soonest]

        def best() -> float:
            with torch.inference_mode():
                return min(timer() for timer in hopeful)

        return best

    return Prepared(make)


def onnxruntime_side(kind: str, layer: Layer, batch: int) -> Prepared:
    def make(names: Names) -> Timer:
        images, filters, _ = operands(layer, batch)
        return timed(conv_onnxruntime.calls(names, layer, images, filters, blocked=kind == "forward"))

    return Prepared(make)


def sides(kind: str, layer: Layer, batch: int) -> dict[str, Prepared]:
    made = {"gluonish": ours(kind, layer, batch), "torch": torch_side(kind, layer, batch)}
    return made if kind == "backward" else {**made, "onnxruntime": onnxruntime_side(kind, layer, batch)}


def gluonish() -> Names:
    import gluonish as mx
    from gluonish import _core

    return {"core": _core, "array": mx.nd.array, "sync": mx.nd.waitall}


def torch() -> Names:
    import torch

    return {"torch": torch}


def name(kind: str, layer: Layer, batch: int) -> str:
    return f"conv_{kind}_{layer.name}_b{batch}"


def case(kind: str, layer: Layer, batch: int) -> Case:
    target = FIRST if layer.is_first and kind == "forward" else EACH[kind]
    return Case(name(kind, layer, batch), sides(kind, layer, batch), target=target)


def means() -> list[Mean]:
    found = []
    for kind, target in (("forward", 1.1), ("plain", 1.0), ("backward", None)):
        for network, layers in NETWORKS.items():
            of = sorted({name(kind, layer, batch) for layer in layers for batch in BATCHES})
            found.append(Mean(f"conv_{kind}_{network}", of, target))
    for kind, target in (("forward", 1.5), ("backward", 1.8)):
        of = [
            name(kind, layer, batch)
            for layer in LAYERS
            for batch in BATCHES
            if layer.is_plain_3x3 and not layer.is_first
        ]
        found.append(Mean(f"conv_{kind}_3x3", of, target))
    return found


SETUP = {"gluonish": gluonish, "torch": torch, "onnxruntime": conv_onnxruntime.names}
CASES = [case(kind, layer, batch) for kind in KINDS for batch in BATCHES for layer in LAYERS]
MEANS = means()
