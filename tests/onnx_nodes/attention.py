"""Attention, whose caches, windows and lengths are masks here."""

from __future__ import annotations

from typing import Any

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, no_counterpart, node


def heads(x: Any, count: int | None) -> Any:
    """(batch, length, heads * width) as (batch, heads, length, width); an array of the latter shape as it is."""
    return x if x.ndim == 4 else x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def seen(a: Attributes, queries: int, keys: int, first: Any, lengths: Any) -> Any:
    """Which keys each query may see, where its place and those of the keys decide that; None if all."""
    key = mnp.arange(keys).reshape(1, 1, 1, keys)
    place = mnp.arange(queries).reshape(1, 1, queries, 1) + first
    left, right = (-1 if size is None else size for size in (a.left_window_size, a.right_window_size))
    rules = [
        (a.is_causal, lambda: key <= place),
        (left >= 0, lambda: key >= place - left),
        (right >= 0, lambda: key <= place + right),
        (lengths is not None, lambda: key < lengths.reshape(-1, 1, 1, 1)),
    ]
    found = None
    for applies, rule in rules:
        if applies:
            found = rule() if found is None else mnp.logical_and(found, rule())
    return found


def both(mask: Any, allowed: Any) -> Any:
    """A mask that hides what either hides."""
    if mask is None or allowed is None:
        return allowed if mask is None else mask
    if str(mask.dtype) == "bool":
        return mnp.logical_and(mask, allowed)
    return mnp.where(allowed, mask, mnp.full((), float("-inf"), dtype=mask.dtype))


def widened(mask: Any, keys: int) -> Any:
    """A mask that is too short hides the last keys."""
    missing = keys - mask.shape[-1]
    if not missing:
        return mask
    hidden = False if str(mask.dtype) == "bool" else float("-inf")
    rest = mnp.full((*mask.shape[:-1], missing), hidden, dtype=mask.dtype)
    return mnp.concatenate([mask, rest], axis=-1)


def written_out(a: Attributes, query: Any, key: Any, value: Any, mask: Any) -> tuple[Any, Any]:
    """Attention from its parts, for what the op has not: its result, and the scores at the place that ONNX asks for."""
    groups = query.shape[1] // key.shape[1]
    key, value = nd.repeat(key, repeats=groups, axis=1), nd.repeat(value, repeats=groups, axis=1)
    scale = query.shape[3] ** -0.5 if a.scale is None else a.scale
    stages = [mnp.matmul(query, key.swapaxes(2, 3)) * scale]
    stages.append(a.softcap * mnp.tanh(stages[0] / a.softcap) if a.softcap else stages[0])
    if mask is None:
        stages += [stages[1], nd.softmax(stages[1])]
    else:
        bias = both(mnp.zeros((), dtype=query.dtype), mask) if str(mask.dtype) == "bool" else mask
        stages.append(stages[1] + bias)
        stages.append(nd.masked_softmax(stages[2], stages[2] > float("-inf")))
    return mnp.matmul(stages[3], value), stages[a.qk_matmul_output_mode]


@node("Attention")
def attention(
    a: Attributes,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    past_key: Any = None,
    past_value: Any = None,
    lengths: Any = None,
) -> tuple[Any, ...]:
    flat = query.ndim == 3
    query, key, value = heads(query, a.q_num_heads), heads(key, a.kv_num_heads), heads(value, a.kv_num_heads)
    first: Any = 0  # place of the first query among the keys
    if past_key is not None:
        first = past_key.shape[2]
        key, value = mnp.concatenate([past_key, key], axis=2), mnp.concatenate([past_value, value], axis=2)
    elif lengths is not None:
        first = lengths.reshape(-1, 1, 1, 1) - query.shape[2]
    if mask is not None:
        mask = widened(mask, key.shape[2])

    def limited(a: Attributes) -> Any:
        return both(mask, seen(a, query.shape[2], key.shape[2], first, lengths))

    y, scores = written_out(a, query, key, value, limited(a))
    if not a.softcap:
        causal = bool(a.is_causal) and past_key is None and lengths is None  # what the op does without a mask
        rest = limited(Attributes(a, is_causal=a.is_causal and not causal))
        y = nd.contrib.scaled_dot_product_attention(query, key, value, rest, causal=causal, scale=a.scale)
    return (y.swapaxes(1, 2).reshape(y.shape[0], y.shape[2], -1) if flat else y), key, value, scores


no_counterpart("RotaryEmbedding", "rotary_embedding makes its own sines and cosines, and these are random numbers")
