"""What MXNet has under ``gluon.contrib``.

==================  ===========================================================================
:mod:`rnn`          cells of images, variational dropout, an LSTM with a projection
==================  ===========================================================================
"""

from gluonish.gluon.contrib import rnn

__all__ = ["rnn"]
