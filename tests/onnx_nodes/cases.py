"""Writes ONNX's node tests to a folder: `arrays.npz`, and `cases.json` that says what they are.

Run by an interpreter that has `onnx`, which ours need not have: `python cases.py FOLDER OP [OP ...]`.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases


def attributes(node, model):
    """Those of a node, and the defaults of those it leaves out."""
    versions = {opset.domain: opset.version for opset in model.opset_import}
    schema = onnx.defs.get_schema(node.op_type, versions[node.domain], node.domain)
    defaults = [a.default_value for a in schema.attributes.values() if a.default_value.name]
    values = {a.name: onnx.helper.get_attribute_value(a) for a in [*defaults, *node.attribute]}
    return {name: plain(value) for name, value in values.items()}


def plain(value):
    """An attribute as JSON has it."""
    if isinstance(value, bytes):
        return value.decode()
    return [plain(v) for v in value] if isinstance(value, list) else value


class Arrays(dict):
    """Arrays by the keys that they have in the file."""

    def placed(self, names, values):
        """For each name what `cases.json` says of its value: key and type; None where the node leaves it out."""
        given = iter(values)
        return [self.put(next(given)) if name else None for name in names]

    def put(self, value):
        value = np.asarray(value)
        dtype, key = value.dtype.name, str(len(self))
        # NumPy's files know no bfloat16; float32 holds each of its values. Strings would be pickled.
        self[key] = value.astype({"bfloat16": np.float32, "object": str}.get(dtype, dtype))
        return [key, dtype]


def main(folder, *ops):
    warnings.simplefilter("ignore")  # the generators divide by zero on purpose
    arrays, cases = Arrays(), []
    for case in collect_testcases(None):
        # The function that a node stands for, written out, is a case of its own: it says nothing new of the node.
        if case.model is None or "_expanded" in case.name or case.model.graph.node[0].op_type not in ops:
            continue
        (node,) = case.model.graph.node
        ((inputs, outputs),) = case.data_sets
        cases.append(
            {
                "name": case.name.removeprefix("test_"),
                "op": node.op_type,
                "attributes": attributes(node, case.model),
                "inputs": arrays.placed(node.input, inputs),
                "outputs": arrays.placed(node.output, outputs),
                "rtol": case.rtol,
                "atol": case.atol,
            }
        )
    np.savez(Path(folder) / "arrays.npz", **arrays)
    (Path(folder) / "cases.json").write_text(json.dumps(cases), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
