"""Initializers: what parameters hold before training. ``mx.init`` and ``mx.initializer`` are this module.

A block gets one by ``net.initialize(init)``, a parameter of its own by ``init=``: an instance, a name ("xavier") or the
JSON of ``dumps()``. There it fills a parameter whatever its name. Called directly, an initializer goes by the end of
the name: weights are filled, ``bias`` and ``beta`` are 0, ``gamma`` is 1.

>>> import gluonish as mx
>>> weight = mx.nd.zeros((3, 4))
>>> mx.init.Xavier()(mx.init.InitDesc("dense0_weight"), weight)
>>> bool(abs(weight).max() <= (3 / 3.5) ** 0.5), bool(abs(weight).max() > 0)
(True, True)
>>> mx.init.create("ones")
One()

Numbers come from the random sequence of the array's device, in its element type, so ``mx.random.seed`` fixes them.
"""

from gluonish.init.base import InitDesc, Initializer, create, register
from gluonish.init.chosen import Load, Mixed
from gluonish.init.fixed import Bilinear, Constant, One, Zero
from gluonish.init.random import MSRAPrelu, Normal, Orthogonal, TruncNorm, Uniform, Xavier
from gluonish.init.recurrent import FusedRNN, LSTMBias

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "TruncNorm",
    "Uniform",
    "Xavier",
    "Zero",
    "create",
    "register",
]
