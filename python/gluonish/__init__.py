"""A neural network toolkit with MXNet Gluon's Python face and a Rust core. Usually ``import gluonish as mx``.

==================  ===================================================================================
:mod:`nd`           functions on arrays, with MXNet's names and defaults
:mod:`np`           the same arrays with NumPy's functions; :mod:`npx` has what NumPy has not
:mod:`autograd`     gradients
:mod:`context`      devices: ``cpu()``, ``gpu()``
:mod:`random`       the seed of random numbers
:mod:`engine`       threads, and the serial engine; :mod:`memory`, :mod:`profiler`
:mod:`errors`       exceptions
:mod:`gluon`        networks: blocks, parameters, layers, and the trainer
:mod:`init`         initializers; :mod:`lr_scheduler` learning rates; :mod:`metric` metrics
:mod:`optimizer`    how training changes weights
:mod:`kvstore`      what sums gradients of several devices; :mod:`amp` mixed precision
:mod:`callback`     progress and checkpoints; :mod:`monitor` what layers make; :mod:`test_utils`
:mod:`datasets`     small data sets inside the package
==================  ===================================================================================

>>> import gluonish as mx
>>> x = mx.nd.array([[1, 2], [3, 4]])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     loss = (x * x).sum()
>>> loss.backward()
>>> x.grad
[[2. 4.]
 [6. 8.]]
<NDArray 2x2 @cpu(0)>
"""

import atexit
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gluonish import _core

if _core.setting_problems():
    raise _core.ArgumentError("; ".join(_core.setting_problems()))
_core.set_package_directory(os.path.dirname(__file__))
atexit.register(_core.shutdown)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_core.drain)

from gluonish import autograd, base, context, errors, nd, random  # noqa: E402 - not before the settings are right
from gluonish._core import wait_all as waitall  # noqa: E402
from gluonish.base import MXNetError  # noqa: E402
from gluonish.context import (  # noqa: E402
    Context,
    Device,
    cpu,
    cpu_pinned,
    current_context,
    current_device,
    gpu,
    num_gpus,
)

if TYPE_CHECKING:
    from gluonish import (
        amp,
        attribute,
        callback,
        contrib,
        datasets,
        device,
        engine,
        gluon,
        init,
        initializer,
        kvstore,
        lr_scheduler,
        memory,
        metric,
        monitor,
        name,
        np,
        npx,
        operator,
        optimizer,
        profiler,
        runtime,
        test_utils,
        util,
    )
    from gluonish.attribute import AttrScope

    __version__: str

ndarray = nd

__all__ = [
    "AttrScope",
    "Context",
    "Device",
    "MXNetError",
    "__version__",
    "amp",
    "attribute",
    "autograd",
    "base",
    "callback",
    "context",
    "contrib",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "datasets",
    "device",
    "engine",
    "errors",
    "gluon",
    "gpu",
    "init",
    "initializer",
    "kv",
    "kvstore",
    "lr_scheduler",
    "memory",
    "metric",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "np",
    "npx",
    "num_gpus",
    "operator",
    "opt",
    "optimizer",
    "profiler",
    "random",
    "runtime",
    "test_utils",
    "util",
    "waitall",
]

# Imported when they are first used, which keeps `import gluonish` quick.
_LATER = frozenset(
    {
        "amp",
        "attribute",
        "callback",
        "contrib",
        "datasets",
        "device",
        "engine",
        "gluon",
        "init",
        "initializer",
        "kvstore",
        "lr_scheduler",
        "memory",
        "metric",
        "monitor",
        "name",
        "np",
        "npx",
        "operator",
        "optimizer",
        "profiler",
        "runtime",
        "test_utils",
        "util",
    }
)
# MXNet's short names of such modules.
_SHORT = {"kv": "kvstore", "mon": "monitor", "opt": "optimizer"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f"gluonish.{name}")
    if name in _SHORT:
        return import_module(f"gluonish.{_SHORT[name]}")
    if name == "AttrScope":
        from gluonish.attribute import AttrScope

        return AttrScope
    if name == "__version__":
        from importlib.metadata import version

        found = globals()["__version__"] = version("gluonish")
        return found
    from gluonish._missing import explained

    return explained("gluonish", __all__)(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _profile() -> None:
    """Starts the profiler where GLUONISH_PROFILE names a file."""
    (filename,) = (s["value"] for s in _core.settings() if s["name"] == "GLUONISH_PROFILE")
    if filename:
        from gluonish import profiler

        profiler.run_to_exit(filename)


_profile()
