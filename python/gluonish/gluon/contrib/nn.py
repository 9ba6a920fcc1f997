"""Layers that MXNet kept under ``gluon.contrib.nn``; they are those of ``gluon.nn``.

>>> from gluonish import nd
>>> from gluonish.gluon.contrib import nn
>>> nn.PixelShuffle2D(2)(nd.ones((1, 8, 3, 3))).shape
(1, 2, 6, 6)
"""

from gluonish._missing import explained
from gluonish.gluon.nn import (
    Concurrent,
    HybridConcurrent,
    Identity,
    PixelShuffle1D,
    PixelShuffle2D,
    PixelShuffle3D,
    SyncBatchNorm,
)

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SyncBatchNorm",
]

__getattr__ = explained("gluonish.gluon.contrib.nn", __all__)
