"""A sample for every layer of gluon.nn, and what the tests of layers share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import gluonish as mx
from gluonish import autograd, nd
from gluonish.gluon import nn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Indices:
    """An input of whole numbers below a bound."""

    shape: tuple[int, ...]
    below: int


@dataclass(frozen=True)
class Sample:
    """One way to make a layer, and the inputs to call it with."""

    layer: type
    make: Callable[..., Any]  # takes the sizes of the inputs as keywords
    inputs: tuple[tuple[int, ...] | Indices, ...]
    given: dict[str, Any]  # these sizes, where the layer can also take them from the first inputs
    draws: bool = False  # whether the result is random in training
    batch: bool = False  # whether it is another one in training, which changes the layer's state

    def arrays(self, dtype: str = "float32", seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        return [
            rng.integers(0, i.below, i.shape) if isinstance(i, Indices) else rng.standard_normal(i).astype(dtype)
            for i in self.inputs
        ]

    def __str__(self) -> str:
        return self.layer.__name__


def sample(layer: type, *args: Any, x: Any, given: dict[str, Any] | None = None, **flags: bool) -> Sample:
    """A line of the list below: the layer, its arguments (keywords as a dict at the end), the shapes of its inputs."""
    positional, named = (args[:-1], args[-1]) if args and isinstance(args[-1], dict) else (args, {})
    made = partial(layer, *positional, **named)
    return Sample(layer, made, tuple(x) if isinstance(x, list) else (x,), given or {}, **flags)


def around(layer: type, make: Callable[..., Any], x: Any, **flags: bool) -> Sample:
    """A line for a layer that other blocks are part of, which each layer needs anew."""
    return Sample(layer, make, (x,), {}, **flags)


def filled(container: Any) -> Any:
    container.add(nn.Dense(2, flatten=False), nn.Dense(3, flatten=False))
    return container


IMAGE = (2, 4, 6, 5)
LINE = (2, 4, 7)
VOLUME = (1, 2, 4, 5, 4)
WORDS = (2, 5, 8)

SAMPLES: list[Sample] = [
    # Containers.
    around(nn.Sequential, lambda: filled(nn.Sequential()), x=(2, 4)),
    around(nn.HybridSequential, lambda: filled(nn.HybridSequential()), x=(2, 4)),
    around(nn.Concurrent, lambda: filled(nn.Concurrent(axis=1)), x=(2, 4)),
    around(nn.HybridConcurrent, lambda: filled(nn.HybridConcurrent(axis=1)), x=(2, 4)),
    sample(nn.Identity, x=IMAGE),
    # Fully connected.
    sample(nn.Dense, 3, x=(2, 4), given={"in_units": 4}),
    sample(nn.Dense, 3, "tanh", x=(2, 4, 2), given={"in_units": 8}),
    sample(nn.Dense, 3, {"flatten": False, "use_bias": False}, x=(2, 4, 2), given={"in_units": 2}),
    sample(nn.DropConnect, 3, 0.5, x=(2, 4, 2), given={"in_units": 8}, draws=True),
    sample(nn.Dropout, 0.5, x=IMAGE, draws=True),
    sample(nn.Flatten, x=IMAGE),
    sample(nn.Lambda, "tanh", x=IMAGE),
    sample(nn.HybridLambda, "tanh", x=IMAGE),
    sample(nn.Embedding, 7, 3, x=Indices((2, 4), 7)),
    # Activations.
    sample(nn.Activation, "softsign", x=IMAGE),
    sample(nn.Activation, "gelu", x=IMAGE),
    sample(nn.LeakyReLU, 0.1, x=IMAGE),
    sample(nn.PReLU, x=IMAGE),
    sample(nn.PReLU, {"in_channels": 4}, x=IMAGE),
    sample(nn.ELU, 0.5, x=IMAGE),
    sample(nn.SELU, x=IMAGE),
    sample(nn.GELU, x=IMAGE),
    sample(nn.GELU, "tanh", x=IMAGE),
    sample(nn.Swish, 1.5, x=IMAGE),
    sample(nn.SiLU, x=IMAGE),
    sample(nn.Mish, x=IMAGE),
    # Convolutions.
    sample(nn.Conv1D, 3, 3, {"padding": 1}, x=LINE, given={"in_channels": 4}),
    sample(nn.Conv2D, 4, (3, 2), {"groups": 2, "activation": "tanh"}, x=IMAGE, given={"in_channels": 4}),
    sample(nn.Conv2D, 3, 2, {"layout": "NHWC", "use_bias": False}, x=IMAGE, given={"in_channels": 5}),
    sample(nn.Conv3D, 2, 2, {"strides": 2}, x=VOLUME, given={"in_channels": 2}),
    sample(nn.Conv1DTranspose, 3, 3, {"strides": 2}, x=LINE, given={"in_channels": 4}),
    sample(nn.Conv2DTranspose, 2, 3, 2, 1, 1, x=IMAGE, given={"in_channels": 4}),
    sample(nn.Conv3DTranspose, 2, 2, x=VOLUME, given={"in_channels": 2}),
    sample(nn.LocallyConnected1D, 3, 2, x=LINE, given={"in_channels": 4, "in_size": 7}),
    sample(nn.LocallyConnected2D, 2, 3, 2, 1, x=IMAGE, given={"in_channels": 4, "in_size": (6, 5)}),
    # Pooling.
    *(sample(kind, x=LINE) for kind in (nn.MaxPool1D, nn.AvgPool1D, nn.GlobalMaxPool1D, nn.GlobalAvgPool1D)),
    *(sample(kind, x=IMAGE) for kind in (nn.MaxPool2D, nn.AvgPool2D, nn.GlobalMaxPool2D, nn.GlobalAvgPool2D)),
    *(sample(kind, x=VOLUME) for kind in (nn.MaxPool3D, nn.AvgPool3D, nn.GlobalMaxPool3D, nn.GlobalAvgPool3D)),
    *(sample(kind, 3, x=LINE) for kind in (nn.AdaptiveMaxPool1D, nn.AdaptiveAvgPool1D)),
    *(sample(kind, (3, 2), x=IMAGE) for kind in (nn.AdaptiveMaxPool2D, nn.AdaptiveAvgPool2D)),
    *(sample(kind, 3, x=VOLUME) for kind in (nn.AdaptiveMaxPool3D, nn.AdaptiveAvgPool3D)),
    sample(nn.ReflectionPad2D, 1, x=IMAGE),
    sample(nn.Upsample, {"scale_factor": 2}, x=IMAGE),
    sample(nn.Upsample, {"size": (9, 7), "mode": "bilinear"}, x=IMAGE),
    # Norms.
    sample(nn.BatchNorm, x=IMAGE, given={"in_channels": 4}, batch=True),
    sample(nn.BatchNorm, {"axis": -1, "scale": False}, x=IMAGE, given={"in_channels": 5}, batch=True),
    sample(nn.BatchNormReLU, x=IMAGE, given={"in_channels": 4}, batch=True),
    sample(nn.SyncBatchNorm, {"num_devices": 1}, x=IMAGE, given={"in_channels": 4}, batch=True),
    sample(nn.LayerNorm, x=IMAGE, given={"in_channels": 5}),
    sample(nn.LayerNorm, {"axis": 1}, x=IMAGE, given={"in_channels": 4}),
    sample(nn.InstanceNorm, x=IMAGE, given={"in_channels": 4}),
    sample(nn.InstanceNorm, {"axis": 2, "scale": True}, x=IMAGE, given={"in_channels": 6}),
    sample(nn.GroupNorm, 2, x=IMAGE, given={"in_channels": 4}),
    sample(nn.RMSNorm, x=IMAGE, given={"in_channels": 5}),
    # Transformers.
    sample(nn.SinusoidalPositionEmbedding, 8, x=WORDS),
    sample(nn.LearnedPositionEmbedding, 6, 8, x=WORDS),
    sample(nn.RotaryEmbedding, x=WORDS),
    sample(nn.MultiHeadAttention, 4, 2, x=WORDS, given={"in_units": 8, "key_units": 8, "value_units": 8}),
    sample(nn.MultiHeadAttention, 8, 4, 2, {"causal": True, "dropout": 0.5}, x=[WORDS, (2, 3, 4)], draws=True),
    around(nn.MultiHeadAttention, lambda: nn.MultiHeadAttention(4, 2, rotary=nn.RotaryEmbedding()), x=WORDS),
    sample(nn.TransformerEncoderLayer, 8, 2, 6, {"activation": "gelu"}, x=WORDS),
    sample(nn.TransformerEncoderLayer, 8, 4, 6, {"norm": "rms", "pre_norm": True, "dropout": 0.5}, x=WORDS, draws=True),
    sample(nn.TransformerDecoderLayer, 8, 2, 6, x=[WORDS, (2, 3, 4)], given={"memory_units": 4}),
    sample(nn.TransformerEncoder, 2, 8, 2, {"hidden_size": 6, "pre_norm": True}, x=WORDS),
    sample(nn.TransformerDecoder, 2, 8, 2, {"hidden_size": 6}, x=[WORDS, (2, 3, 4)], given={"memory_units": 4}),
    # Images.
    sample(nn.PatchEmbed, 3, (3, 5), x=IMAGE, given={"in_channels": 4}),
    sample(nn.PatchEmbed, 3, 2, {"layout": "NHWC"}, x=(2, 4, 6, 5), given={"in_channels": 5}),
    sample(nn.PixelShuffle1D, 2, x=LINE),
    sample(nn.PixelShuffle2D, 2, x=IMAGE),
    sample(nn.PixelShuffle3D, (1, 2, 1), x=VOLUME),
    sample(nn.SqueezeExcite, 4, 2, x=IMAGE),
    sample(nn.StochasticDepth, 0.5, x=(8, 3), draws=True),
    # Wrappers.
    around(nn.WeightNorm, lambda: nn.WeightNorm(nn.Dense(3)), x=(2, 4)),
    around(nn.WeightNorm, lambda: nn.WeightNorm(nn.Conv2DTranspose(3, 2), axis=1), x=IMAGE),
    around(nn.SpectralNorm, lambda: nn.SpectralNorm(nn.Conv2D(3, 2)), x=IMAGE, batch=True),
    # Torch's names.
    sample(nn.Linear, 5, 3, x=IMAGE),
    sample(nn.Conv1d, 4, 3, 3, x=LINE),
    sample(nn.Conv2d, 4, 2, 3, 2, 1, {"bias": False}, x=IMAGE),
    sample(nn.Conv3d, 2, 2, 2, x=VOLUME),
    sample(nn.ConvTranspose1d, 4, 3, 3, x=LINE),
    sample(nn.ConvTranspose2d, 4, 2, 3, 2, 1, 1, x=IMAGE),
    sample(nn.ConvTranspose3d, 2, 2, 2, x=VOLUME),
    sample(nn.BatchNorm1d, 4, x=(3, 4), batch=True),
    sample(nn.BatchNorm2d, 4, x=IMAGE, batch=True),
    sample(nn.BatchNorm3d, 2, x=VOLUME, batch=True),
    *(sample(kind, x=IMAGE) for kind in (nn.ReLU, nn.Sigmoid, nn.Tanh)),
]


def started(sample: Sample, given: bool = False, ctx: Any = None, dtype: str = "float32") -> Any:
    """A layer with random values in all parameters, statistics included, so that none of them is 0 or 1 by chance."""
    layer = sample.make(**sample.given) if given else sample.make()
    layer.initialize(mx.init.Normal(0.5), ctx=ctx)
    layer.cast(dtype)
    call(layer, sample.arrays(dtype), ctx[0] if isinstance(ctx, list) else ctx)
    rng = np.random.default_rng(1)
    for name, parameter in layer.collect_params().items():
        values = rng.uniform(0.5, 1.5, parameter.shape) if "var" in name else rng.standard_normal(parameter.shape)
        parameter.set_data(nd.array(values, dtype=parameter.dtype))
    return layer


def call(layer: Any, arrays: Sequence[np.ndarray], ctx: Any = None) -> Any:
    return layer(*(nd.array(a, ctx=ctx, dtype=a.dtype) for a in arrays))


def values(layer: Any, arrays: Sequence[np.ndarray], ctx: Any = None) -> np.ndarray:
    return call(layer, arrays, ctx).asnumpy()


def numeric_gradients(layer: Any, arrays: Sequence[np.ndarray], train_mode: bool = False) -> None:
    """Compares the gradients of inputs and parameters, in float64, with differences of the weighted sum of outputs."""
    inputs = [nd.array(a, dtype=a.dtype) for a in arrays]
    floats = [x for x in inputs if "float" in str(x.dtype)]
    for x in floats:
        x.attach_grad()
    learned = [p for p in layer.collect_params().values() if p.grad_req != "null"]

    def total() -> Any:
        y = layer(*inputs)
        weights = np.random.default_rng(3).standard_normal(y.shape)
        return (y * nd.array(weights, dtype="float64")).sum()

    with autograd.record(train_mode=train_mode):
        loss = total()
    loss.backward()
    found = [(x, x.grad.asnumpy()) for x in floats] + [(p.data(), p.grad().asnumpy()) for p in learned]
    assert found, "nothing to differentiate"
    scope = autograd.train_mode() if train_mode else autograd.predict_mode()
    with scope:
        for array, grad in found:
            start = array.asnumpy()
            for place in _some_places(start.shape):
                ends = []
                for step in (1e-6, -1e-6):
                    moved = start.copy()
                    moved[place] += step
                    array[:] = nd.array(moved, dtype="float64")
                    ends.append(total().item())
                array[:] = nd.array(start, dtype="float64")
                np.testing.assert_allclose(grad[place], (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-6)


def _some_places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All places of a small array, some of a large one."""
    places = list(np.ndindex(*shape))
    if len(places) > 12:
        places = [places[i] for i in np.random.default_rng(2).choice(len(places), 12, replace=False)]
    return places
