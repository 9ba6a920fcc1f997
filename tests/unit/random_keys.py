"""Random arrays and keys of every kind, for NumPy and for us."""

import numpy as np

from gluonish import nd


def make_case(rng):
    """An array with distinct values, and a key that as a rule fits it."""
    shape = tuple(
        int(n) for n in rng.choice([0, 1, 2, 3, 4, 5], rng.integers(1, 5), p=[0.04, 0.16, 0.2, 0.2, 0.2, 0.2])
    )
    x = np.arange(int(np.prod(shape))).reshape(shape)
    if rng.random() < 0.3:
        x = x.transpose(rng.permutation(len(shape)))
    parts, axis = [], 0
    together = _small_shape(rng)
    while axis < x.ndim and rng.random() < 0.85:
        part, axes = _part(rng, x.shape[axis:], together)
        if part is Ellipsis:
            if any(p is Ellipsis for p in parts) and rng.random() < 0.7:
                continue
            axes = min(axes, x.ndim - axis)
        parts.append(part)
        axis += axes
    if rng.random() < 0.03:
        parts.append(0)
    return x, parts[0] if len(parts) == 1 and rng.random() < 0.7 else tuple(parts)


def _small_shape(rng):
    return tuple(int(n) for n in rng.integers(1, 4, rng.integers(1, 3)))


def _part(rng, sizes, together):
    """A part of a key for the first of these axes, and how many of them it takes."""
    n = sizes[0]
    kind = rng.choice(["int", "slice", "all", "dots", "new", "array", "list", "mask", "truth"],
                      p=[0.16, 0.18, 0.08, 0.06, 0.08, 0.24, 0.06, 0.12, 0.02])  # fmt: skip
    low, high = -n, max(n, 1)
    if rng.random() < 0.01:
        high += 2
    match kind:
        case "int":
            return int(rng.integers(low, high)), 1
        case "slice":
            bounds = [None if rng.random() < 0.3 else int(v) for v in rng.integers(-n - 2, n + 3, 2)]
            return slice(*bounds, int(rng.choice([-2, -1, 1, 2])) if rng.random() < 0.5 else None), 1
        case "all":
            return slice(None), 1
        case "dots":
            return Ellipsis, int(rng.integers(0, len(sizes) + 1))
        case "new":
            return None, 0
        case "array" | "list":
            shape = together if rng.random() < 0.85 else _small_shape(rng)
            shape = tuple(1 if rng.random() < 0.2 else v for v in shape)
            if rng.random() < 0.04:
                shape = (0,)
            part = rng.integers(low, high, shape) if n or rng.random() < 0.1 else np.zeros(0, int)
            return part.tolist() if kind == "list" and part.size else part, 1
        case "mask":
            axes = int(rng.integers(1, len(sizes) + 1))
            part = rng.random(sizes[:axes]) < rng.choice([0.3, 0.7])
            if rng.random() < 0.02:
                part = np.append(part.reshape(-1), True)
                axes = 1
            if rng.random() < 0.04:  # an axis of size 0 fits any other
                part = part.take([], axis=int(rng.integers(axes)))
            return part, axes
    return bool(rng.integers(2)), 0


def ours(key):
    """The same key; its arrays become ours by turns of kind: NDArrays, floats too, NumPy's, lists."""
    if isinstance(key, tuple):
        return tuple(map(ours, key))
    if not isinstance(key, np.ndarray):
        return key
    match (key.size + key.ndim) % 4:
        case 0:
            return nd.array(key, dtype=key.dtype.name)
        case 1:
            return nd.array(key, dtype="bool" if key.dtype == bool else "float32")
        case 2:
            return nd.array(key, dtype="bool" if key.dtype == bool else "int32")
    return key


def show(key):
    parts = key if isinstance(key, tuple) else (key,)
    return ", ".join(f"{p.dtype.kind}{p.shape}{p.tolist()}" if isinstance(p, np.ndarray) else repr(p) for p in parts)
