"""Samples: recurrent networks, against a loop over the steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from ops.sampling import FLOATS, REALS, Arg, index, real, refuse, sample


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def _count(mode, layers, sides, width, n, projection=None):
    """How many parameters a network has."""
    state = projection or n
    total = 0
    for layer in range(layers):
        total += sides * _GATES[mode] * n * ((width if layer == 0 else sides * state) + state + 2)
        total += sides * (projection or 0) * n
    return total


def _weights(p, mode, layers, sides, width, n, projection):
    """The parameters taken apart: weights of all layers and directions first, then biases."""
    state, gates, at = projection or n, _GATES[mode] * n, 0

    def take(*shape):
        nonlocal at
        size = int(np.prod(shape))
        at += size
        return p[at - size : at].reshape(shape)

    found = []
    for layer in range(layers):
        for _ in range(sides):
            wx, wh = take(gates, width if layer == 0 else sides * state), take(gates, state)
            found.append([wx, wh, take(projection, n) if projection else None])
    return [(*w, take(gates), take(gates)) for w in found]


def _step(mode, x, h, c, weights, clip):
    wx, wh, wr, bx, bh = weights
    a, b = x @ wx.T + bx, h @ wh.T + bh
    n = wh.shape[0] // _GATES[mode]
    if mode == "rnn_relu":
        return np.maximum(a + b, 0), c
    if mode == "rnn_tanh":
        return np.tanh(a + b), c
    if mode == "gru":
        r, z = _sigmoid(a + b)[:, : 2 * n].reshape(-1, 2, n).swapaxes(0, 1)
        new = np.tanh(a[:, 2 * n :] + r * b[:, 2 * n :])
        return (1 - z) * new + z * h, c
    g = (a + b).reshape(-1, 4, n)
    c = _sigmoid(g[:, 1]) * c + _sigmoid(g[:, 0]) * np.tanh(g[:, 2])
    if clip is not None:
        c = np.clip(c, *clip)
    h = _sigmoid(g[:, 3]) * np.tanh(c)
    return (h if wr is None else h @ wr.T), c


def _rnn(x, p, h0, *rest, state_size, num_layers, mode, bidirectional=False, state_outputs=False,
         projection_size=None, lstm_state_clip_min=None, lstm_state_clip_max=None,
         use_sequence_length=False):  # fmt: skip
    rest = list(rest)
    lstm, sides = mode == "lstm", 1 + bidirectional
    c0 = rest.pop(0) if lstm else [None] * len(h0)
    steps, batch, width = x.shape
    lengths = rest[0].astype(int) if use_sequence_length else np.full(batch, steps)
    clip = None if lstm_state_clip_min is None else (lstm_state_clip_min, lstm_state_clip_max)
    weights = _weights(p, mode, num_layers, sides, width, state_size, projection_size)
    last_h, last_c = [], []
    for layer in range(num_layers):
        outs = []
        for side in range(sides):
            at = layer * sides + side
            h, c = h0[at], c0[at]
            y = np.zeros((steps, batch, h.shape[1]))
            for t in range(steps) if side == 0 else reversed(range(steps)):
                on = (t < lengths)[:, None]
                new_h, new_c = _step(mode, x[t], h, c, weights[at], clip)
                y[t], h = np.where(on, new_h, 0), np.where(on, new_h, h)
                c = np.where(on, new_c, c) if lstm else c
            outs.append(y)
            last_h.append(h)
            last_c.append(c)
        x = np.concatenate(outs, -1)
    if not state_outputs:
        return x
    return [x, np.array(last_h), *([np.array(last_c)] if lstm else [])]


def _case(mode: str, steps: int = 4, batch: int = 3, width: int = 5, n: int = 3, layers: int = 1, two: bool = False,
          projection: int | None = None, lengths: bool = False,
          **more: Any) -> tuple[list[Arg], dict[str, Any]]:  # fmt: skip
    sides, state = 1 + two, projection or n
    args = [
        real(steps, batch, width, low=-1, high=1),
        real(_count(mode, layers, sides, width, n, projection), low=-2 / (n + 1), high=2 / (n + 1)),
        real(layers * sides, batch, state, low=-1, high=1),
    ]
    if mode == "lstm":
        args.append(real(layers * sides, batch, n, low=-1, high=1))
    attrs = {"state_size": n, "num_layers": layers, "mode": mode, **more}
    if two:
        attrs["bidirectional"] = True
    if projection:
        attrs["projection_size"] = projection
    if lengths:
        attrs["use_sequence_length"] = True
        args.append(index(batch, n=steps + 1, dtype="int32"))
    return args, attrs


_HOW = {"rtol": 64, "atol": 256, "special": False, "ref": _rnn}


def _rnn_sample(args: list[Arg], attrs: dict[str, Any], **how: Any) -> None:
    count = (3 if attrs["mode"] == "lstm" else 2) if attrs.get("state_outputs") else 1
    sample("RNN", *args, attrs=attrs, result=" ".join(["same"] * count), **_HOW, **how)


for _mode in _GATES:
    _last = (0, 1, 2, 3) if _mode == "lstm" else (0, 1, 2)
    _args, _attrs = _case(_mode, state_outputs=True)
    _rnn_sample(_args, _attrs, grad=_last, dtypes=FLOATS)
    for _more in (
        {"layers": 2, "two": True, "state_outputs": True},
        {"layers": 2, "n": 17, "batch": 7, "steps": 2},
        {"batch": 1, "steps": 1, "width": 1, "n": 1},
    ):
        _args, _attrs = _case(_mode, **_more)
        _rnn_sample(_args, _attrs, grad=_last, dtypes=REALS)
    _empty = tuple((*a.shape[:1], 0, *a.shape[2:]) if len(a.shape) == 3 else a.shape for a in _args)
    _rnn_sample(_args, _attrs, grad=_last, dtypes=REALS, edge=[_empty])
    _args, _attrs = _case(_mode, steps=9, batch=20, width=40, n=65)
    _rnn_sample(_args, _attrs, dtypes=REALS, big=[a.shape for a in _args], grad=_last)
for _more in (
    {"projection": 2, "layers": 2, "state_outputs": True},
    {"projection": 4, "n": 6, "two": True, "state_outputs": True},
    {"lstm_state_clip_min": -0.2, "lstm_state_clip_max": 0.3, "state_outputs": True},
):
    _args, _attrs = _case("lstm", **_more)
    _rnn_sample(_args, _attrs, grad=(0, 1, 2, 3), dtypes=REALS)
for _more in ({"layers": 2, "two": True}, {"projection": 2}):
    _args, _attrs = _case("lstm", lengths=True, state_outputs=True, **_more)
    _rnn_sample(_args, _attrs, grad=(0, 1, 2, 3), dtypes=REALS)
_args, _attrs = _case("lstm")
_SHAPES = [a.shape for a in _args]


def _instead(i, shape):
    return tuple(shape if k == i else s for k, s in enumerate(_SHAPES))


_rnn_sample(_args, _attrs, dtypes=REALS, bad=[
    refuse("RNN", "parameters must have shape (120,)", "(119,)", shapes=_instead(1, (119,))),
    refuse("RNN", "state must have shape (1, 3, 3)", "(1, 3, 4)", shapes=_instead(2, (1, 3, 4))),
    refuse("RNN", "state_cell must have shape (1, 3, 3)", shapes=_instead(3, (2, 3, 3))),
    refuse("RNN", "(steps, batch, width)", "(4, 3)", shapes=_instead(0, (4, 3))),
    refuse("RNN", "state_cell is given", "'gru'", mode="gru", shapes=_instead(1, (90,))),
    refuse("RNN", "projection_size=0", projection_size=0),
    refuse("RNN", "lstm_state_clip_min=1.0", "None", lstm_state_clip_min=1.0),
    refuse("RNN", "lstm_state_clip_min=1.0", "0.5", lstm_state_clip_min=1.0, lstm_state_clip_max=0.5),
    refuse("RNN", "needs the input sequence_length", use_sequence_length=True),
    refuse("RNN", "p=1.5", p=1.5),
    refuse("RNN", "num_layers=0", num_layers=0),
    refuse("RNN", "int32", dtypes=("int32",) * 4),
])  # fmt: skip
_args, _attrs = _case("gru", two=True, layers=2)
_rnn_sample(_args, _attrs, grad=(0, 1, 2), dtypes=REALS,
            bad=[refuse("projection_size", "'gru'", projection_size=2),
            refuse("lstm_state_clip_min", "'gru'", lstm_state_clip_min=0.0, lstm_state_clip_max=1.0)])  # fmt: skip


def philox(counter, key):
    """Philox4x32-10: four words of a counter."""
    c, (k0, k1) = list(counter), key
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k0, q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ k1, p & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c


def _mask(reserve, *, layer, p, shape):
    """The ticket stands in the reserve, 16 bits a value: seed and counter, then the stream."""
    words = [int(v) for v in reserve[:16]]
    seed, counter = (sum(w << 16 * i for i, w in enumerate(words[k : k + 4])) for k in (0, 4))
    stream = words[8] | words[9] << 16
    low = 0xFFFFFFFF
    key = philox([counter & low, counter >> 32, stream, 0x676C756F], [seed & low, seed >> 32])[:2]
    drawn = [w for block in range(-(-int(np.prod(shape)) // 4)) for w in philox([block, layer << 8, 0, 0], key)]
    drawn = np.array(drawn[: int(np.prod(shape))], float).reshape(shape)
    return np.where(drawn < p * 2**32, 0.0, 1 / (1 - p))


sample("_rnn_mask", index(20, n=1 << 16, dtype="float32"), ref=_mask, result="float32",
       attrs={"layer": 3, "p": 0.75, "shape": (3, 5, 7)}, dtypes=("float32",),
       bad=[refuse("int32", dtypes=("int32",))])  # fmt: skip


def _gradients(x, p, reserve, dy, dstate, *, state_size, num_layers, mode):
    """Of one layer of tanh, whose reserve is a ticket, the results of tanh, the states and the output."""
    steps, batch, width = x.shape
    n = state_size
    gates = reserve[16:][: steps * batch * n].reshape(steps, batch, n)
    states = reserve[16 + gates.size :][: (steps + 1) * batch * n].reshape(steps + 1, batch, n)
    ((wx, wh, _, _, _),) = _weights(p, mode, 1, 1, width, n, None)
    dg, dh = np.zeros_like(gates), dstate[0]
    for t in reversed(range(steps)):
        dg[t] = (dh + dy[t]) * (1 - gates[t] ** 2)
        dh = dg[t] @ wh
    weights = [np.einsum("tbg,tbi->gi", dg, v).ravel() for v in (x, states[:-1])]
    bias = dg.sum((0, 1))
    return [dg @ wx, np.concatenate([*weights, bias, bias]), dh[None], np.zeros(0)]


sample("_rnn_grad", real(2, 3, 5), real(30, low=-1, high=1), real(16 + 18 + 27 + 18, low=-1, high=1), real(2, 3, 3),
       real(1, 3, 3), ref=_gradients, attrs={"state_size": 3, "num_layers": 1, "mode": "rnn_tanh"}, dtypes=REALS,
       rtol=32, atol=256, special=False, result="same same same same",
       bad=[refuse("dy must have shape (2, 3, 3)", "(2, 3, 4)", shapes=((2, 3, 5), (30,), (79,), (2, 3, 4), (1, 3, 3))),
            refuse("reserve must have shape (79,)",
                   shapes=((2, 3, 5), (30,), (78,), (2, 3, 3), (1, 3, 3)))])  # fmt: skip
