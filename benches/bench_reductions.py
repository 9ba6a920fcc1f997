"""Ten million float32 values folded: all of them, along the last axis, along the first; and running sums."""

from typing import Any

from harness import Case, Names

SHAPE = (10_000, 1_000)


def arrays(np: Any) -> dict[str, Any]:
    x = np.random.default_rng(0).standard_normal(SHAPE, np.float32)
    return {"x": x, "flat": x.reshape(-1), "short": x.astype("float16")}


def gluonish() -> Names:
    import numpy as np

    import gluonish as mx

    ours = {name: mx.np.array(value) for name, value in arrays(np).items()}
    return {"f": mx.np, "nd": mx.nd, "norm": mx.nd.norm, "sync": mx.nd.waitall, **ours}


def torch() -> Names:
    import numpy as np
    import torch

    theirs = {name: torch.from_numpy(value) for name, value in arrays(np).items()}
    return {"f": torch, "norm": torch.linalg.vector_norm, **theirs}


def numpy() -> Names:
    import numpy as np

    return {"f": np, "norm": np.linalg.norm, **arrays(np)}


SETUP = {"gluonish": gluonish, "torch": torch, "numpy": numpy}
AXES = {"all": None, "last": 1, "first": 0}


def folds() -> list[Case]:
    cases = []
    for name in ("sum", "mean", "max", "argmax"):
        for place, axis in AXES.items():
            ours = theirs = f"x.{name}()" if axis is None else f"x.{name}(axis={axis})"
            if name == "max" and axis is not None:
                theirs = f"f.amax(x, {axis})"
            cases.append(Case(f"{name}_10m_{place}", {"gluonish": ours, "torch": theirs, "numpy": ours}, target=1.0))
    for place, axis in AXES.items():
        ours = "norm(x)" if axis is None else f"norm(x, axis={axis})"
        theirs = "norm(x)" if axis is None else f"norm(x, dim={axis})"
        cases.append(Case(f"norm_10m_{place}", {"gluonish": ours, "torch": theirs, "numpy": ours}, target=1.0))
    return cases


def running() -> list[Case]:
    statements = {"all": "f.cumsum(flat, 0)", "last": "f.cumsum(x, 1)", "first": "f.cumsum(x, 0)"}
    return [Case(f"cumsum_10m_{place}", dict.fromkeys(SETUP, text), target=1.0) for place, text in statements.items()]


def others() -> list[Case]:
    """Not asked for by name, but as common."""
    same = {"min_all": "x.min()", "prod_last": "x.prod(1)", "any_last": "(x > 9).any(1)", "sum_f16": "short.sum()"}
    cases = [Case(name, dict.fromkeys(SETUP, text)) for name, text in same.items()]
    variance = {"gluonish": "f.var(x, axis=1)", "torch": "f.var(x, 1, correction=0)", "numpy": "f.var(x, axis=1)"}
    return [*cases, Case("var_last", variance)]


CASES = [*folds(), *running(), *others()]
