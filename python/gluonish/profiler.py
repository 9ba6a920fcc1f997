"""What ran, when, where and for how long: MXNet's profiler. ``dump`` writes a file for Chrome's ``chrome://tracing``
or https://ui.perfetto.dev, ``dumps`` a table.

>>> import gluonish as mx
>>> mx.profiler.set_state("run")
>>> y = mx.nd.exp(mx.nd.ones((100, 100)))
>>> mx.nd.waitall()
>>> mx.profiler.set_state("stop")
>>> "exp" in mx.profiler.dumps(reset=True)
True

An event has the op's name, device and thread, when it was queued, began and ended, and the bytes it read and wrote.
``GLUONISH_PROFILE=trace.json`` profiles a whole program and writes the file at its end.
"""

import os
import warnings
from typing import Any, TypedDict

from gluonish import _core
from gluonish._types import ProfilerEvent
from gluonish.errors import ArgumentError, UnsupportedError

__all__ = [
    "dump",
    "dump_profile",
    "dumps",
    "events",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_state",
]

_KINDS = ("profile_all", "profile_symbolic", "profile_imperative", "profile_memory", "profile_api", "aggregate_stats")
_OTHERS = ("filename", "continuous_dump", "dump_period", "profile_process")
_MS = 1e6  # nanoseconds


class _State:
    filename = "profile.json"
    wanted = True
    running = False


class Row(TypedDict):
    """One op in the table: how often it ran, times in milliseconds, and bytes read and written."""

    op: str
    count: int
    total: float
    min: float
    max: float
    avg: float
    queued: float
    bytes: int


def set_config(**kwargs: Any) -> None:
    """Sets where ``dump`` writes (``filename``), and what is recorded.

    Operations are the only kind of event, and bytes always come with them: so any of MXNet's ``profile_all``,
    ``profile_symbolic``, ``profile_imperative``, ``profile_memory``, ``profile_api``, ``aggregate_stats`` means all
    of it, and a call that sets every one it names to False means nothing.

    >>> set_config(profile_all=True, filename="profile.json")
    """
    unknown = [name for name in kwargs if name not in _KINDS + _OTHERS]
    if unknown:
        raise ArgumentError(f"set_config: there is no argument {unknown[0]!r}; it takes {', '.join(_KINDS + _OTHERS)}")
    if kwargs.get("continuous_dump"):
        raise UnsupportedError("set_config: continuous_dump=True: the file is written by dump() only")
    if kwargs.get("profile_process", "worker") != "worker":
        raise UnsupportedError("set_config: profile_process='server': there are no server processes to profile")
    kinds = [bool(kwargs[name]) for name in _KINDS if name in kwargs]
    _State.filename = os.fspath(kwargs.get("filename", _State.filename))
    _State.wanted = any(kinds) if kinds else _State.wanted


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Starts ("run") or ends ("stop") profiling.

    >>> set_state("stop")
    """
    if state not in ("run", "stop"):
        raise ArgumentError(f"set_state: state={state!r} is not valid: expected 'run' or 'stop'")
    _worker(profile_process, "set_state")
    _State.running = state == "run"
    _core.profiler_enable(_State.running and _State.wanted)


def pause(profile_process: str = "worker") -> None:
    """Leaves out what follows, until ``resume``.

    >>> pause()
    """
    _worker(profile_process, "pause")
    _core.profiler_enable(False)


def resume(profile_process: str = "worker") -> None:
    """Goes on after ``pause``, if the state is "run".

    >>> resume()
    """
    _worker(profile_process, "resume")
    _core.profiler_enable(_State.running and _State.wanted)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Waits for all work and writes what was recorded to the configured file; ``finished`` ends profiling, too.

    >>> import tempfile, os
    >>> set_config(filename=os.path.join(tempfile.mkdtemp(), "trace.json"))
    >>> dump()
    """
    _worker(profile_process, "dump")
    try:
        _core.wait_all()
    finally:
        if finished:
            set_state("stop")
        with open(_State.filename, "w", encoding="utf-8") as file:
            file.write(_core.profiler_trace(finished))


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """What was recorded, added up by op, as a table or as JSON; ``reset`` forgets it.

    Rows are sorted by "total", "avg", "min", "max" or "count". Times are in milliseconds; ``queued`` is how long an
    operation waited for its turn, on average.

    >>> print(dumps(reset=True).splitlines()[0].split())
    ['op', 'count', 'total', 'min', 'max', 'avg', 'queued', 'bytes']
    """
    if format not in ("table", "json"):
        raise ArgumentError(f"dumps: format={format!r} is not valid: expected 'table' or 'json'")
    if sort_by not in ("total", "avg", "min", "max", "count"):
        raise ArgumentError(f"dumps: sort_by={sort_by!r} is not valid: expected total, avg, min, max or count")
    rows = _added_up(_core.profiler_events(reset))
    rows.sort(key=lambda row: row[sort_by], reverse=not ascending)  # type: ignore[literal-required]
    if format == "json":
        import json

        return json.dumps(rows, indent=2)
    lines = [f"{'op':<32}{'count':>10}{'total':>12}{'min':>12}{'max':>12}{'avg':>12}{'queued':>12}{'bytes':>16}"]
    for row in rows:
        times = "".join(f"{row[name]:>12.4f}" for name in ("total", "min", "max", "avg", "queued"))
        lines.append(f"{row['op']:<32}{row['count']:>10}{times}{row['bytes']:>16}")
    return "\n".join(lines)


def events(clear: bool = False) -> list[ProfilerEvent]:
    """What was recorded, one dictionary for each operation: op, device, thread, queued, start, end (ns), bytes.

    >>> events(clear=True)
    []
    """
    return _core.profiler_events(clear)


def run_to_exit(filename: str) -> None:
    """Profiles from here on and writes the trace when the program ends."""
    import atexit

    set_config(filename=os.path.abspath(filename))
    set_state("run")
    atexit.register(dump)


# MXNet's old names, which warn, as there.


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """`set_config` by an old name. All modes, "symbolic", "imperative", "api", "memory" and "all", record the same."""
    _old("profiler_set_config", "set_config")
    if f"profile_{mode}" not in _KINDS:
        raise ArgumentError(
            f"profiler_set_config: mode={mode!r} is not valid: expected 'symbolic', 'imperative', 'api', 'memory' or "
            "'all'"
        )
    set_config(filename=filename, **{f"profile_{mode}": True})


def profiler_set_state(state: str = "stop") -> None:
    """`set_state` by an old name."""
    _old("profiler_set_state", "set_state")
    set_state(state)


def dump_profile() -> None:
    """`dump` by an old name."""
    _old("dump_profile", "dump")
    dump(True)


def _old(name: str, now: str) -> None:
    warnings.warn(f"profiler.{name} is an old name: use profiler.{now}", UserWarning, stacklevel=3)


def _added_up(events: list[ProfilerEvent]) -> list[Row]:
    by_op: dict[str, list[ProfilerEvent]] = {}
    for event in events:
        by_op.setdefault(event["op"], []).append(event)
    rows = []
    for op, group in by_op.items():
        times = [(event["end"] - event["start"]) / _MS for event in group]
        queued = sum(event["start"] - event["queued"] for event in group) / _MS
        rows.append(
            Row(
                op=op,
                count=len(group),
                total=sum(times),
                min=min(times),
                max=max(times),
                avg=sum(times) / len(group),
                queued=queued / len(group),
                bytes=sum(event["bytes"] for event in group),
            )
        )
    return rows


def _worker(profile_process: str, function: str) -> None:
    if profile_process != "worker":
        raise UnsupportedError(
            f"{function}: profile_process={profile_process!r}: there is no other process than 'worker'"
        )
