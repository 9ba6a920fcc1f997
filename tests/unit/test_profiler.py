import json
import os
import subprocess
import sys

import pytest

import gluonish as mx
from gluonish import errors, nd, profiler


@pytest.fixture(autouse=True)
def _clean():
    """Nothing recorded before, nothing configured after."""
    profiler.events(clear=True)
    yield
    profiler.set_state("stop")
    profiler.set_config(filename="profile.json", profile_all=True)
    profiler.events(clear=True)


def work():
    """One small and one large operation."""
    mx.nd.exp(mx.nd.ones(3)).wait_to_read()
    mx.nd.tanh(mx.nd.ones((700, 700))).wait_to_read()
    mx.nd.waitall()


def ops():
    return [event["op"] for event in profiler.events()]


def test_states():
    work()
    assert ops() == []
    profiler.set_state("run")
    work()
    assert {"exp", "tanh"} <= set(ops())
    profiler.pause()
    count = len(ops())
    work()
    assert len(ops()) == count
    profiler.resume()
    work()
    assert len(ops()) > count
    profiler.set_state("stop")
    count = len(ops())
    profiler.resume()
    work()
    assert len(ops()) == count


def test_events():
    profiler.set_state("run")
    mx.nd.tanh(mx.nd.ones((700, 700))).wait_to_read()
    profiler.set_state("stop")
    (event,) = (e for e in profiler.events(clear=True) if e["op"] == "tanh")
    assert event["queued"] <= event["start"] <= event["end"]
    assert event["bytes"] >= 2 * 4 * 700 * 700
    assert event["device"] == "cpu(0)"
    assert profiler.events() == []


def test_nothing_wanted():
    profiler.set_config(profile_all=False, profile_imperative=False)
    profiler.set_state("run")
    work()
    assert ops() == []


def test_table_and_json():
    profiler.set_state("run")
    for _ in range(3):
        mx.nd.tanh(mx.nd.ones((500, 500))).wait_to_read()
    profiler.set_state("stop")
    rows = json.loads(profiler.dumps(format="json", sort_by="count", ascending=True))
    assert [row["count"] for row in rows] == sorted(row["count"] for row in rows)
    (row,) = (row for row in rows if row["op"] == "tanh")
    assert row["count"] == 3
    assert row["min"] <= row["avg"] <= row["max"] <= row["total"]
    table = profiler.dumps(reset=True).splitlines()
    assert table[0].split() == ["op", "count", "total", "min", "max", "avg", "queued", "bytes"]
    assert any(line.split()[:2] == ["tanh", "3"] for line in table)
    assert len(profiler.dumps().splitlines()) == 1


def test_dump_writes_a_chrome_trace(tmp_path):
    path = tmp_path / "trace.json"
    profiler.set_config(profile_all=True, filename=path)
    profiler.set_state("run")
    work()
    profiler.dump(finished=False)
    profiler.dump()
    work()
    trace = json.loads(path.read_text())
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {"exp", "tanh"} <= {event["name"] for event in events}
    for event in events:
        assert {"pid", "tid", "ts", "dur"} <= event.keys()
        assert {"queue_us", "bytes"} <= event["args"].keys()
    assert {"name": "cpu(0)"} in [event["args"] for event in trace["traceEvents"] if event["ph"] == "M"]
    assert ops() == []


def test_whole_program(tmp_path):
    path = tmp_path / "program.json"
    program = "import os; import gluonish as mx; y = mx.nd.tanh(mx.nd.ones((500, 500))); os.chdir('/')"
    environment = {**os.environ, "GLUONISH_PROFILE": path.name}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, cwd=tmp_path)
    assert "tanh" in [event["name"] for event in json.loads(path.read_text())["traceEvents"]]


def test_old_names_warn(tmp_path):
    path = tmp_path / "old.json"
    with pytest.warns(UserWarning, match=r"profiler_set_config is an old name: use profiler\.set_config"):
        profiler.profiler_set_config(mode="all", filename=str(path))
    with pytest.warns(UserWarning, match="set_state"):
        profiler.profiler_set_state("run")
    nd.tanh(nd.ones((100, 100))).wait_to_read()
    with pytest.warns(UserWarning, match="dump"):
        profiler.dump_profile()
    assert "tanh" in [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
    with pytest.warns(UserWarning, match="old"), pytest.raises(ValueError, match="mode='everything' is not valid"):
        profiler.profiler_set_config("everything")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: profiler.set_config(file="x"), "there is no argument 'file'; it takes profile_all"),
        (lambda: profiler.set_config(continuous_dump=True), "continuous_dump=True"),
        (lambda: profiler.set_config(profile_process="server"), "server"),
        (lambda: profiler.set_state("go"), "state='go' is not valid: expected 'run' or 'stop'"),
        (lambda: profiler.set_state("run", "server"), "server"),
        (lambda: profiler.dumps(format="xml"), "format='xml' is not valid"),
        (lambda: profiler.dumps(sort_by="name"), "sort_by='name' is not valid"),
    ],
)
def test_bad_calls(call, says):
    with pytest.raises(errors.MXNetError) as caught:
        call()
    assert says in str(caught.value)
