"""`make lint` refuses commit subjects that a stranger cannot read."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / ".ci"))

from commit_subjects import is_clear


@pytest.mark.parametrize(
    "subject",
    ["theory: fix 0/0 when the first step has no signal", "tables, cli: merge the removal of ONNX"],
)
def test_clear_subjects_pass(subject):
    assert is_clear(subject)


@pytest.mark.parametrize(
    "subject",
    [
        "A first step that leads nowhere divides by nothing",
        "Merge branch 'tables' into main",
        "theory: fixed.",
        "theory: refuse " + 60 * "x",
    ],
)
def test_riddles_do_not(subject):
    assert not is_clear(subject)
