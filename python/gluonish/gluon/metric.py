"""MXNet 2's place for metrics: the module ``gluonish.metric``."""

from gluonish.metric import *  # noqa: F403 - all of it, whatever is added there
from gluonish.metric import __all__  # noqa: F401
