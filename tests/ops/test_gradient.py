"""Every gradient rule against finite differences in float64: both orders, heads, requests, wanted subsets."""

import itertools

import numpy as np
import pytest
from ops.driver import (
    FLOATS_UNDER_TEST,
    KNOWN,
    PRECISION,
    TABLE,
    array,
    call,
    cases,
    core,
    inputs_of,
    type_of,
    types_of,
)

STEP = 1e-6
DIFFERENTIABLE = [s for s in KNOWN if s.grad]
IN_FLOAT64 = [s for s in DIFFERENTIABLE if "float64" in s.dtypes]


class Problem:
    """`sum(head * op(inputs))`, its gradient by the tape, and directions to walk along."""

    def __init__(self, sample, dtype="float64", salt=0):
        self.sample, self.dtypes = sample, types_of(sample, dtype)
        self.values = sample.make(dtype, salt)
        self.rng = sample.rng(salt + 1)
        self.heads = [self.rng.normal(size=y.shape) for y in self.outputs(self.values)]

    def inputs(self, values):
        return inputs_of(self.sample, values, self.dtypes)

    def outputs(self, values):
        """The outputs that have gradients."""
        return [y for y in call(self.sample.op, self.inputs(values), self.sample.attrs) if str(y.dtype) in PRECISION]

    def record(self, values, wanted, create=False):
        """Inputs and outputs of a recorded call."""
        inputs = self.inputs(values)
        for i in wanted:
            core.attach_grad(inputs[i], "write")
        before = core.set_recording(True)
        outputs = [y for y in call(self.sample.op, inputs, self.sample.attrs) if str(y.dtype) in PRECISION]
        core.set_recording(before)
        return inputs, outputs

    def gradient(self, values=None, wanted=None, create=False):
        """Gradients of the wanted inputs, as arrays of the tape."""
        wanted = self.sample.grad if wanted is None else wanted
        inputs, outputs = self.record(self.values if values is None else values, wanted)
        heads = [array(h, type_of(y)) for h, y in zip(self.heads, outputs, strict=True)]
        variables = [inputs[i] for i in wanted]
        return inputs, core.gradients(outputs, variables, heads, create, create, True, False)

    def value(self, values):
        with np.errstate(all="ignore"):
            answer = (self.sample.slope_of or self.sample.ref)(*values, **self.sample.attrs)
        answers = answer if isinstance(answer, list) else [answer]
        floats = [a for a in answers if np.asarray(a).dtype.kind == "f"]
        return sum(float(np.sum(h * a)) for h, a in zip(self.heads, floats, strict=True))

    def direction(self, i):
        d = self.rng.normal(size=self.values[i].shape)
        return (d + np.swapaxes(d, -1, -2)) / 2 if self.sample.symmetric else d

    def moved(self, i, d, step):
        return [v + step * d if k == i else v for k, v in enumerate(self.values)]


def slope(f, problem, i, d):
    """The derivative of `f` along `d`, by central differences."""
    return (f(problem.moved(i, d, STEP)) - f(problem.moved(i, d, -STEP))) / (2 * STEP)


def near(got, want, scale):
    assert abs(got - want) <= 2e-7 * (1 + abs(want) + scale), f"tape {got}, finite differences {want}"


@pytest.mark.parametrize("sample", cases(IN_FLOAT64))
def test_first_order(sample):
    problem = Problem(sample)
    inputs, grads = problem.gradient()
    for i, g in zip(sample.grad, grads, strict=True):
        assert (g.shape, type_of(g)) == (inputs[i].shape, type_of(inputs[i]))
        g = core.to_numpy(g)
        for _ in range(3):
            d = problem.direction(i)
            near(float(np.sum(g * d)), slope(problem.value, problem, i, d), np.abs(g * d).sum())


@pytest.mark.parametrize(("sample", "shapes"), [c for s in IN_FLOAT64 for c in cases([s], s.edge)])
def test_first_order_of_odd_shapes(sample, shapes):
    test_first_order(sample.with_shapes(shapes))


@pytest.mark.parametrize("sample", cases(IN_FLOAT64))
def test_second_order(sample):
    """The gradient of `sum(v * gradient)` against finite differences of the gradient."""
    problem = Problem(sample)
    probes = [problem.rng.normal(size=problem.values[i].shape) for i in sample.grad]

    def along(values):
        return sum(
            float(np.sum(v * core.to_numpy(g))) for v, g in zip(probes, problem.gradient(values)[1], strict=True)
        )

    inputs, grads = problem.gradient(create=True)
    variables = [inputs[i] for i in sample.grad]
    reached = [(g, v) for g, v in zip(grads, probes, strict=True) if core.is_tracked(g)]
    zeros = [np.zeros(v.shape) for v in variables]
    second = zeros
    if reached:
        found = []
        for k, x in enumerate(variables):
            try:
                heads = [array(v) for _, v in reached]
                found.append(
                    core.to_numpy(core.gradients([g for g, _ in reached], [x], heads, True, False, True, False)[0])
                )
            except core.GradientError as e:  # linear in this input
                assert "do not depend" in str(e)  # noqa: PT017
                found.append(zeros[k])
        second = found
    for i, g in zip(sample.grad, second, strict=True):
        for _ in range(2):
            d = problem.direction(i)
            near(float(np.sum(g * d)), slope(along, problem, i, d), np.abs(g * d).sum())


@pytest.mark.parametrize("sample", cases(IN_FLOAT64))
def test_recorded_gradient_is_the_same(sample):
    """create_graph runs the rule op by op, the usual pass runs it fused: the same numbers."""
    problem = Problem(sample)
    for a, b in zip(problem.gradient()[1], problem.gradient(create=True)[1], strict=True):
        np.testing.assert_allclose(core.to_numpy(a), core.to_numpy(b), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("sample", cases([s for s in IN_FLOAT64 if len(s.grad) > 1]))
def test_wanted_subsets(sample):
    problem = Problem(sample)
    whole = dict(zip(sample.grad, problem.gradient()[1], strict=True))
    for n in range(1, len(sample.grad)):
        for wanted in itertools.combinations(sample.grad, n):
            for i, g in zip(wanted, problem.gradient(wanted=wanted)[1], strict=True):
                np.testing.assert_allclose(core.to_numpy(g), core.to_numpy(whole[i]), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("sample", cases(IN_FLOAT64))
def test_backward_fills_the_buffers(sample):
    """backward() writes, adds or leaves alone; the buffer keeps its identity; no head means ones."""
    problem = Problem(sample)
    problem.heads = [np.ones_like(h) for h in problem.heads]
    want = [core.to_numpy(g) for g in problem.gradient()[1]]
    for request, factor in (("write", 1), ("add", 2)):
        inputs = problem.inputs(problem.values)
        for i in sample.grad:
            core.attach_grad(inputs[i], request)
        buffers = [inputs[i].grad for i in sample.grad]
        for _ in range(2):
            core.set_recording(True)
            outputs = [y for y in call(sample.op, inputs, sample.attrs) if str(y.dtype) in PRECISION]
            core.set_recording(False)
            core.backward(outputs, [None] * len(outputs), False, False, True, False)
        for buffer, i, w in zip(buffers, sample.grad, want, strict=True):
            np.testing.assert_allclose(core.to_numpy(buffer), factor * w, rtol=1e-13, atol=1e-14)
            np.testing.assert_array_equal(core.to_numpy(buffer), core.to_numpy(inputs[i].grad))


@pytest.mark.parametrize(("sample", "dtype"), [c for s in IN_FLOAT64 for c in cases([s], FLOATS_UNDER_TEST)])
def test_other_types(sample, dtype):
    """Gradients have the type of their input and are as near to float64's as that type allows."""
    if dtype not in sample.dtypes:
        pytest.skip("not a type of this op")
    problem = Problem(sample, dtype)
    _, grads = problem.gradient()
    exact = Problem(sample)
    exact.heads = problem.heads
    exact.values = [
        v.astype(np.float64) if a.number is None and a.dtype is None else v
        for v, a in zip(problem.values, sample.args, strict=True)
    ]
    for g, w in zip(grads, exact.gradient()[1], strict=True):
        assert type_of(g) == dtype
        g, w = core.to_numpy(g).astype(np.float64), core.to_numpy(w).astype(np.float64)
        if g.size:
            scale = np.abs(w).max()
            assert np.abs(g - w).max() <= 32 * sample.rtol * PRECISION[dtype] * (1 + scale)


@pytest.mark.parametrize(("sample", "engine"), cases(IN_FLOAT64, ("queued", "naive")))
def test_engines_agree(sample, engine):
    problem = Problem(sample)
    want = [core.to_numpy(g).tobytes() for g in problem.gradient()[1]]
    core.set_naive(engine == "naive")
    core.set_inline(0)
    assert [core.to_numpy(g).tobytes() for g in problem.gradient()[1]] == want


@pytest.mark.parametrize("sample", cases([s for s in DIFFERENTIABLE if s.big]))
def test_threads_agree(sample):
    """On arrays that threads share: the same bits for any number of them."""
    problem = Problem(sample.with_shapes(sample.big), "float32" if "float32" in sample.dtypes else sample.dtypes[0])
    found = []
    for naive, threads in ((True, 1), (False, 1), (False, 2)):
        core.set_naive(naive)
        core.set_num_threads(threads)
        found.append([core.to_numpy(g).tobytes() for g in problem.gradient()[1]])
    assert found[0] == found[1] == found[2]


KERNELS = [s for s in IN_FLOAT64 if not TABLE[s.op]["composed"] and not TABLE[s.op]["view"]]


@pytest.mark.parametrize("sample", cases(KERNELS))
def test_tape_keeps_what_the_row_saves(sample):
    problem = Problem(sample)
    inputs, outputs = problem.record(problem.values, sample.grad)
    saves = TABLE[sample.op]["saves"]
    arrays = {f"x{i}": x for i, x in enumerate(inputs)} | {f"y{i}": y for i, y in enumerate(outputs)}
    # What is not seen is a position for each value, in int64; an optional input may be left out.
    unseen = {"x": 0, "y": outputs[0].size * 8}
    listed = [getattr(arrays[s], "nbytes", 0) if s in arrays else unseen[s[0]] for s in saves]
    hidden = {f"y{i}" for i, y in enumerate(TABLE[sample.op]["outputs"]) if y["name"] in {"gradient", "reserve"}}
    assert hidden & set(saves) or core.kept_bytes(outputs[0]) <= sum(listed)  # a reserve has a size of its own
    assert (core.kept_bytes(outputs[0]) > 0) == any(listed)


def test_truth_values_end_the_graph():
    """They cannot be differentiated; what is piecewise constant can, and keeps nothing for that."""
    x = array([1.5, -2.5], "float32")
    core.attach_grad(x, "write")
    core.set_recording(True)
    assert not core.is_tracked(x > 0)
    for op in ("sign", "floor", "zeros_like"):
        y = core.invoke(op, [x], {})
        assert core.is_tracked(y)
        assert core.kept_bytes(y) == 0


def test_equal_largest_values_share_the_gradient():
    x = array([3.0, 1.0, 3.0], "float32")
    core.attach_grad(x, "write")
    core.set_recording(True)
    y = x.max()
    core.backward([y], [None], False, False, True, False)
    assert core.to_numpy(x.grad).tolist() == [0.5, 0, 0.5]


def test_power_of_zero():
    """torch: x = tensor([0., 0., 2.], requires_grad=True); (x ** tensor([0., 2., 3.])).sum().backward(); x.grad."""
    x = array([0.0, 0.0, 2.0], "float32")
    core.attach_grad(x, "write")
    core.set_recording(True)
    y = x ** array([0.0, 2.0, 3.0], "float32")
    core.backward([y], [None], False, False, True, False)
    assert core.to_numpy(x.grad).tolist() == [0, 0, 12]


def test_mixed_types_meet():
    """The gradient of each input has that input's type and shape."""
    a, b = array(np.ones((2, 1)), "float16"), array(np.full((1, 3), 2.0), "float64")
    for x in (a, b):
        core.attach_grad(x, "write")
    core.set_recording(True)
    core.backward([a * b], [None], False, False, True, False)
    assert (type_of(a.grad), a.grad.shape, core.to_numpy(a.grad).ravel().tolist()) == ("float16", (2, 1), [6, 6])
    assert (type_of(b.grad), b.grad.shape, core.to_numpy(b.grad).ravel().tolist()) == ("float64", (1, 3), [2, 2, 2])
