"""Convolutions with a filter for each channel, of MobileNet v1, v2 and v3 in float32: forward and backward, with images
that stay in blocks. Peers are as in bench_conv.py, and so are the sizes of batches."""

from bench_conv import BATCHES, SETUP, sides
from conv_shapes import MOBILE, Layer
from harness import Case, Mean

__all__ = ["CASES", "MEANS", "SETUP"]

TARGETS = {"forward": 1.2, "backward": 1.4}
LAYERS = sorted({layer for layers in MOBILE.values() for layer in layers})


def name(kind: str, layer: Layer, batch: int) -> str:
    return f"depthwise_{kind}_{layer.name}_b{batch}"


def case(kind: str, layer: Layer, batch: int) -> Case:
    return Case(name(kind, layer, batch), sides(kind, layer, batch), target=TARGETS[kind])


CASES = [case(kind, layer, batch) for kind in TARGETS for batch in BATCHES for layer in LAYERS]
MEANS = [
    Mean(f"depthwise_{kind}", [name(kind, layer, batch) for layer in LAYERS for batch in BATCHES], target)
    for kind, target in TARGETS.items()
]
