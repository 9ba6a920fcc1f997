"""Values picked by position: rows, single values, masks; and their way back. Results are fresh memory."""

from typing import Any

from harness import Case, Names

ROWS, WIDTH = 100_000, 100
COUNT = 10_000_000
CLASSES = 1_000


def arrays(np: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, WIDTH), np.float32)
    flat = x.reshape(-1)
    return {
        "x": x, "flat": flat, "mask": flat > 0.5, "row_mask": x[:, 0] > 0, "row": x[0], "column": x[:, :1].copy(),
        "c": x > 0, "rows": rng.integers(0, ROWS, ROWS), "columns": rng.integers(0, WIDTH, (ROWS, WIDTH)),
        "places": rng.integers(0, COUNT, COUNT // 10), "order": rng.permutation(ROWS),
        "labels": rng.integers(0, CLASSES, COUNT // CLASSES), "i": rng.integers(0, ROWS, COUNT // 10),
        "j": rng.integers(0, WIDTH, COUNT // 10),
    }  # fmt: skip


def gluonish() -> Names:
    import numpy as np

    import gluonish as mx

    ours = {name: mx.np.array(value) for name, value in arrays(np).items()}
    both = mx.np.stack([ours["i"], ours["j"]])
    zeros = mx.nd.zeros((ROWS, WIDTH))
    sync = mx.nd.waitall
    return {"f": mx.np, "nd": mx.nd, "sync": sync, "classes": CLASSES, "both": both, "zeros": zeros, **ours}


def torch() -> Names:
    import numpy as np
    import torch

    theirs = {name: torch.from_numpy(value) for name, value in arrays(np).items()}
    one_hot = torch.nn.functional.one_hot
    return {"f": torch, "one_hot": one_hot, "classes": CLASSES, "zeros": torch.zeros(ROWS, WIDTH), **theirs}


def numpy() -> Names:
    import numpy as np

    return {"f": np, "classes": CLASSES, "zeros": np.zeros((ROWS, WIDTH), np.float32), **arrays(np)}


SETUP = {"gluonish": gluonish, "torch": torch, "numpy": numpy}
# Statements for gluonish, torch and NumPy; one string serves all.
STATEMENTS: dict[str, str | tuple[str, str, str]] = {
    "take_rows": ("f.take(x, rows, 0)", "f.index_select(x, 0, rows)", "f.take(x, rows, 0)"),
    "take_rows_by_key": "x[rows]",
    "take_values": ("f.take(flat, places)", "f.take(flat, places)", "f.take(flat, places)"),
    "take_columns": ("f.take(x, columns[0], 1)", "f.index_select(x, 1, columns[0])", "f.take(x, columns[0], 1)"),
    "gather_along": ("f.take_along_axis(x, columns, 1)", "f.gather(x, 1, columns)",
                     "f.take_along_axis(x, columns, 1)"),
    "gather_nd": ("nd.gather_nd(x, both)", "x[i, j]", "x[i, j]"),
    "scatter_nd": (
        "nd.scatter_nd(row.size * nd.ones(i.shape), both, shape=(100_000, 100))",
        "o = f.zeros(100_000, 100)\no[i, j] = row.numel() * f.ones(i.shape)",
        "o = f.zeros((100_000, 100), 'float32')\no[i, j] = row.size * f.ones(i.shape, 'float32')",
    ),
    "scatter_rows": "zeros[order] = x",
    "scatter_values": "zeros[i, j] = 1.5",
    "one_hot": ("nd.one_hot(labels, classes)", "one_hot(labels, classes).float()",
                "o = f.zeros((labels.size, classes), 'float32')\no[f.arange(labels.size), labels] = 1"),
    "mask_values": "flat[mask]",
    "mask_rows": "x[row_mask]",
    "mask_assign": "flat[mask] = 0.75",
    "nonzero": ("f.nonzero(mask)", "f.nonzero(mask, as_tuple=True)", "f.nonzero(mask)"),
    "where_row": "f.where(c, x, row)",
    "where_column": "f.where(c, column, x)",
    "where_number": "f.where(c, x, 0.5)",
}  # fmt: skip


def sides(text: str | tuple[str, str, str]) -> dict[str, str]:
    return dict(zip(SETUP, (text,) * 3 if isinstance(text, str) else text, strict=True))


CASES = [Case(name, sides(text), target=1.0) for name, text in STATEMENTS.items()]
