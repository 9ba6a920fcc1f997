"""Recurrent networks: layers that run whole sequences in one fused op, and cells that run one step at a time.

=============  ===========================================================================================
layers         :class:`RNN` :class:`LSTM` :class:`GRU`: ``output = layer(x)``, or ``output, states = layer(x, states)``
cells          :class:`RNNCell` :class:`LSTMCell` :class:`GRUCell`: ``output, states = cell(x, states)``
stacks         :class:`SequentialRNNCell` :class:`HybridSequentialRNNCell` :class:`BidirectionalCell`
around a cell  :class:`DropoutCell` :class:`ZoneoutCell` :class:`ResidualCell`, :class:`ModifierCell`
your own       :class:`RecurrentCell` :class:`HybridRecurrentCell`
=============  ===========================================================================================

A layer is many times quicker than its cells; cells are for what no layer does. Both have the same weights:

>>> import gluonish as mx
>>> layer = mx.gluon.rnn.LSTM(8, num_layers=2)
>>> layer.initialize()
>>> x = mx.nd.random.normal(shape=(5, 3, 4))  # steps, batch, width
>>> y, (h, c) = layer(x, layer.begin_state(batch_size=3))
>>> y.shape, h.shape, c.shape
((5, 3, 8), (2, 3, 8), (2, 3, 8))
>>> cell = mx.gluon.rnn.LSTMCell(8)
>>> cell.initialize()
>>> outputs, (h, c) = cell.unroll(5, x, layout="TNC")
>>> len(outputs), outputs[0].shape, h.shape
(5, (3, 8), (3, 8))
"""

from gluonish.gluon.rnn.cell import GRUCell, HybridRecurrentCell, LSTMCell, RecurrentCell, RNNCell
from gluonish.gluon.rnn.layer import GRU, LSTM, RNN
from gluonish.gluon.rnn.modifier import DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from gluonish.gluon.rnn.stack import BidirectionalCell, HybridSequentialRNNCell, SequentialRNNCell

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]
