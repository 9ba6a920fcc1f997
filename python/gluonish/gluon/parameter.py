"""Parameters and what holds them: where ``gluon.parameter`` has its names.

>>> from gluonish.gluon.parameter import DeferredInitializationError, Parameter
>>> weight = Parameter("weight", shape=(4, 0), allow_deferred_init=True)
>>> weight.initialize()
>>> weight.data()
Traceback (most recent call last):
    ...
gluonish.gluon.parameter.DeferredInitializationError: Parameter 'weight' has no values yet...
"""

from gluonish.gluon._errors import (
    DeferredInitializationError,
    DeferredShapeError,
    NotInitializedError,
    ParameterError,
)
from gluonish.gluon._parameter import Constant, Parameter
from gluonish.gluon._parameter_dict import ParameterDict

__all__ = [
    "Constant",
    "DeferredInitializationError",
    "DeferredShapeError",
    "NotInitializedError",
    "Parameter",
    "ParameterDict",
    "ParameterError",
]
