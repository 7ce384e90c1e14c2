"""What the README says its example prints is what it prints."""

import re
from pathlib import Path

import numpy as np
import pytest

import onegrad as og

README = Path(__file__).parent.parent / "README.md"
LINES = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)[1].splitlines()
CALLS = [line.split("#", 1) for line in LINES if line.startswith("og.")]
NUMBER = re.compile(r"-?\d+\.\d+")


def numbers(text: str) -> list[float]:
    return [float(x) for x in NUMBER.findall(text)]


def test_the_example_has_its_outputs():
    assert len(CALLS) == 5
    assert all(numbers(printed) for _, printed in CALLS)


@pytest.mark.parametrize("code, printed", CALLS, ids=[code.strip() for code, _ in CALLS])
def test_printed_numbers_are_real(code, printed):
    setup = next(line for line in LINES if line.startswith("problem ="))
    names = {"og": og}
    exec(setup, names)  # the README is ours
    value = eval(code.strip(), names)
    with np.printoptions(precision=12):
        found = numbers(repr(value))
    expected = numbers(printed)
    assert len(found) >= len(expected)
    # simulations print two digits of their error; everything is allowed one unit of what is shown
    assert found[: len(expected)] == pytest.approx(expected, rel=2e-4, abs=6e-4)
