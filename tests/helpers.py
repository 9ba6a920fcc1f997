"""What tests of arrays and gradients share: short names for the core, and the line that runs."""

from __future__ import annotations

import contextlib
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonish import _core as core

if TYPE_CHECKING:
    from collections.abc import Iterator

nd = types.SimpleNamespace(
    **{k: f for k, f in core.faces()["nd"].items() if "." not in k}
)  # native: no frame of its own


def array(values: Any, dtype: str = "float32", device: int = 0) -> Any:
    values = np.ascontiguousarray(values, dtype).reshape(np.shape(values))
    return core.from_buffer(values, dtype, values.shape, device)


def variable(values: Any, dtype: str = "float32", req: str = "write") -> Any:
    """An array that asks for its gradient."""
    x = array(values, dtype)
    core.attach_grad(x, req)
    return x


def numbers(x: Any) -> Any:
    return core.to_numpy(x).tolist()


def op(name: str, *inputs: Any, out: Any = None, **attrs: Any) -> Any:
    return core.invoke(name, list(inputs), attrs, out)


@contextlib.contextmanager
def record(on: bool = True) -> Iterator[None]:
    before = core.set_recording(on)
    try:
        yield
    finally:
        core.set_recording(before)


def backward(
    *heads: Any, grads: list[Any] | None = None, retain: bool = False, create: bool = False, anomaly: bool = False
) -> None:
    core.backward(list(heads), grads or [None] * len(heads), retain, create, True, anomaly)


def gradients(
    head: Any, *variables: Any, head_grad: Any = None, create: bool = False, retain: bool | None = None
) -> list[Any]:
    keep = create if retain is None else retain
    return core.gradients([head], list(variables), [head_grad], keep, create, True, False)


def here(offset: int = 0) -> str:
    """`file:line` of the caller, as messages write it; `offset` lines further."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno + offset}"
