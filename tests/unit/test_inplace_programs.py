"""Random programs of writes in place: the gradient of finite differences, or refused; never silently wrong."""

import numpy as np
import pytest
from helpers import array, backward, core, op, record, variable


class Program:
    """A random program of writes and reads on a few handles, many of which share memory. Run with recording it gives
    gradients, without it the values from which finite differences give them."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.steps = [
            (int(rng.integers(13)), int(rng.integers(100)), int(rng.integers(100)))
            for _ in range(int(rng.integers(3, 9)))
        ]
        self.end = int(rng.integers(100))

    def run(self, x):
        handles = [x * 1.5, op("tanh", x), array([0.5, -0.4, 0.3, 0.2], "float64")]
        for what, i, j in self.steps:
            a, b = handles[i % len(handles)], handles[j % len(handles)]
            n = min(len(a), len(b))
            match what:
                case 0:
                    handles.append(a[:n] * b[:n])
                case 1:
                    handles.append(op("tanh", a) + 1)
                case 2:
                    handles.append(a[0 : max(n // 2, 1)])
                case 3:
                    handles.append(a[::-1])
                case 4:
                    a += b[:1]
                case 5:
                    a *= 0.5
                case 6:
                    a[:n] = b[:n] * 2
                case 7:
                    a[0] = b[n - 1]
                case 8:
                    a[:n] *= b[:n]
                case 9:
                    handles.append(op("reshape", a, shape=(-1, 1))[:, 0])
                case 10:
                    op("tanh", b[:n], out=a[:n])
                case 11:
                    a[:n] = a[:n][::-1]
                case 12:
                    a *= a
        last = handles[self.end % len(handles)]
        return (last * last).sum() + (handles[-1] * 0.3).sum()


@pytest.mark.parametrize("block", range(8))
def test_random_programs(block):
    """Right against finite differences, or refused."""
    right = 0
    for seed in range(block * 300, block * 300 + 300):
        program = Program(seed)
        point = np.array([0.9, -0.7, 0.4, 0.2])
        direction = np.random.default_rng(seed).normal(size=4)
        ends = [core.item(program.run(array(point + s * 1e-6 * direction, "float64"))) for s in (1, -1)]
        want = (ends[0] - ends[1]) / 2e-6
        x = variable(point, "float64")
        try:
            with record():
                y = program.run(x)
            backward(y)
        except core.GradientError:
            continue
        right += 1
        got = float(np.dot(core.to_numpy(x.grad), direction))
        assert abs(got - want) < 1e-6 * (1 + abs(want)), f"seed {seed}: {program.steps}, end {program.end}"
    assert right > 15
