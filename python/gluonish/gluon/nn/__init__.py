"""Layers. Each says its shapes; those with parameters take the sizes of their inputs from the first ones, unless told.

==================  ============================================================================================
containers          Sequential, HybridSequential, Concurrent, HybridConcurrent, Identity
fully connected     Dense, DropConnect, Dropout, Embedding, Flatten, Lambda, HybridLambda
activations         Activation, ELU, GELU, LeakyReLU, Mish, PReLU, SELU, SiLU, Swish
convolutions        Conv1D to Conv3D, Conv1DTranspose to Conv3DTranspose, LocallyConnected1D and 2D
pooling             MaxPool, AvgPool, GlobalMaxPool, GlobalAvgPool, AdaptiveMaxPool, AdaptiveAvgPool, of 1D to 3D
norms               BatchNorm, BatchNormReLU, SyncBatchNorm, LayerNorm, InstanceNorm, GroupNorm, RMSNorm
transformers        MultiHeadAttention, TransformerEncoder, TransformerDecoder and their layers, position embeddings
images              PatchEmbed, PixelShuffle1D to 3D, ReflectionPad2D, SqueezeExcite, StochasticDepth, Upsample
wrappers            WeightNorm, SpectralNorm
torch's names       Linear, Conv2d, ...: the same layers with torch's arguments
==================  ============================================================================================

>>> from gluonish import nd
>>> from gluonish.gluon import nn
>>> net = nn.HybridSequential()
>>> net.add(nn.Conv2D(8, 3, activation="relu"), nn.MaxPool2D(), nn.Dense(10))
>>> net.initialize()
>>> net(nd.ones((2, 1, 28, 28))).shape
(2, 10)
"""

from typing import Any

from gluonish._missing import MissingNameError, explained
from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn.activations import ELU, GELU, SELU, Activation, LeakyReLU, Mish, PReLU, SiLU, Swish
from gluonish.gluon.nn.attention import MultiHeadAttention, length_mask
from gluonish.gluon.nn.basic import Dense, DropConnect, Dropout, Flatten, HybridLambda, Lambda
from gluonish.gluon.nn.container import Concurrent, HybridConcurrent, HybridSequential, Identity, Sequential
from gluonish.gluon.nn.conv import Conv1D, Conv1DTranspose, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose
from gluonish.gluon.nn.embedding import Embedding
from gluonish.gluon.nn.local import LocallyConnected1D, LocallyConnected2D
from gluonish.gluon.nn.norm import (
    BatchNorm,
    BatchNormReLU,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    RMSNorm,
    SyncBatchNorm,
)
from gluonish.gluon.nn.pool import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)
from gluonish.gluon.nn.position import LearnedPositionEmbedding, RotaryEmbedding, SinusoidalPositionEmbedding
from gluonish.gluon.nn.resize import (
    AdaptiveAvgPool1D,
    AdaptiveAvgPool2D,
    AdaptiveAvgPool3D,
    AdaptiveMaxPool1D,
    AdaptiveMaxPool2D,
    AdaptiveMaxPool3D,
    ReflectionPad2D,
    Upsample,
)
from gluonish.gluon.nn.torch_names import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Linear,
    ReLU,
    Sigmoid,
    Tanh,
)
from gluonish.gluon.nn.transformer import (
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from gluonish.gluon.nn.vision import (
    PatchEmbed,
    PixelShuffle1D,
    PixelShuffle2D,
    PixelShuffle3D,
    SqueezeExcite,
    StochasticDepth,
)
from gluonish.gluon.nn.wrappers import SpectralNorm, WeightNorm

# MXNet 2's names of these two.
Concatenate, HybridConcatenate = Concurrent, HybridConcurrent

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "BatchNormReLU",
    "Block",
    "Concatenate",
    "Concurrent",
    "Conv1D",
    "Conv1DTranspose",
    "Conv1d",
    "Conv2D",
    "Conv2DTranspose",
    "Conv2d",
    "Conv3D",
    "Conv3DTranspose",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Dense",
    "DropConnect",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GroupNorm",
    "HybridBlock",
    "HybridConcatenate",
    "HybridConcurrent",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "LearnedPositionEmbedding",
    "Linear",
    "LocallyConnected1D",
    "LocallyConnected2D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "Mish",
    "MultiHeadAttention",
    "PReLU",
    "PatchEmbed",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "RMSNorm",
    "ReLU",
    "ReflectionPad2D",
    "RotaryEmbedding",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SinusoidalPositionEmbedding",
    "SpectralNorm",
    "SqueezeExcite",
    "StochasticDepth",
    "Swish",
    "SyncBatchNorm",
    "Tanh",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Upsample",
    "WeightNorm",
    "length_mask",
]

# Layers of MXNet that are not here, by what they wait for.
_WAITING = {
    "DeformableConvolution": "its op",
    "ModulatedDeformableConvolution": "its op",
    "SymbolBlock": "symbols",
}


def __getattr__(name: str) -> Any:
    if name in _WAITING:
        raise MissingNameError(f"gluonish.gluon.nn has no '{name}' yet: it waits for {_WAITING[name]}")
    return explained("gluonish.gluon.nn", __all__)(name)
