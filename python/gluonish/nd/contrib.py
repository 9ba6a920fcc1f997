"""What MXNet keeps under ``nd.contrib``: masks and indices, Fourier transforms, ``count_sketch``, ``rand_zipfian``."""

from gluonish._faces import functions
from gluonish._missing import explained
from gluonish.context import current_context
from gluonish.nd.optimizers import multi_adamw_update, multi_lamb_update, multi_mp_adamw_update, multi_mp_lamb_update
from gluonish.nd.random import rand_zipfian, uniform
from gluonish.nd.sync_norm import SyncBatchNorm

__all__ = [
    "SyncBatchNorm",
    "current_context",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "rand_zipfian",
    "uniform",
]
globals().update(functions("nd", "contrib"))

__getattr__ = explained("gluonish.nd.contrib", [*__all__, *functions("nd", "contrib")])
