"""Writes in place in a recorded graph, directly and through views: torch's gradient, or an error that names both lines
before anything has changed. Never a silently wrong gradient."""

import numpy as np
import pytest
from helpers import array, backward, core, gradients, here, nd, numbers, op, record, variable

X = [1.0, 2.0, 3.0, 4.0]


def gradient(program, x=None):
    """The gradient of the sum of what `program(x)` returns."""
    x = variable(X) if x is None else x
    with record():
        y = program(x)
    backward(y)
    return numbers(x.grad)


def refused(*lines):
    """A GradientError that names these lines."""
    return pytest.raises(core.GradientError, match="(?s)" + ".*".join(map(str.strip, lines)))


# Each comment is the torch program; x = torch.tensor([1., 2., 3., 4.], requires_grad=True).


def test_add():
    def program(x):  # y = x * 2; y += 1; y.sum().backward()
        y = x * 2
        y += 1
        return y

    assert gradient(program) == [2, 2, 2, 2]


def test_multiply_by_the_variable():
    def program(x):  # y = x * 2; y *= x; y.sum().backward()
        y = x * 2
        y *= x
        return y

    assert gradient(program) == [4, 8, 12, 16]


@pytest.mark.parametrize(
    ("write", "want"),
    [("+=", [3] * 4), ("-=", [1] * 4), ("*=", [4, 8, 12, 16]), ("/=", [0] * 4), ("**=", None), ("%=", [0] * 4)],
)
def test_every_operator(write, want):
    """y = x * 2; y <op> x; y.sum().backward()."""
    scope = {"x": variable(X)}
    with record():
        exec(f"y = x * 2\ny {write} x", scope)
    backward(scope["y"])
    if want is None:  # d (2x)^x = (2x)^x (log 2x + 1)
        x = np.array(X)
        want = (2 * x) ** x * (np.log(2 * x) + 1)
    np.testing.assert_allclose(core.to_numpy(scope["x"].grad), want, rtol=1e-5, atol=1e-5)


def test_part():
    def program(x):  # y = x * 2; y[0:2] += 1; y[1:3] *= x[1:3]; y.sum().backward()
        y = x * 2
        y[0:2] += 1
        y[1:3] *= x[1:3]
        return y

    assert gradient(program) == [2, 9, 12, 2]  # (2x + 1) x has slope 4x + 1, 2x x has 4x


def test_assign_to_part():
    def program(x):  # y = x * 2; y[0] = 5; y[2:] = x[:2] * 3; y.sum().backward()
        y = x * 2
        y[0] = 5
        y[2:] = x[:2] * 3
        return y

    assert gradient(program) == [3, 5, 0, 0]


def test_assign_to_fresh_array():
    def program(x):  # z = torch.zeros(4); z[:] = x * x; z.sum().backward()
        z = core.full((4,), 0, "float32", 0)
        z[:] = x * x
        return z

    assert gradient(program) == [2, 4, 6, 8]


def test_assign_piece_by_piece():
    def program(x):  # z = torch.zeros(4); z[i] = x[i] ** 2 for each i; z.sum().backward()
        z = core.full((4,), 0, "float32", 0)
        for i in range(4):
            z[i] = x[i] * x[i]
        return z

    assert gradient(program) == [2, 4, 6, 8]


def test_assign_itself():
    def program(x):  # y = x * 3; y[:] = y * 2; y.sum().backward()
        y = x * 3
        y[:] = y * 2
        return y

    assert gradient(program) == [6, 6, 6, 6]


def test_assign_overlapping_part():
    def program(x):  # y = x * 1; y[0:2] = y[2:4]; (y * tensor([1., 2., 3., 4.])).sum().backward()
        y = x * 1
        y[0:2] = y[2:4]
        return y * array([1, 2, 3, 4])

    assert gradient(program) == [0, 0, 4, 6]


@pytest.mark.parametrize(("to", "source"), [(np.s_[:], np.s_[::-1]), (np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:])])
def test_assign_what_it_overlaps(to, source):
    """While recording as without it, as if the right side were copied first."""
    want = np.array(X)
    want[to] = want[source].copy()

    def program(x):  # y = x * 1; y[to] = y[source].clone(); (y * x.detach()).sum().backward()
        y = x * 1
        y[to] = y[source]
        assert numbers(y) == want.tolist()
        return y * core.detach(x)

    slopes = np.eye(4)
    slopes[to] = slopes[source].copy()
    assert gradient(program) == (slopes.T @ np.array(X)).tolist()


def test_stale_view_of_the_assigned_element():
    """r[0] and h[3] are one element. torch: h = x * 1.5; h[0] = 7; h.sum().backward() gives 0, 1.5, 1.5, 1.5."""
    x = variable(X)
    try:
        with record():
            h = x * 1.5
            r = h[::-1]
            h[0] = 7.0
            written = here(-1)
            r[0] = h[3]
            y = r * 1
        backward(y)
    except core.GradientError as e:
        assert written in str(e)  # noqa: PT017
    else:
        assert numbers(x.grad) == [0, 1.5, 1.5, 1.5]


@pytest.mark.parametrize(
    "use",
    [
        lambda z, c: z.__iadd__(c),
        lambda z, c: z.__iadd__(c[:1]),
        lambda z, c: z.__setitem__(0, c[1]),
        lambda z, c: z.__setitem__(slice(None), c),
        lambda z, c: op("exp", c, out=z),
        core.copy_into,
        lambda z, c: z * c,
    ],
    ids=["add", "add part", "element", "slice", "out", "copy", "read"],
)
@pytest.mark.parametrize("fresh", [True, False])
def test_stale_source(use, fresh):
    """A constant that was written through another handle has a history that its own handle does not know."""
    x = variable(X)
    with record():
        c = array([0.0, 0.0, 0.0, 0.0])
        c[1:] = 1  # nothing to do with x
        op("_copy", x * 3, out=c[:])
        z = array([0.0, 0.0, 0.0, 0.0]) if fresh else x * 1
        with pytest.raises(core.GradientError, match="written in place"):
            use(z, c)


def test_assign_with_broadcast_and_cast():
    def program(x):  # z = torch.zeros(3, 4, dtype=float64); z[:] = x; z[1] = x.sum() * 2; z.sum().backward()
        z = core.full((3, 4), 0, "float64", 0)
        z[:] = x
        z[1] = x.sum() * 2
        return z

    assert gradient(program) == [10, 10, 10, 10]


def test_negative_step():
    def program(x):  # y = x * 1; y.flip: y[::2] = x[1::2] * 5 (torch has no negative steps)
        y = x * 1
        y[::-2] = x[1::2] * 5
        return y * array([1, 2, 3, 4])

    assert gradient(program) == [1, 20, 3, 10]


def test_accumulate_in_a_loop():
    def program(x):  # acc = torch.zeros(4); for i in range(5): acc += x * i; acc.sum().backward()
        acc = core.full((4,), 0, "float32", 0)
        for i in range(5):
            acc += x * i
        return acc

    assert gradient(program) == [10, 10, 10, 10]


def test_broadcast_operand():
    b = variable([1.0, 2.0])
    x = variable([[1.0, 2.0], [3.0, 4.0]])
    with record():  # y = x * 1; y += b; y *= b; y.sum().backward()
        y = x * 1
        y += b
        y *= b
    backward(y)
    assert numbers(x.grad) == [[1, 2], [1, 2]]
    assert numbers(b.grad) == [8, 14]  # the sum of x + 2b over the rows


def test_out_of_an_op():
    def program(
        x,
    ):  # z = torch.empty(4); z is the result of exp(x): torch refuses out= with gradients; exp(x) has slope exp(x)
        z = core.full((4,), 0, "float32", 0)
        assert op("exp", x, out=z) is z
        return z

    np.testing.assert_allclose(gradient(program), np.exp(X), rtol=1e-6)


def test_second_order():
    x = variable([2.0])
    with record():  # y = x ** 3; y *= 2; first, = grad(y, x, create_graph=True); first.backward()
        y = x**3
        y *= 2
        (first,) = gradients(y, x, create=True)
    assert numbers(first) == [24]
    backward(first)
    assert numbers(x.grad) == [24]


def test_saved_output():
    x = variable(X)
    with record():
        y = nd.exp(x)
        saved = here(-1)
        before = numbers(y)
        with refused(here(1), saved):
            y += 1
    assert numbers(y) == before
    backward(y)  # the graph is whole
    np.testing.assert_allclose(numbers(x.grad), before, rtol=1e-6)


@pytest.mark.parametrize(
    "view", [lambda y: y[1:], lambda y: y[::-1], lambda y: y.T, lambda y: op("reshape", y, shape=(2, 2))]
)
def test_saved_output_through_a_view(view):
    x = variable(X)
    with record():
        y = nd.tanh(x)
        saved = here(-1)
        v = view(y)
        before = numbers(y)
        with refused(here(1), saved):
            v *= 2
        with refused(saved):
            v[...] = 0
    assert numbers(y) == before


def test_saved_input():
    x = variable(X)
    with record():
        y = x * 2
        z = y * y
        saved = here(-1)
        with refused(here(1), saved):
            y += 1
        with refused(here(1), saved):
            y[0:1] = 0
        with refused(here(1), saved):
            nd.exp(x, out=y)
    assert numbers(y) == [2, 4, 6, 8]
    backward(z)
    assert numbers(x.grad) == [8, 16, 24, 32]


def test_free_after_backward():
    x = variable(X)
    with record():
        y = x * 2
        backward(y * y)
        y += 1  # nobody reads it any more
    assert numbers(y) == [3, 5, 7, 9]


def test_variable():
    x = variable(X)
    with record():
        with refused(here(1)):
            x += 1
        with refused(here(1)):
            x[0] = 0
    assert numbers(x) == X


@pytest.mark.parametrize("view", [lambda x: x[0:2], lambda x: x[::-1], lambda x: op("reshape", x, shape=(2, 2))])
def test_view_of_a_variable(view):
    """torch: "a view of a leaf Variable that requires grad is being used in an in-place operation"."""
    x = variable(X)
    with record():
        v = view(x)
        with refused(here(1)):
            v += 1
    assert numbers(x) == X
    with record():
        y = x * x
    backward(y)
    assert numbers(x.grad) == [2, 4, 6, 8]


def test_write_through_a_view_reaches_the_base():
    """torch: y = x * 2; v = y[0:2]; v *= x[0:2]; y.sum().backward() gives 4x, 4x, 2, 2."""
    x = variable(X)
    try:
        with record():
            y = x * 2
            v = y[0:2]
            v *= x[0:2]
            written = here(-1)
            z = y * 1
        backward(z)
    except core.GradientError as e:
        assert written in str(e)  # noqa: PT017
    else:
        assert numbers(x.grad) == [4, 8, 2, 2]


def test_write_to_the_base_reaches_the_view():
    """torch: y = x * 2; v = y[0:2]; y *= x; v.sum().backward() gives 4x, 4x, 0, 0."""
    x = variable(X)
    try:
        with record():
            y = x * 2
            v = y[0:2]
            y *= x
            written = here(-1)
            z = v * 1
        backward(z)
    except core.GradientError as e:
        assert written in str(e)  # noqa: PT017
    else:
        assert numbers(x.grad) == [4, 8, 0, 0]


@pytest.mark.parametrize("via", ["backward", "grad"])
def test_stale_head(via):
    """torch: y = x * 1; v = y[:]; v += x; y.sum().backward() gives 2, 2, 2, 2."""
    x = variable(X)
    with record():
        y = x * 1
        v = y[:]
        v += x
        written = here(-1)
    try:
        got = gradients(y, x)[0] if via == "grad" else (backward(y), x.grad)[1]
    except core.GradientError as e:
        assert written in str(e)  # noqa: PT017
    else:
        assert numbers(got) == [2, 2, 2, 2]


def test_stale_handle_names_the_write():
    x = variable(X)
    with record():
        y = x * 2
        old = y[0:2]
        y += 1
        written = here(-1)
        with refused(here(1), written):
            old * 3
        with refused(written):
            old += 1
        fresh = y[0:2]
        z = fresh * 3
    backward(z)
    assert numbers(x.grad) == [6, 6, 0, 0]


@pytest.mark.parametrize("how", ["operator", "slice", "view", "out", "copy"])
@pytest.mark.parametrize("what", ["variable", "constant", "result"])
def test_write_outside_of_recording(how, what):
    """It is allowed, and makes a backward that would read the old values raise."""
    x, w = variable(X), array(X)
    with record():
        y = {"variable": lambda: x * x, "constant": lambda: x * w, "result": lambda: nd.exp(x)}[what]()
        saved = here(-1)
    target = {"variable": x, "constant": w, "result": y}[what]
    match how:
        case "operator":
            target += 1
        case "slice":
            target[1:2] = 7
        case "view":
            v = target[1:]
            v *= 2
        case "out":
            op("sin", array(X), out=target)
        case "copy":
            core.copy_into(target, 3)
    with refused(saved):
        backward(y)


def test_write_outside_to_what_nobody_saved():
    x, w = variable(X), array(X)
    with record():
        y = x + w
    w[:] = 0
    y[:] = 0
    backward(y)
    assert numbers(x.grad) == [1, 1, 1, 1]


def test_update_of_parameters():
    """The usual loop: recorded, differentiated, then updated in place outside of recording."""
    x = variable([4.0, -2.0])
    for _ in range(50):
        with record():
            loss = (x * x).sum()
        backward(loss)
        x -= 0.1 * x.grad
        x[:] = x * 1.0
        assert core.grad_req(x) == "write"
    assert np.abs(core.to_numpy(x)).max() < 1e-3
    assert numbers(x.grad) != [0, 0]


def test_update_inside_of_pause():
    x = variable([4.0])
    with record():
        y = x * 3
        backward(y)
        with record(False):
            x -= x.grad
        z = x * x
    backward(z)
    assert numbers(x) == [1]
    assert numbers(x.grad) == [2]


def test_broadcast_view_cannot_be_written():
    y = op("broadcast_to", array([1.0]), shape=(3,))
    for write in (lambda: y.__iadd__(1), lambda: y.__setitem__(slice(0, 2), 5), lambda: core.copy_into(y, 2)):
        with pytest.raises(core.MXNetError, match="broadcast view"):
            write()
    assert numbers(y) == [1, 1, 1]


def test_type_cannot_be_lost():
    x = array([1, 2], "int32")
    with pytest.raises(core.DTypeError, match=r"float32.*int32"):
        x += 1.5
    with pytest.raises(core.DTypeError):
        x /= 2
    assert numbers(x) == [1, 2]
    x += True
    assert numbers(x) == [2, 3]


def test_a_write_outside_of_recording_is_named_by_the_gradient_that_it_spoils():
    x = variable([1.0, 2.0])
    with record():
        y = op("exp", x)
        z = y * y
    y[:] = 0
    with pytest.raises(core.GradientError, match=f"written in place at .*{here(-1)}"):
        backward(z)
