"""How many blocks a chain of large queued operations holds at its peak, and how many a tape keeps."""

from pathlib import Path

from harness import Case, Names

COUNT = 10_000_000
BLOCK = 4 * COUNT
LENGTH = 20


def gluonish() -> Names:
    import gluonish as mx

    return {"ones": lambda: mx.nd.ones((COUNT,)), "warm": lambda: mx.nd.ones((4,)) + 1.0, "sync": mx.nd.waitall}


def torch() -> Names:
    import torch

    return {"ones": lambda: torch.ones(COUNT), "warm": lambda: torch.ones(4) + 1.0, "sync": lambda: None}


def status(field: str) -> int:
    """Bytes, from the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def peak_blocks(names: Names) -> float:
    """Peak of resident memory over what was resident before, in blocks of one array."""
    names["warm"]()
    names["sync"]()
    before = status("VmRSS")
    x = names["ones"]()
    for _ in range(LENGTH):
        x = x + 1.0
    names["sync"]()
    return (status("VmHWM") - before) / BLOCK


def kept_blocks(_: Names) -> float:
    """What the tape of three operations keeps: the result of tanh, which is all that gelu keeps, and of softmax."""
    import gluonish as mx

    x = mx.nd.ones((COUNT // 1000, 1000))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.softmax(mx.nd.gelu(mx.nd.tanh(x)))
    return mx._core.kept_bytes(y) / BLOCK


SETUP = {"gluonish": gluonish, "torch": torch}
# A twentieth of a block for what the libraries themselves touch meanwhile.
CASES = [
    Case("chain_of_40MB", dict.fromkeys(SETUP, peak_blocks), unit="blocks", limit=3.05),
    Case("tape_of_tanh_gelu_softmax", {"gluonish": kept_blocks}, unit="blocks", limit=2.0),
]
