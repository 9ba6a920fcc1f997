"""MXNet's place of `GroupAdaGrad`.

>>> import gluonish as mx
>>> mx.optimizer.contrib.GroupAdaGrad is mx.optimizer.GroupAdaGrad
True
"""

from gluonish.optimizer.adaptive import GroupAdaGrad

__all__ = ["GroupAdaGrad"]
