"""Whole arrays of ten million float32 values, one operation at a time, each with a fresh result."""

from typing import Any

from harness import Case, Names

COUNT = 10_000_000


def gluonish() -> Names:
    import numpy as np

    import gluonish as mx

    a, b = values(np)
    return {"f": mx.nd, "sync": mx.nd.waitall, "a": mx.nd.array(a), "b": mx.nd.array(b)}


def torch() -> Names:
    import numpy as np
    import torch

    a, b = values(np)
    return {"f": torch, "a": torch.from_numpy(a), "b": torch.from_numpy(b)}


def numpy() -> Names:
    import numpy as np

    a, b = values(np)
    return {"f": np, "a": a, "b": b}


def values(np: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal(COUNT, np.float32), rng.standard_normal(COUNT, np.float32)


SETUP = {"gluonish": gluonish, "torch": torch, "numpy": numpy}
STATEMENTS = {"add": "a + b", "mul": "a * b", "exp": "f.exp(a)", "tanh": "f.tanh(a)", "sum": "a.sum()"}
CASES = [Case(f"{name}_10m", dict.fromkeys(SETUP, text), target=1.0) for name, text in STATEMENTS.items()]
