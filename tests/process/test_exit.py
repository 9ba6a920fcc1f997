"""The interpreter's exit, with and without work queued: quiet, quick, status 0."""

import pytest
from process.run import output, run


@pytest.mark.parametrize("engine", ["threaded", "naive"])
def test_exit_with_work_queued(engine):
    assert output("""
x = array(np.ones(100_000))
y = [slow(x * k, 0.01) for k in range(30)]
print("end")
""", GLUONISH_ENGINE=engine) == ["end"]  # fmt: skip


def test_exit_with_callbacks_queued():
    assert output("""
def work(inputs, outputs):
    time.sleep(0.02)
    core.copy_into(outputs[0], inputs[0])
ys = [core.callback("work", work, [slow(array([1.0]), 0.02)], [((1,), "float32")]) for _ in range(20)]
print("end")
""") == ["end"]  # fmt: skip


def test_exit_with_a_recorded_graph():
    assert output("""
x = variable([1.0])
with record():
    y = x
    for _ in range(50_000):
        y = op("tanh", y)
core.set_recording(True)
core.add_hook(y, lambda g: g)
print("end")
""") == ["end"]  # fmt: skip


def test_exit_with_a_sum_that_a_device_did_not_come_to():
    """Nobody waits for what can never be there."""
    assert output("""
x = array(np.ones(3))
y = core.sum_over_devices(x, "half", 2, 1) + 1
print(core.shutdown())
""", GLUONISH_ENGINE="threaded") == ["True"]  # fmt: skip


def test_exit_with_an_error_that_nobody_saw():
    done = run("""
y = op("_test_fail", array([1.0]), how="panic", delay_us=20_000)
print("end")
""")  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "end\n")


def test_exit_by_exception():
    done = run("""
y = [slow(array([1.0]), 0.05) for _ in range(5)]
raise SystemExit(5)
""")  # fmt: skip
    assert (done.returncode, done.stderr) == (5, "")


def test_exit_while_threads_push():
    assert output("""
import threading
def push():
    y = array(np.ones(1000))
    while True:
        y = y * 1.0
        y[:] = 1
threads = [threading.Thread(target=push, daemon=True) for _ in range(3)]
for t in threads: t.start()
time.sleep(0.2)
print("end")
""") == ["end"]  # fmt: skip


def test_exit_with_arrays_in_cycles_and_globals():
    assert output("""
class Node: pass
a, b = Node(), Node()
a.other, b.other, a.x, b.x = b, a, slow(array([1.0]), 0.02), array(np.ones(1000)) * 2
import builtins
builtins.kept = slow(array([1.0]), 0.02)
print("end")
""") == ["end"]  # fmt: skip


def test_use_after_shutdown():
    """Code that runs after the engine was shut down gets an answer or an error, not a hang."""
    done = run("""
import atexit
x = array([1.0])
def late():
    try:
        print(numbers(slow(x, 0.001)))
    except core.MXNetError as e:
        print("refused")
atexit._clear() if hasattr(atexit, "_clear") else None
atexit.register(late)
atexit.register(core.shutdown)
""")  # fmt: skip
    assert done.returncode == 0
    assert done.stdout in {"[1.0]\n", "refused\n"}
