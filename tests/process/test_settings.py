"""GLUONISH_* variables: good ones work, bad ones are named at import."""

import os

import pytest
from process.run import output, run


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("GLUONISH_ENGINE", "fast", "threaded or naive"),
        ("GLUONISH_NUM_THREADS", "two", "two"),
        ("GLUONISH_NUM_THREADS", "-1", "or 0 for as many as"),
        ("GLUONISH_MEMORY_LIMIT", "lots", "lots"),
        ("GLUONISH_MEMORY_LIMIT", "1T3", "1T3"),
        ("GLUONISH_INFLIGHT_BYTES", "1.5.", "1.5."),
        ("GLUONISH_ENGIN", "naive", "GLUONISH_ENGINE"),
        ("GLUONISH_FTZ", "maybe", "0 or 1"),
    ],
)
def test_bad_setting(name, value, says):
    done = run("", **{name: value})
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert name in last
    assert says in last
    assert "Error" in last


def test_several_bad_settings_are_told_at_once():
    done = run("", GLUONISH_ENGINE="fast", GLUONISH_NUM_THREADS="x")
    assert "GLUONISH_ENGINE" in done.stderr
    assert "GLUONISH_NUM_THREADS" in done.stderr


def test_good_settings():
    assert output("""
print(core.is_naive(), core.num_threads(), core.memory_stats()["limit"])
print({s["name"]: s["value"] for s in core.settings()}["GLUONISH_ENGINE"])
""", GLUONISH_ENGINE="naive", GLUONISH_NUM_THREADS="1", GLUONISH_MEMORY_LIMIT="2G",
                  GLUONISH_INFLIGHT_BYTES="16M") == [f"True 1 {2 << 30}", "naive"]  # fmt: skip


def test_threads_respect_the_affinity():
    assert output("""
import subprocess
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(subprocess.run([sys.executable, "-c", "from gluonish import _core; print(_core.num_threads())"],
                         capture_output=True, text=True).stdout.strip())
else:
    print(1)
""") == ["1"]  # fmt: skip


def test_every_setting_is_documented():
    lines = output('for s in core.settings(): print(s["name"], len(s["doc"]) > 20, isinstance(s["default"], str))')
    assert {line.split()[0] for line in lines} >= {
        f"GLUONISH_{n}" for n in ("ENGINE", "NUM_THREADS", "INFLIGHT_BYTES", "MEMORY_LIMIT", "PROFILE", "FTZ")
    }
    assert all(line.endswith("True True") for line in lines)


def test_profile_to_a_file(tmp_path):
    import json

    file = tmp_path / "trace.json"
    output("y = op('exp', array(np.ones(100_000)))\ncore.wait(y)", GLUONISH_PROFILE=str(file))
    trace = json.loads(file.read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    assert any(e.get("name") == "exp" for e in events)


def test_flush_to_zero():
    text = "print(float(core.to_numpy(array(np.full(100, 1e-40)) * 0.5)[0]) == 0)"
    assert output(text) == ["False"]
    assert output(text, GLUONISH_FTZ="1") == ["True"]


def test_the_directory_for_downloads():
    assert output("import gluonish; print(gluonish.base.data_dir())", GLUONISH_HOME="/some/where") == ["/some/where"]
    assert output("import gluonish; print(gluonish.base.data_dir())", HOME="/home/somebody") == [
        "/home/somebody/.gluonish"
    ]


def test_settings_are_read_once():
    text = """
import os
os.environ["GLUONISH_HOME"] = "/elsewhere"
import gluonish; print(gluonish.base.data_dir())
"""
    assert output(text, GLUONISH_HOME="/first") == ["/first"]


def test_variables_that_are_not_text_do_no_harm():
    done = run("import gluonish as mx; print(mx.nd.ones(2).sum().asscalar())", OTHER=os.fsdecode(b"\xff\xfe"))
    assert (done.returncode, done.stdout) == (0, "2.0\n")
