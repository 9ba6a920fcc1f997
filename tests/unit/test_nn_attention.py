"""Attention, transformers and position embeddings against products and softmax in NumPy."""

import numpy as np
import pytest
from unit.nn_driver import numeric_gradients

import gluonish as mx
from gluonish import autograd, nd
from gluonish.errors import ArgumentError, ShapeError
from gluonish.gluon import nn

TYPES = pytest.mark.parametrize(("dtype", "near"), [("float32", 2e-4), ("float64", 1e-9)])


def ready(layer, *inputs, dtype="float32"):
    """The layer with random parameters of a type, whose shapes these inputs have told."""
    layer.initialize(mx.init.Normal(0.5))
    layer.cast(dtype)
    layer(*(nd.array(x, dtype=dtype) for x in inputs))
    for parameter in layer.collect_params().values():
        parameter.set_data(nd.array(np.random.randn(*parameter.shape), dtype=dtype))
    return layer


def dense(layer, x):
    y = x @ layer.weight.data().asnumpy().astype("float64").T
    return y if layer.bias is None else y + layer.bias.data().asnumpy()


def turned(x, base=10000.0):
    """Rotary embedding of (batch, heads, length, width): value i and i + width / 2 are a pair."""
    pairs = x.shape[-1] // 2
    angles = np.arange(x.shape[-2])[:, None] * base ** (-np.arange(pairs) / pairs)
    a, b = x[..., :pairs], x[..., pairs:]
    return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)


def attended(layer, query, key, value, heads, kv_heads, mask=None, rotary=False):
    """The published formula; `mask` is added to the scores of (batch, heads, length, places)."""

    def split(x, count):
        return x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)

    q = split(dense(layer.query, query), heads)
    k, v = split(dense(layer.key, key), kv_heads), split(dense(layer.value, value), kv_heads)
    k, v = (np.repeat(x, heads // kv_heads, axis=1) for x in (k, v))
    if rotary:
        q, k = turned(q), turned(k)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    scores = scores if mask is None else scores + mask
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = weights / weights.sum(-1, keepdims=True) @ v
    return dense(layer.out, mixed.transpose(0, 2, 1, 3).reshape(*query.shape[:2], -1))


def hidden(seen):
    return np.where(seen, 0, -np.inf)


X = np.random.default_rng(0).standard_normal((2, 5, 6))
MEMORY = np.random.default_rng(1).standard_normal((2, 7, 4))
OTHER = np.random.default_rng(2).standard_normal((2, 7, 3))


@TYPES
@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("use_bias", [True, False])
def test_self_attention(heads, kv_heads, use_bias, dtype, near):
    layer = ready(nn.MultiHeadAttention(8, heads, kv_heads, use_bias=use_bias), X, dtype=dtype)
    y = layer(nd.array(X, dtype=dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(y.asnumpy(), attended(layer, X, X, X, heads, kv_heads), rtol=near, atol=near)


@TYPES
def test_attention_to_another_sequence(dtype, near):
    layer = ready(nn.MultiHeadAttention(8, 2), X, MEMORY, dtype=dtype)
    y = layer(nd.array(X, dtype=dtype), nd.array(MEMORY, dtype=dtype))
    np.testing.assert_allclose(y.asnumpy(), attended(layer, X, MEMORY, MEMORY, 2, 2), rtol=near, atol=near)
    layer = ready(nn.MultiHeadAttention(8, 2), X, MEMORY, OTHER, dtype=dtype)
    y = layer(*(nd.array(x, dtype=dtype) for x in (X, MEMORY, OTHER)))
    np.testing.assert_allclose(y.asnumpy(), attended(layer, X, MEMORY, OTHER, 2, 2), rtol=near, atol=near)


def test_causal_attention_does_not_see_what_comes_later():
    layer = ready(nn.MultiHeadAttention(8, 2, causal=True), X)
    wanted = attended(layer, X, X, X, 2, 2, hidden(np.tri(5, dtype=bool)))
    np.testing.assert_allclose(layer(nd.array(X)).asnumpy(), wanted, rtol=1e-3, atol=1e-4)
    changed = X.copy()
    changed[:, 3:] += 1
    np.testing.assert_array_equal(layer(nd.array(changed)).asnumpy()[:, :3], layer(nd.array(X)).asnumpy()[:, :3])


@pytest.mark.parametrize("shape", [(5, 5), (2, 5, 5), (2, 1, 1, 5), (2, 4, 5, 5)], ids=str)
def test_masks(shape):
    rng = np.random.default_rng(3)
    layer = ready(nn.MultiHeadAttention(8, 4), X)
    seen = rng.random(shape) < 0.6
    seen[..., 0] = True
    added = rng.standard_normal(shape)
    spread = (lambda m: m[:, None]) if len(shape) == 3 else (lambda m: m)
    for mask, wanted in ((nd.array(seen, dtype="bool"), hidden(seen)), (nd.array(added), added)):
        y = layer(nd.array(X), None, None, mask).asnumpy()
        np.testing.assert_allclose(y, attended(layer, X, X, X, 4, 4, spread(wanted)), rtol=1e-3, atol=1e-4)


def test_lengths_as_a_mask():
    layer = ready(nn.MultiHeadAttention(8, 2), X)
    mask = nn.length_mask(nd.array([2, 5]), 5)
    assert mask.shape == (2, 1, 1, 5)
    y = layer(nd.array(X), None, None, mask).asnumpy()
    np.testing.assert_allclose(y[:1], layer(nd.array(X[:1]), nd.array(X[:1, :2])).asnumpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(y[1:], layer(nd.array(X[1:])).asnumpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ShapeError, match=r"\(1, 2\)"):
        nn.length_mask(nd.array([[2, 5]]), 5)


def test_a_query_that_sees_nothing_gathers_zeros():
    layer = ready(nn.MultiHeadAttention(8, 2), X)
    y = layer(nd.array(X), None, None, nd.zeros((5, 5), dtype="bool")).asnumpy()
    np.testing.assert_allclose(y, np.broadcast_to(layer.out.bias.data().asnumpy(), y.shape), rtol=1e-6)


def test_rotary_attention():
    layer = ready(nn.MultiHeadAttention(8, 2, rotary=nn.RotaryEmbedding()), X)
    wanted = attended(layer, X, X, X, 2, 2, rotary=True)
    np.testing.assert_allclose(layer(nd.array(X)).asnumpy(), wanted, rtol=1e-3, atol=1e-4)


def test_dropout_of_weights_happens_in_training_alone():
    layer = ready(nn.MultiHeadAttention(8, 2, dropout=0.5), X)
    x = nd.array(X)
    np.testing.assert_allclose(layer(x).asnumpy(), attended(layer, X, X, X, 2, 2), rtol=1e-3, atol=1e-4)
    with autograd.train_mode():
        draws = np.mean([layer(x).asnumpy() for _ in range(400)], axis=0)
    assert abs(draws - layer(x).asnumpy()).max() < 0.2 * abs(draws).max()


@pytest.mark.parametrize("mask", ["bool", "float64", None])
def test_gradients_with_masks(mask):
    layer = ready(nn.MultiHeadAttention(4, 2, 1, causal=True), X, MEMORY, dtype="float64")
    if mask is None:
        return numeric_gradients(layer, [X[:, :3], MEMORY])
    seen = nd.array(np.random.default_rng(4).random((3, 7)) < 0.7, dtype=mask)

    class Masked(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x, memory):
            return self.layer(x, memory, None, seen)

    return numeric_gradients(Masked(), [X[:, :3], MEMORY])


def test_what_attention_refuses():
    with pytest.raises(ArgumentError, match="num_heads=3 must divide units=8"):
        nn.MultiHeadAttention(8, 3)
    with pytest.raises(ArgumentError, match="num_kv_heads=3 must divide num_heads=4"):
        nn.MultiHeadAttention(8, 4, 3)
    with pytest.raises(ArgumentError, match="dropout=2"):
        nn.MultiHeadAttention(8, 4, dropout=2)
    layer = ready(nn.MultiHeadAttention(8, 4), X)
    with pytest.raises(ShapeError, match=r"query of shape \(5, 6\)"):
        layer(nd.ones((5, 6)))
    with pytest.raises(ShapeError, match="mask"):
        layer(nd.array(X), None, None, nd.ones((4, 4), dtype="bool"))
    with pytest.raises(ShapeError):
        layer(nd.array(X), nd.ones((3, 7, 6)))


def test_text():
    text = repr(nn.MultiHeadAttention(8, 4, 2, 0.1, causal=True, rotary=nn.RotaryEmbedding()))
    rotary = "RotaryEmbedding(base=10000.0, interleaved=False)"
    assert text == f"MultiHeadAttention(8, num_heads=4, num_kv_heads=2, dropout=0.1, causal=True, rotary={rotary})"
    assert repr(nn.MultiHeadAttention(8, 4)) == "MultiHeadAttention(8, num_heads=4)"


# Transformers.


def normalized(layer, x):
    gamma = layer.gamma.data().asnumpy()
    if isinstance(layer, nn.RMSNorm):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gamma
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return y * gamma + layer.beta.data().asnumpy()


def added(x, norm, branch, pre):
    return x + branch(normalized(norm, x)) if pre else normalized(norm, x + branch(x))


def forward(layer, x, memory, pre, causal, heads=2):
    mask = hidden(np.tri(x.shape[1], dtype=bool)) if causal else None
    x = added(x, layer.attention_norm, lambda v: attended(layer.attention, v, v, v, heads, heads, mask), pre)
    if memory is not None:
        look = layer.memory_attention
        x = added(x, layer.memory_norm, lambda v: attended(look, v, memory, memory, heads, heads), pre)
    return added(x, layer.feed_forward_norm, lambda v: dense(layer.reduce, np.maximum(dense(layer.expand, v), 0)), pre)


PRE = pytest.mark.parametrize("pre", [False, True], ids=["post-norm", "pre-norm"])
NORM = pytest.mark.parametrize("norm", ["layer", "rms"])


@PRE
@NORM
@pytest.mark.parametrize("causal", [False, True])
def test_encoder_layer(pre, norm, causal):
    layer = nn.TransformerEncoderLayer(6, 2, 10, pre_norm=pre, norm=norm, causal=causal)
    ready(layer, X, dtype="float64")
    wanted = forward(layer, X, None, pre, causal)
    np.testing.assert_allclose(layer(nd.array(X, dtype="float64")).asnumpy(), wanted, rtol=1e-9, atol=1e-9)


@PRE
@NORM
def test_decoder_layer(pre, norm):
    layer = ready(nn.TransformerDecoderLayer(6, 2, 10, pre_norm=pre, norm=norm), X, MEMORY, dtype="float64")
    y = layer(nd.array(X, dtype="float64"), nd.array(MEMORY, dtype="float64"))
    np.testing.assert_allclose(y.asnumpy(), forward(layer, X, MEMORY, pre, True), rtol=1e-9, atol=1e-9)


@PRE
def test_stacks(pre):
    how = {"hidden_size": 10, "pre_norm": pre}
    encoder = ready(nn.TransformerEncoder(3, 6, 2, **how), X, dtype="float64")
    decoder = ready(nn.TransformerDecoder(2, 6, 2, **how), X, MEMORY, dtype="float64")
    for stack, memory, causal in ((encoder, None, False), (decoder, MEMORY, True)):
        wanted = X
        for layer in stack.layers:
            wanted = forward(layer, wanted, memory, pre, causal)
        wanted = normalized(stack.norm, wanted) if pre else wanted
        inputs = [nd.array(x, dtype="float64") for x in (X, memory) if x is not None]
        np.testing.assert_allclose(stack(*inputs).asnumpy(), wanted, rtol=1e-8, atol=1e-8)
        assert (stack.norm is not None) == pre


def test_masks_of_stacks():
    mask = nn.length_mask(nd.array([2, 5]), 5)
    encoder = ready(nn.TransformerEncoder(2, 6, 2), X)
    y = encoder(nd.array(X), mask).asnumpy()
    np.testing.assert_allclose(y[0, :2], encoder(nd.array(X[:1, :2])).asnumpy()[0], rtol=1e-3, atol=1e-4)
    decoder = ready(nn.TransformerDecoder(2, 6, 2), X, MEMORY)
    y = decoder(nd.array(X), nd.array(MEMORY), None, nn.length_mask(nd.array([3, 7]), 7)).asnumpy()
    np.testing.assert_allclose(
        y[:1], decoder(nd.array(X[:1]), nd.array(MEMORY[:1, :3])).asnumpy(), rtol=1e-3, atol=1e-4
    )


def test_names_of_parameters():
    encoder = nn.TransformerEncoder(2, 6, 2, prefix="encoder_")
    assert "encoder_layer1_attention_query_weight" in encoder.collect_params()
    assert "layers.1.attention.query.weight" in dict(encoder.named_parameters())
    assert len({p.name for p in encoder.collect_params().values()}) == 2 * 16


def test_what_transformers_refuse():
    with pytest.raises(ArgumentError, match="norm='batch'"):
        nn.TransformerEncoderLayer(6, 2, norm="batch")
    with pytest.raises(ArgumentError, match="num_layers=0"):
        nn.TransformerEncoder(0, 6, 2)
    with pytest.raises(TypeError, match="hiden_size"):
        nn.TransformerEncoder(1, 6, 2, hiden_size=3)


# Positions.


@pytest.mark.parametrize(("dtype", "near"), [("float64", 1e-9), ("float32", 1e-5), ("float16", 2e-3)])
@pytest.mark.parametrize("units", [6, 5])
def test_sinusoidal_positions(units, dtype, near):
    x = np.random.randn(2, 4, units).astype(dtype)
    wanted = x.astype("float64")
    for position in range(4):
        for i in range(units):
            angle = (position + 3) / 100.0 ** ((i - i % 2) / units)
            wanted[:, position, i] += np.cos(angle) if i % 2 else np.sin(angle)
    y = nn.SinusoidalPositionEmbedding(units, base=100.0)(nd.array(x, dtype=dtype), 3)
    assert y.dtype == dtype
    np.testing.assert_allclose(y.asnumpy(), wanted, rtol=near, atol=near)


def test_learned_positions():
    layer = nn.LearnedPositionEmbedding(8, 3)
    layer.initialize(mx.init.Normal(1))
    table = layer.weight.data().asnumpy()
    x = np.random.randn(2, 4, 3).astype("float32")
    np.testing.assert_array_equal(layer(nd.array(x)).asnumpy(), x + table[:4])
    np.testing.assert_array_equal(layer(nd.array(x), 4).asnumpy(), x + table[4:])
    with pytest.raises(ShapeError, match="positions 5 to 8"):
        layer(nd.array(x), 5)
    with pytest.raises(ShapeError, match=r"\(2, 4, 2\)"):
        layer(nd.ones((2, 4, 2)))


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_positions(interleaved):
    x = np.random.randn(2, 3, 5, 6)
    layer = nn.RotaryEmbedding(base=50.0, interleaved=interleaved)
    order = [0, 2, 4, 1, 3, 5] if interleaved else list(range(6))
    wanted = np.empty_like(x)
    wanted[..., order] = turned(x[..., order], 50.0)
    np.testing.assert_allclose(layer(nd.array(x, dtype="float64")).asnumpy(), wanted, rtol=1e-9, atol=1e-9)
    whole = layer(nd.array(x, dtype="float64")).asnumpy()
    tail = layer(nd.array(x[:, :, 2:], dtype="float64"), 2).asnumpy()
    np.testing.assert_allclose(tail, whole[:, :, 2:], rtol=1e-9)


def test_rotary_products_depend_on_the_distance():
    turn = nn.RotaryEmbedding()
    q, k = (nd.array(np.random.randn(1, 8), dtype="float64") for _ in range(2))
    near = (turn(q, 3) * turn(k, 1)).sum().item()
    far = (turn(q, 103) * turn(k, 101)).sum().item()
    np.testing.assert_allclose(near, far, rtol=1e-9)


def test_what_positions_refuse():
    with pytest.raises(ArgumentError, match="units=0"):
        nn.SinusoidalPositionEmbedding(0)
    with pytest.raises(ArgumentError, match="max_length=0"):
        nn.LearnedPositionEmbedding(0, 4)
    with pytest.raises(ShapeError, match=r"\(2, 4\)"):
        nn.SinusoidalPositionEmbedding(4)(nd.ones((2, 4)))
    with pytest.raises(ShapeError, match="even"):
        nn.RotaryEmbedding()(nd.ones((2, 3)))
