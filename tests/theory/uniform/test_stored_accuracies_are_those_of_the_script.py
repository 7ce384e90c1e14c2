"""accuracy.json has no coefficient that the calibration could not have written."""

import calibrate_accuracy as script

from onegrad.theory.uniform.accuracy import accuracy_coefficients

STORED = accuracy_coefficients()


def test_every_route_has_a_section():
    assert list(STORED) == list(script.CALIBRATIONS)


def test_the_script_would_write_the_stored_file(monkeypatch, tmp_path):
    stored, copy = script.COEFFICIENTS.read_text(), tmp_path / "accuracy.json"
    monkeypatch.setattr(script, "COEFFICIENTS", copy)
    script.write("same rows", STORED["same rows"])
    assert copy.read_text() == stored


def test_coefficients_are_within_what_is_declared():
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
