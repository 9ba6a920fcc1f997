"""Layers of transformers (Vaswani et al., 2017), and stacks of them."""

from collections.abc import Callable
from typing import Any

from gluonish._core import NDArray
from gluonish.errors import ArgumentError
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.nn._shapes import whole
from gluonish.gluon.nn.attention import MultiHeadAttention
from gluonish.gluon.nn.basic import Dense, Dropout
from gluonish.gluon.nn.container import HybridSequential
from gluonish.gluon.nn.norm import LayerNorm, RMSNorm
from gluonish.gluon.nn.position import RotaryEmbedding

__all__ = ["TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]

_NORMS: dict[str, Callable[..., HybridBlock]] = {"layer": LayerNorm, "rms": RMSNorm}


def _norm(layer: str, norm: str, units: int, epsilon: float, prefix: str) -> HybridBlock:
    if norm not in _NORMS:
        raise ArgumentError(f"{layer}: norm={norm!r} must be 'layer' or 'rms'")
    return _NORMS[norm](epsilon=epsilon, in_channels=units, prefix=prefix)


class TransformerEncoderLayer(HybridBlock):
    """Self-attention, then two fully connected layers, each added to its input and normalised.

    Parameters
    ----------
    units
        Size of a place of the sequences.
    hidden_size
        Size between the two fully connected layers; ``4 * units`` when None.
    dropout
        Of what is added, and between the fully connected layers; ``attention_dropout`` of the weights.
    activation
        Between the fully connected layers, as :class:`Activation` takes it.
    pre_norm
        Whether branches are normalised at their beginning; else the sum is, as in the first paper.
    norm
        'layer' for :class:`LayerNorm`, 'rms' for :class:`RMSNorm`, with ``epsilon``.
    num_heads, num_kv_heads, causal
        As :class:`MultiHeadAttention` has them; ``rotary`` turns queries and keys by their position.

    Called as ``layer(x)`` or ``layer(x, mask)``, with a mask as :class:`MultiHeadAttention` takes it. Input and output
    ``(batch, length, units)``.

    >>> from gluonish import nd
    >>> layer = TransformerEncoderLayer(16, num_heads=4, pre_norm=True, activation="gelu")
    >>> layer.initialize()
    >>> layer(nd.ones((2, 5, 16))).shape
    (2, 5, 16)
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        hidden_size: int | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation: str = "relu",
        pre_norm: bool = False,
        norm: str = "layer",
        epsilon: float = 1e-5,
        num_kv_heads: int | None = None,
        causal: bool = False,
        rotary: bool = False,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        name, hidden = type(self).__name__, 4 * units if hidden_size is None else hidden_size
        self._pre_norm = pre_norm
        dense: dict[str, Any] = {"weight_initializer": weight_initializer, "bias_initializer": bias_initializer}
        dense["use_bias"] = use_bias
        sizes = {"in_units": units, "key_units": units, "value_units": units}
        attention = {"num_kv_heads": num_kv_heads, "dropout": attention_dropout, **sizes, **dense}
        with self.name_scope():
            turn = RotaryEmbedding() if rotary else None
            self.attention = MultiHeadAttention(
                units, num_heads, causal=causal, rotary=turn, prefix="attention_", **attention
            )
            self.attention_norm = _norm(name, norm, units, epsilon, "attention_norm_")
            self.expand = Dense(hidden, activation, flatten=False, in_units=units, prefix="expand_", **dense)
            self.reduce = Dense(units, flatten=False, in_units=hidden, prefix="reduce_", **dense)
            self.feed_forward_norm = _norm(name, norm, units, epsilon, "feed_forward_norm_")
            self.dropout = Dropout(dropout)

    def forward(self, x: NDArray, mask: NDArray | None = None) -> NDArray:
        x = self._added(x, self.attention_norm, lambda v: self.attention(v, None, None, mask))
        return self._added(x, self.feed_forward_norm, self._feed_forward)

    def _feed_forward(self, x: NDArray) -> NDArray:
        y: NDArray = self.reduce(self.dropout(self.expand(x)))
        return y

    def _added(self, x: NDArray, norm: HybridBlock, branch: Callable[[NDArray], NDArray]) -> NDArray:
        """The sum of ``x`` and what a branch makes of it, normalised before the branch or after the sum."""
        y: NDArray
        if self._pre_norm:
            y = x + self.dropout(branch(norm(x)))
        else:
            y = norm(x + self.dropout(branch(x)))
        return y


class TransformerDecoderLayer(TransformerEncoderLayer):
    """Causal self-attention, attention to what an encoder made, then two fully connected layers.

    The arguments are those of :class:`TransformerEncoderLayer`, and one more.

    Parameters
    ----------
    memory_units
        Size of a place of what the encoder made; 0 takes it from the first input.

    Called as ``layer(x, memory)``, with a mask for ``x`` and one for ``memory`` as third and fourth argument. Input
    ``(batch, length, units)`` and ``(batch, places, memory_units)``, output ``(batch, length, units)``.

    >>> from gluonish import nd
    >>> layer = TransformerDecoderLayer(16, num_heads=4)
    >>> layer.initialize()
    >>> layer(nd.ones((2, 5, 16)), nd.ones((2, 7, 8))).shape
    (2, 5, 16)
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        hidden_size: int | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        activation: str = "relu",
        pre_norm: bool = False,
        norm: str = "layer",
        epsilon: float = 1e-5,
        num_kv_heads: int | None = None,
        causal: bool = True,
        rotary: bool = False,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        memory_units: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        shape = (units, num_heads, hidden_size, dropout, attention_dropout, activation, pre_norm, norm, epsilon)
        inits = (use_bias, weight_initializer, bias_initializer)
        super().__init__(*shape, num_kv_heads, causal, rotary, *inits, prefix, params)
        with self.name_scope():
            self.memory_attention = MultiHeadAttention(
                units,
                num_heads,
                num_kv_heads,
                attention_dropout,
                use_bias=use_bias,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
                in_units=units,
                key_units=memory_units,
                value_units=memory_units,
                prefix="memory_attention_",
            )
            self.memory_norm = _norm(type(self).__name__, norm, units, epsilon, "memory_norm_")

    def forward(  # type: ignore[override]  # a decoder needs a second sequence
        self, x: NDArray, memory: NDArray, mask: NDArray | None = None, memory_mask: NDArray | None = None
    ) -> NDArray:
        x = self._added(x, self.attention_norm, lambda v: self.attention(v, None, None, mask))
        x = self._added(x, self.memory_norm, lambda v: self.memory_attention(v, memory, None, memory_mask))
        return self._added(x, self.feed_forward_norm, self._feed_forward)


class _Stack(HybridBlock):
    """So many layers of one kind; where they normalise at their beginning, a norm of its own ends the stack."""

    _layer: type[TransformerEncoderLayer]

    def __init__(
        self, num_layers: int, units: int, num_heads: int, prefix: str | None = None, params: Any = None, **layer: Any
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        with self.name_scope():
            self.layers = HybridSequential(prefix="")
            with self.layers.name_scope():
                for i in range(whole(type(self).__name__, "num_layers", num_layers)):
                    self.layers.add(self._layer(units, num_heads, prefix=f"layer{i}_", **layer))
            how = (layer.get("norm", "layer"), units, layer.get("epsilon", 1e-5), "norm_")
            self.norm = _norm(type(self).__name__, *how) if layer.get("pre_norm", False) else None

    def forward(self, x: NDArray, *others: NDArray | None) -> NDArray:
        for layer in self.layers:
            x = layer(x, *others)
        y: NDArray = x if self.norm is None else self.norm(x)
        return y


class TransformerEncoder(_Stack):
    """``num_layers`` times :class:`TransformerEncoderLayer`, which the other arguments go to. With ``pre_norm`` the
    output is normalised too.

    Called as ``encoder(x)`` or ``encoder(x, mask)``. Input and output ``(batch, length, units)``.

    >>> from gluonish import nd
    >>> encoder = TransformerEncoder(2, units=16, num_heads=4, dropout=0.1)
    >>> encoder.initialize()
    >>> encoder(nd.ones((2, 5, 16))).shape
    (2, 5, 16)
    """

    _layer = TransformerEncoderLayer


class TransformerDecoder(_Stack):
    """``num_layers`` times :class:`TransformerDecoderLayer`, which the other arguments go to. With ``pre_norm`` the
    output is normalised too.

    Called as ``decoder(x, memory)``, with a mask for ``x`` and one for ``memory`` as third and fourth argument. Input
    ``(batch, length, units)`` and ``(batch, places, memory_units)``, output ``(batch, length, units)``.

    >>> from gluonish import nd
    >>> decoder = TransformerDecoder(2, units=16, num_heads=4)
    >>> decoder.initialize()
    >>> decoder(nd.ones((2, 5, 16)), nd.ones((2, 7, 16))).shape
    (2, 5, 16)
    """

    _layer = TransformerDecoderLayer
