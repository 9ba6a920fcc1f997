"""What MXNet keeps under ``nd.contrib``: ``boolean_mask``."""

from gluonish._faces import functions
from gluonish._missing import explained

globals().update(functions("nd", "contrib"))

__getattr__ = explained("gluonish.nd.contrib", functions("nd", "contrib"))
