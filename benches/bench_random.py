"""Ten million random numbers at a time, each call with a fresh result, and smaller ones of the slower distributions."""

from harness import Case, Names

COUNT = 10_000_000
FEW = 1_000_000


def gluonish() -> Names:
    import numpy as np

    import gluonish as mx

    p = mx.nd.array(probabilities(np))
    numbers = mx.nd.zeros((COUNT,))
    return {"r": mx.nd.random, "sync": mx.nd.waitall, "many": COUNT, "few": FEW, "p": p, "numbers": numbers}


def torch() -> Names:
    import numpy as np
    import torch

    return {
        "torch": torch,
        "many": COUNT,
        "few": FEW,
        "p": torch.from_numpy(probabilities(np)),
        "numbers": torch.zeros(COUNT),
        "two": torch.full((FEW,), 2.0),
        "fifty": torch.full((FEW,), 50.0),
    }


def numpy() -> Names:
    import numpy as np

    return {"g": np.random.default_rng(0), "many": COUNT, "few": FEW, "f32": np.float32, "p": probabilities(np)}


def probabilities(np: object) -> object:
    weights = np.arange(1, 1001, dtype="float32")  # type: ignore[attr-defined]
    return weights / weights.sum()


SETUP = {"gluonish": gluonish, "torch": torch, "numpy": numpy}
CASES = [
    Case(
        "normal_10m",
        {
            "gluonish": "r.normal(shape=many)",
            "torch": "torch.randn(many)",
            "numpy": "g.standard_normal(many, dtype=f32)",
        },
        target=1.5,
    ),
    Case(
        "uniform_10m",
        {"gluonish": "r.uniform(shape=many)", "torch": "torch.rand(many)", "numpy": "g.random(many, dtype=f32)"},
        target=1.5,
    ),
    Case("normal_in_place_10m", {"gluonish": "r.normal(out=numbers)", "torch": "numbers.normal_()"}, target=1.5),
    Case("uniform_in_place_10m", {"gluonish": "r.uniform(out=numbers)", "torch": "numbers.uniform_()"}, target=1.5),
    Case(
        "exponential_10m",
        {
            "gluonish": "r.exponential(shape=many)",
            "torch": "numbers.exponential_()",
            "numpy": "g.standard_exponential(many, dtype=f32)",
        },
    ),
    Case(
        "randint_10m",
        {
            "gluonish": "r.randint(0, 1000, shape=many)",
            "torch": "torch.randint(0, 1000, (many,), dtype=torch.int32)",
            "numpy": "g.integers(0, 1000, many, dtype='int32')",
        },
    ),
    Case("shuffle_1m", {"gluonish": "r.shuffle(numbers[:few])", "torch": "numbers[:few][torch.randperm(few)]"}),
    Case(
        "gamma_1m",
        {"gluonish": "r.gamma(2, 1, shape=few)", "torch": "torch._standard_gamma(two)", "numpy": "g.gamma(2, 1, few)"},
    ),
    Case(
        "poisson_1m",
        {"gluonish": "r.poisson(50, shape=few)", "torch": "torch.poisson(fifty)", "numpy": "g.poisson(50, few)"},
    ),
    Case(
        "multinomial_1m_of_1000",
        {
            "gluonish": "r.multinomial(p, shape=few)",
            "torch": "torch.multinomial(p, few, replacement=True)",
            "numpy": "g.choice(1000, few, p=p / p.sum(dtype='float64'))",
        },
    ),
]
