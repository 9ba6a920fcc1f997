"""An allocation beyond the limit raises MemoryError before a page of it is touched."""

import pytest
from process.run import output

RESIDENT = """
import resource
def resident():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
def refused(f):
    before = resident()
    try:
        f()
    except MemoryError as e:
        assert isinstance(e, core.OutOfMemory) and isinstance(e, core.MXNetError)
        assert resident() - before < 40, resident() - before
        print(e)
    else:
        print("not refused")
"""


@pytest.mark.parametrize("engine", ["threaded", "naive"])
@pytest.mark.parametrize(
    "call",
    ['core.empty((1 << 28,), "float32", 0)', 'core.full((1 << 14, 1 << 14), 1, "float32", 0)',
     'core.invoke("random_normal", [], {"shape": (1 << 28,)})',
     'array(np.ones((1 << 14, 1))) + array(np.ones((1, 1 << 14)))',
     'op("_copy", op("broadcast_to", array([1.0]), shape=(1 << 28,)))'],
)  # fmt: skip
def test_one_array_beyond_the_limit(call, engine):
    """It is refused at the call."""
    lines = output(RESIDENT + f"refused(lambda: {call})\nprint(numbers(array([1.0]) + 1))",
                   GLUONISH_MEMORY_LIMIT="64M", GLUONISH_ENGINE=engine)  # fmt: skip
    assert "1.0 GiB" in lines[0]
    assert "64.0 MiB" in lines[0]
    assert "GLUONISH_MEMORY_LIMIT" in lines[0]
    assert lines[-1] == "[2.0]"


@pytest.mark.parametrize("engine", ["threaded", "naive"])
def test_arrays_that_are_too_many(engine):
    """Each fits, all of them do not: at the wait at the latest; what is held is told."""
    lines = output(RESIDENT + """
kept = []
def make():
    for k in range(10):
        kept.append(core.full((4 << 20,), k, "float32", 0))
        core.wait(kept[-1])
refused(make)
print(len(kept) in (3, 4, 5))
kept.clear()
core.wait_all()
y = core.full((4 << 20,), 3, "float32", 0)
print(core.to_numpy(y)[-1])
""", GLUONISH_MEMORY_LIMIT="64M", GLUONISH_ENGINE=engine)  # fmt: skip
    assert "16.0 MiB asked for" in lines[0]
    assert "64.0 MiB" in lines[0]
    assert lines[-2:] == ["True", "3.0"]


def test_queued_work_that_gets_no_memory():
    lines = output(RESIDENT + """
core.set_inline(0)
x = core.full((4 << 20,), 1, "float32", 0)
kept = [x]
def chain():
    for _ in range(8):
        kept.append(slow(kept[-1], 0.001))
    core.wait(kept[-1])
refused(chain)
print(core.to_numpy(x)[0])
try:
    while True:
        core.wait_all()
        break
except MemoryError:
    pass
""", GLUONISH_MEMORY_LIMIT="64M", GLUONISH_ENGINE="threaded")  # fmt: skip
    assert "out of memory" in lines[0]
    assert "16.0 MiB" in lines[0]
    assert "test_fail" in lines[0]
    assert "1.0" in lines


def test_freed_memory_counts_no_more():
    assert output("""
for k in range(40):
    y = core.full((4 << 20,), k, "float32", 0) * 2
print(core.to_numpy(y)[0], core.memory_stats()["peak"] <= 64 << 20)
del y
print(core.memory_stats()["held"])
core.memory_release()
print(core.memory_stats()["pooled"])
""", GLUONISH_MEMORY_LIMIT="64M") == ["78.0 True", "0", "0"]  # fmt: skip


def test_pool_is_trimmed_before_anything_is_refused():
    """Memory kept for reuse in one size is given back when another is asked for."""
    assert output("""
for shape in ((12 << 20,), (3 << 20,), (5 << 20,), (11 << 20,), (13 << 20,)):
    y = core.full(shape, 1, "float32", 0)
    core.wait(y)
    del y
print("fits")
""", GLUONISH_MEMORY_LIMIT="64M") == ["fits"]  # fmt: skip


def test_limit_at_run_time():
    lines = output(RESIDENT + """
before = core.set_memory_limit(32 << 20)
refused(lambda: core.empty((16 << 20,), "float32", 0))
core.set_memory_limit(before)
y = core.empty((16 << 20,), "float32", 0)
print(y.nbytes == 64 << 20)
""")  # fmt: skip
    assert "64.0 MiB asked for" in lines[0]
    assert lines[-1] == "True"


def test_shapes_that_no_memory_could_hold():
    lines = output("""
for shape in ((2**31, 2**31, 2**31), (2**62,), (2**40, 2**20), (-1,), (3, -2)):
    try:
        core.empty(shape, "float64", 0)
        print("made")
    except (core.ShapeError, core.OutOfMemory) as e:
        print(str(shape) in str(e) or "EiB" in str(e) or "PiB" in str(e))
print(core.empty((0, 2**40), "float32", 0).shape)
""")  # fmt: skip
    assert lines == ["True"] * 5 + ["(0, 1099511627776)"]
