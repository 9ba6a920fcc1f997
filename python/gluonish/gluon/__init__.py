"""Networks as Python classes: blocks, parameters, layers.

==================  ================================================================
:class:`Block`      a layer or a network, whose ``forward`` is plain Python
:class:`HybridBlock`  one that can be compiled later, and tells shapes by itself
:class:`Parameter`  what training changes; :class:`Constant` what it does not
:mod:`nn`           layers and containers; :mod:`rnn` recurrent ones, :mod:`contrib` what MXNet has there
:mod:`loss`         what training makes small
:mod:`utils`        parts of a batch, the norm of gradients, downloads
==================  ================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gluonish.gluon import block, hybrid_block, parameter, utils
from gluonish.gluon.block import Block
from gluonish.gluon.hybrid_block import HybridBlock
from gluonish.gluon.parameter import Constant, DeferredInitializationError, Parameter, ParameterDict

if TYPE_CHECKING:
    from gluonish.gluon import contrib, loss, metric, nn, rnn, trainer
    from gluonish.gluon.trainer import Trainer

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "Trainer",
    "block",
    "contrib",
    "hybrid_block",
    "loss",
    "metric",
    "nn",
    "parameter",
    "rnn",
    "trainer",
    "utils",
]

# Imported when they are first used.
_LATER = frozenset({"contrib", "loss", "metric", "nn", "rnn", "trainer"})


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f"gluonish.gluon.{name}")
    if name == "Trainer":
        from gluonish.gluon.trainer import Trainer

        return Trainer
    from gluonish._missing import explained

    return explained("gluonish.gluon", __all__)(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
