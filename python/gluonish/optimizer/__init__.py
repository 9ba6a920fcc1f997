"""Optimizers: how training changes weights.

==================  ===================================================================================
:mod:`sgd`          SGD, Nesterov's, Langevin's, for late gradients; :mod:`lbsgd` for large batches
:mod:`sign`         Signum, Lion
:mod:`adaptive`     AdaGrad, AdaDelta, RMSProp, FTRL, FTML
:mod:`adam`         Adam, AdamW, Adamax, Nadam, AdaBelief; :mod:`eve`, :mod:`adafactor`
:mod:`layerwise`    LARS, LAMB, LANS; :mod:`muon`
:mod:`lbfgs`        L-BFGS
:mod:`ema`          running means of weights
==================  ===================================================================================

A trainer makes one by name; a step over all weights of a device is one call of the core:

>>> import gluonish as mx
>>> adam = mx.optimizer.create("adam", learning_rate=0.1, wd=0.01, no_decay="norms_and_biases",
...                            param_idx2name={0: "dense0_weight", 1: "dense0_bias"})
>>> update = mx.optimizer.get_updater(adam)
>>> weights, grads = [mx.nd.ones((2, 2)), mx.nd.ones(2)], [mx.nd.ones((2, 2)), mx.nd.ones(2)]
>>> update([0, 1], grads, weights)
>>> round(weights[1][0].item(), 4)
0.9
"""

from gluonish.optimizer import contrib
from gluonish.optimizer.adafactor import Adafactor
from gluonish.optimizer.adam import AdaBelief, Adam, Adamax, AdamW, Nadam
from gluonish.optimizer.adaptive import FTML, AdaDelta, AdaGrad, Ftrl, GroupAdaGrad, RMSProp
from gluonish.optimizer.base import Optimizer, create, register
from gluonish.optimizer.ema import EMA
from gluonish.optimizer.eve import Eve
from gluonish.optimizer.layerwise import LAMB, LANS, LARS
from gluonish.optimizer.lbfgs import LBFGS
from gluonish.optimizer.lbsgd import LBSGD
from gluonish.optimizer.muon import Muon
from gluonish.optimizer.sgd import DCASGD, NAG, SGD, SGLD, Test, ccSGD
from gluonish.optimizer.sign import Lion, Signum
from gluonish.optimizer.updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "EMA",
    "FTML",
    "LAMB",
    "LANS",
    "LARS",
    "LBFGS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaBelief",
    "AdaDelta",
    "AdaGrad",
    "Adafactor",
    "Adam",
    "AdamW",
    "Adamax",
    "Eve",
    "Ftrl",
    "GroupAdaGrad",
    "Lion",
    "Muon",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "contrib",
    "create",
    "get_updater",
    "register",
]
