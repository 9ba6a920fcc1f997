"""What tells a network that looks at all places at once where each of them is."""

from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import whole

__all__ = ["LearnedPositionEmbedding", "RotaryEmbedding", "SinusoidalPositionEmbedding"]


def _length(layer: str, x: NDArray, units: int) -> int:
    """The length of sequences ``(batch, length, units)``."""
    if x.ndim != 3 or x.shape[2] != units:
        raise ShapeError(f"{layer}: input of shape {x.shape} must be (batch, length, {units})")
    return x.shape[1]


class SinusoidalPositionEmbedding(HybridBlock):
    """Adds waves to sequences (Vaswani et al., 2017): ``sin(position / base ** (2 * i / units))`` to channel ``2 * i``,
    and the cosine of the same to channel ``2 * i + 1``.

    Parameters
    ----------
    units
        Size of the last axis.
    base
        What the lengths of the waves grow to.

    Input and output ``(batch, length, units)``. The layer is called with the sequences, and with the position of their
    first place where that is not 0.

    >>> from gluonish import nd
    >>> layer = SinusoidalPositionEmbedding(4)
    >>> [round(v, 4) for v in layer(nd.zeros((1, 2, 4))).tolist()[0][1]]
    [0.8415, 0.5403, 0.01, 0.9999]
    """

    def __init__(self, units: int, base: float = 10000.0, prefix: str | None = None, params: Any = None) -> None:
        if base <= 0:
            raise ArgumentError(f"SinusoidalPositionEmbedding: base={base} must be positive")
        super().__init__(prefix=prefix, params=params)
        self._units, self._base = whole("SinusoidalPositionEmbedding", "units", units), base

    def hybrid_forward(self, F: Any, x: NDArray, offset: int = 0) -> NDArray:
        length = _length("SinusoidalPositionEmbedding", x, self._units)
        # In float32 at least: far positions are no numbers of 16 bits.
        how: dict[str, Any] = {"ctx": x.context, "dtype": "float64" if x.dtype == "float64" else "float32"}
        pairs = (self._units + 1) // 2
        rates = self._base ** (F.arange(pairs, **how) * (-2 / self._units))
        angles = F.arange(offset, offset + length, **how).reshape(length, 1) * rates
        waves = F.stack(angles.sin(), angles.cos(), axis=2).reshape(length, 2 * pairs)
        y: NDArray = x + waves[:, : self._units].astype(x.dtype)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._units}, base={self._base})"


class LearnedPositionEmbedding(HybridBlock):
    """Adds a learned vector for each position to sequences.

    Parameters
    ----------
    max_length
        Number of positions there are vectors for; longer sequences are refused.
    units
        Size of the last axis.

    Input and output ``(batch, length, units)``. The layer is called with the sequences, and with the position of their
    first place where that is not 0. Holds ``weight (max_length, units)``.

    >>> from gluonish import nd
    >>> layer = LearnedPositionEmbedding(16, 4)
    >>> layer.initialize()
    >>> layer(nd.zeros((2, 10, 4))).shape
    (2, 10, 4)
    """

    def __init__(
        self,
        max_length: int,
        units: int,
        weight_initializer: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._max_length = whole("LearnedPositionEmbedding", "max_length", max_length)
        self._units = whole("LearnedPositionEmbedding", "units", units)
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(max_length, units), init=weight_initializer)

    def hybrid_forward(self, F: Any, x: NDArray, offset: int = 0, *, weight: NDArray) -> NDArray:
        end = offset + _length("LearnedPositionEmbedding", x, self._units)
        if offset < 0 or end > self._max_length:
            text = f"positions {offset} to {end - 1} are not all from 0 to {self._max_length - 1}"
            raise ShapeError(f"LearnedPositionEmbedding: {text}; make the layer with a larger max_length")
        y: NDArray = x + F.slice_axis(weight, axis=0, begin=offset, end=end)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._max_length} -> {self._units})"


class RotaryEmbedding(HybridBlock):
    """Turns pairs of channels by an angle that grows with the position (Su et al., 2021). The product of a query and a
    key that were turned depends on their distance alone.

    Parameters
    ----------
    base
        Pair ``i`` of ``n`` turns by ``base ** (-i / n)`` from one position to the next.
    interleaved
        Whether neighbours are a pair; else a channel of the first half and its counterpart in the second.
    axis
        The axis of positions.

    Input and output ``(..., length, units)``, where units is even. The layer is called with the array, and with the
    position of its first place where that is not 0. :class:`MultiHeadAttention` takes such a layer for its queries and
    keys.

    >>> from gluonish import nd
    >>> [round(v, 4) for v in RotaryEmbedding()(nd.ones((2, 2))).tolist()[1]]
    [-0.3012, 1.3818]
    """

    def __init__(
        self,
        base: float = 10000.0,
        interleaved: bool = False,
        axis: int = -2,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"base": base, "interleaved": interleaved, "axis": axis}

    def hybrid_forward(self, F: Any, x: NDArray, offset: int = 0) -> NDArray:
        y: NDArray = F.contrib.rotary_embedding(x, offset=offset, **self._kwargs)
        return y

    def __repr__(self) -> str:
        return f"{type(self).__name__}(base={self._kwargs['base']}, interleaved={self._kwargs['interleaved']})"
