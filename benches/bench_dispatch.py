"""What one call costs when there is next to nothing to compute."""

from harness import Case, Names


def gluonish() -> Names:
    import gluonish as mx

    x4 = mx.nd.ones((4,))
    leaf = mx.nd.ones((4,))
    leaf.attach_grad()
    return {
        "mx": mx,
        "sync": mx.nd.waitall,
        "x4": x4,
        "a4": x4 * 1.0001,
        "leaf": leaf,
        "x": mx.nd.array([[1, 2, 3], [4, 5, 6]]),
        "row": mx.nd.array([1, 2, 3]),
    }


def torch() -> Names:
    import torch

    x4 = torch.ones(4)
    return {
        "torch": torch,
        "x4": x4,
        "a4": x4 * 1.0001,
        "leaf": torch.ones(4, requires_grad=True),
        "x": torch.tensor([[1.0, 2, 3], [4, 5, 6]]),
        "row": torch.tensor([1.0, 2, 3]),
    }


def numpy() -> Names:
    import numpy as np

    x4 = np.ones(4, np.float32)
    return {
        "np": np,
        "x4": x4,
        "a4": x4 * np.float32(1.0001),
        "x": np.array([[1, 2, 3], [4, 5, 6]], np.float32),
        "row": np.array([1, 2, 3], np.float32),
    }


SETUP = {"gluonish": gluonish, "torch": torch, "numpy": numpy}

CHAIN = """
y = x4
for _ in range(1000):
    y = y * a4
"""

# Both inputs of every product want a gradient; `del` frees what backward left of the graph.
RECORDED = """
with mx.autograd.record():
    y = leaf
    for _ in range(1000):
        y = y * leaf
    loss = y.sum()
loss.backward()
leaf.grad.wait_to_read()
del y, loss
"""

RECORDED_TORCH = """
leaf.grad = None
y = leaf
for _ in range(1000):
    y = y * leaf
loss = y.sum()
loss.backward()
del y, loss
"""


def call(name: str, ours: str, torch: str, numpy: str | None = None, target: float = 4.0) -> Case:
    """One call on six values, as each library spells it."""
    sides = {"gluonish": ours, "torch": torch} | ({"numpy": numpy} if numpy else {})
    return Case(name, sides, target=target)


CASES = [
    Case("dispatch_1000", {"gluonish": CHAIN, "torch": CHAIN}, ops=1000, target=6.0, limit=140e-9),
    Case("dispatch_grad_1000", {"gluonish": RECORDED, "torch": RECORDED_TORCH}, ops=1000, target=6.0, limit=650e-9),
    call("operator", "x + x", "x + x", "x + x"),
    call("broadcast", "x + row", "x + row", "x + row"),
    call("scalar", "x * 2.0", "x * 2.0", "x * 2.0"),
    call("scalar_left", "1.0 - x", "1.0 - x", "1.0 - x"),
    call("compare", "x > row", "x > row", "x > row"),
    call("function", "mx.nd.exp(x)", "torch.exp(x)", "np.exp(x)"),
    call("sum_all", "x.sum()", "x.sum()", "x.sum()"),
    call("sum_axis", "x.sum(axis=0)", "x.sum(dim=0)", "x.sum(axis=0)"),
    call(
        "sum_keywords",
        "mx.nd.sum(x, axis=1, keepdims=True)",
        "torch.sum(x, dim=1, keepdim=True)",
        "np.sum(x, axis=1, keepdims=True)",
    ),
    call(
        "max_keywords",
        "mx.nd.max(x, axis=1, keepdims=True)",
        "torch.amax(x, dim=1, keepdim=True)",
        "np.max(x, axis=1, keepdims=True)",
    ),
    call(
        "mean_keywords", "x.mean(axis=1, keepdims=True)", "x.mean(dim=1, keepdim=True)", "x.mean(axis=1, keepdims=True)"
    ),
    call("softmax", "mx.nd.softmax(x, axis=-1)", "torch.softmax(x, dim=-1)"),
    call("view_slice", "x4[1:3]", "x4[1:3]", "x4[1:3]", target=1.0),
    call("view_row", "x[1]", "x[1]", "x[1]", target=1.0),
    call("view_reshape", "x.reshape((3, 2))", "x.reshape((3, 2))", "x.reshape((3, 2))", target=1.0),
    call("view_transpose", "x.T", "x.T", "x.T", target=1.0),
]
