"""The inputs of ONNX's node tests give the outputs that they say, with ours. The counts stand at the end of a run.

What ours cannot express is left out by name of its reason, next to its translation; all else must pass.
"""

from __future__ import annotations

from collections import Counter

import pytest

from onnx_nodes import TRANSLATIONS


@pytest.mark.parametrize("op", TRANSLATIONS)
def test_outputs(op, cases, counted):
    translation = TRANSLATIONS[op]
    left_out, failures = Counter(), {}
    for case in cases[op]:
        if reason := translation.reason(case):
            left_out[reason] += 1
            continue
        try:
            case.check(translation.call(case.a, *case.arguments()))
        except Exception as error:
            failures[case.name] = error
    passed = len(cases[op]) - left_out.total() - len(failures)
    counted(op, passed, len(cases[op]), dict(left_out))
    assert not failures, "\n".join(f"{name}: {type(error).__name__}: {error}" for name, error in failures.items())
    assert cases[op], f"ONNX has no case of {op}"
    assert set(left_out) == set(translation.left_out), "a reason to leave cases out applies to none"
