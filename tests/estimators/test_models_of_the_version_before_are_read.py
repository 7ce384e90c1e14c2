"""Models that version 0.1 saved predict what they predicted then.

tests/earlier/0.1/models: fits of 12 neurons on 400 rows (one on 120 rows of table.csv with text and
gaps), saved by version 0.1, and in models.json what they said of rows.npy and of table.csv.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from onegrad.data import source
from onegrad.estimators import load

MODELS = Path(__file__).parents[1] / "earlier" / "0.1" / "models"
SAID = json.loads((MODELS / "models.json").read_text())
ROWS = np.load(MODELS / "rows.npy")


def same(now, then):
    np.testing.assert_allclose(np.asarray(now), np.asarray(then), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in SAID if name != "alternating-table"])
def test_matrix_models(name):
    model, said = load(MODELS / f"{name}.model"), SAID[name]
    if name == "one-step-features":
        same(model.transform(ROWS)[:, :3], said["predict"])
    elif "classifier" in name:
        assert model.predict(ROWS).tolist() == said["predict"]
        same(model.predict_proba(ROWS), said["predict_proba"])
    else:
        same(model.predict(ROWS), said["predict"])
        same(model.predict_interval(ROWS, 0.8), said["interval"])
        same(model.predict(ROWS, return_std=True)[1], said["std"])
    same(model.feature_importances_, said["importances"])
    if "eta" in said:
        assert model.eta_ == pytest.approx(said["eta"])


def test_a_table_with_text_and_gaps():
    model, said = load(MODELS / "alternating-table.model"), SAID["alternating-table"]
    predicted = [model.predict(block.X) for block in source(MODELS / "table.csv").blocks()]
    same(np.concatenate(predicted), said["predict"])
    assert model.input_names_ == said["inputs"]
    same(model.feature_importances_, said["importances"])


def test_rows_can_still_come_and_go():
    model, other = (load(MODELS / "one-step-regressor.model") for _ in range(2))
    y = model.predict(ROWS)
    model.partial_fit(ROWS, y + 1).remove(ROWS, y + 1)
    assert np.array_equal(model.coef_, other.coef_)
