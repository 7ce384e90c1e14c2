"""The sections of accuracy.json have no coefficient that the calibration could not have written."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STORED = json.loads((ROOT / "src/onegrad/theory/uniform/accuracy.json").read_text())


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import calibrate_accuracy
    finally:
        sys.path.pop(0)
    return calibrate_accuracy


def test_every_route_has_a_section(script):
    assert list(STORED) == list(script.CALIBRATIONS)


def test_coefficients_are_within_what_is_declared(script):
    plain = STORED[script.PLAIN_ROUTE]
    for route, plan in script.CALIBRATIONS.items():
        section = STORED[route]
        for name, pair in section.items():
            fitted = name not in plan.by_hand and plan.files
            lowest = script.MIN_COEFFICIENTS.get(name, 0.0) if fitted else 0.0
            below = plain.get(name, (0.0, 0.0)) if plan.above_plain else (0.0, 0.0)
            for c, least in zip(pair, below, strict=True):
                assert c >= max(lowest, least), (route, name)
        assert {name: section[name] for name in plan.by_hand} == {
            name: [c, c] for name, c in plan.by_hand.items()
        }
        if not plan.files:
            others = {name: pair for name, pair in section.items() if name not in plan.by_hand}
            assert others == plain
