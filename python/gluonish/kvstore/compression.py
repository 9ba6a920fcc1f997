"""Gradients in one or two bits a number, with what is lost kept for the next time."""

from collections.abc import Hashable, Mapping
from typing import Any

from gluonish import nd
from gluonish._commit import commit
from gluonish._core import NDArray
from gluonish.kvstore.base import StoreError

__all__ = ["Compression"]


class Compression:
    """What ``set_gradient_compression`` sets up.

    To each gradient what was lost before is added. ``2bit`` gives t where that reaches the threshold t, -t where it
    reaches -t, else 0; ``1bit`` gives 1 above the threshold, else -1. What this leaves is kept for the next time.

    >>> from gluonish import nd
    >>> once = Compression({"type": "2bit", "threshold": 0.5})
    >>> [once("w", nd.array([0.3])).tolist() for _ in range(3)]
    [[0.0], [0.5], [0.0]]
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        if not isinstance(params, Mapping):
            raise StoreError(f"set_gradient_compression: {params!r} is not valid: expected a dict with a 'type'")
        unknown = sorted(set(params) - {"type", "threshold"})
        if unknown:
            raise StoreError(f"set_gradient_compression: there is no {unknown[0]!r}, only 'type' and 'threshold'")
        self.type = params.get("type")
        if self.type not in ("1bit", "2bit"):
            raise StoreError(f"set_gradient_compression: type={self.type!r} is not valid: expected '1bit' or '2bit'")
        self.threshold = params.get("threshold", 0.5 if self.type == "2bit" else 0.0)
        number = isinstance(self.threshold, int | float)
        if not number or (self.type == "2bit" and not self.threshold > 0):
            raise StoreError(
                f"set_gradient_compression: threshold={self.threshold!r} is not valid: expected a number"
                + " above 0" * (self.type == "2bit")
            )
        self._left: dict[Hashable, NDArray] = {}

    def __call__(self, source: Hashable, gradient: NDArray) -> NDArray:
        """What goes on of a gradient, where it is. ``source`` says whose loss is added, and kept."""
        if source not in self._left:
            self._left[source] = nd.zeros(gradient.shape, ctx=gradient.ctx, dtype=gradient.dtype)
        left = self._left[source]
        wanted = gradient + left
        limit = self.threshold
        if self.type == "2bit":
            sent = ((wanted >= limit).astype(gradient.dtype) - (wanted <= -limit).astype(gradient.dtype)) * limit
        else:
            sent = (wanted > limit).astype(gradient.dtype) * 2 - 1
        commit(left, wanted - sent)
        result: NDArray = sent
        return result
