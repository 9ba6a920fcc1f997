"""Attention: each place of a sequence gathers what it needs from all places of another, or of the same."""

from typing import Any

from gluonish import nd
from gluonish._core import NDArray
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import share, whole
from gluonish.gluon.nn.basic import Dense
from gluonish.gluon.nn.position import RotaryEmbedding

__all__ = ["MultiHeadAttention", "length_mask"]


def length_mask(valid_length: NDArray, length: int) -> NDArray:
    """A mask for sequences of different lengths in one batch: ``(batch, 1, 1, length)``, True where a place is in use.

    >>> from gluonish import nd
    >>> length_mask(nd.array([1, 3]), 3).tolist()
    [[[[True, False, False]]], [[[True, True, True]]]]
    """
    if valid_length.ndim != 1:
        raise ShapeError(f"length_mask: valid_length of shape {valid_length.shape} must be (batch,)")
    places = nd.arange(length, ctx=valid_length.context, dtype="int64")
    return places < valid_length.reshape(-1, 1, 1, 1)


class MultiHeadAttention(HybridBlock):
    """Attention of several heads (Vaswani et al., 2017), in memory linear in the length of the sequences.

    Parameters
    ----------
    units
        Size of the output; the heads share it.
    num_heads
        Number of heads, which divides ``units``.
    num_kv_heads
        Number of heads of keys and values, which groups of query heads share (Ainslie et al., 2023): as many as
        ``num_heads`` when None, 1 for multi-query attention.
    dropout
        Share of the weights that become 0 in training.
    causal
        Whether place ``i`` of the queries sees places 0 to ``i`` of the keys alone.
    rotary
        A :class:`RotaryEmbedding` for queries and keys, or None.
    in_units, key_units, value_units
        Sizes of the three inputs; 0 takes them from the first ones.

    Called as ``layer(x)`` for self-attention, ``layer(query, key)`` or ``layer(query, key, value)`` for attention to
    another sequence, each with a mask as a fourth argument. ``query (batch, length, in_units)``, ``key`` and ``value
    (batch, places, any)``, output ``(batch, length, units)``. The mask is bool (True: seen) or added to the scores, of
    shape ``(length, places)``, ``(batch, length, places)`` or what broadcasts to ``(batch, num_heads, length,
    places)``; :func:`length_mask` makes one of lengths. A query that sees nothing gathers zeros.

    >>> from gluonish import nd
    >>> layer = MultiHeadAttention(16, num_heads=4, num_kv_heads=2, causal=True)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 5, 8))).shape
    (2, 5, 16)
    >>> layer(nd.ones((2, 5, 8)), None, None, length_mask(nd.array([3, 5]), 5)).shape
    (2, 5, 16)
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        dropout: float = 0.0,
        causal: bool = False,
        use_bias: bool = True,
        rotary: RotaryEmbedding | None = None,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_units: int = 0,
        key_units: int = 0,
        value_units: int = 0,
        dtype: Any = "float32",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name = type(self).__name__
        units, num_heads = whole(name, "units", units), whole(name, "num_heads", num_heads)
        shared = num_heads if num_kv_heads is None else whole(name, "num_kv_heads", num_kv_heads)
        if units % num_heads:
            raise ArgumentError(f"{name}: num_heads={num_heads} must divide units={units}")
        if num_heads % shared:
            raise ArgumentError(f"{name}: num_kv_heads={shared} must divide num_heads={num_heads}")
        self._units, self._heads, self._kv_heads, self._width = units, num_heads, shared, units // num_heads
        self._kwargs = {"causal": causal, "dropout": share(name, "dropout", dropout)}
        how: dict[str, Any] = {"use_bias": use_bias, "flatten": False, "dtype": dtype}
        how.update(weight_initializer=weight_initializer, bias_initializer=bias_initializer)
        with self.name_scope():
            self.query = Dense(units, in_units=in_units, prefix="query_", **how)
            self.key = Dense(shared * self._width, in_units=key_units, prefix="key_", **how)
            self.value = Dense(shared * self._width, in_units=value_units, prefix="value_", **how)
            self.out = Dense(units, in_units=units, prefix="out_", **how)
            self.rotary = rotary

    def hybrid_forward(
        self,
        F: Any,
        query: NDArray,
        key: NDArray | None = None,
        value: NDArray | None = None,
        mask: NDArray | None = None,
    ) -> NDArray:
        key = query if key is None else key
        value = key if value is None else value
        for name, x in (("query", query), ("key", key), ("value", value)):
            if x.ndim != 3:
                raise ShapeError(f"MultiHeadAttention: {name} of shape {x.shape} must be (batch, length, units)")
        heads = self._by_head(self.query(query), self._heads)
        keys = self._by_head(self.key(key), self._kv_heads)
        values = self._by_head(self.value(value), self._kv_heads)
        if self.rotary is not None:
            heads, keys = self.rotary(heads), self.rotary(keys)
        if mask is not None and mask.ndim == 3:
            mask = mask.expand_dims(1)
        mixed: NDArray = F.contrib.scaled_dot_product_attention(heads, keys, values, mask, **self._kwargs)
        batch, length = query.shape[:2]
        y: NDArray = self.out(mixed.transpose(0, 2, 1, 3).reshape(batch, length, self._units))
        return y

    def _by_head(self, x: NDArray, heads: int) -> NDArray:
        """``(batch, length, heads * width)`` as ``(batch, heads, length, width)``."""
        return x.reshape(*x.shape[:2], heads, self._width).transpose(0, 2, 1, 3)

    def __repr__(self) -> str:
        parts = [f"{self._units}", f"num_heads={self._heads}"]
        parts += [f"num_kv_heads={self._kv_heads}"] if self._kv_heads != self._heads else []
        parts += [f"dropout={self._kwargs['dropout']}"] if self._kwargs["dropout"] else []
        parts += ["causal=True"] if self._kwargs["causal"] else []
        parts += [f"rotary={self.rotary!r}"] if self.rotary is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"
