"""bars.json has no coefficient that the calibration could not have written."""

import calibrate_bars as script
import numpy as np

from onegrad.theory.uniform.bars import Neglected, coefficients


def test_every_term_has_coefficients_and_no_others_are_stored():
    assert list(coefficients()) == list(Neglected)


def test_the_script_would_write_the_stored_file(monkeypatch, tmp_path):
    stored, copy = script.COEFFICIENTS.read_text("utf-8"), tmp_path / "bars.json"
    monkeypatch.setattr(script, "COEFFICIENTS", copy)
    script.write(coefficients())
    assert copy.read_text("utf-8") == stored


def test_coefficients_are_not_below_their_minima():
    for term, least in script.MIN_COEFFICIENTS.items():
        assert (np.array(coefficients()[term]) >= least).all(), term
