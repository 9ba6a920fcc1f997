"""Decompositions and systems of equations: one matrix of 64 and of 512 rows, and batches of small ones.

The peer is NumPy, which calls OpenBLAS.
"""

from typing import Any

from harness import Case, Names

SIZES = (64, 512)
DTYPES = ("float32", "float64")
# At least as fast as LAPACK's threads on a large matrix, and clearly faster where calls and small blocks count.
TARGETS = {64: 1.5, 512: 1.0}


def operands() -> dict[str, Any]:
    """General and symmetric positive definite matrices, by name."""
    import numpy as np

    rng = np.random.default_rng(0)
    made: dict[str, Any] = {}
    for dtype in DTYPES:
        for n in SIZES:
            a = rng.uniform(-0.5, 0.5, (n, n))
            made[f"a_{n}_{dtype}"] = a.astype(dtype)
            made[f"spd_{n}_{dtype}"] = (a @ a.T + np.eye(n)).astype(dtype)
            made[f"b_{n}_{dtype}"] = rng.uniform(-0.5, 0.5, (n, n)).astype(dtype)
    small = rng.uniform(-0.5, 0.5, (1000, 8, 8)) + 2 * np.eye(8)
    made["small"] = small.astype("float32")
    made["small_spd"] = (small @ small.transpose(0, 2, 1)).astype("float32")
    made["rows"] = rng.uniform(-1, 1, (256, 1024)).astype("float32")
    made["q"], made["k"] = rng.uniform(-1, 1, (2, 32, 128, 64)).astype("float32")
    return made


def gluonish() -> Names:
    import gluonish as mx

    arrays = {name: mx.np.array(x) for name, x in operands().items()}
    return {**arrays, "la": mx.np.linalg, "np": mx.np, "nd": mx.nd, "sync": mx.nd.waitall}


def numpy() -> Names:
    import numpy as np

    return {**operands(), "la": np.linalg, "np": np}


def both(statement: str) -> dict[str, str]:
    return {"gluonish": statement, "numpy": statement}


def decompositions() -> list[Case]:
    cases = []
    for dtype in DTYPES:
        for n in SIZES:
            tail = f"{n}_{dtype}"
            statements = {
                "solve": f"la.solve(a_{tail}, b_{tail})",
                "cholesky": f"la.cholesky(spd_{tail})",
                "qr": f"la.qr(a_{tail})",
                "svd": f"la.svd(a_{tail}, full_matrices=False)",
                "eigh": f"la.eigh(spd_{tail})",
                "inv": f"la.inv(a_{tail})",
            }
            target = TARGETS[n] if dtype == "float32" else None
            cases += [Case(f"{name}_{tail}", both(s), target=target) for name, s in statements.items()]
    return cases


SETUP = {"gluonish": gluonish, "numpy": numpy}
CASES = [
    *decompositions(),
    Case("solve_1000x8x8", both("la.solve(small, small_spd)")),
    Case("inv_1000x8x8", both("la.inv(small)")),
    Case("cholesky_1000x8x8", both("la.cholesky(small_spd)")),
    Case("eigh_1000x8x8", both("la.eigh(small_spd)")),
    Case("einsum_attention", both("np.einsum('bqd,bkd->bqk', q, k)")),
    Case("fft_256x1024", {"gluonish": "nd.contrib.fft(rows)", "numpy": "np.fft.fft(rows)"}),
]
