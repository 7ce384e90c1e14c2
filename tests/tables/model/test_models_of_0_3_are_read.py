"""Models that version 0.3.0 saved predict what they predicted then, and can be written again.

tests/files/0.3.0/models: fits of 3 or 4 neurons on 50 rows of a matrix, or of a table with text,
gaps and dates, and in expected.json what they said of five rows. The alternating ones have every
kind of correction, small: heads, neighbours, networks on codes of single inputs, trees.
"""

import io
import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from soak.forgeries import rewrite_model

from onegrad.exceptions import InvalidInput
from onegrad.tables import load

pytestmark = [pytest.mark.compat, pytest.mark.filterwarnings("ignore:the model was learned from")]

FOLDER = Path(__file__).parents[2] / "files" / "0.3.0" / "models"
RTOL = 1e-7  # readouts of sums are solved again: rounding times condition


def rows_of(expected, model):
    import pyarrow as pa

    if model.fitted_.encoding is None:
        return np.array(expected["rows"]["matrix"])
    columns = dict(expected["rows"]["table"])
    columns["day"] = pa.array(columns["day"]).cast(pa.date32())
    return pa.table(columns)


def answers_of(model, rows):
    answers = {
        method: getattr(model, method)(rows)
        for method in ("predict", "predict_proba", "transform")
        if hasattr(model, method)
    } | {"importances": model.feature_importances_}
    if hasattr(model, "predict_interval"):
        answers["low"] = model.predict_interval(rows, 0.8, local=True).low
        if not model.fitted_.is_frozen:
            answers["std"] = model.predict(rows, return_std=True)[1]
    return answers


def test_models_of_every_family_are_read_and_written(tmp_path):
    expected = json.loads((FOLDER / "expected.json").read_text())
    assert sorted(path.stem for path in FOLDER.glob("*.model")) == sorted(expected["models"])
    for name, values in expected["models"].items():
        model = load(FOLDER / f"{name}.model")
        rows = rows_of(expected, model)
        model.save(tmp_path / "again")
        model.save(tmp_path / "frozen", rows="frozen")
        answers = answers_of(model, rows)
        others = [load(tmp_path / "again"), load(tmp_path / "frozen")]
        if name.startswith("alternating"):  # an activation given by a formula is no pickle
            others.append(pickle.loads(pickle.dumps(model)))
        for other in others:
            for answer, value in answers_of(other, rows).items():
                np.testing.assert_array_equal(value, answers[answer], name)
        assert answers.keys() == values.keys(), name
        for answer, value in values.items():
            if np.asarray(value).dtype.kind == "U":
                assert answers[answer].tolist() == value, name
                continue
            np.testing.assert_allclose(answers[answer], value, RTOL, 1e-9, err_msg=name)


def test_parts_that_do_not_fit_are_refused(tmp_path):
    def other_input(members):
        header = json.loads(members["model.json"])
        header["networks"][0][0] = 99  # the first input that a network sees as it is
        members["model.json"] = json.dumps(header).encode()

    def other_question(members):
        columns, content = np.load(io.BytesIO(members["tree_columns.npy"])) + 99, io.BytesIO()
        np.save(content, columns)
        members["tree_columns.npy"] = content.getvalue()

    for change, part in ((other_input, "network"), (other_question, "trees")):
        path = shutil.copy(FOLDER / "alternating-classifier.model", tmp_path / "m")
        rewrite_model(path, change)
        with pytest.raises(InvalidInput, match=part):
            load(path)


def test_a_head_that_was_trained_with_the_neurons_is_read(tmp_path):
    """0.3.0 could train the head on the features of the first layer."""
    path = shutil.copy(FOLDER / "alternating-classifier.model", tmp_path / "m")
    plain = load(path)

    def trained(members):
        coef, content = np.load(io.BytesIO(members["head_coef.npy"])), io.BytesIO()
        coef[-len(plain.fitted_.layers[0].W) :] += 0.5
        np.save(content, coef)
        members["head_coef.npy"] = content.getvalue()

    rewrite_model(path, trained)
    model = load(path)
    rows = rows_of(json.loads((FOLDER / "expected.json").read_text()), model)
    (layer,) = plain.fitted_.layers
    z = layer.scaling(plain.fitted_.encoding(rows))
    neurons = layer.features(z)[:, -len(layer.W) :]
    difference = model.decision_function(rows) - plain.decision_function(rows)
    np.testing.assert_allclose(difference, 0.5 * neurons.sum(1), rtol=1e-6)


def test_rows_can_still_come_and_go():
    model, other = (load(FOLDER / "one-step-regressor.model") for _ in range(2))
    X, y = np.ones((2, 3)), np.zeros((2, 2))
    model.partial_fit(X, y).remove(X, y)
    assert np.array_equal(model.readout_, other.readout_)
