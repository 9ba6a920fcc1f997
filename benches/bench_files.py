"""Saving and loading 400 MB of float32 in eight arrays, from and to the system's cache of files.

Ours waits until what it saved is on disk; the others do not, so saving is timed in a folder in memory, where there
is one.
"""

import atexit
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness import Case, Names

ARRAYS, SHAPE = 8, (3125, 4000)


def folder() -> Path:
    in_memory = Path("/dev/shm")
    made = tempfile.mkdtemp(dir=in_memory if in_memory.is_dir() else None)
    atexit.register(shutil.rmtree, made)
    return Path(made)


def gluonish() -> Names:
    from gluonish import nd

    data = {f"weight{i}": nd.ones(SHAPE) for i in range(ARRAYS)}
    place = folder()
    for suffix in ("params", "safetensors", "npz"):
        nd.save(place / f"x.{suffix}", data)
    return {"load": nd.load, "save": nd.save, "data": data, "place": place, "sync": nd.waitall}


def numpy() -> Names:
    import numpy as np

    data = {f"weight{i}": np.ones(SHAPE, "float32") for i in range(ARRAYS)}
    place = folder()
    np.savez(place / "x.npz", **data)

    def load(path: Path) -> Names:
        return dict(np.load(path))

    return {"load": load, "save": lambda path, data: np.savez(path, **data), "data": data, "place": place}


def safetensors() -> Names:
    import numpy as np
    from safetensors.numpy import load_file, save_file

    data = {f"weight{i}": np.ones(SHAPE, "float32") for i in range(ARRAYS)}
    place = folder()
    save_file(data, place / "x.safetensors")
    return {"load": load_file, "save": lambda path, data: save_file(data, path), "data": data, "place": place}


def first(suffix: str) -> Callable[[Names], float]:
    """One load into memory that the process has not used before."""

    def measured(names: Names) -> float:
        begin = time.perf_counter()
        loaded = names["load"](names["place"] / f"x.{suffix}")
        taken = time.perf_counter() - begin
        assert len(loaded) == ARRAYS
        return taken

    return measured


SETUP: dict[str, Callable[[], Names]] = {"gluonish": gluonish, "numpy": numpy, "safetensors": safetensors}
LOAD = "load(place / 'x.{}')"
SAVE = "save(place / 'y.{}', data)"
CASES = [
    Case("first_load_safetensors", {"gluonish": first("safetensors"), "safetensors": first("safetensors")}),
    Case("load_safetensors", {k: LOAD.format("safetensors") for k in ("gluonish", "safetensors")}),
    Case("load_npz", {k: LOAD.format("npz") for k in ("gluonish", "numpy")}),
    Case("load_params", {"gluonish": LOAD.format("params")}),
    Case("save_safetensors", {k: SAVE.format("safetensors") for k in ("gluonish", "safetensors")}),
    Case("save_npz", {k: SAVE.format("npz") for k in ("gluonish", "numpy")}),
    Case("save_params", {"gluonish": SAVE.format("params")}),
]
