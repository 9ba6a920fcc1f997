"""The demonstration: a convolutional network reads handwritten digits that it has not seen."""

import re
import time

import pytest


@pytest.mark.slow
def test_digits(example, capsys, say):
    digits = example("digits")
    begin = time.perf_counter()
    code = digits.main([])
    taken = time.perf_counter() - begin
    last = capsys.readouterr().out.splitlines()[-1]
    say(f"digits: {last}, {taken:.1f} s")
    assert float(re.match(r"([\d.]+)%", last)[1]) >= 97.5
    assert code == 0
