"""Models that version 0.3.0 saved predict what they predicted then.

tests/files/0.3.0/models: fits of 3 or 4 neurons on 50 rows of a matrix, or of a table with text,
gaps and dates, and in expected.json what they said of five rows. The alternating ones have every
kind of correction, small: heads, neighbours, networks on codes of single inputs, trees.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from onegrad.estimators import load

pytestmark = pytest.mark.compat

FOLDER = Path(__file__).parents[2] / "files" / "0.3.0" / "models"
RTOL = 1e-7  # readouts of sums are solved again: rounding times condition


def rows_of(expected, model):
    import pyarrow as pa

    if model.fitted_.encoding is None:
        return np.array(expected["rows"]["matrix"])
    columns = dict(expected["rows"]["table"])
    columns["day"] = pa.array(columns["day"]).cast(pa.date32())
    return pa.table(columns)


def test_models_of_every_family_are_read():
    expected = json.loads((FOLDER / "expected.json").read_text())
    assert sorted(path.stem for path in FOLDER.glob("*.model")) == sorted(expected["models"])
    for name, values in expected["models"].items():
        model = load(FOLDER / f"{name}.model")
        rows = rows_of(expected, model)
        answers = {
            method: getattr(model, method)(rows)
            for method in ("predict", "predict_proba", "transform")
            if hasattr(model, method)
        } | {"importances": model.feature_importances_}
        if "low" in values:
            answers["low"] = model.predict_interval(rows, 0.8, local=True).low
        if "std" in values:
            answers["std"] = model.predict(rows, return_std=True)[1]
        assert answers.keys() == values.keys(), name
        for answer, value in values.items():
            if np.asarray(value).dtype.kind == "U":
                assert answers[answer].tolist() == value, name
                continue
            np.testing.assert_allclose(answers[answer], value, RTOL, 1e-9, err_msg=name)


def test_rows_can_still_come_and_go():
    model, other = (load(FOLDER / "one-step-regressor.model") for _ in range(2))
    X, y = np.ones((2, 3)), np.zeros((2, 2))
    model.partial_fit(X, y).remove(X, y)
    assert np.array_equal(model.readout_, other.readout_)
