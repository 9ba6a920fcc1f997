"""Layers and containers."""

from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn.container import Concurrent, HybridConcurrent, HybridSequential, Identity, Sequential

__all__ = [
    "Block",
    "Concurrent",
    "HybridBlock",
    "HybridConcurrent",
    "HybridSequential",
    "Identity",
    "Sequential",
]
