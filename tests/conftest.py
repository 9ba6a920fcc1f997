"""The same start for every test: seeds, engine, recording and device as they were at import."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from gluonish import _core as core

_NAIVE = core.is_naive()
_THREADS = core.num_threads()
_ISA = core.isa()


def forget_errors() -> None:
    """Errors that nobody waited for are raised once each by `wait_all`; here they are of no interest."""
    for _ in range(1000):
        try:
            return core.wait_all()
        except core.MXNetError:
            continue
    return None


@pytest.fixture(autouse=True)
def _fresh(request):
    core.seed(42, None)
    np.random.seed(42)
    # A sample says whether its op is called in training.
    sample = getattr(request.node, "callspec", None) and request.node.callspec.params.get("sample")
    core.set_training(getattr(sample, "training", False))
    yield
    forget_errors()
    core.set_recording(False)
    core.set_training(False)
    core.set_current_device(0)
    core.set_naive(_NAIVE)
    core.set_inline(None)
    core.set_num_threads(_THREADS)
    core.limit_isa(_ISA)
    core.profiler_enable(False)


@pytest.fixture(params=["threaded", "naive"])
def engine(request):
    """Both engines, one after the other."""
    core.set_naive(request.param == "naive")
    return request.param


@pytest.fixture
def threaded():
    """The threaded engine, whatever the suite runs on."""
    core.set_naive(False)


@pytest.fixture
def queued(threaded):
    """The threaded engine, which runs nothing in the caller."""
    core.set_inline(0)


@pytest.fixture
def recording():
    """Inside of autograd.record()."""
    core.set_recording(True)
    core.set_training(True)
    yield
    with contextlib.suppress(core.MXNetError):
        core.wait_all()
