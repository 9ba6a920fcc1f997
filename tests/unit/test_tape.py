"""The tape: long chains, what it keeps and frees, repeated passes, higher orders."""

import gc
import threading

import numpy as np
import pytest
from helpers import array, backward, core, gradients, here, numbers, op, record, variable


def in_small_stack(f):
    """Runs `f` in a thread with little stack: recursion over a long chain would overflow it."""
    before = threading.stack_size(512 * 1024)
    try:
        failed = []

        def run():
            try:
                f()
            except BaseException as e:
                failed.append(e)

        t = threading.Thread(target=run)
        t.start()
        t.join()
        assert not failed, failed
    finally:
        threading.stack_size(before)


def chain(x, n, step):
    y = x
    for _ in range(n):
        y = step(y)
    return y


@pytest.mark.parametrize("n", [20_000, 100_000, 400_000])
def test_long_chain(n):
    """No recursion; and a pass that were quadratic would take hours here."""

    def run():
        x = variable([1.0, 2.0])
        with record():
            y = chain(x, n, lambda y: y + 1)
        assert numbers(y) == [n + 1, n + 2]
        backward(y)
        assert numbers(x.grad) == [1, 1]

    in_small_stack(run)


def test_long_chain_that_saves():
    def run():
        x = variable([0.5])
        with record():
            y = chain(x, 100_000, lambda y: op("tanh", y) * 1.0)
        bytes_kept = core.kept_bytes(y)
        assert bytes_kept == 100_000 * 4
        backward(y)
        assert 0 <= numbers(x.grad)[0] < 1e-3
        assert core.kept_bytes(y) == 0

    in_small_stack(run)


def test_long_chain_that_is_dropped():
    def run():
        x = variable([1.0])
        with record():
            y = chain(x, 100_000, lambda y: op("tanh", y))
        del y
        gc.collect()

    in_small_stack(run)


def test_long_chain_with_a_graph_of_its_own():
    x = variable([1.0])
    with record():
        y = chain(x, 5_000, lambda y: y * 1.0)
        (g,) = gradients(y * x, x, create=True)
    backward(g)
    assert numbers(x.grad) == [2]


def test_many_uses_of_one_array():
    x = variable([1.0, 2.0])
    with record():
        y = x * 0
        for _ in range(20_000):
            y = y + x
    backward(y)
    assert numbers(x.grad) == [20_000, 20_000]


def test_many_inputs():
    xs = [variable([float(i)]) for i in range(1000)]
    with record():
        y = op("concat", *xs, dim=0)
        z = y * y
    backward(z)
    assert [numbers(x.grad)[0] for x in xs] == [2.0 * i for i in range(1000)]


N = 1 << 19  # values of an array of two MiB, the step in which large blocks are given out


def held():
    core.wait_all()
    gc.collect()
    return core.memory_stats()["held"]


def test_tape_keeps_what_the_rows_save():
    """tanh saves its result, gelu its input (the same array), softmax its result: two arrays for three ops."""
    x = variable(np.linspace(-1, 1, N).reshape(-1, 512))
    before = held()
    with record():
        a = op("tanh", x)
        b = op("gelu", a)
        c = op("softmax", b)
    assert core.kept_bytes(a) == core.kept_bytes(b) == 4 * N
    assert core.kept_bytes(c) == 8 * N
    assert held() - before == 12 * N
    del a, b
    assert held() - before == 8 * N
    backward(c)
    assert core.kept_bytes(c) == 0
    assert held() - before == 4 * N


def test_nothing_is_kept_for_nothing():
    x, w = variable(np.ones(N)), array(np.ones(N))
    with record():
        y = (x + w) * 3
        assert core.kept_bytes(y) == 0
        z = y * w
        assert core.kept_bytes(z) == 4 * N  # w, for the gradient of y; y itself is not kept, since w has no gradient
    backward(z)
    assert numbers(x.grad)[:2] == [3, 3]


def test_without_recording_nothing_is_kept():
    x = variable(np.ones(N))
    before = held()
    y = chain(x, 10, lambda y: op("tanh", y))
    assert not core.is_tracked(y)
    assert core.kept_bytes(y) == 0
    assert held() - before == 4 * N


def test_memory_is_freed_as_the_pass_goes():
    x = variable(np.ones(N))
    with record():
        y = chain(x, 24, lambda y: op("tanh", y))
    before = held()
    core.memory_reset_peak()
    backward(y)
    core.wait_all()
    assert core.memory_stats()["peak"] - before <= 6 * 4 * N  # gradients in flight, not one for each of 24 ops
    assert before - held() >= 22 * 4 * N  # x, its gradient and y are left


def test_second_backward():
    x = variable([3.0])
    with record():
        y = x * x
        line = here(-1)
    backward(y)
    with pytest.raises(core.GradientError, match="retain_graph=True") as e:
        backward(y)
    assert line in str(e.value)
    with pytest.raises(core.GradientError, match="retain_graph"):
        gradients(y, x)


def test_retain_graph():
    x = variable([3.0], req="add")
    with record():
        y = x * x
    for k in (1, 2, 3):
        backward(y, retain=k < 3)
        assert numbers(x.grad) == [6 * k]
    with pytest.raises(core.GradientError, match="retain_graph"):
        backward(y)


def test_part_of_a_graph_that_was_freed():
    x = variable([3.0])
    with record():
        y = x * x
        z = y * 2
        w = y * 5
    backward(z)
    with pytest.raises(core.GradientError, match="freed"):
        backward(w)


@pytest.mark.parametrize(
    ("function", "orders"),
    [
        (lambda x: x**4, lambda x: [4 * x**3, 12 * x**2, 24 * x, 24]),
        (lambda x: op("exp", x), lambda x: [np.exp(x)] * 4),
        (lambda x: op("sin", x), lambda x: [np.cos(x), -np.sin(x), -np.cos(x), np.sin(x)]),
        (lambda x: op("log", x), lambda x: [1 / x, -1 / x**2, 2 / x**3, -6 / x**4]),
        (lambda x: x * x * x / 2, lambda x: [1.5 * x**2, 3 * x, 3, 0]),
    ],
)
def test_fourth_order(function, orders):
    x = variable([0.7], "float64")
    with record():
        y = function(x)
        for want in orders(0.7)[:4]:
            try:
                (y,) = gradients(y, x, create=True)
            except core.GradientError:
                assert want in {0, 24}
                break
            assert numbers(y)[0] == pytest.approx(want, rel=1e-12)


def test_gradient_of_gradients_of_several():
    x, w = variable([2.0], "float64"), variable([3.0], "float64")
    with record():
        y = x * x * w
        gx, gw = gradients(y, x, w, create=True)  # 2xw, x^2
        z = gx * gw  # 2 x^3 w
    backward(z)
    assert numbers(x.grad) == [6 * 4 * 3]
    assert numbers(w.grad) == [2 * 8]


def test_gradients_are_arrays_of_their_own():
    """Scaling one in place, as clipping does, changes neither another one nor the head's."""
    x, w, head = variable([1.0, 2.0]), variable([3.0, 4.0]), array([5.0, 6.0])
    with record():
        y = x + w
    gx, gw = gradients(y, x, w, head_grad=head)
    gx *= 10
    assert (numbers(gx), numbers(gw), numbers(head)) == ([50, 60], [5, 6], [5, 6])
    with record():
        y = x.sum()
    (g,) = gradients(y, x)
    g *= 2
    assert numbers(g) == [2, 2]


def test_several_heads_and_head_gradients():
    x = variable([1.0, 2.0])
    with record():
        y, z = x * 3, x * x
    backward(y, z, grads=[None, array([10, 20])])
    assert numbers(x.grad) == [3 + 20, 3 + 80]
    with record():
        y = x * 3
    with pytest.raises(core.ShapeError, match=r"\(3,\).*\(2,\)"):
        backward(y, grads=[array([1, 2, 3])])


def test_heads_that_are_one_array():
    x = variable([2.0])
    with record():
        y = x * x
    backward(y, y, x)
    assert numbers(x.grad) == [9]


def test_diamond():
    x = variable([2.0])
    with record():
        a = x * 3
        y = a * a + a
    backward(y)
    assert numbers(x.grad) == [3 * (2 * 6 + 1)]


def test_nothing_to_differentiate():
    x, w = array([1.0]), variable([1.0])
    with pytest.raises(core.GradientError, match="attach_grad"):
        backward(x * 2)
    with record():
        y = x * 2
    with pytest.raises(core.GradientError, match="attach_grad"):
        backward(y)
    with record():
        y = w * 2
    with pytest.raises(core.GradientError, match="attach_grad"):
        gradients(y, x)
    with pytest.raises(core.GradientError, match="do not depend"):
        gradients(y, variable([1.0]))
    with pytest.raises(core.DTypeError, match="int32"):
        core.attach_grad(array([1], "int32"), "write")
    with pytest.raises(core.MXNetError, match="nonsense"):
        core.attach_grad(array([1.0]), "nonsense")
    with pytest.raises(core.GradientError, match=r"\(2,\).*\(3,\)"):
        core.mark_variable(array([1, 2, 3]), array([1, 2]), "write")


def test_requests():
    x, w, v = variable([1.0]), variable([1.0], req="add"), array([1.0])
    core.attach_grad(v, "null")
    assert (core.grad_req(x), core.grad_req(w)) == ("write", "add")
    for _ in range(3):
        with record():
            y = (x + w * 2 + v) * 1
        backward(y)
    assert (numbers(x.grad), numbers(w.grad)) == ([1], [6])
    assert v.grad is None or numbers(v.grad) == [0]


def test_attach_grad_forgets_history():
    x = variable([2.0])
    with record():
        y = x * x
        core.attach_grad(y, "write")
        z = y * 3
    backward(z)
    assert numbers(y.grad) == [3]
    assert numbers(x.grad) == [0]


def test_detach():
    x = variable([2.0])
    with record():
        y = core.detach(x * x) * x
    backward(y)
    assert numbers(x.grad) == [4]


def test_recording_belongs_to_the_thread():
    seen = []
    core.set_recording(True)
    t = threading.Thread(target=lambda: seen.append((core.is_recording(), core.is_training())))
    t.start()
    t.join()
    assert seen == [(False, False)]
    assert core.is_recording()


def test_backward_in_another_thread():
    x = variable([2.0])
    with record():
        y = x * x
    t = threading.Thread(target=lambda: backward(y))
    t.start()
    t.join()
    assert numbers(x.grad) == [4]


def test_threads_with_graphs_of_their_own():
    """Several threads record and differentiate through one shared variable."""
    w = array([3.0])
    wrong = []

    def run(k):
        x = variable([float(k)])
        for _ in range(200):
            with record():
                y = x * x * w
            backward(y)
            if numbers(x.grad) != [6.0 * k]:
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_interrupted_forward_leaves_no_trace():
    """An op that raises at the call is not on the tape."""
    x = variable([1.0, 2.0])
    with record():
        y = x * 2
        with pytest.raises(core.ShapeError):
            y + array([1.0, 2.0, 3.0])
        z = y * 2
    backward(z)
    assert numbers(x.grad) == [4, 4]
