"""Stores of values by key, which several devices add to and read from: what `Trainer` sums gradients with.

``create('local')`` and ``create('device')`` are stores of one process; `KVStoreBase.register` adds kinds of your own.
Every call queues work and returns at once.

>>> import gluonish as mx
>>> store = mx.kv.create("device")
>>> store.init("w", mx.nd.zeros(2))
>>> store.push("w", [mx.nd.ones(2, ctx=mx.cpu(0)), mx.nd.ones(2, ctx=mx.cpu(1))])
>>> out = mx.nd.zeros(2)
>>> store.pull("w", out=out)
>>> out.tolist()
[2.0, 2.0]
"""

from gluonish._missing import explained
from gluonish.kvstore.base import KVStoreBase, StoreError, create
from gluonish.kvstore.local import KVStore
from gluonish.kvstore.teststore import TestStore

__all__ = ["KVStore", "KVStoreBase", "StoreError", "TestStore", "create"]

__getattr__ = explained("gluonish.kvstore", __all__)
