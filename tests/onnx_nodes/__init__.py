"""ONNX's node tests with ours: each module adds the translations of its ops."""

from onnx_nodes import (  # noqa: F401 - they add theirs
    activations,
    attention,
    elementwise,
    images,
    norms,
    positions,
    products,
    recurrent,
    reductions,
    shapes,
    updates,
    windows,
)
from onnx_nodes.translation import TRANSLATIONS, Case, read

__all__ = ["TRANSLATIONS", "Case", "read"]
