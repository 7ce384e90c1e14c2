"""Models of every released version say what they said then, and can be written again."""

import json

import numpy as np
import pytest

import stored_files
from onegrad.tables import load
from onegrad.tables.parts.table import PART_KINDS
from stored_files import FILES, RELEASES

pytestmark = [pytest.mark.compat, pytest.mark.filterwarnings("ignore:the model was learned from")]
RTOL = 1e-7  # readouts of sums are solved again: rounding times condition


@pytest.mark.parametrize("version", RELEASES)
def test_models_are_read_and_written(version, tmp_path):
    expected = json.loads((FILES / version / "expected.json").read_text("utf-8"))["models"]
    paths = sorted((FILES / version).glob("*.model"))
    assert [path.stem for path in paths] == sorted(expected)
    for path in paths:
        model = load(path)
        answers = stored_files.model_answers(model)
        assert answers.keys() == expected[path.stem].keys()
        for name, said in expected[path.stem].items():
            if isinstance(said[0], str):
                assert answers[name] == said
            else:
                np.testing.assert_allclose(answers[name], said, RTOL, 1e-9, err_msg=name)
        model.save(tmp_path / "again")
        assert stored_files.model_answers(load(tmp_path / "again")) == answers


@pytest.mark.parametrize("version", RELEASES)
def test_they_have_every_part_and_rows_still_come_and_go(version):
    model, other = (load(FILES / version / "table.model") for _ in range(2))
    assert len({type(part) for part in model.fitted_.parts}) == len(PART_KINDS)
    rows, labels = stored_files.rows_of(model), ["up", "down", "up", "down", "up"]
    model.partial_fit(rows, labels)
    assert not np.array_equal(model.readout_, other.readout_)
    assert np.array_equal(model.remove(rows, labels).readout_, other.readout_)
