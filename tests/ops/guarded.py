"""Every sample on memory that ends, or begins, at a page that nobody may touch, in a process of its own: whoever reads
or writes beyond an array ends it. Prints the name of each row that is done; before each call, its sample to stderr.

    python -m ops.guarded ISA [ROW ...]
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from ops.driver import KNOWN, call, core, machine, type_of

from gluonish import nd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ops.sampling import Sample

PAGE = mmap.PAGESIZE
SIDES = ("behind", "before")
_LIBC = ctypes.CDLL(None, use_errno=True)


def guarded(value: Any, side: str) -> np.ndarray:
    """The same values in memory of their own, with a page that cannot be touched right behind or before them."""
    value = np.asarray(value, order="C")
    room = -(-value.nbytes // PAGE) * PAGE
    memory = mmap.mmap(-1, PAGE + room + PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = np.frombuffer(memory, np.uint8).ctypes.data
    for page in (start, start + PAGE + room):
        if _LIBC.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), ctypes.c_int(0)):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = PAGE + room - value.nbytes if side == "behind" else PAGE
    made = np.frombuffer(memory, value.dtype, value.size, offset).reshape(value.shape)
    made[...] = value
    return made


def shared(value: Any, side: str) -> Any:
    """An NDArray on guarded memory, without a copy."""
    host = guarded(value, side)
    made = nd.from_numpy(host, zero_copy=True)
    if host.size and np.from_dlpack(made).ctypes.data != host.ctypes.data:
        raise AssertionError("the array is a copy, and nothing guards it")
    return made


def variants(sample: Sample) -> Iterator[tuple[Sample, str]]:
    """The sample in every type that NumPy has, and its other shapes in one of these."""
    dtypes = [d for d in sample.dtypes if d != "bfloat16"]
    yield from ((sample, dtype) for dtype in dtypes)
    usual = ["float32"] if "float32" in dtypes else dtypes[:1]
    for shapes in (*sample.edge, *([sample.big] if sample.big else [])):
        yield from ((sample.with_shapes(shapes), dtype) for dtype in usual)


def call_guarded(sample: Sample, dtype: str, side: str) -> None:
    """Calls the row with guarded inputs, and where it has one result, with a guarded `out=` as well."""
    values = zip(sample.args, sample.make(dtype), strict=True)
    inputs = [value if arg.number is not None else shared(value, side) for arg, value in values]
    made = call(sample.op, inputs, sample.attrs)
    if len(made) == 1 and sample.ref is not None and type_of(made[0]) != "bfloat16" and sample.op != "split":
        call(sample.op, inputs, sample.attrs, shared(np.ones(made[0].shape, type_of(made[0])), side))
    core.wait_all()


def main(isa: str, names: list[str]) -> None:
    faulthandler.enable()
    known = [s for s in KNOWN if all(a.dtype != "bfloat16" for a in s.args) and not (s.blocked and isa != core.isa())]
    with machine(naive=True, threads=2, isa=isa):  # naive: a crash happens in the call that it belongs to
        for name in names:
            call_all([s for s in known if s.op == name])
            print(name, flush=True)


def call_all(samples: list[Sample]) -> None:
    for sample in samples:
        for one, dtype in variants(sample):
            for side in SIDES:
                shapes = [a.shape for a in one.args if a.number is None]
                print(f"call {sample.name} {sample.attrs} of {dtype} {shapes}, page {side}", file=sys.stderr)
                call_guarded(one, dtype, side)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
