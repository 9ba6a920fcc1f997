"""Small layers that the tests of blocks share, so that they need no other part of gluon."""

from __future__ import annotations

from gluonish import gluon


class Dense(gluon.HybridBlock):
    """Gluon 1's form: parameters from ``self.params``, and ``hybrid_forward``."""

    def __init__(self, units, in_units=0, use_bias=True, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.units = units
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(units, in_units), allow_deferred_init=True)
            if use_bias:
                self.bias = self.params.get("bias", shape=(units,), init="zeros", allow_deferred_init=True)

    def hybrid_forward(self, F, x, weight, bias=None):
        return F.FullyConnected(x, weight, bias, num_hidden=self.units, no_bias=bias is None)


class Scale(gluon.HybridBlock):
    """Gluon 2's form: parameters assigned in ``__init__``, ``forward`` and ``infer_shape``."""

    def __init__(self, size=0, **kwargs):
        super().__init__(**kwargs)
        self.factor = gluon.Parameter(shape=(size,), init="ones", allow_deferred_init=True)

    def forward(self, x):
        return x * self.factor.data()

    def infer_shape(self, x):
        self.factor.shape = (x.shape[-1],)


class Net(gluon.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.hidden = Dense(4)
            self.scale = Scale()
            self.output = Dense(2)

    def forward(self, x):
        return self.output(self.scale(self.hidden(x)))
