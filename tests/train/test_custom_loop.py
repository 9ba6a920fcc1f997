"""Training that was stopped goes on as if it had not been, and ends with the parameters that were best."""

import numpy as np

import gluonish as mx

EPOCHS = 4


def weights(loop):
    return [parameter.data().asnumpy() for parameter in loop.net.parameters()]


def run(custom_loop, folder, stops):
    """A loop that is made anew, and goes on from its files, after each of the epochs in `stops`."""
    folder.mkdir()
    train, valid, _ = custom_loop.data()
    lines = []
    for end in stops:
        mx.random.seed(1)
        loop = custom_loop.Loop(folder, EPOCHS * (len(train[0]) // custom_loop.BATCH))
        loop.load()
        lines += custom_loop.run(loop, train, valid, end)
    return loop, lines


def test_a_run_that_was_stopped_goes_on_exactly(example, tmp_path):
    custom_loop = example("custom_loop")
    whole, lines = run(custom_loop, tmp_path / "whole", [EPOCHS])
    parts, others = run(custom_loop, tmp_path / "parts", [1, 3, EPOCHS])
    assert len(lines) == EPOCHS
    assert others == lines
    for a, b in zip(weights(whole), weights(parts), strict=True):
        np.testing.assert_array_equal(a, b)


def test_it_learns_and_keeps_the_best(example, tmp_path):
    custom_loop = example("custom_loop")
    loop, _ = run(custom_loop, tmp_path / "run", [EPOCHS])
    _, valid, (unseen, answers) = custom_loop.data()
    loop.net.load_parameters(tmp_path / "run" / "best.safetensors")
    assert float(loop.loss(loop.net(valid[0]), valid[1]).mean()) == loop.best
    assert float((loop.net(unseen).argmax(axis=1) == answers).mean()) > 0.9


def test_gradients_of_parts_are_those_of_the_batch(example, tmp_path):
    """Clipping sees the norm of the whole batch's mean gradient."""
    custom_loop = example("custom_loop")
    loop = custom_loop.Loop(tmp_path, 10)
    (x, y), _, _ = custom_loop.data()
    x, y = x[: custom_loop.BATCH], y[: custom_loop.BATCH]
    loop.net(x)
    with mx.autograd.record():
        losses = loop.loss(loop.net(x), y)
    losses.backward()  # of their sum
    squares = sum((p.grad().asnumpy().astype("float64") ** 2).sum() for p in loop.net.parameters())
    loop.net.zero_grad()
    np.testing.assert_allclose(loop.step(x, y), np.sqrt(squares) / len(x), rtol=1e-5)
    assert all((p.grad() == 0).all() for p in loop.net.parameters())
