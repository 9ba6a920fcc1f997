"""More cells: recurrent networks of images, dropout that is the same at every step, an LSTM with a projection.

>>> import gluonish as mx
>>> cell = mx.gluon.contrib.rnn.Conv2DLSTMCell((3, 8, 8), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
>>> cell.initialize()
>>> outputs, states = cell.unroll(5, mx.nd.ones((2, 5, 3, 8, 8)), merge_outputs=True)
>>> outputs.shape, [s.shape for s in states]
((2, 5, 4, 8, 8), [(2, 4, 8, 8), (2, 4, 8, 8)])
"""

from gluonish.gluon.contrib.rnn.cell import LSTMPCell, VariationalDropoutCell
from gluonish.gluon.contrib.rnn.conv import (
    Conv1DGRUCell,
    Conv1DLSTMCell,
    Conv1DRNNCell,
    Conv2DGRUCell,
    Conv2DLSTMCell,
    Conv2DRNNCell,
    Conv3DGRUCell,
    Conv3DLSTMCell,
    Conv3DRNNCell,
)

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
    "LSTMPCell",
    "VariationalDropoutCell",
]
