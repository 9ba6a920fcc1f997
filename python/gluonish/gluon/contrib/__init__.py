"""What MXNet has under ``gluon.contrib``.

==================  ===========================================================================
:mod:`nn`           containers, normalisation and shuffles that were there before ``gluon.nn``
:mod:`rnn`          cells of images, variational dropout, an LSTM with a projection
==================  ===========================================================================
"""

from gluonish.gluon.contrib import nn, rnn

__all__ = ["nn", "rnn"]
