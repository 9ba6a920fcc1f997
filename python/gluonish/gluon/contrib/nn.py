"""Layers that MXNet kept under ``gluon.contrib.nn``; they are those of ``gluon.nn``.

>>> from gluonish import nd
>>> from gluonish.gluon.contrib import nn
>>> nn.PixelShuffle2D(2)(nd.ones((1, 8, 3, 3))).shape
(1, 2, 6, 6)
"""

from typing import Any

from gluonish._missing import MissingNameError, explained
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


def __getattr__(name: str) -> Any:
    if name == "SparseEmbedding":
        raise MissingNameError(
            "gluonish.gluon.contrib.nn has no 'SparseEmbedding' yet: it waits for sparse arrays; gluon.nn.Embedding "
            "has the same values, and a dense gradient"
        )
    return explained("gluonish.gluon.contrib.nn", __all__)(name)
