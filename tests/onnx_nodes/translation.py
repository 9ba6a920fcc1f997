"""A case of ONNX's node tests, and what says how ours computes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gluonish import np as mnp

if TYPE_CHECKING:
    from pathlib import Path

HALF_PRECISION = 2**-6  # two steps of bfloat16, which ONNX's own runner allows


class Attributes(dict):
    """`a.name` of a node: None for one that is left out and has no default. `a.outputs`: how many outputs it has."""

    __getattr__ = dict.get


@dataclass(frozen=True)
class Case:
    """A node with inputs, and the outputs it must have; both are NumPy's, None where the node leaves them out."""

    name: str
    op: str
    a: Attributes
    inputs: list[Any]
    outputs: list[Any]
    types: list[str]  # of the inputs: those in bfloat16 come as float32
    result_types: list[str]
    rtol: float
    atol: float

    def arguments(self) -> list[Any]:
        """The inputs as arrays of ours."""
        pairs = zip(self.inputs, self.types, strict=True)
        return [None if x is None else mnp.array(x, dtype=x.dtype.name).astype(t) for x, t in pairs]

    def check(self, results: Any) -> None:
        """Raises AssertionError unless these are the outputs."""
        results = results if isinstance(results, tuple | list) else (results,)
        for i, (wanted, dtype) in enumerate(zip(self.outputs, self.result_types, strict=True)):
            if wanted is None:
                continue
            assert i < len(results), f"output {i} is not there"
            assert str(results[i].dtype) == dtype, f"output {i} is of {results[i].dtype}, wanted {dtype}"
            assert results[i].shape == wanted.shape, f"output {i} is {results[i].shape}, wanted {wanted.shape}"
            if wanted.dtype.kind != "f":
                np.testing.assert_array_equal(results[i].asnumpy(), wanted)
                continue
            rtol = max(self.rtol, HALF_PRECISION) if dtype == "bfloat16" else self.rtol
            np.testing.assert_allclose(results[i].asnumpy(), wanted, rtol, self.atol)


def read(folder: Path) -> Iterator[Case]:
    """What `cases.py` wrote."""
    with np.load(folder / "arrays.npz") as file:
        arrays = dict(file)
    for case in json.loads((folder / "cases.json").read_text(encoding="utf-8")):
        (inputs, types), (outputs, result_types) = (
            ([ref and arrays[ref[0]] for ref in case[side]], [ref and ref[1] for ref in case[side]])
            for side in ("inputs", "outputs")
        )
        yield Case(
            case["name"],
            case["op"],
            Attributes(case["attributes"], outputs=len(outputs)),
            inputs,
            outputs,
            types,
            result_types,
            case["rtol"],
            case["atol"],
        )


Reasons = dict[str, Callable[[Case], Any]]


@dataclass(frozen=True)
class Translation:
    """How ours computes a node, `call(attributes, *inputs)`, and which cases it cannot: reason -> which."""

    call: Callable[..., Any]
    left_out: Reasons

    def reason(self, case: Case) -> str | None:
        return next((reason for reason, which in self.left_out.items() if which(case)), None)


TRANSLATIONS: dict[str, Translation] = {}


def node(*ops: str, left_out: Reasons | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function the translation of ONNX's ops."""

    def add(call: Callable[..., Any]) -> Callable[..., Any]:
        TRANSLATIONS.update(dict.fromkeys(ops, Translation(call, left_out or {})))
        return call

    return add


def nodes(calls: dict[str, Callable[..., Any]]) -> None:
    """The same for a table of functions."""
    for op, call in calls.items():
        node(op)(call)


def no_counterpart(op: str, reason: str) -> None:
    """Leaves all cases of an op out."""
    TRANSLATIONS[op] = Translation(lambda *_: None, {reason: lambda _: True})
