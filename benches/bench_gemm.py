"""Matrix products in float32, each with a fresh result: whole matrices, layers of small networks, a transformer's.

Each is timed twice: on as many threads as the run is told, and on one. The peer is Intel's library, which torch calls.
"""

from typing import Any, NamedTuple

from harness import Case, Mean, Names, Prepared, Timer, compile_side


class Shape(NamedTuple):
    """(m, k) times (k, n); an operand marked T is stored transposed."""

    name: str
    m: int
    n: int
    k: int
    form: str


SHAPES = [
    Shape("square_1024", 1024, 1024, 1024, "NN"),
    Shape("square_1024", 1024, 1024, 1024, "NT"),
    Shape("square_1024", 1024, 1024, 1024, "TN"),
    Shape("square_2048", 2048, 2048, 2048, "NN"),
    Shape("mlp1_forward", 64, 128, 784, "NT"),
    Shape("mlp1_data_grad", 64, 784, 128, "NN"),
    Shape("mlp1_weight_grad", 128, 784, 64, "TN"),
    Shape("mlp2_forward", 64, 64, 128, "NT"),
    Shape("mlp2_data_grad", 64, 128, 64, "NN"),
    Shape("mlp2_weight_grad", 64, 128, 64, "TN"),
    Shape("mlp3_forward", 64, 10, 64, "NT"),
    Shape("mlp3_data_grad", 64, 64, 10, "NN"),
    Shape("mlp3_weight_grad", 10, 64, 64, "TN"),
    Shape("lstm", 20, 800, 200, "NN"),
    Shape("lstm", 20, 800, 200, "NT"),
    Shape("transformer_256", 1024, 256, 256, "NT"),
    Shape("transformer_512", 1024, 512, 256, "NT"),
    Shape("transformer_1024", 1024, 1024, 256, "NT"),
    Shape("transformer_1024", 1024, 1024, 256, "NN"),
    Shape("transformer_weight_grad", 1024, 256, 1024, "TN"),
    Shape("attention_scores", 256, 256, 64, "NT"),
    Shape("odd", 197, 193, 201, "NN"),
    Shape("vector", 1, 4096, 1024, "NN"),
    Shape("vector", 1, 4096, 1024, "NT"),
]


def operands() -> list[tuple[Any, Any]]:
    """Every shape's two matrices, as they are stored."""
    import numpy as np

    rng = np.random.default_rng(0)

    def matrix(rows: int, cols: int, transposed: bool) -> Any:
        return rng.standard_normal((cols, rows) if transposed else (rows, cols), np.float32)

    return [(matrix(s.m, s.k, s.form[0] == "T"), matrix(s.k, s.n, s.form[1] == "T")) for s in SHAPES]


def gluonish() -> Names:
    import gluonish as mx

    ops = [(mx.nd.array(a), mx.nd.array(b)) for a, b in operands()]
    return {"dot": mx.nd.dot, "sync": mx.nd.waitall, "ops": ops, "set_threads": mx.engine.set_num_threads}


def torch() -> Names:
    import torch

    ops = [(torch.from_numpy(a), torch.from_numpy(b)) for a, b in operands()]
    return {"mm": torch.mm, "ops": ops, "set_threads": torch.set_num_threads}


def statements(index: int, shape: Shape) -> dict[str, str]:
    left, right = (form == "T" for form in shape.form)
    plain = f"ops[{index}][0]{'.T' * left}", f"ops[{index}][1]{'.T' * right}"
    return {
        "gluonish": f"dot(*ops[{index}], transpose_a={left}, transpose_b={right})",
        "torch": f"mm({plain[0]}, {plain[1]})",
    }


def on_one_thread(statement: str) -> Prepared:
    """Seconds of a statement on one thread; the cases that run before it are through."""

    def make(names: Names) -> Timer:
        names["set_threads"](1)
        return Timer(compile_side(statement, names))

    return Prepared(make)


def alone(case: Case) -> Case:
    """The same case on one thread."""
    sides = {side: on_one_thread(s) for side, s in case.sides.items() if isinstance(s, str)}
    return Case(f"{case.name}_1", sides, target=case.target)


SETUP = {"gluonish": gluonish, "torch": torch}
SHARED = [Case(f"{s.name}_{s.form}", statements(i, s), target=0.93) for i, s in enumerate(SHAPES)]
ALONE = [alone(case) for case in SHARED]
CASES = SHARED + ALONE
MEANS = [
    Mean("products", [c.name for c in SHARED], target=1.15),
    Mean("products on one thread", [c.name for c in ALONE], target=1.0),
]
