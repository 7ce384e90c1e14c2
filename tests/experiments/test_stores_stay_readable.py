"""A store of every released version is complete for its spec, and says what it said then."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import stored_files
from onegrad.cli import main
from onegrad.experiments import Store
from onegrad.studies.measures import MEASURES
from stored_files import FILES, RELEASES

pytestmark = pytest.mark.compat


@pytest.mark.parametrize("version", RELEASES)
def test_a_store_is_complete_and_says_what_it_said(version, tmp_path, capsys):
    expected = json.loads((FILES / version / "expected.json").read_text("utf-8"))["store"]
    store = Path(shutil.copytree(FILES / version / "store", tmp_path / "store"))
    command = [str(FILES / version / "small.toml"), "--store", str(store)]
    assert main(["sweep", "run", *command, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["skipped"], summary["computed"]) == (len(expected), 0)
    with Store(store, create=False) as opened:
        assert stored_files.store_answers(opened) == expected
        for record in opened.records():
            again = MEASURES[record.cell.measure].function(record.cell, "cpu")
            for name, values in record.values.items():
                np.testing.assert_allclose(values, again[name], rtol=1e-9, atol=1e-12)
