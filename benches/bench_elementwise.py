"""Whole arrays of ten million float32 values, one operation at a time, each with a fresh result."""

from typing import Any

from harness import Case, Mean, Names

COUNT = 10_000_000


def gluonish() -> Names:
    import numpy as np

    import gluonish as mx

    names = {name: mx.np.array(value) for name, value in values(np).items()}
    return {"f": mx.nd, "np": mx.np, "sync": mx.nd.waitall, **names}


def torch() -> Names:
    import numpy as np
    import torch

    names = {name: torch.from_numpy(value) for name, value in values(np).items()}
    return {"f": torch, "nn": torch.nn.functional, **names}


def numpy() -> Names:
    import numpy as np

    np.seterr(all="ignore")
    return {"f": np, **values(np)}


def values(np: Any) -> Names:
    """Of any sign, `a` and `b`; positive `p`; `u` between -1 and 1; `q` above 1; truth values `c`."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(COUNT, np.float32), rng.standard_normal(COUNT, np.float32)
    p, u = rng.random(COUNT, np.float32) * 10 + np.float32(0.01), rng.random(COUNT, np.float32) * 2 - np.float32(1)
    return {"a": a, "b": b, "p": p, "u": u, "q": p + 1, "c": a > b}


SETUP = {"gluonish": gluonish, "torch": torch, "numpy": numpy}

# The same words in every library.
ALIKE = {
    "abs": "f.abs(a)", "negative": "-a", "sign": "f.sign(a)", "ceil": "f.ceil(a)", "floor": "f.floor(a)",
    "trunc": "f.trunc(a)", "square": "f.square(a)", "sqrt": "f.sqrt(p)", "reciprocal": "f.reciprocal(a)",
    "exp": "f.exp(a)", "expm1": "f.expm1(a)", "log": "f.log(p)", "log10": "f.log10(p)", "log2": "f.log2(p)",
    "log1p": "f.log1p(p)", "sin": "f.sin(a)", "cos": "f.cos(a)", "tan": "f.tan(a)", "arcsin": "f.arcsin(u)",
    "arccos": "f.arccos(u)", "arctan": "f.arctan(a)", "sinh": "f.sinh(a)", "cosh": "f.cosh(a)", "tanh": "f.tanh(a)",
    "arcsinh": "f.arcsinh(a)", "arccosh": "f.arccosh(q)", "arctanh": "f.arctanh(u)", "add": "a + b", "sub": "a - b",
    "mul": "a * b", "div": "a / b", "pow": "p ** b", "maximum": "f.maximum(a, b)", "minimum": "f.minimum(a, b)",
    "mod": "a % p", "greater": "a > b", "where": "f.where(c, a, b)", "logical_and": "f.logical_and(a, b)",
    "add_number": "a + 1.5", "mul_number": "a * 2.5", "pow_number": "p ** 1.7", "less_number": "a < 0.5",
    "sum": "a.sum()",
}  # fmt: skip
# Ours, torch's and NumPy's where it has one.
OTHERS = {
    "rint": ("f.rint(a)", "f.round(a)", "f.rint(a)"),
    "rsqrt": ("f.rsqrt(p)", "f.rsqrt(p)", "1 / f.sqrt(p)"),
    "cbrt": ("f.cbrt(a)", None, "f.cbrt(a)"),
    "erf": ("f.erf(a)", "f.erf(a)", None),
    "erfinv": ("f.erfinv(u)", "f.erfinv(u)", None),
    "gamma": ("f.gamma(p)", "f.exp(f.lgamma(p))", None),
    "gammaln": ("f.gammaln(p)", "f.lgamma(p)", None),
    "digamma": ("f.digamma(p)", "f.digamma(p)", None),
    "relu": ("f.relu(a)", "f.relu(a)", "f.maximum(a, 0)"),
    "sigmoid": ("f.sigmoid(a)", "f.sigmoid(a)", "1 / (1 + f.exp(-a))"),
    "gelu": ("f.gelu(a)", "nn.gelu(a)", None),
    "softsign": ("f.softsign(a)", "nn.softsign(a)", None),
    "hypot": ("np.hypot(a, b)", "f.hypot(a, b)", "f.hypot(a, b)"),
    "arctan2": ("np.arctan2(a, b)", "f.arctan2(a, b)", "f.arctan2(a, b)"),
    "clip": ("f.clip(a, -1, 1)", "f.clip(a, -1, 1)", "f.clip(a, -1, 1)"),
}


def case(name: str, sides: dict[str, str]) -> Case:
    return Case(f"{name}_10m", sides, target=1.0)


CASES = [case(name, dict.fromkeys(SETUP, text)) for name, text in ALIKE.items()]
CASES += [
    case(name, {side: text for side, text in zip(SETUP, texts, strict=True) if text}) for name, texts in OTHERS.items()
]
MEANS = [Mean("elementwise_10m", [c.name for c in CASES if c.name != "sum_10m"], target=1.5)]
