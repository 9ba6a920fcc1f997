"""The functions of `nd` that are rows of the op table, and nothing else: MXNet's ``nd.op``."""

from gluonish._faces import functions
from gluonish._missing import explained

globals().update(functions("nd"))

__getattr__ = explained("gluonish.nd.op", functions("nd"))
