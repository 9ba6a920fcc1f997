"""From a sample to a call and NumPy's answer: what the tests of this directory share."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from ops.sampling import SEED, Sample, carrier, rounded
from samples import SAMPLES

from gluonish import _core as core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TABLE: dict[str, dict[str, Any]] = {row["name"]: row for row in core.op_table()}
NAMES = list(TABLE)
LAYOUTS = ("transposed", "sliced", "reversed", "broadcast")
KNOWN = [s for s in SAMPLES if s.op in TABLE]  # a sample of a row that is gone fails in test_completeness

FLOATS_UNDER_TEST = ("float16", "bfloat16", "float32")
# The distance of 1 to the next value.
PRECISION = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
_SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}


def is_float(dtype: str) -> bool:
    return dtype in PRECISION


def type_of(x: Any) -> str:
    return str(x.dtype)


def promote(*dtypes: str) -> str:
    """NumPy's promotion, except that integers with floats give the float."""
    floats = sorted({d for d in dtypes if is_float(d)}, key=["float16", "bfloat16", "float32", "float64"].index)
    if floats[:2] == ["float16", "bfloat16"] and len(floats) == 2:
        return "float32"
    return floats[-1] if floats else np.result_type(*dtypes).name


def with_number(dtype: str, value: float) -> str:
    """A Python number is weak: it changes the family at most."""
    if is_float(dtype) or isinstance(value, bool):
        return dtype
    if isinstance(value, float):
        return "float32"
    return "int64" if dtype == "bool" else dtype


def meeting_type(sample: Sample, dtypes: Sequence[str]) -> str:
    """The type in which the operands under test meet."""
    free = [d for a, d in zip(sample.args, dtypes, strict=True) if a.number is None and a.dtype is None]
    if not free:
        return dtypes[0] if dtypes else "float32"
    met = promote(*free)
    for a in sample.args:
        met = met if a.number is None else with_number(met, a.number)
    return met


def result_type(rule: str, met: str) -> str:
    match rule:
        case "same":
            return met
        case "float":
            return met if is_float(met) else "float32"
        case "count":  # bool with bool counts
            return "int64" if met == "bool" else met
        case "wide":  # integers are summed in 64 bits
            return met if is_float(met) else "uint64" if met.startswith("uint") else "int64"
    return rule


def array(value: Any, dtype: str | None = None, device: int = 0) -> Any:
    """An NDArray with these values."""
    value = np.asarray(value)
    dtype = dtype or value.dtype.name
    carried = np.ascontiguousarray(value, carrier(dtype))
    made = core.from_buffer(carried, carried.dtype.name, value.shape, device)
    return core.invoke("cast", [made], {"dtype": dtype}) if dtype == "bfloat16" else made


def lay(value: np.ndarray, dtype: str, layout: str) -> tuple[Any, np.ndarray]:
    """An NDArray that lies in memory as `layout` says, and its values."""
    every = (slice(None, None, -1),) * value.ndim
    match layout if value.ndim else "plain":
        case "transposed":
            return array(value.T, dtype).T, value
        case "sliced":
            wide = np.zeros(tuple(2 * n + 1 for n in value.shape), value.dtype)
            odd = (slice(1, None, 2),) * value.ndim
            wide[odd] = value
            return array(wide, dtype)[odd], value
        case "reversed":
            return array(value[every], dtype)[every], value
        case "broadcast":
            first = value[:1]
            spread = (
                core.invoke("broadcast_to", [array(first, dtype)], {"shape": value.shape})
                if value.size
                else array(value, dtype)
            )
            return spread, np.broadcast_to(first, value.shape) if value.size else value
    return array(value, dtype), value


def types_of(sample: Sample, dtype: str | Sequence[str]) -> list[str]:
    """The types of the inputs: `dtype` where the sample leaves it open."""
    given = itertools.repeat(dtype) if isinstance(dtype, str) else iter(dtype)
    return [a.dtype or next(given) for a in sample.args]


def inputs_of(sample: Sample, values: Sequence[Any], dtypes: Sequence[str]) -> list[Any]:
    return [v if a.number is not None else array(v, d) for a, v, d in zip(sample.args, values, dtypes, strict=True)]


def call(
    op: str, inputs: Sequence[Any], attrs: dict[str, Any], out: Any = None, device: int | None = None
) -> list[Any]:
    """The outputs of a row, always as a list; of one that draws random numbers, the first after a seed.

    What a row changes in place is as before afterwards: the drivers call it more than once.
    """
    row = TABLE.get(op, {})
    if row.get("random"):
        core.seed(SEED, None)
    changing = [x for x in inputs if row.get("changes") and isinstance(x, core.NDArray) and x is not out]
    before = [x.copy() for x in changing]
    result = core.invoke(op, list(inputs), attrs, out, device)
    made = list(result) if isinstance(result, list | tuple) else [result]
    if changing and out is None:
        made = [x.copy() for x in made]
    for x, old in zip(changing, before, strict=True):
        if (core.to_numpy(x, True) != core.to_numpy(old, True)).any():
            x[...] = old
    return made


def expected(sample: Sample, values: Sequence[Any], dtypes: Sequence[str]) -> list[tuple[np.ndarray, str]]:
    """NumPy's answers and the types they must have. Floats are computed in float64, integers in the result's type."""
    assert sample.ref is not None
    met = meeting_type(sample, dtypes)
    rules = sample.result.split()
    first = result_type(rules[0], met)
    if sample.work == "as is":
        work = None
    elif is_float(met) or (is_float(first) and rules[0] == "float"):
        work = np.dtype("float64")
    else:
        work = carrier(first if rules[0] in {"same", "count", "wide"} else met)
    free = [a.number is None and a.dtype is None for a in sample.args]
    cast = [v.astype(work) if f and work is not None else v for v, f in zip(values, free, strict=True)]
    with np.errstate(all="ignore"):
        answer = sample.ref(*cast, **sample.attrs)
    answers = answer if isinstance(answer, list) else [answer]
    rules *= len(answers) if len(rules) == 1 else 1
    return [(rounded(a, result_type(r, met)), result_type(r, met)) for a, r in zip(answers, rules, strict=True)]


def check(got: Any, want: np.ndarray, dtype: str, sample: Sample, note: str = "") -> None:
    """The result has the type and shape, and its values are as near as the type allows."""
    note = f"{sample.name} {sample.attrs} {note}"
    assert type_of(got) == dtype, f"{note}: {type_of(got)}, expected {dtype}"
    assert got.shape == want.shape, f"{note}: {got.shape}, expected {want.shape}"
    have = core.to_numpy(got)
    if not is_float(dtype):
        np.testing.assert_array_equal(have, want, err_msg=note)
        return
    eps = PRECISION[dtype]
    atol = sample.atol * eps + 2 * _SMALLEST[dtype]
    np.testing.assert_allclose(
        have.astype(np.float64), want.astype(np.float64), rtol=4 * sample.rtol * eps, atol=atol, err_msg=note
    )


def bits(x: Any) -> bytes:
    """The values of an array, bit for bit; every NaN is alike."""
    y = core.to_numpy(x)
    return (np.where(np.isnan(y), y.dtype.type(np.nan), y) if y.dtype.kind == "f" else y).tobytes()


@contextlib.contextmanager
def machine(
    naive: bool | None = None, inline: int | None = -1, threads: int | None = None, isa: str | None = None
) -> Iterator[None]:
    """For a while: another engine, limit for work in the caller (None: the usual), number of threads, instructions."""
    with contextlib.ExitStack() as back:
        if naive is not None:
            back.callback(core.set_naive, core.set_naive(naive))
        if inline != -1:
            back.callback(core.set_inline, core.set_inline(inline))
        if threads is not None:
            back.callback(core.set_num_threads, core.set_num_threads(threads))
        if isa is not None:
            back.callback(core.limit_isa, core.isa())
            core.limit_isa(isa)
        yield
        core.wait_all()


def has_isa(name: str) -> bool:
    """Whether this machine has an instruction set: a limit to one that it lacks leaves it with another."""
    with machine(isa=name):
        return core.isa() == name


def cases(samples: Sequence[Sample], *others: Sequence[Any]) -> Any:
    """Parameters whose names say op and variant."""
    return [
        pytest.param(s, *rest, id="-".join([s.name, *map(str, rest)]))
        for s in samples
        for rest in itertools.product(*others)
    ]
