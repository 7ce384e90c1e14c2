"""Models that earlier versions saved predict what they predicted then.

tests/earlier/0.1/models: fits of 12 neurons on 400 rows (one on 120 rows of table.csv with text and
gaps), saved by version 0.1, and in models.json what they said of rows.npy and of table.csv.
tests/earlier/0.2/models: fits of 12 neurons on table.csv with text, gaps and dates, saved by
version 0.2, and what they said of its first twelve rows.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onegrad.data import source
from onegrad.estimators import load

EARLIER = Path(__file__).parents[2] / "earlier"
VERSION_1, VERSION_2 = EARLIER / "0.1" / "models", EARLIER / "0.2" / "models"
EXPECTED_1, EXPECTED_2 = (
    json.loads((models / "models.json").read_text()) for models in (VERSION_1, VERSION_2)
)
ROWS = np.load(VERSION_1 / "rows.npy")
TABLE = pd.read_csv(VERSION_2 / "table.csv", parse_dates=["day"])[:12].drop(columns=["y", "kind"])


def same(now, then, rtol=1e-9):
    np.testing.assert_allclose(np.asarray(now), np.asarray(then), rtol=rtol, atol=1e-12)


def check_predictions(name, model, rows, expected):
    if name == "one-step-features":
        same(model.transform(rows)[:, :3], expected["predict"])
    elif "classifier" in name:
        assert model.predict(rows).tolist() == expected["predict"]
        same(model.predict_proba(rows), expected["predict_proba"])
    else:
        same(model.predict(rows), expected["predict"])
        same(model.predict_interval(rows, 0.8), expected["interval"])
        same(model.predict(rows, return_std=True)[1], expected["std"])
    same(model.feature_importances_encoded_, expected["importances"])


@pytest.mark.parametrize("name", [name for name in EXPECTED_1 if name != "alternating-table"])
def test_matrix_models_of_0_1(name):
    model, expected = load(VERSION_1 / f"{name}.model"), EXPECTED_1[name]
    check_predictions(name, model, ROWS, expected)
    if "eta" in expected:
        assert model.eta_ == pytest.approx(expected["eta"])


def test_a_table_with_text_and_gaps_of_0_1():
    model = load(VERSION_1 / "alternating-table.model")
    expected = EXPECTED_1["alternating-table"]
    predicted = [model.predict(block.X) for block in source(VERSION_1 / "table.csv").blocks()]
    same(np.concatenate(predicted), expected["predict"])
    assert model.input_names_ == expected["inputs"]
    same(model.feature_importances_encoded_, expected["importances"])


@pytest.mark.parametrize("name", EXPECTED_2)
def test_table_models_of_0_2(name):
    model, expected = load(VERSION_2 / f"{name}.model"), EXPECTED_2[name]
    check_predictions(name, model, TABLE, expected)
    assert model.input_names_ == expected["inputs"]
    same(model.readout_[:5], expected["readout"], 1e-6)  # solved again: rounding times condition


def test_rows_can_still_come_and_go():
    model, other = (load(VERSION_1 / "one-step-regressor.model") for _ in range(2))
    y = model.predict(ROWS)
    model.partial_fit(ROWS, y + 1).remove(ROWS, y + 1)
    assert np.array_equal(model.readout_, other.readout_)
