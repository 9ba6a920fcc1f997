"""RNN, LSTM and GRU: one op here, with all parameters in one vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from gluonish import nd
from gluonish import np as mnp
from onnx_nodes.translation import Attributes, Case, node

# Where ONNX keeps the gates that ours come to, in our order.
GATES = {"rnn_tanh": [0], "lstm": [0, 2, 3, 1], "gru": [1, 0, 2]}


def gates(x: Any, mode: str) -> Any:
    """The rows of a matrix (or the values of a vector) in the order of our gates."""
    parts = nd.split(x, num_outputs=len(GATES[mode]), axis=0) if len(GATES[mode]) > 1 else [x]
    return mnp.concatenate([parts[i] for i in GATES[mode]]).reshape(-1)


def packed(mode: str, w: Any, r: Any, b: Any) -> Any:
    """All parameters: weights of each direction, then biases of each."""
    directions, rows = w.shape[:2]
    b = mnp.zeros((directions, 2 * rows)) if b is None else b
    weights = [gates(x[d], mode) for d in range(directions) for x in (w, r)]
    biases = [gates(x, mode) for d in range(directions) for x in (b[d, :rows], b[d, rows:])]
    return mnp.concatenate([*weights, *biases])


def recurrent(mode: str, a: Attributes, x: Any, w: Any, r: Any, b: Any = None) -> tuple[Any, ...]:
    if a.layout:
        x = x.swapaxes(0, 1)
    if a.direction == "reverse":
        x = nd.flip(x, axis=0)
    (steps, size), directions, units = x.shape[:2], w.shape[0], a.hidden_size
    state = mnp.zeros((directions, size, units))
    cells = [state] if mode == "lstm" else []
    how = {"state_size": units, "num_layers": 1, "bidirectional": directions == 2, "state_outputs": True}
    y, *last = nd.RNN(x, packed(mode, w, r, b), state, *cells, mode=mode, **how)
    y = y.reshape(steps, size, directions, units).swapaxes(1, 2)
    if a.direction == "reverse":
        y = nd.flip(y, axis=0)
    return (y.transpose(2, 0, 1, 3), *(s.swapaxes(0, 1) for s in last)) if a.layout else (y, *last)


@node("RNN")
def plain(a: Attributes, *inputs: Any) -> tuple[Any, ...]:
    assert set(a.activations) == {"Tanh"}
    return recurrent("rnn_tanh", a, *inputs)


@node("LSTM", left_out={"RNN has no peepholes": lambda case: len(case.inputs) > 7})
def lstm(a: Attributes, *inputs: Any) -> tuple[Any, ...]:
    return recurrent("lstm", a, *inputs)


def order_of_reset_matters(case: Case) -> bool:
    """Whether a GRU multiplies the state first with its reset gate, then with a matrix, and one can tell: not in one
    step from 0, nor where all weights are equal, and hence the gates of all units."""
    many_steps = case.inputs[0].shape[case.a.layout] > 1
    return not case.a.linear_before_reset and many_steps and np.ptp(case.inputs[2], axis=(1, 2)).any()


@node("GRU", left_out={"RNN resets the product with the state, not the state": order_of_reset_matters})
def gru(a: Attributes, *inputs: Any) -> tuple[Any, ...]:
    return recurrent("gru", a, *inputs)
