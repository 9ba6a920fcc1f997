"""The engine as Python sees it: errors at the wait, poison and healing, threads, callbacks, back-pressure."""

import gc
import re
import threading

import numpy as np
import pytest
from helpers import array, backward, core, here, nd, numbers, op, record, variable

SLOW = 20_000  # microseconds: long enough to be queued, short enough to wait for


FAILS = {"how": "error", "delay_us": SLOW}
PANICS = {"how": "panic", "delay_us": SLOW}


def failing(x, how="error", delay=SLOW):
    return op("_test_fail", x, how=how, delay_us=delay)


def test_error_at_the_wait(engine):
    x = array(np.ones((2, 3)))
    y = core.invoke("_test_fail", [x], FAILS)
    line = here(-1)
    with pytest.raises(core.MXNetError) as e:
        core.wait(y)
    text = str(e.value)
    assert text.startswith("test_fail: it was asked to fail")
    assert "float32 (2, 3)" in text
    assert line in text
    assert type(e.value) is core.MXNetError


def test_panic_at_the_wait(engine):
    y = core.invoke("_test_fail", [array(np.ones(4), "float64")], PANICS)
    line = here(-1)
    with pytest.raises(core.MXNetError) as e:
        core.wait(y)
    text = str(e.value)
    assert "test_fail" in text
    assert "it was asked to panic" in text
    assert "please report it" in text
    assert "float64 (4,)" in text
    assert line in text


@pytest.mark.parametrize("how", ["error", "panic"])
def test_error_in_the_caller(how):
    """What is small enough to run at once raises at once."""
    with pytest.raises(core.MXNetError, match="it was asked to"):
        core.wait(failing(array([1.0]), how, delay=0))


def test_line_is_the_one_that_queued(engine):
    def inner(x):
        return core.invoke("_test_fail", [x * 2], FAILS)

    y = inner(array([1.0]))
    with pytest.raises(core.MXNetError) as e:
        numbers(y)
    assert f"test_engine_py.py:{inner.__code__.co_firstlineno + 1}" in str(e.value)


@pytest.mark.parametrize(
    "look",
    [
        core.wait,
        core.to_numpy,
        core.item,
        float,
        bool,
        lambda y: core.wait(y == 1),
        repr,
        lambda y: core.wait(core.copy_to_device(y, 1)),
    ],
    ids=["wait", "to_numpy", "item", "float", "bool", "compare", "repr", "copy"],
)
def test_every_way_to_look_raises(look, engine):
    y = failing(array([1.0]))
    with pytest.raises(core.MXNetError, match="asked to fail"):
        look(y)


def test_poison_spreads_and_stays(engine):
    y = failing(array([1.0, 2.0]))
    z = op("exp", y * 2 + 1)
    v = y[0:1]
    for _ in range(3):
        for a in (z, v, y):
            with pytest.raises(core.MXNetError, match="test_fail: it was asked to fail"):
                core.wait(a)
    with pytest.raises(core.MXNetError, match="asked to fail"):
        core.wait(z + 1)  # made after the failure


def test_error_is_the_first_one(engine):
    x = array([1.0])
    y = failing(x)
    z = failing(y, "panic")  # never runs: its input is no value
    with pytest.raises(core.MXNetError, match="asked to fail"):
        core.wait(z)


def test_overwrite_heals(engine):
    y = failing(array([1.0, 2.0]))
    with pytest.raises(core.MXNetError):
        core.wait(y)
    y[0:1] = 5  # a part of it: the rest is still no value
    with pytest.raises(core.MXNetError):
        core.wait(y)
    core.copy_into(y, 7)
    assert numbers(y) == [7, 7]
    y += 1
    assert numbers(y) == [8, 8]


@pytest.mark.parametrize("how", ["slice", "out", "copy"])
def test_overwrite_heals_before_anyone_looks(how, engine):
    y = failing(array([1.0, 2.0]))
    if how == "slice":
        y[:] = 3
    elif how == "out":
        op("exp", array([0.0, 0.0]), out=y)
    else:
        core.copy_into(y, array([1.0, 1.0]))
    core.wait(y)


def test_update_of_poison_is_poison(engine):
    x = array([1.0, 2.0])
    y = failing(x)
    y += 1
    with pytest.raises(core.MXNetError, match="asked to fail"):
        core.wait(y)


def test_in_place_failure_spoils_the_target(engine):
    y = array([1.0, 2.0])
    op("_test_fail", array([0.0, 0.0]), how="error", delay_us=SLOW, out=y)
    with pytest.raises(core.MXNetError, match="asked to fail"):
        core.wait(y)
    y[:] = 0
    assert numbers(y) == [0, 0]


def test_the_rest_goes_on(engine):
    x = array([1.0, 2.0])
    bad = [failing(x, how) for how in ("error", "panic") for _ in range(3)]
    good = [op("_test_fail", x * k, delay_us=100) for k in range(20)]
    assert [numbers(g) for g in good] == [[k, 2.0 * k] for k in range(20)]
    for b in bad:
        with pytest.raises(core.MXNetError):
            core.wait(b)
    assert numbers(x) == [1, 2]


def test_wait_all_raises_each_once(engine):
    x = array([1.0])
    kept = [failing(x), failing(x, "panic")]
    kept.append(kept[0] + 1)
    raised = []
    for _ in range(5):
        try:
            core.wait_all()
        except core.MXNetError as e:
            raised.append(str(e))
    assert len(raised) == 2
    assert any("fail" in r for r in raised)
    assert any("panic" in r for r in raised)
    for y in kept:  # what was said by wait_all stays with the arrays
        with pytest.raises(core.MXNetError):
            core.wait(y)
    core.wait_all()


def test_wait_all_does_not_repeat_a_wait(engine):
    y = failing(array([1.0]))
    with pytest.raises(core.MXNetError, match="asked to fail"):
        core.wait(y)
    core.wait_all()


def test_error_of_a_dropped_array(engine):
    failing(array([1.0]))
    gc.collect()
    with pytest.raises(core.MXNetError, match="asked to fail"):
        core.wait_all()
    core.wait_all()


def test_error_inside_of_recording(engine):
    x = variable([1.0, 2.0])
    with record():
        y = failing(x * 2)
        z = y * 3
    backward(z)
    assert numbers(x.grad) == [6, 6]  # the gradient of a copy needs no values
    with pytest.raises(core.MXNetError, match="asked to fail"):
        core.wait(z)
    with record():
        z = op("exp", failing(x))
    backward(z)
    with pytest.raises(core.MXNetError, match="asked to fail"):
        core.wait(x.grad)
    with record():
        z = x * 4
    backward(z)
    assert numbers(x.grad) == [4, 4]


def test_real_failure_at_run_time(engine):
    core.set_inline(0)
    n = 300
    x = array(-np.eye(n))
    y = nd.linalg_potrf(x)
    line = here(-1)
    with pytest.raises(core.MXNetError, match=r"linalg_potrf.*positive definite") as e:
        core.wait(y)
    assert "(300, 300)" in str(e.value)
    assert line in str(e.value)


def test_several_threads(threaded):
    """Threads that push to arrays of their own and read shared ones."""
    shared, wrong = array(np.arange(1000.0)), []

    def run(k):
        rng = np.random.default_rng(k)
        y, want = shared * k, np.arange(1000.0, dtype=np.float32) * np.float32(k)
        for _ in range(200):
            match int(rng.integers(4)):
                case 0:
                    y, want = y + shared, want + np.arange(1000, dtype=np.float32)
                case 1:
                    y[10:20] = k
                    want[10:20] = k
                case 2:
                    y *= 0.5
                    want *= np.float32(0.5)
                case 3:
                    y, want = y[::-1] * 1, want[::-1] * 1
        if not np.array_equal(core.to_numpy(y), want):
            wrong.append(k)

    for inline in (None, 0):
        core.set_inline(inline)
        threads = [threading.Thread(target=run, args=(k,)) for k in range(1, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_several_threads_on_one_array(queued):
    """Each addition is atomic over its arrays: none is lost."""
    x = array(np.zeros(5000))

    def run():
        nonlocal x
        for _ in range(100):
            op("broadcast_add", x, 1.0, out=x)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert np.array_equal(core.to_numpy(x), np.full(5000, 400, np.float32))


def twice(inputs, outputs):
    core.copy_into(outputs[0], inputs[0] * 2)


def test_callback(engine):
    (y,) = core.callback("twice", twice, [array([1.0, 2.0])], [((2,), "float32")])
    assert numbers(y + 1) == [3, 5]


def test_callback_of_what_is_not_ready(engine):
    x = op("_test_fail", array([1.0, 2.0]), delay_us=SLOW)
    (y,) = core.callback("twice", twice, [x * 1], [((2,), "float32")])
    assert numbers(y) == [2, 4]


def test_callback_through_numpy(engine):
    def sort(inputs, outputs):
        core.copy_into(outputs[0], array(np.sort(core.to_numpy(inputs[0]))))
        core.copy_into(outputs[1], float(inputs[0].sum()))

    y, total = core.callback("sort", sort, [array([3.0, 1.0, 2.0])], [((3,), "float32"), ((), "float64")])
    assert numbers(y) == [1, 2, 3]
    assert numbers(total) == 6


def test_callback_that_waits_for_more(engine):
    """A callback pushes work, waits for it, and for what another callback makes."""

    def outer(inputs, outputs):
        (z,) = core.callback("twice", twice, [inputs[0] + 1], [((2,), "float32")])
        slow = op("_test_fail", z, delay_us=SLOW)
        core.wait(slow)
        core.copy_into(outputs[0], slow)

    (y,) = core.callback("outer", outer, [array([1.0, 2.0])], [((2,), "float32")])
    assert numbers(y) == [4, 6]


def test_callback_that_fails(engine):
    def bad(inputs, outputs):
        raise ValueError("not today")

    (y,) = core.callback("bad", bad, [array([1.0])], [((1,), "float32")])
    line = here(-1)
    z = y * 2
    for a in (y, z):
        with pytest.raises((core.MXNetError, ValueError), match=r"(?s)bad.*not today") as e:
            core.wait(a)
        assert line in str(e.value)
    assert numbers(array([1.0]) + 1) == [2]


def test_callback_from_many_threads(threaded):
    done = []

    def run(k):
        for _ in range(20):
            (y,) = core.callback("twice", twice, [array([float(k)])], [((1,), "float32")])
            done.append(numbers(y) == [2.0 * k])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(done) == 80
    assert all(done)


def test_bytes_in_flight_are_bounded(queued):
    """A chain of queued ops holds a few blocks, however fast it is pushed."""
    n = 1 << 20
    x = array(np.zeros(n))
    core.wait_all()
    before = core.memory_stats()["held"]
    core.memory_reset_peak()
    y = x
    for _ in range(40):
        y = op("_test_fail", y, delay_us=2000)
    core.wait(y)
    assert core.memory_stats()["peak"] - before <= 4 * 4 * n


def test_push_waits_when_too_much_is_in_flight(queued):
    """With room for one op only, pushes are held back and all is computed nevertheless."""
    before = core.set_inflight_bytes(1 << 20)
    try:
        x = array(np.ones(1 << 18))
        ys = [op("_test_fail", x * k, delay_us=1000) for k in range(30)]
        assert [core.to_numpy(y)[-1] for y in ys] == list(range(30))
    finally:
        core.set_inflight_bytes(before)


def test_callback_is_exempt_from_the_bound(threaded):
    before = core.set_inflight_bytes(1 << 16)
    try:

        def big(inputs, outputs):
            y = inputs[0]
            for _ in range(5):
                y = op("_test_fail", y, delay_us=1000)
            core.copy_into(outputs[0], y)

        x = array(np.ones(1 << 18))
        outs = [core.callback("big", big, [x], [((1 << 18,), "float32")])[0] for _ in range(4)]
        assert all(core.to_numpy(o)[0] == 1 for o in outs)
    finally:
        core.set_inflight_bytes(before)


def test_devices_have_queues_of_their_own(threaded):
    """Work on cpu(1) goes on while cpu(0) is busy; a copy between them waits for both."""
    slow = op("_test_fail", array([1.0]), delay_us=20 * SLOW)
    x = array([2.0], device=1)
    y = op("_test_fail", x, delay_us=10)
    assert numbers(y) == [2]
    moved = core.copy_to_device(slow, 1)
    assert moved._device == 1
    assert numbers(moved + y) == [3]


def test_switching_engines(threaded):
    y = op("_test_fail", array([1.0]), delay_us=SLOW)
    assert core.set_naive(True) is False
    assert core.is_naive()
    assert numbers(y * 2) == [2]
    assert core.set_naive(False) is True
    assert numbers(y * 3) == [3]


def test_profile_of_queued_work(queued):
    core.profiler_events(True)
    core.profiler_enable(True)
    y = op("_test_fail", array(np.ones(100)), delay_us=1000)
    core.wait(y)
    core.profiler_enable(False)
    (event,) = [e for e in core.profiler_events(True) if e["op"] == "_test_fail"]
    assert event["queued"] <= event["start"] <= event["end"]
    assert event["end"] - event["start"] >= 900_000
    assert event["bytes"] >= 400
    assert "cpu(0)" in str(event["device"])


def test_message_has_no_address():
    y = failing(array([1.0]))
    with pytest.raises(core.MXNetError) as e:
        core.wait(y)
    assert not re.search("0x[0-9a-f]{6}", str(e.value))
