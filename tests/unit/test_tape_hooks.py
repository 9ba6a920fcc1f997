"""Code of users' in the reverse pass: hooks, custom functions; and what is said when a gradient goes wrong."""

import gc
import re
import weakref

import numpy as np
import pytest
from helpers import array, backward, core, here, nd, numbers, op, record, variable

import gluonish as mx


def test_hooks():
    x, seen = variable([1.0, 2.0]), []
    with record():
        y = x * 3
        first = core.add_hook(y, lambda g: seen.append(("y", numbers(g))))
        core.add_hook(y, lambda g: g * 10)
        core.add_hook(x, lambda g: seen.append(("x", numbers(g))))
        z = y * y
    backward(z, retain=True)
    assert seen == [("y", [6, 12]), ("x", [180, 360])]
    assert numbers(x.grad) == [180, 360]
    core.remove_hook(y, first)
    seen.clear()
    backward(z)
    assert seen == [("x", [180, 360])]


def test_hook_sees_the_whole_gradient_once():
    x, seen = variable([1.0]), []
    core.add_hook(x, lambda g: seen.append(numbers(g)))
    with record():
        y = x * 2 + x * 3
    backward(y)
    assert seen == [[5]]


def test_hook_that_fails():
    x = variable([1.0])
    with record():
        y = x * 2
        core.add_hook(y, lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        backward(y)
    with record():
        y = x * 2
        core.add_hook(y, lambda g: array([1.0, 2.0]))
    with pytest.raises(core.GradientError, match=r"\(2,\).*\(1,\)"):
        backward(y)
    with pytest.raises(core.GradientError, match="attach_grad"):
        core.add_hook(array([1.0]), print)


def test_anomaly():
    x = variable([0.0, 1.0])
    with record():
        y = nd.sqrt(x)
        line = here(-1)
        z = y * 2
    with pytest.raises(core.GradientError, match=f"(?s)sqrt.*not finite.*{re.escape(line)}"):
        backward(z, anomaly=True)
    with record():
        z = op("sqrt", x) * 2
    backward(z)  # without the scope it is not looked at
    assert np.isinf(core.to_numpy(x.grad)[0])


def test_anomaly_of_large_finite_gradients():
    x = variable([1.0, 1.0, 1.0])
    with record():
        y = x * array([3e38, 3e38, -3e38])
    backward(y, anomaly=True)  # their sum overflows, they do not
    assert np.isfinite(core.to_numpy(x.grad)).all()


def test_error_in_backward_names_the_forward_line():
    x = variable([[2.0, 0.0], [0.0, 2.0]])
    with record():
        y = x * 1
    with pytest.raises(core.ShapeError):
        backward(y, grads=[array([1.0])])
    w = array([[1.0, 2.0], [3.0, 4.0]])
    with record():
        y = x * w
        line = here(-1)
    w += 1
    with pytest.raises(core.GradientError, match=re.escape(line)):
        backward(y)


def test_record_function():
    x = variable([1.0, 2.0])
    with record():
        y = core.detach(x * 5)
        core.record_function("five", lambda dys: [dys[0] * 7], [x], [y])
        z = y * 2
    backward(z)
    assert numbers(x.grad) == [14, 14]


def test_function_that_fails():
    class Bad(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            raise KeyError("no gradient today")

    x = variable([1.0])
    with record():
        y = Bad()(x)
    with pytest.raises(KeyError, match="no gradient today"):
        backward(y)


def test_function_of_several():
    class SumAndProduct(mx.autograd.Function):
        def forward(self, a, b):
            self.save_for_backward(a, b)
            return a + b, a * b

        def backward(self, ds, dp):
            a, b = self.saved_tensors
            return ds + dp * b, ds + dp * a

    a, b = variable([2.0]), variable([3.0])
    with record():
        s, p = SumAndProduct()(a, b)
        y = s * 10 + p
    backward(y)
    assert (numbers(a.grad), numbers(b.grad)) == ([13], [12])


def _broken(*_):
    raise KeyError("lost")


def test_an_exception_of_a_hook_arrives_as_it_is():
    x = mx.nd.ones(3)
    x.attach_grad()
    x.register_hook(_broken)
    with mx.autograd.record():
        y = x * 2
    with pytest.raises(KeyError, match="lost") as raised:
        y.backward()
    assert raised.traceback[-1].name == "_broken"
    assert "a gradient hook" in raised.value.__notes__[0]


class LostError(Exception):
    """An exception of the user's own."""


class Broken(mx.autograd.Function):
    def __init__(self, where):
        self.where = where

    def forward(self, x):
        if self.where == "forward":
            raise LostError("lost", 7)
        return x

    def backward(self, dy):
        raise LostError("lost", 7)


@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize("grad", [False, True])
def test_an_exception_of_a_function_arrives_as_it_is(where, grad):
    x, line = mx.nd.ones(3), here(5)
    x.attach_grad()

    def step():
        with mx.autograd.record():
            y = Broken(where)(x)
        mx.autograd.grad(y, x) if grad else y.backward()

    with pytest.raises(LostError) as raised:
        step()
    assert raised.value.args == ("lost", 7)
    assert raised.traceback[-1].name == where
    if where == "backward":
        assert re.fullmatch(f"raised by Broken.backward, recorded at .*{re.escape(line)}", raised.value.__notes__[0])


def test_an_error_of_an_operation_in_a_function_keeps_its_type():
    class Uneven(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy + mx.nd.ones(2)

    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = Uneven()(x)
    with pytest.raises(mx.errors.ShapeError, match=r"\(3,\) with \(2,\)"):
        y.backward()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (lambda g: g.astype("float64"), r"a gradient hook returned type float64 for a gradient of type float32"),
        (lambda g: g.as_in_context(mx.cpu(1)), r"device cpu\(1\) for a gradient of device cpu\(0\)"),
        (lambda g: g[:2], r"shape \(2,\) for a gradient of shape \(3,\)"),
    ],
)
@pytest.mark.parametrize("leaf", [True, False])
def test_a_hook_returns_what_is_like_the_gradient(changed, says, leaf):
    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        z = y * 3
    (x if leaf else y).register_hook(changed)
    with pytest.raises(mx.errors.GradientError, match=says):
        z.backward()


def test_a_function_returns_gradients_where_its_inputs_are():
    class Elsewhere(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy.as_in_context(mx.cpu(1))

    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = Elsewhere()(x)
    with pytest.raises(mx.errors.GradientError, match=r"Elsewhere.backward: gradient 0 is on cpu\(1\), .* cpu\(0\)"):
        y.backward()


def test_an_interrupt_in_a_hook_stays_one():
    def interrupted(_):
        raise KeyboardInterrupt

    x = mx.nd.ones(3)
    x.attach_grad()
    x.register_hook(interrupted)
    with mx.autograd.record():
        y = x * 2
    with pytest.raises(KeyboardInterrupt):
        y.backward()


class Square(mx.autograd.Function):
    def forward(self, x):
        y = x * x
        self.save_for_backward(x, y)
        return y

    def backward(self, dy):
        x, _ = self.saved_tensors
        return dy * x * 2


def test_a_function_is_differentiated_twice():
    x = mx.nd.array([3.0])
    x.attach_grad()
    with mx.autograd.record():
        z = Square()(x) * x
        (g,) = mx.autograd.grad(z, x, create_graph=True)
    g.backward()
    assert g.asscalar() == 27  # of the cube: 3 x**2 and 6 x
    assert x.grad.asscalar() == 18


def test_a_function_that_keeps_its_output_is_freed_with_its_graph():
    core.wait_all()
    before = core.memory_stats()["held"]
    for _ in range(3):
        x = mx.nd.ones((1024, 1024))
        x.attach_grad()
        with mx.autograd.record():
            y = Square()(x)
        y.backward()
    del x, y
    core.wait_all()
    assert core.memory_stats()["held"] == before


def test_a_function_says_that_its_graph_was_freed():
    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = Square()(x)
    y.backward()
    with pytest.raises(mx.errors.GradientError, match="retain_graph"):
        y.backward()


def test_a_callback_takes_no_variable_while_recording():
    def double(inputs, outputs):
        outputs[0][:] = inputs[0] * 2

    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        with pytest.raises(mx.errors.GradientError, match="double: no gradient flows through a callback"):
            mx.operator.callback(double, [x], [(x.shape, x.dtype)])
        (y,) = mx.operator.callback(double, [x.detach()], [(x.shape, x.dtype)])
    assert numbers(y) == [2, 2, 2]


class Kept:
    """Something whose end can be seen."""


def leaf_with_hook():
    x, kept = variable([1.0]), Kept()
    x.register_hook(lambda gradient: gradient + 0 * x * (kept is None))
    return weakref.ref(x), weakref.ref(kept)


def array_with_handle():
    x, kept = variable([1.0]), Kept()
    with record():
        y = x * 2
    kept.handle = y.register_hook(lambda gradient: kept)
    return weakref.ref(y), weakref.ref(kept)


def function_that_keeps_its_output():
    x, function = variable([1.0]), Square()
    with record():
        y = function(x)
        y * 3  # there is no backward pass
    return weakref.ref(y), weakref.ref(function)


@pytest.mark.parametrize("make", [leaf_with_hook, array_with_handle, function_that_keeps_its_output])
def test_cycles_through_python_code_are_collected(make):
    gc.collect()
    gone = make()
    assert all(reference() is not None for reference in gone)
    gc.collect()
    assert not any(reference() for reference in gone)


def test_only_arrays_with_python_code_are_looked_at():
    x = variable([1.0])
    y = x * 2
    x.register_hook(print)
    assert gc.is_tracked(x)
    assert not gc.is_tracked(y)


def test_a_collection_leaves_hooks_that_are_needed():
    seen = []

    def graph():
        x = variable([1.0])
        with record():
            y = x * 2
            y.register_hook(lambda gradient: seen.append((y.shape, gc.collect() >= 0)))
            return x, y * 3  # the graph alone leads to the hook

    x, z = graph()
    for _ in range(2):
        gc.collect()
        backward(z, retain=True)
    assert seen == [((1,), True)] * 2
    assert numbers(x.grad) == [6]


def test_a_hook_may_drop_its_array():
    x, seen = variable([1.0]), []
    holder = [x]

    def hook(gradient):
        seen.append(numbers(gradient))
        holder.clear()
        gc.collect()

    x.register_hook(hook)
    with record():
        y = x * 2
    del x
    backward(y)
    assert seen == [[2]]


def test_the_end_of_a_hook_may_use_its_array():
    x = variable([1.0])

    class Ending:
        def __call__(self, gradient):
            return None

        def __del__(self):
            core.remove_hook(x, 0)

    handle = x.register_hook(Ending())
    handle.remove()
    assert numbers(x) == [1]
