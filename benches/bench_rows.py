"""The row-wise ops of networks, at sizes that networks have: forward, and backward of what was recorded.

`*_copies` say how much longer an op takes than a copy that reads and writes as many bytes as it must, of arrays so long
that no cache holds them: some machines keep 96 MB.
"""

import math
from collections.abc import Callable

from harness import Case, Mean, Names, Prepared, Timer, compile_side

IMAGE = (32, 64, 56, 56)
LARGE = (8, 64, 112, 112)
ROWS = (4096, 1024)
LONG = 256 << 20  # bytes
CLASSES = (2048, 1000)
SCORES = (8, 4, 256, 256)
TABLE, TOKENS = (30000, 256), (64, 128)
LEAVES = {
    "image": IMAGE, "large": LARGE, "rows": ROWS, "classes": CLASSES, "scores": SCORES, "table": TABLE,
    "gamma": IMAGE[1:2], "beta": IMAGE[1:2], "row_gamma": ROWS[1:], "row_beta": ROWS[1:],
}  # fmt: skip
# Of each op: what it is made of, and how the libraries write it.
OPS = {
    "max_pool_3x3": (["large"], "nd.Pooling(large, kernel=(3, 3), stride=(2, 2), pad=(1, 1))",
                     "F.max_pool2d(large, 3, 2, 1)"),
    "max_pool_2x2": (["image"], "nd.Pooling(image, kernel=(2, 2), stride=(2, 2))", "F.max_pool2d(image, 2, 2)"),
    "avg_pool_3x3": (["image"], "nd.Pooling(image, kernel=(3, 3), pad=(1, 1), pool_type='avg')",
                     "F.avg_pool2d(image, 3, 1, 1)"),
    "avg_pool_2x2": (["image"], "nd.Pooling(image, kernel=(2, 2), stride=(2, 2), pool_type='avg')",
                     "F.avg_pool2d(image, 2, 2)"),
    "batch_norm_infer": (["image", "gamma", "beta"],
                         "nd.BatchNorm(image, gamma, beta, mean, var, fix_gamma=False, use_global_stats=True)",
                         "F.batch_norm(image, mean, var, gamma, beta, eps=1e-3)"),
    "batch_norm_train": (["image", "gamma", "beta"], "nd.BatchNorm(image, gamma, beta, mean, var, fix_gamma=False)",
                         "F.batch_norm(image, mean, var, gamma, beta, training=True, eps=1e-3)"),
    "layer_norm": (["rows", "row_gamma", "row_beta"], "nd.LayerNorm(rows, row_gamma, row_beta)",
                   "F.layer_norm(rows, rows.shape[1:], row_gamma, row_beta)"),
    "softmax_scores": (["scores"], "nd.softmax(scores)", "F.softmax(scores, -1)"),
    "softmax_ce": (["classes"], "invoke('_softmax_cross_entropy', [classes, labels], {})",
                   "F.cross_entropy(classes, labels, reduction='none')"),
    "dropout": (["rows"], "nd.Dropout(rows, p=0.1)", "F.dropout(rows, 0.1)"),
    "gelu_rows": (["rows"], "nd.LeakyReLU(rows, act_type='gelu')", "F.gelu(rows)"),
    "embedding": (["table"], f"nd.Embedding(tokens, table, input_dim={TABLE[0]}, output_dim={TABLE[1]})",
                  "F.embedding(tokens, table)"),
}  # fmt: skip


def gluonish() -> Names:
    import gluonish as mx
    from gluonish import _core as core

    names: Names = {"nd": mx.nd, "invoke": core.invoke, "record": mx.autograd.record}
    names |= {name: mx.nd.random.normal(shape=shape) for name, shape in LEAVES.items()}
    names["labels"] = mx.nd.random.randint(0, CLASSES[1], shape=CLASSES[:1])
    names["tokens"] = mx.nd.random.randint(0, TABLE[0], shape=TOKENS)
    names |= {"mean": mx.nd.zeros(IMAGE[1]), "var": mx.nd.ones(IMAGE[1])}
    core.set_training(True)
    for name, (leaves, ours, _) in OPS.items():
        for leaf in leaves:
            names[leaf].attach_grad()
        with mx.autograd.record():
            y = eval(ours, names)
        names |= {f"{name}_y": y, f"{name}_dy": mx.nd.ones(y.shape)}
    return {**names, "sync": mx.nd.waitall}


def torch() -> Names:
    import torch
    from torch.nn import functional

    names: Names = {"F": functional, "grad": torch.autograd.grad, "enabled": torch.enable_grad}
    names |= {name: torch.randn(*shape, requires_grad=True) for name, shape in LEAVES.items()}
    names |= {"labels": torch.randint(0, CLASSES[1], CLASSES[:1]), "tokens": torch.randint(0, TABLE[0], TOKENS)}
    names |= {"mean": torch.zeros(IMAGE[1]), "var": torch.ones(IMAGE[1])}
    for name, (leaves, _, theirs) in OPS.items():
        y = eval(theirs, names)
        names |= {f"{name}_y": y, f"{name}_dy": torch.ones_like(y), f"{name}_x": [names[leaf] for leaf in leaves]}
    torch.set_grad_enabled(False)
    return names


def copies(statement: str, of: str, passes: float) -> Prepared:
    """The time of a statement over that of a copy of as many bytes: `passes` reads or writes of an array."""

    def make(names: Names) -> Callable[[], float]:
        nd = names["nd"]
        times = math.ceil(LONG / (4 * names[of].size))
        long = {name: nd.concat(*[names[name].detach()] * times, dim=0) for name in (of, "labels")}
        names = {**names, **long, "spare": long[of].copy()}
        copy = Timer(compile_side(f"nd.identity({of}, out=spare)", names))
        itself = Timer(compile_side(statement, names))
        return lambda: itself() / (copy() * passes / 2)

    return Prepared(make)


def backward(name: str) -> Case:
    ours = f"{name}_y.backward({name}_dy, retain_graph=True)"
    theirs = f"grad({name}_y, {name}_x, {name}_dy, retain_graph=True)"
    return Case(f"{name}_backward", {"gluonish": ours, "torch": theirs}, target=None if name in SEARCHED else 0.9)


def both(name: str) -> Case:
    """Forward and backward: which of the two looks for the largest values is up to the library."""
    _, ours, theirs = OPS[name]
    ours = f"with record(): y = {ours}\ny.backward({name}_dy)"
    theirs = f"with enabled(): y = {theirs}\ngrad(y, {name}_x, {name}_dy)"
    return Case(f"{name}_both", {"gluonish": ours, "torch": theirs}, target=0.9)


SETUP = {"gluonish": gluonish, "torch": torch}
# We look for the largest values when the gradient is asked for, torch keeps where they were: only both compare.
SEARCHED = ("max_pool_3x3", "max_pool_2x2")
FORWARD = [Case(name, {"gluonish": ours, "torch": theirs}, target=0.9) for name, (_, ours, theirs) in OPS.items()]
BACKWARD = [backward(name) for name in OPS]
BOTH = [both(name) for name in SEARCHED]
COPIES = [
    Case(f"{name}_copies", {"gluonish": copies(OPS[name][1], of, passes)}, unit="copies", limit=1.5)
    for name, of, passes in (
        ("batch_norm_infer", "image", 2), ("batch_norm_train", "image", 3), ("layer_norm", "rows", 2),
        ("softmax_scores", "scores", 2), ("softmax_ce", "classes", 1), ("dropout", "rows", 2), ("gelu_rows", "rows", 2),
        ("max_pool_3x3", "large", 1.25), ("avg_pool_3x3", "image", 2),
    )
]  # fmt: skip
CASES = FORWARD + BACKWARD + BOTH + COPIES
MEANS = [Mean("rows", [c.name for c in FORWARD + BACKWARD], target=1.3)]
