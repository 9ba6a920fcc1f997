"""Linear algebra with MXNet's names: ``potrf`` (Cholesky), ``trsm`` (triangular systems)."""

from gluonish._faces import functions
from gluonish._missing import explained

globals().update(functions("nd", "linalg"))

__getattr__ = explained("gluonish.nd.linalg", functions("nd", "linalg"))
