"""A store that version 0.1 wrote is complete for its spec: nothing is computed again.

tests/earlier/0.1/store: the cells of small.toml, one shard's file beside the whole, a large array
in a file of its own, and the table that version 0.1 exported from it.
"""

import csv
import shutil
from pathlib import Path

import pytest

from onegrad.cli import main
from onegrad.experiments import Results, Store, cells_of, read_spec
from onegrad.studies.measures import MEASURES

EARLIER = Path(__file__).parents[1] / "earlier" / "0.1"


@pytest.fixture
def store(tmp_path):
    return Path(shutil.copytree(EARLIER / "store", tmp_path / "store"))


def test_every_cell_has_the_key_it_had(store):
    spec = read_spec(EARLIER / "small.toml", MEASURES)
    with Store(store, create=False) as opened:
        keys = {cell.key for grid in spec.grids for cell in cells_of(grid)}
        assert keys == opened.done()
        assert Results(spec, opened).missing == 0


def test_a_run_finds_nothing_to_do(store, capsys):
    assert main(["sweep", "run", str(EARLIER / "small.toml"), "--store", str(store)]) == 0
    assert "0 computed, 6 in the store already" in capsys.readouterr().out


def test_the_exported_table_is_the_same(store, tmp_path, capsys):
    target = tmp_path / "table.csv"
    spec = str(EARLIER / "small.toml")
    assert main(["sweep", "export", spec, "--store", str(store), "--out", str(target)]) == 0
    with target.open() as now, (EARLIER / "store" / "table.csv").open() as then:
        rows, earlier = list(csv.DictReader(now)), list(csv.DictReader(then))
    # fields that Problem got since are columns more; those that were there say what they said
    assert [{name: row[name] for name in earlier[0]} for row in rows] == earlier
