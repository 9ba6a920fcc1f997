"""What MXNet keeps under ``nd.contrib``: ``boolean_mask``, ``count_sketch``, ``fft``, ``ifft``, ``rand_zipfian``."""

from gluonish._faces import functions
from gluonish._missing import explained
from gluonish.nd.random import rand_zipfian

__all__ = ["rand_zipfian"]
globals().update(functions("nd", "contrib"))

__getattr__ = explained("gluonish.nd.contrib", [*__all__, *functions("nd", "contrib")])
