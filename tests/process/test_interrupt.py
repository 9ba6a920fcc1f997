"""Ctrl-C: KeyboardInterrupt while the work goes on, nothing lost, and the program can go on."""

import os

import pytest
from process.run import interrupted

pytestmark = pytest.mark.skipif(
    os.environ.get("GLUONISH_ENGINE") == "naive", reason="work runs in the call: there is nothing to interrupt"
)

# The work takes LONG seconds; an interrupt that came only at its end would be seen as late.
LONG = 2.5
CAUGHT = f"""
LONG = {LONG}
def caught(f):
    print("now", flush=True)
    start = time.monotonic()
    try:
        f()
    except KeyboardInterrupt:
        print("early" if time.monotonic() - start < LONG - 0.5 else "late", flush=True)
    else:
        print("not interrupted", flush=True)
"""


@pytest.mark.parametrize("how", ["wait(y)", "wait_all()", "to_numpy(y)", "item(y)"])
def test_interrupt_of_a_wait(how):
    lines = interrupted(CAUGHT + f"""
y = slow(array([3.0]), LONG)
caught(lambda: core.{how})
print(numbers(y * 2), flush=True)
core.wait_all()
""")  # fmt: skip
    assert lines == ["now", "early", "[6.0]"]


def test_two_interrupts():
    lines = interrupted(CAUGHT + """
y = slow(array([3.0]), LONG)
caught(core.wait_all)
caught(lambda: core.wait(y))
print(numbers(y))
""", times=2)  # fmt: skip
    assert lines == ["now", "early", "now", "early", "[3.0]"]


def test_interrupt_of_a_push_that_is_held_back():
    lines = interrupted(CAUGHT + """
core.set_naive(False)
core.set_inflight_bytes(1 << 16)
x = array(np.ones(1 << 18))
first = slow(x, LONG)
pushed = []
def push():
    for k in range(50):
        pushed.append(slow(x * (k + 1), 0.001))
caught(push)
print(len(pushed) < 50, [float(core.to_numpy(y)[0]) for y in pushed] == [k + 1.0 for k in range(len(pushed))])
again = slow(x * 7, 0.001)
print(core.to_numpy(again)[0], core.to_numpy(first)[0])
core.wait_all()
""")  # fmt: skip
    assert lines == ["now", "early", "True True", "7.0 1.0"]


def test_interrupt_of_a_shape_that_is_waited_for():
    lines = interrupted(CAUGHT + """
m = slow(array([1.0, 0.0, 1.0]), LONG)
x = array([1.0, 2.0, 3.0])
caught(lambda: op("boolean_mask", x, m))
print(numbers(op("boolean_mask", x, m)))
""")  # fmt: skip
    assert lines == ["now", "early", "[1.0, 3.0]"]


def test_interrupt_with_a_handler_that_does_not_raise():
    lines = interrupted("""
signal.signal(signal.SIGINT, lambda *_: print("handled", flush=True))
y = slow(array([3.0]), 2)
print("now", flush=True)
print(numbers(y))
""")  # fmt: skip
    assert lines == ["now", "handled", "[3.0]"]


def test_interrupt_does_not_stay():
    """What was interrupted is not remembered by the engine as an error."""
    lines = interrupted(CAUGHT + """
y = slow(array([3.0]), LONG)
caught(lambda: core.wait(y))
core.wait(y)
core.wait_all()
z = y + 1
core.wait_all()
print(numbers(z))
""")  # fmt: skip
    assert lines == ["now", "early", "[4.0]"]
