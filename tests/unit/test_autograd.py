import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gluonish import autograd, cpu, errors, nd

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "from_scratch.py"


def variable(values, req="write"):
    x = nd.array(values)
    x.attach_grad(req)
    return x


# Scopes.


def state():
    return autograd.is_recording(), autograd.is_training()


def test_scopes():
    assert state() == (False, False)
    with autograd.record():
        assert state() == (True, True)
        with autograd.pause():
            assert state() == (False, False)
        with autograd.pause(train_mode=True):
            assert state() == (False, True)
        with autograd.predict_mode():
            assert state() == (True, False)
        assert state() == (True, True)
    with autograd.record(train_mode=False):
        assert state() == (True, False)
    with autograd.train_mode():
        assert state() == (False, True)
    assert state() == (False, False)


def test_scopes_end_after_errors_and_nest_in_themselves():
    scope = autograd.record()
    with pytest.raises(KeyError), scope, scope:
        raise KeyError
    assert state() == (False, False)


def test_setters():
    assert autograd.set_recording(True) is False
    assert autograd.set_training(True) is False
    assert state() == (True, True)
    assert autograd.set_recording(False) is True
    assert autograd.set_training(False) is True


# Backward.


def test_backward_of_arrays_uses_ones():
    x = variable([1, 2, 3])
    with autograd.record():
        y = x * x
    y.backward()
    assert x.grad.tolist() == [2, 4, 6]


def test_head_gradients():
    x = variable([1, 2])
    with autograd.record():
        y = x * x
    y.backward(nd.array([10, 100]))
    assert x.grad.tolist() == [20, 400]


def test_several_heads_are_added():
    x = variable([1, 2])
    with autograd.record():
        y, z = x * 3, x * x
    autograd.backward([y, z])
    assert x.grad.tolist() == [5, 7]


def test_requests():
    written, added, none = variable([1.0]), variable([1.0], "add"), variable([1.0], "null")
    for _ in range(2):
        with autograd.record():
            y = written * added * none * 2
        y.backward()
    assert (written.grad.tolist(), added.grad.tolist()) == ([2], [4])


def test_retain_graph():
    x = variable([2.0])
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4]
    with pytest.raises(errors.MXNetError):
        y.backward()


def test_backward_outside_of_record():
    x = variable([2.0])
    with pytest.raises(errors.GradientError, match=r"attach_grad|record"):
        (x * x).backward()


def test_grad_is_a_list_and_leaves_stored_gradients_alone():
    x, y = variable([3.0]), variable([4.0])
    with autograd.record():
        z = x * y
    gradients = autograd.grad(z, [x, y], retain_graph=True)
    assert [g.tolist() for g in gradients] == [[4], [3]]
    (only,) = autograd.grad([z], x, head_grads=nd.array([2]))
    assert only.tolist() == [8]
    assert x.grad.tolist() == [0]


def test_higher_orders():
    x = variable([2.0])
    with autograd.record():
        derivative = x * x * x * x
        values = []
        for _ in range(4):
            (derivative,) = autograd.grad(derivative, x, create_graph=True)
            values.append(derivative.item())
    assert values == [32, 48, 48, 24]


def test_detach_and_stop_gradient():
    x = variable([3.0])
    with autograd.record():
        y = x.detach() * x + nd.stop_gradient(x * x)
    y.backward()
    assert x.grad.tolist() == [3]


def test_attach_grad_to_a_result_forgets_its_history():
    x = variable([3.0])
    with autograd.record():
        y = x * x
        y.attach_grad()
        z = y * 2
    z.backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([2], [0])


def test_mark_variables():
    x, y, dx, dy = (nd.array([v]) for v in (2.0, 3.0, 0.0, 10.0))
    autograd.mark_variables([x, y], [dx, dy], ["write", "add"])
    with autograd.record():
        z = x * y
    z.backward()
    assert (dx.tolist(), dy.tolist()) == ([3], [12])
    autograd.mark_variables(x, dx)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: autograd.mark_variables([x], []), "1 variables, 0 gradients and 1 grad_reqs"),
        (lambda x: autograd.mark_variables(x, x, "sum"), "grad_req='sum' is not valid"),
        (lambda x: autograd.backward([x], [None, None]), "2 head_grads for 1 heads"),
        (lambda x: autograd.backward(3), "expected an NDArray or a list of them, got int"),
        (lambda x: autograd.get_symbol(x), "symbols are not built"),
    ],
)
def test_bad_calls(call, says):
    with pytest.raises(errors.MXNetError) as caught:
        call(variable([1.0]))
    assert says in str(caught.value)


def test_anomaly():
    x = variable([4.0, 0.0])
    with autograd.record():
        y = nd.sqrt(x) * 2  # line of the fault
    with autograd.detect_anomaly(), pytest.raises(errors.GradientError, match="sqrt") as caught:
        y.backward()
    assert "test_autograd.py" in str(caught.value)
    with autograd.record():
        y = nd.sqrt(x) * 2
    y.backward()
    assert x.grad.tolist() == [0.5, np.inf]


# Hooks.


def test_hooks_see_and_replace_gradients():
    x, seen = variable([1.0, 2.0]), []
    with autograd.record():
        y = x * 3
        handle = y.register_hook(lambda g: seen.append(g.tolist()))
        y.register_hook(lambda g: g * 10)
        z = y * 2
    z.backward(retain_graph=True)
    assert (seen, x.grad.tolist()) == ([[2, 2]], [60, 60])
    handle.remove()
    handle.remove()
    z.backward()
    assert len(seen) == 1


# Functions of one's own.


class Scale(autograd.Function):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor

    def backward(self, dy):
        return dy * (self.factor + 1)  # wrong on purpose, to see that it is used


class SumAndProduct(autograd.Function):
    def forward(self, x, y):
        self.save_for_backward(x, y)
        return x + y, x * y

    def backward(self, ds, dp):
        x, y = self.saved_tensors
        return ds + dp * y, ds + dp * x


def test_function():
    x = variable([2.0])
    with autograd.record():
        y = Scale(3)(x) * 2
    y.backward()
    assert (y.tolist(), x.grad.tolist()) == ([12], [8])
    assert Scale(3)(x).tolist() == [6]


def test_function_of_several():
    x, y = variable([2.0]), variable([5.0])
    with autograd.record():
        s, p = SumAndProduct()(x, y)
        z = s * 100 + p
    z.backward()
    assert (z.tolist(), x.grad.tolist(), y.grad.tolist()) == ([710], [105], [102])


def test_function_that_returns_its_input():
    class Same(autograd.Function):
        def forward(self, x):
            return x

        def backward(self, dy):
            return dy * 7

    x = variable([2.0])
    with autograd.record():
        y = Same()(x)
    assert y is not x
    y.backward()
    assert x.grad.tolist() == [7]


def test_function_errors():
    x = variable([2.0])
    scale = Scale(2)
    scale(x)
    with pytest.raises(errors.GradientError, match="Scale: an instance can be called once"):
        scale(x)
    with pytest.raises(errors.ArgumentError, match="inputs must be NDArrays, got int"):
        Scale(2)(3)

    class Wrong(Scale):
        def backward(self, dy):
            return dy, dy

    with autograd.record():
        y = Wrong(2)(x)
    with pytest.raises(errors.MXNetError, match="Wrong"):
        y.backward()


# All of it together.


def test_digits_are_learnt():
    run = [sys.executable, str(DIGITS), "--epochs"]
    result = subprocess.run([*run, "10"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(result.stdout.splitlines()) == 11
    assert "\r" not in result.stdout
    assert subprocess.run([*run, "0"], capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("f", [nd.round, nd.floor, nd.sign, lambda x: x // 2, lambda x: nd.rint(x * x) * 3])
def test_piecewise_constant_functions_have_a_gradient_of_zero(f):
    x = nd.array([0.4, 1.6, -2.7])
    x.attach_grad()
    x.grad[:] = 9
    with autograd.record():
        y = f(x)
    y.backward()
    assert x.grad.tolist() == [0, 0, 0]
    with autograd.record():
        y = f(x) * x
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), f(x).asnumpy())
    with autograd.record():
        y = f(x)
    assert autograd.grad(y, [x])[0].tolist() == [0, 0, 0]


def test_a_gradient_of_zero_is_added_to_others():
    x, w = nd.array([1.5, 2.5]), nd.array([3.0, 4.0])
    x.attach_grad(grad_req="add")
    w.attach_grad()
    x.grad[:] = 7
    with autograd.record():
        y = nd.floor(x) * w
    y.backward()
    assert x.grad.tolist() == [7, 7]
    assert w.grad.tolist() == [1, 2]


def test_piecewise_constant_results_outlive_the_graph():
    x, w = nd.array([1.5, 2.5]), nd.array([3.0, 4.0])
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        h = x * x
        gate = nd.floor(h * 2)
        y = h * gate
    y.backward()
    with autograd.record():
        z = gate * w
    z.backward()
    assert w.grad.tolist() == [4, 12]
    with autograd.record():
        z = gate * w + h
    with pytest.raises(errors.GradientError, match="freed by an earlier backward"):
        z.backward()


def test_the_slope_of_a_power_for_its_exponent():
    base, exponent = nd.array([-2.0, -2.0, 0.0, 0.0, 2.0]), nd.array([2.0, 2.5, 2.0, 0.0, 3.0])
    exponent.attach_grad()
    with autograd.record():
        y = base**exponent
    y.backward()
    slope = exponent.grad.asnumpy()
    assert np.isnan(slope[:2]).all()  # (-2) ** 2.001 is no number
    assert slope[2:] == pytest.approx([0, 0, 8 * np.log(2)])


@pytest.mark.parametrize(
    ("f", "want"),
    [(lambda x: (x**2).sum(), [2, 4]), (lambda x: (x**-1).mean(), [-0.5, -0.125]), (lambda x: (2**x).sum(), None),
     (lambda x: nd.smooth_l1(x).sum(), [1, 1])],
)  # fmt: skip
def test_numbers_in_gradients_are_where_the_arrays_are(f, want):
    x = nd.array([1, 2], ctx=cpu(1))
    x.attach_grad()
    with autograd.record():
        y = f(x)
    y.backward()
    assert x.grad.context == cpu(1)
    np.testing.assert_allclose(x.grad.asnumpy(), want or np.log(2) * np.array([2, 4]), rtol=1e-6)


class _Doubled(autograd.Function):
    """Its gradient is written where it came from, if asked to."""

    def __init__(self, in_place):
        self.in_place = in_place

    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, dy):
        (x,) = self.saved_tensors
        if self.in_place:
            dy *= 2
            return dy * x
        return 2 * dy * x


def test_gradients_that_were_given_must_not_be_written_to():
    x = variable([1, 1])
    with autograd.record():
        y = x * 1
        z = y + _Doubled(in_place=True)(y)
    with pytest.raises(errors.GradientError, match=r"Doubled: it wrote in place to a gradient .* copy\(\)"):
        z.backward(nd.ones(2))
    with autograd.record():
        y = x * 1
        z = y * 1
        w = z + y
    z.register_hook(lambda g: g.__setitem__(slice(None), 10))
    with pytest.raises(errors.GradientError, match="hook: it wrote in place"):
        w.backward(nd.ones(2))


@pytest.mark.parametrize("write", [lambda y: y.__iadd__(1), lambda y: y.__setitem__(0, 5)])
def test_what_a_function_saved_must_not_be_written_to(write):
    x = variable([1, 1])
    with autograd.record():
        y = x * 3
        z = _Doubled(in_place=False)(y)
    z.backward(retain_graph=True)
    assert x.grad.tolist() == [18, 18]
    write(y)
    with pytest.raises(errors.MXNetError, match=r"_Doubled.backward: an array that it saved was overwritten"):
        z.backward()


@pytest.mark.parametrize("op", ["x ** e", "e ** x", "nd.maximum(x, e)", "nd.minimum(x, e)"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_and_arrays_of_one_value_have_gradients_of_their_own(op, dtype):
    values = np.linspace(0.5, 1.5, 1000)
    others = [2, nd.array([2], dtype="int64"), 0.3, nd.array([0.3], dtype="float32"), nd.array([0.3], dtype="float64")]
    for other in [*others, *reversed(others)]:
        x = nd.array(values, dtype=dtype)
        x.attach_grad()
        with autograd.record():
            y = eval(op, {"nd": nd, "x": x, "e": other})
        y.backward()
        e = float(other.item()) if isinstance(other, nd.NDArray) else other
        want = {
            "x ** e": e * values ** (e - 1),
            "e ** x": e**values * np.log(e),
            "nd.maximum(x, e)": np.where(values >= e, 1, 0),
            "nd.minimum(x, e)": np.where(values <= e, 1, 0),
        }[op]
        np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("size", [8, 64, 100, 255, 256, 1000])
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_numbers_are_as_exact_as_their_arrays(size, create_graph):
    values = np.linspace(0.5, 1.5, size)
    x = nd.array(values, dtype="float64")
    x.attach_grad()
    for f, want in ((lambda x: x**0.1, 0.1 * values**-0.9), (lambda x: 0.3**x, 0.3**values * np.log(0.3))):
        with autograd.record():
            (grad,) = autograd.grad(f(x), [x], create_graph=create_graph)
        np.testing.assert_allclose(grad.asnumpy(), want, rtol=1e-14)
