"""A store of each published version is complete for its spec: nothing is computed again.

tests/files/VERSION/store holds the cells of small.toml: one shard's file beside the other cells, a
large array in a file of its own. table.csv is what this version exported from it.
"""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

from onegrad.cli import main
from onegrad.experiments import Store
from onegrad.studies.measures import MEASURES

FILES = Path(__file__).parents[1] / "files"
CELLS = {"0.3.0": 4}
# between predictions of two versions: terms of order 1/d differ, and these cells have d = 10
NEW_EQUATIONS = 0.03
pytestmark = pytest.mark.compat


@pytest.mark.parametrize("version", CELLS)
def test_a_store_is_complete_and_says_what_it_said(version, tmp_path, capsys):
    store = Path(shutil.copytree(FILES / version / "store", tmp_path / "store"))
    command = [str(FILES / version / "small.toml"), "--store", str(store)]
    assert main(["sweep", "run", *command, "--json"]) == 0
    summary = capsys.readouterr().out
    assert f'"skipped": {CELLS[version]}' in summary and '"computed": 0' in summary

    with Store(store, create=False) as opened:
        for record in opened.records():
            again = MEASURES[record.cell.measure].function(record.cell, "cpu")
            for name, values in record.values.items():
                if name.endswith("_accuracy"):  # calibrated anew in every version
                    assert np.shape(values) == np.shape(again[name])
                else:
                    rtol = NEW_EQUATIONS if record.cell.measure == "theory" else 1e-9
                    np.testing.assert_allclose(values, again[name], rtol=rtol, atol=1e-12)

    target = tmp_path / "table.csv"
    assert main(["sweep", "export", *command, "--out", str(target)]) == 0
    with target.open() as now, (FILES / version / "table.csv").open() as then:
        rows, earlier = list(csv.DictReader(now)), list(csv.DictReader(then))
    # fields that Problem got since are columns more; those that were there say what they said
    assert [{name: row[name] for name in earlier[0]} for row in rows] == earlier
