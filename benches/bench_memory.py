"""How many blocks a chain of large queued operations holds at its peak."""

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


SETUP = {"gluonish": gluonish, "torch": torch}
# A twentieth of a block for what the libraries themselves touch meanwhile.
CASES = [Case("chain_of_40MB", dict.fromkeys(SETUP, peak_blocks), unit="blocks", limit=3.05)]
