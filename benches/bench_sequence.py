"""Recurrent layers and attention, forward and backward, against torch; and the memory that attention takes.

Layers go through 35 steps of 20 sequences. Attention is causal neither here nor there: batch 8, 4 heads of width 64.
"""

import resource

from harness import Case, Names

STEPS, BATCH = 35, 20
WIDTHS = (200, 650)
LENGTHS = (128, 1024)
LONG = 8192
MODES = {"lstm": 4, "gru": 3}


def gluonish() -> Names:
    import gluonish as mx

    names: Names = {"mx": mx, "sync": mx.nd.waitall}
    for mode, gates in MODES.items():
        for n in WIDTHS:
            shapes = [(STEPS, BATCH, n), (gates * n * (2 * n + 2),), (1, BATCH, n)]
            arrays = [mx.nd.random.normal(scale=0.1, shape=shape) for shape in shapes]
            arrays += [mx.nd.zeros((1, BATCH, n))] if mode == "lstm" else []
            for x in arrays[:2]:
                x.attach_grad()
            head = mx.nd.random.normal(shape=(STEPS, BATCH, n))
            names[f"{mode}{n}"] = (arrays, {"state_size": n, "num_layers": 1, "mode": mode}, head)
    for length in LENGTHS:
        names[f"attention{length}"] = [mx.nd.random.normal(shape=(8, 4, length, 64)) for _ in range(4)]
        for x in names[f"attention{length}"][:3]:
            x.attach_grad()
    return names


def torch() -> Names:
    import torch

    names: Names = {"torch": torch}
    for mode in MODES:
        for n in WIDTHS:
            net = getattr(torch.nn, mode.upper())(n, n)
            x = torch.randn(STEPS, BATCH, n, requires_grad=True)
            names[f"{mode}{n}"] = (net, x, torch.randn(STEPS, BATCH, n))
    for length in LENGTHS:
        arrays = [torch.randn(8, 4, length, 64) for _ in range(4)]
        for x in arrays[:3]:
            x.requires_grad_()
        names[f"attention{length}"] = arrays
    return names


def layer(mode: str, n: int) -> Case:
    ours = f"""
        inputs, attrs, head = {mode}{n}
        with mx.autograd.record():
            y = mx.nd.RNN(*inputs, **attrs)
        y.backward(head)
    """
    theirs = f"""
        net, x, head = {mode}{n}
        net.zero_grad()
        x.grad = None
        net(x)[0].backward(head)
    """
    return Case(f"{mode}_{n}", {"gluonish": ours, "torch": theirs}, target=1.3)


def attention(length: int) -> Case:
    ours = f"""
        *inputs, head = attention{length}
        with mx.autograd.record():
            y = mx.nd.contrib.scaled_dot_product_attention(*inputs)
        y.backward(head)
    """
    theirs = f"""
        *inputs, head = attention{length}
        for x in inputs:
            x.grad = None
        torch.nn.functional.scaled_dot_product_attention(*inputs).backward(head)
    """
    return Case(f"attention_{length}", {"gluonish": ours, "torch": theirs}, target=1.2)


def long_in_ours(names: Names) -> float:
    """Megabytes that a long sequence adds to the peak of the process: its scores alone would be 1 GB."""
    mx = names["mx"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs = [mx.nd.random.normal(shape=(1, 4, LONG, 64)) for _ in range(3)]
    for x in inputs:
        x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.contrib.scaled_dot_product_attention(*inputs)
    y.backward()
    mx.nd.waitall()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def long_in_torch(names: Names) -> float:
    torch = names["torch"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inputs = [torch.randn(1, 4, LONG, 64, requires_grad=True) for _ in range(3)]
    torch.nn.functional.scaled_dot_product_attention(*inputs).sum().backward()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


SETUP = {"gluonish": gluonish, "torch": torch}
CASES = [
    *(layer(mode, n) for mode in MODES for n in WIDTHS),
    *(attention(length) for length in LENGTHS),
    Case("attention_8192_memory", {"gluonish": long_in_ours, "torch": long_in_torch}, unit="MB", limit=150),
]
