"""Recurrent networks in NumPy, step by step from their formulas, in double precision."""

from __future__ import annotations

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, states, w, clip=None):
    """The output and the states of one step; `w` holds i2h_weight, h2h_weight, i2h_bias, h2h_bias (and h2r_weight)."""
    i2h = x @ w["i2h_weight"].T + w["i2h_bias"]
    h2h = states[0] @ w["h2h_weight"].T + w["h2h_bias"]
    if mode == "lstm":
        i, f, g, o = np.split(i2h + h2h, 4, axis=1)
        c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
        c = c if clip is None else np.clip(c, *clip)
        h = sigmoid(o) * np.tanh(c)
        h = h @ w["h2r_weight"].T if "h2r_weight" in w else h
        return h, [h, c]
    if mode == "gru":
        (ir, iz, new), (hr, hz, hn) = np.split(i2h, 3, axis=1), np.split(h2h, 3, axis=1)
        z = sigmoid(iz + hz)
        h = (1 - z) * np.tanh(new + sigmoid(ir + hr) * hn) + z * states[0]
    else:
        h = np.tanh(i2h + h2h) if mode == "tanh" else np.maximum(i2h + h2h, 0)
    return h, [h]


def one_way(mode, x, states, w, clip=None):
    """A sequence (steps, width) of one sample, from states without a batch."""
    states, outputs = [s[None] for s in states], []
    for row in x:
        output, states = step(mode, row[None], states, w, clip)
        outputs.append(output[0])
    return np.array(outputs).reshape(len(x), states[0].shape[1]), [s[0] for s in states]


def network(mode, x, states, weights, layers=1, directions=1, lengths=None, clip=None):
    """Outputs (steps, batch, width) and states (layers * directions, batch, width) of several layers.

    `weights[(layer, direction)]` are those of `step`. Sequences are cut to their lengths, and filled up with zeros.
    """
    steps, batch = x.shape[:2]
    lengths = [steps] * batch if lengths is None else lengths
    samples, last = [], []
    for n in range(batch):
        row, after = x[: lengths[n], n], []
        for layer in range(layers):
            sides = []
            for direction in range(directions):
                own = [s[layer * directions + direction, n] for s in states]
                given = row[::-1] if direction else row
                output, new = one_way(mode, given, own, weights[layer, direction], clip)
                sides.append(output[::-1] if direction else output)
                after.append(new)
            row = np.concatenate(sides, axis=1)
        filled = np.zeros((steps, row.shape[1]))
        filled[: len(row)] = row
        samples.append(filled)
        last.append(after)
    count = range(layers * directions)
    new = [np.array([[last[n][k][s] for n in range(batch)] for k in count]) for s in range(len(states))]
    return np.stack(samples, axis=1), new
