"""The same bits wherever and however an op runs: engines, threads, caller or queue, `out=`, in place, overlapping."""

import numpy as np
import pytest
from ops.driver import (
    KNOWN,
    PRECISION,
    TABLE,
    array,
    bits,
    call,
    cases,
    core,
    has_isa,
    inputs_of,
    lay,
    machine,
    type_of,
    types_of,
)

DETERMINISTIC = [s for s in KNOWN if s.ref is not None or s.check]
SINGLE = [s for s in KNOWN if s.ref is not None and len(s.result.split()) == 1 and s.op != "split"]
# What bits must not depend on.
VARIANTS = {
    "naive": {"naive": True, "threads": 1},
    "queued, 1 thread": {"naive": False, "inline": 0, "threads": 1},
    "queued, 2 threads": {"naive": False, "inline": 0, "threads": 2},
    "caller, 2 threads": {"naive": False, "inline": 2**62, "threads": 2},
    "usual, 2 threads": {"naive": False, "inline": None, "threads": 2},
}


def usual_type(sample):
    return next((d for d in ("float32", "int32") if d in sample.dtypes), sample.dtypes[0])


def run(sample, dtype=None, **how):
    """The outputs' bits on a machine of some kind, with inputs made there."""
    dtype = dtype or usual_type(sample)
    with machine(**how):
        core.seed(7, None)
        inputs = inputs_of(sample, sample.make(dtype), types_of(sample, dtype))
        return [bits(y) for y in call(sample.op, inputs, sample.attrs)]


@pytest.mark.parametrize("sample", cases(DETERMINISTIC))
def test_engines_and_threads(sample):
    for s in (sample, sample.with_shapes(sample.big)) if sample.big else (sample,):
        want = run(s, naive=True, threads=2, inline=None)
        for name, how in VARIANTS.items():
            assert run(s, **how) == want, f"{sample.name} {[a.shape for a in s.args]} {name}"


@pytest.mark.parametrize("sample", cases([s for s in DETERMINISTIC if "float64" in s.dtypes and s.big]))
def test_threads_in_float64(sample):
    sample = sample.with_shapes(sample.big)
    assert run(sample, "float64", threads=1) == run(sample, "float64", threads=2)


@pytest.mark.parametrize(("sample", "isa"), cases([s for s in DETERMINISTIC if not s.blocked], ("portable", "avx2")))
def test_instruction_sets(sample, isa):
    """Bit for bit where nothing is approximated; else within the few units that the formulas promise."""
    best = core.isa()
    if isa == best or not has_isa(isa):
        pytest.skip(f"the machine's best is {best}")
    for s in (sample, sample.with_shapes(sample.big)) if sample.big else (sample,):
        dtype = usual_type(s)
        inputs = inputs_of(s, s.make(dtype), types_of(s, dtype))
        core.seed(7, None)
        want = call(s.op, inputs, s.attrs)
        with machine(isa=isa):
            core.seed(7, None)
            got = call(s.op, inputs, s.attrs)
            core.wait_all()
        for g, w in zip(got, want, strict=True):
            if s.exact or type_of(g) not in PRECISION:
                assert bits(g) == bits(w)
                continue
            eps = PRECISION[type_of(g)]
            np.testing.assert_allclose(
                core.to_numpy(g).astype(float), core.to_numpy(w).astype(float), rtol=8 * s.rtol * eps, atol=s.atol * eps
            )


def prepared(sample):
    dtype = usual_type(sample)
    inputs = inputs_of(sample, sample.make(dtype), types_of(sample, dtype))
    return inputs, call(sample.op, inputs, sample.attrs)[0]


@pytest.mark.parametrize("sample", cases(SINGLE))
def test_out(sample):
    """`out=` is filled and returned; it may lie anyhow in memory and have a wider or a narrower float type."""
    inputs, want = prepared(sample)
    shape, dtype = want.shape, type_of(want)
    out = core.full(shape, 1, dtype, 0)
    assert call(sample.op, inputs, sample.attrs, out)[0] is out
    assert bits(out) == bits(want)
    for layout in ("transposed", "sliced", "reversed"):
        out, _ = lay(np.ones(shape, np.int8), dtype, layout)
        call(sample.op, inputs, sample.attrs, out)
        assert bits(out) == bits(want), layout
    for other in ("float64", "float16") if dtype == "float32" else ():
        out = core.full(shape, 1, other, 0)
        call(sample.op, inputs, sample.attrs, out)
        assert bits(out) == bits(core.invoke("cast", [want], {"dtype": other}))


@pytest.mark.parametrize("sample", cases(SINGLE))
def test_out_leaves_its_neighbours_alone(sample):
    inputs, want = prepared(sample)
    rng = sample.rng(3)
    whole = rng.integers(0, 2, tuple(2 * n + 1 for n in want.shape)).astype(np.float64)
    out = array(whole, type_of(want))
    odd = (slice(1, None, 2),) * want.ndim or (...,)
    call(sample.op, inputs, sample.attrs, out[odd])
    whole[odd] = core.to_numpy(want)
    np.testing.assert_array_equal(core.to_numpy(out), whole.astype(core.to_numpy(out).dtype))


@pytest.mark.parametrize("sample", cases(SINGLE))
def test_bad_out(sample):
    inputs, want = prepared(sample)
    shape, dtype = want.shape, type_of(want)
    with pytest.raises(core.ShapeError) as e:
        call(sample.op, inputs, sample.attrs, core.full((*shape, 2), 0, dtype, 0))
    assert str(shape) in str(e.value)
    assert str((*shape, 2)) in str(e.value)
    if dtype in PRECISION:
        with pytest.raises(core.DTypeError, match=f"{dtype}.*int32"):
            call(sample.op, inputs, sample.attrs, core.full(shape, 0, "int32", 0))
    for wrong in (3, "x", np.zeros(shape), [1]):
        with pytest.raises(TypeError, match="out"):
            call(sample.op, inputs, sample.attrs, wrong)
    if want.size > 1:
        one = core.full((1,) * want.ndim, 0, dtype, 0)
        with pytest.raises(core.MXNetError, match="broadcast view"):
            call(sample.op, inputs, sample.attrs, core.invoke("broadcast_to", [one], {"shape": shape}))
        assert core.item(one) == 0
    if any(a.number is None for a in sample.args):
        with pytest.raises(core.DeviceError, match=r"cpu\(0\).*cpu\(1\)"):
            call(sample.op, inputs, sample.attrs, core.full(shape, 0, dtype, 1))


@pytest.mark.parametrize(("sample", "how"), cases([s for s in SINGLE if TABLE[s.op]["in_place"]], ("caller", "queued")))
def test_in_place(sample, how):
    if how == "queued":
        core.set_naive(False)
        core.set_inline(0)
    changes = TABLE[sample.op]["changes"]  # behind weight and gradient stands what the row changes itself
    for k, a in enumerate(sample.args[:2] if changes else sample.args):
        inputs, want = prepared(sample)
        if a.number is None and (inputs[k].shape, type_of(inputs[k])) == (want.shape, type_of(want)):
            assert call(sample.op, inputs, sample.attrs, inputs[k])[0] is inputs[k]
            assert bits(inputs[k]) == bits(want)


LIKE_THEIR_INPUT = [
    s for s in SINGLE if TABLE[s.op]["elementwise"] or s.op in {"_copy", "softmax", "log_softmax", "cast"}
]


@pytest.mark.parametrize(("sample", "how"), cases(LIKE_THEIR_INPUT, ("caller", "queued")))
def test_overlapping_out(sample, how):
    """An output that shares some of its memory with an input, shifted or turned."""
    if how == "queued":
        core.set_naive(False)
        core.set_inline(0)
    open_args = [k for k, a in enumerate(sample.args) if a.number is None and a.dtype is None]
    if not open_args or sample.attrs.get("axis", 0) > 0:
        pytest.skip("no array to overlap with")
    dtype = usual_type(sample)
    for shape, before, after in (
        ((101,), np.s_[1:], np.s_[:-1]),
        ((101,), np.s_[:-1], np.s_[1:]),
        ((101,), np.s_[:], np.s_[::-1]),
    ):
        size = (len(range(101)[before]),)
        s = sample.with_shapes([size if a.number is None else () for a in sample.args])
        inputs = inputs_of(s, s.make(dtype), types_of(s, dtype))
        try:
            want = call(s.op, inputs, s.attrs)[0]
        except core.ShapeError:
            pytest.skip("its inputs have shapes of their own")
        if type_of(want) != dtype:
            pytest.skip("the result has another type")
        for k in open_args:
            base = core.full(shape, 1, dtype, 0)
            base[before] = inputs[k]
            mixed = [base[before] if i == k else x for i, x in enumerate(inputs)]
            call(s.op, mixed, s.attrs, base[after])
            assert bits(base[after]) == bits(want)


def test_overlapping_transpose():
    x = np.arange(25.0, dtype=np.float32).reshape(5, 5)
    for op in ("exp", "_copy", "square"):
        y = array(x)
        core.invoke(op, [y], {}, y.T)
        np.testing.assert_array_equal(core.to_numpy(y.T), core.to_numpy(core.invoke(op, [array(x)], {})))
    y = array(x)
    y += y.T
    np.testing.assert_array_equal(core.to_numpy(y), x + x.T)
    y = array(x)
    y[1:] = y[:-1]
    np.testing.assert_array_equal(core.to_numpy(y), np.vstack([x[:1], x[:-1]]))


def test_mixed_chain_of_work(queued):
    """Reads, writes through views and results in flight keep the program's order."""
    rng = np.random.default_rng(3)
    want = [rng.normal(size=(64, 64)).astype(np.float32) for _ in range(4)]
    have = [array(w) for w in want]
    for _ in range(300):
        i, j, k = rng.integers(0, 4, 3)
        r = int(rng.integers(0, 60))
        match int(rng.integers(0, 5)):
            case 0:
                want[i] = want[j] - want[k]
                have[i] = have[j] - have[k]
            case 1:
                want[i][r : r + 3] = want[j][r : r + 3] * np.float32(0.5)
                have[i][r : r + 3] = have[j][r : r + 3] * 0.5
            case 2:
                want[i] = np.minimum(want[j].T, 4).copy()
                have[i] = core.invoke("broadcast_minimum", [have[j].T, 4], {})
            case 3:
                want[i] += want[j][::-1].copy()
                have[i] += have[j][::-1]
            case 4:
                want[i] = np.clip(want[i], -8, 8)
                have[i] = core.invoke("clip", [have[i], -8, 8], {}, have[i])
    for w, h in zip(want, have, strict=True):
        np.testing.assert_array_equal(core.to_numpy(h), w)
