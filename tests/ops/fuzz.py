"""Random calls of rows, in a process of its own: it may crash. Prints a line for each row that is done, and for each
call that is neither NumPy's result nor one of our errors.

    python -m ops.fuzz SEED ROUNDS [ROW ...]
"""

from __future__ import annotations

import faulthandler
import json
import sys
from typing import Any

import numpy as np
from ops.driver import FLOATS_UNDER_TEST, KNOWN, TABLE, array, call, check, core, expected, is_float, lay, type_of
from ops.sampling import ALL, Sample, rounded

SIZES = (0, 1, 1, 2, 3, 5, 7, 13)
HUGE = ((2**31, 2**31), (2**62, 4), (2**20, 2**20, 2**20), (2**40,), (0, 2**62, 2**10))
PANIC = ("internal error", "panicked", "out of bounds", "overflow when")
SECONDS = 30  # that the calls of one row may take
# Rows whose reference holds for any input; the others' are made for their samples.
GENERAL = {s.op: s for s in reversed(KNOWN) if s.ref is not None and (TABLE[s.op]["elementwise"] or s.op in {
    "sum", "mean", "max", "min", "argmax", "argmin", "softmax", "log_softmax", "matmul", "dot", "where", "transpose",
    "swapaxes",
    "expand_dims", "squeeze", "zeros_like", "ones_like", "_copy", "boolean_mask"}) and s.op != "_where"
    and all(a.number is None for a in s.args)}  # fmt: skip


class Caller:
    """Makes up calls of one row."""

    def __init__(self, name: str, seed: int) -> None:
        self.row, self.rng = TABLE[name], np.random.default_rng([seed, *name.encode()])
        self.shape = self.random_shape()

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def random_shape(self) -> tuple[int, ...]:
        rank = self.pick((0, 1, 1, 2, 2, 2, 3, 3, 4, 6))
        return tuple(self.pick(SIZES[:5] if rank > 3 else SIZES) for _ in range(rank))

    def near_shape(self) -> tuple[int, ...]:
        """Often the shape of the other inputs, or one that broadcasts with it."""
        match int(self.rng.integers(6)):
            case 0:
                return self.random_shape()
            case 1:
                return self.shape[1:]
            case 2:
                return tuple(1 if self.chance(0.5) else n for n in self.shape)
            case 3:
                return self.shape[:-2] + self.shape[-2:][::-1]
        return self.shape

    def values(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        x = self.rng.normal(0, 3, shape)
        if self.chance(0.2):
            x = self.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 1e-42, 2.0], shape)
        if dtype == "bool":
            return x > 0
        if "int" in dtype:
            x = np.nan_to_num(np.abs(x) if dtype.startswith("u") else x, posinf=100, neginf=0) % 100
        return rounded(x, dtype)

    def operand(self, kind: str) -> tuple[Any, Any, str]:
        """An input, its values for NumPy (None: not an array) and its type."""
        if self.chance(0.08):
            odd = (None, "text", object(), [1.0, 2.0], np.ones((2, 2)), b"", 2**70, 1j, ())
            return self.pick(odd), None, ""
        if self.chance(0.1):
            return self.pick((2, -1, 0, 2.5, float("nan"), float("inf"), True, 2**62, -(2**63))), None, ""
        if self.chance(0.04) and self.row["elementwise"]:
            one = array(np.ones((1,) * 2), self.pick(ALL))
            return core.invoke("broadcast_to", [one], {"shape": (2**31, 2**16)}), None, ""
        dtype = self.pick(("float32", "float32", "float64", "int32", *ALL))
        value = self.values(self.near_shape(), dtype)
        made, value = lay(value, dtype, self.pick(("plain", "plain", "transposed", "sliced", "reversed", "broadcast")))
        if self.chance(0.03):
            return core.copy_to_device(made, 1), None, ""
        return made, value, dtype

    def attribute(self, kind: str) -> Any:
        if self.chance(0.15):
            return self.pick(
                (None, "text", 1.5, float("nan"), 2**70, -1, {}, (1, "x"), (1.5,), b"", object(), (1,) * 40, True)
            )
        if "Sequence" in kind:
            if self.chance(0.1):
                return self.pick(HUGE)
            if self.chance(0.3):
                return self.pick((self.shape, self.near_shape(), int(self.rng.integers(-3, 4))))
            return tuple(int(n) for n in self.rng.integers(-4, 8, int(self.rng.integers(0, 5))))
        if "Literal" in kind:
            words = kind[kind.index("[") + 1 : kind.rindex("]")].replace('"', "").split(", ")
            return self.pick(words)
        if "DTypeLike" in kind:
            return self.pick(ALL)
        if "bool" in kind:
            return self.chance(0.5)
        if "float" in kind:
            return self.pick((0.0, 1.0, -1.0, 2.5, 1e30, float("inf")))
        return int(self.pick((0, 1, -1, 2, -2, 3, 100, -(2**63), 2**63 - 1)))

    def make(self) -> tuple[list[Any], list[Any], list[str], dict[str, Any]]:
        self.shape = self.random_shape()
        kinds = [i["kind"] for i in self.row["inputs"]]
        if kinds and kinds[-1] == "variadic":
            kinds = kinds[:-1] + ["required"] * int(self.rng.integers(0, 5))
        if self.chance(0.03):
            kinds = kinds[:-1] if self.chance(0.5) else [*kinds, "required"]
        operands = [self.operand(k) for k in kinds]
        attrs = {
            a["name"]: self.attribute(a["kind"])
            for a in self.row["attrs"]
            if ("default" not in a and self.chance(0.97)) or self.chance(0.5)
        }
        if self.row["name"] == "_test_fail":
            attrs.update(delay_us=0, how="copy")
        return [o[0] for o in operands], [o[1] for o in operands], [o[2] for o in operands], attrs


def judge(name: str, caller: Caller) -> str | None:
    """One random call: None, or what was wrong with it."""
    inputs, values, dtypes, attrs = caller.make()
    told = f"{name}({', '.join(map(describe, inputs))}, {attrs!r})"
    print("call", told, file=sys.stderr)
    out = None
    try:
        if caller.chance(0.1) and inputs and isinstance(inputs[0], core.NDArray):
            out = inputs[0]
        got = differentiated(name, inputs, attrs) if caller.chance(0.2) else call(name, inputs, attrs, out)
        for y in got:
            core.to_numpy(y)
    except (core.MXNetError, TypeError) as e:
        return f"{told}: {e}" if any(p in str(e) for p in PANIC) else None
    except BaseException as e:
        return f"{told}: {type(e).__name__} {e}"
    if out is not None or any(v is None for v in values) or name not in GENERAL:
        return None
    return compare(name, values, dtypes, attrs, got, told)


def differentiated(name: str, inputs: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """The outputs of a recorded call, after their gradients went back to the inputs."""
    variables = [x for x in inputs if isinstance(x, core.NDArray) and is_float(type_of(x)) and x.size < 1 << 20]
    for x in variables:
        core.attach_grad(x, "write")
    core.set_recording(True)
    try:
        got = call(name, inputs, attrs)
    finally:
        core.set_recording(False)
    heads = [y for y in got if core.is_tracked(y)]
    if heads:
        core.backward(heads, [None] * len(heads), False, False, True, False)
        for x in variables:
            assert core.to_numpy(x.grad).shape == x.shape
    return got


def compare(
    name: str, values: list[Any], dtypes: list[str], attrs: dict[str, Any], got: list[Any], told: str
) -> str | None:
    known = GENERAL[name]
    if (known.work == "as is" and len(set(dtypes)) > 1) or not set(dtypes) <= {*known.dtypes, "bool"} - (
        {"bool"} - set(known.dtypes)
    ):
        return None
    loose = 64.0 if set(dtypes) & set(FLOATS_UNDER_TEST) else 16.0
    sample = Sample(
        name,
        known.args,
        known.ref,
        attrs,
        result=known.result,
        work=known.work,
        rtol=loose,
        atol=max(known.atol, 8) * 16,
    )
    if "dtype" in attrs:
        return None
    try:
        want = expected(sample, values, dtypes)
    except Exception:  # NumPy refuses where Gluon does not
        return None
    try:
        for g, (w, d) in zip(got, want, strict=True):
            check(g, w, d, sample)
    except (AssertionError, ValueError) as e:
        return f"{told}: {str(e).strip()[:600]}"
    return None


def describe(x: Any) -> str:
    if not isinstance(x, core.NDArray):
        return repr(x)[:40]
    return f"<{x.dtype} {x.shape} strides {x.strides}>"


def main(seed: int, rounds: int, names: list[str]) -> None:
    core.set_memory_limit(256 << 20)
    for name in names or list(TABLE):
        print(json.dumps({"start": name}), flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        caller = Caller(name, seed)
        wrong = [w for w in (judge(name, caller) for _ in range(rounds)) if w]
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"done": name, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    faulthandler.enable()
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
