"""Samples of every op: a line says what it is called with and what NumPy answers. The drivers in `ops` do the rest:
types, layouts, gradients, engines, threads, instruction sets, `out=`, errors. An op without a line fails the suite."""

from ops.sampling import SAMPLES, Sample

from samples import (  # noqa: F401 - they add theirs
    activation,
    attention,
    bitwise,
    contrib,
    conv,
    conv_blocked,
    ctc,
    dense,
    dropout,
    elementwise,
    fft,
    linalg,
    losses,
    matrices,
    movement,
    norm,
    numpy_only,
    optimizer_steps,
    optimizers,
    order,
    parts,
    pooling,
    positions,
    random,
    recurrent,
    reductions,
    repeats,
    resampling,
    sequences,
    softmax,
    special,
)

__all__ = ["SAMPLES", "Sample"]
