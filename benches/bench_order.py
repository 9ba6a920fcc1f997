"""Ten million float32 values in order: as one row, and as ten thousand rows of a thousand."""

from typing import Any

from harness import Case, Names


def arrays(np: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((10_000, 1_000), np.float32)
    whole = rng.integers(0, 2**31, 10_000_000)
    return {"row": x.reshape(-1), "rows": x, "whole": whole, "few": rng.integers(0, 1000, 10_000_000)}


def gluonish() -> Names:
    import numpy as np

    import gluonish as mx

    ours = {name: mx.np.array(value) for name, value in arrays(np).items()}
    return {"f": mx.np, "nd": mx.nd, "sync": mx.nd.waitall, **ours}


def torch() -> Names:
    import numpy as np
    import torch

    return {"f": torch, **{name: torch.from_numpy(value) for name, value in arrays(np).items()}}


def numpy() -> Names:
    import numpy as np

    return {"f": np, **arrays(np)}


SETUP = {"gluonish": gluonish, "torch": torch, "numpy": numpy}


def top(x: str, k: int) -> dict[str, str]:
    """Values and positions of the largest, in order."""
    numpy = f"p = f.argpartition({x}, -{k}, -1)[..., -{k}:]\nv = f.take_along_axis({x}, p, -1)\n"
    numpy += "o = f.argsort(-v, -1)\nf.take_along_axis(v, o, -1), f.take_along_axis(p, o, -1)"
    return {"gluonish": f"nd.topk({x}, k={k}, ret_typ='both')", "torch": f"f.topk({x}, {k})", "numpy": numpy}


SORT = {f"sort_{x}": dict.fromkeys(SETUP, f"f.sort({x})") for x in ("row", "rows")}
# Ours is stable; the peers need not be.
ARGSORT = {f"argsort_{x}": dict.fromkeys(SETUP, f"f.argsort({x})") for x in ("row", "rows")}
TOP = {f"top{k}_{x}": top(x, k) for x in ("row", "rows") for k in (10, 100)}
CASES = [Case(name, sides, target=1.0) for name, sides in {**SORT, **ARGSORT, **TOP}.items()]
CASES += [
    Case("sort_int64", dict.fromkeys(SETUP, "f.sort(whole)")),
    Case("sort_few_values", dict.fromkeys(SETUP, "f.sort(few)")),
    Case("argsort_int64", dict.fromkeys(SETUP, "f.argsort(whole)")),
    Case("unique_few_values", dict.fromkeys(SETUP, "f.unique(few)")),
]
