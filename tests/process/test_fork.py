"""Fork with work queued: the parent goes on, the child works or says clearly why not; nobody hangs."""

import os
import subprocess
import sys

import pytest
from process.run import TIMEOUT, environment, output, run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

# The child's exit code: 0 where it works, 7 where it raises one of our errors.
CHILD = """
def child(work):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except core.MXNetError as e:
            print("refused:", e, flush=True)
            code = 7
        except BaseException as e:
            print("wrong:", type(e), e, flush=True)
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 7), code
    return code
"""


@pytest.mark.parametrize("engine", ["threaded", "naive"])
def test_fork_with_work_queued(engine):
    lines = output(CHILD + """
x = array(np.ones(1000))
busy = [slow(x * k, 0.02) for k in range(20)]
def work():
    y = slow(array(np.ones(100_000)) + 1, 0.01)
    assert numbers(y)[:2] == [2, 2]
    assert numbers(op("dot", array(np.ones((300, 300))), array(np.ones((300, 300)))))[0][0] == 300
    core.wait_all()
child(work)
assert [numbers(b)[0] for b in busy] == list(range(20))
print("parent done")
""", GLUONISH_ENGINE=engine)  # fmt: skip
    assert lines[-1] == "parent done"
    assert not any(line.startswith("wrong") for line in lines)


def test_child_sees_arrays_of_the_parent():
    lines = output(CHILD + """
x = slow(array(np.arange(5.0)), 0.1)
big = op("exp", array(np.zeros((500, 500))))
def work():
    assert numbers(x) == [0, 1, 2, 3, 4]
    assert numbers(big * 2)[0][0] == 2
print("code", child(work))
assert numbers(x * 2) == [0, 2, 4, 6, 8]
""")  # fmt: skip
    assert lines[-1] in {"code 0", "code 7"}


def test_fork_from_a_thread_while_others_push():
    output(CHILD + """
import threading
stop = threading.Event()
def push():
    y = array(np.ones(2000))
    core.set_inline(0)
    while not stop.is_set():
        y = y * 1.0
        core.wait(y)
threads = [threading.Thread(target=push) for _ in range(2)]
for t in threads: t.start()
def work():
    assert numbers(array([1.0]) + 1) == [2]
for _ in range(10):
    child(work)
stop.set()
for t in threads: t.join()
""")  # fmt: skip


def test_gradients_and_random_numbers_in_the_child():
    output(CHILD + """
x = variable([2.0])
with record():
    y = x * x
core.seed(3, None)
def work():
    backward(y)
    assert numbers(x.grad) == [4]
    core.invoke("random_normal", [], {"shape": (100_000,)})
    core.wait_all()
child(work)
backward(y)
assert numbers(x.grad) == [4]
""")  # fmt: skip


def test_child_of_a_child():
    output(CHILD + """
def inner():
    assert numbers(array([1.0, 2.0]) * 2) == [2, 4]
def work():
    slow(array([1.0]), 0.05)
    inner()
    child(inner)
slow(array([1.0]), 0.05)
child(work)
""")  # fmt: skip


def test_poisoned_parent():
    """An error of the parent's is not raised out of the fork, and stays where it was."""
    output(CHILD + """
y = op("_test_fail", array([1.0]), how="error", delay_us=20_000)
def work():
    assert numbers(array([1.0]) + 1) == [2]
child(work)
try:
    core.wait(y)
except core.MXNetError as e:
    assert "asked to fail" in str(e)
else:
    raise SystemExit(3)
try:
    core.wait_all()
except core.MXNetError:
    pass
""")  # fmt: skip


def test_multiprocessing_with_fork():
    done = run("""
import multiprocessing, threading
def task(k):
    y = op("dot", array(np.ones((200, 200))), array(np.full((200, 200), k)))
    return numbers(slow(y, 0.01))[0][0]
if __name__ == "__main__":
    queued = [slow(array(np.ones(1000)), 0.02) for _ in range(10)]
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert pool.map(task, range(9)) == [200.0 * k for k in range(9)]
    core.wait_all()
    print("done")
""")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"


def test_multiprocessing_with_spawn(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text("""
import multiprocessing
import numpy as np
from helpers import array, numbers
def task(k):
    return numbers(array([1.0, 2.0]) * k)
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(task, range(4)) == [[k, 2.0 * k] for k in range(4)]
""")
    done = subprocess.run(
        [sys.executable, str(script)], env=environment(), capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fork_leaves_errors_to_be_raised():
    assert output("""
y = op("_test_fail", array([1.0]), how="error", delay_us=50_000)
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
try:
    core.wait_all()
except Exception as e:
    print("raised", type(e).__name__)
""") == ["raised MXNetError"]
