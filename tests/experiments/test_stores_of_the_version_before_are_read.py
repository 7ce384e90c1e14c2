"""A store of an earlier version is complete for its spec: nothing is computed again.

tests/earlier/VERSION/store: the cells of small.toml, one shard's file beside the others, a large
array in a file of its own, and the table that this version exported from it. Cells of measures that
are no longer there stay in the store and are left alone.
"""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

from onegrad.cli import main
from onegrad.experiments import Results, Store, cells_of, read_spec
from onegrad.studies.measures import MEASURES

EARLIER = Path(__file__).parents[1] / "earlier"
VERSIONS = {"0.1": 6, "0.2": 10}  # cells of each


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture
def spec(version):
    return EARLIER / version / "small.toml"


@pytest.fixture
def store(version, tmp_path):
    return Path(shutil.copytree(EARLIER / version / "store", tmp_path / "store"))


def test_every_cell_has_the_key_it_had(spec, store):
    spec = read_spec(spec, MEASURES)
    with Store(store, create=False) as opened:
        keys = {cell.key for grid in spec.grids for cell in cells_of(grid)}
        assert keys == {r.cell.key for r in opened.records() if r.cell.measure in MEASURES}
        results = Results(spec, opened)
        assert results.missing == 0
        for points in results.values():
            assert len(points) and all(len(p.values) for p in points)


def test_a_run_finds_nothing_to_do(version, spec, store, capsys):
    assert main(["sweep", "run", str(spec), "--store", str(store), "--json"]) == 0
    assert f'"skipped": {VERSIONS[version]}' in (said := capsys.readouterr().out)
    assert '"computed": 0' in said


def test_a_cell_computed_now_has_the_values_it_had(spec, store):
    with Store(store, create=False) as opened:
        for record in (r for r in opened.records() if r.cell.measure in MEASURES):
            again = MEASURES[record.cell.measure].function(record.cell, "cpu")
            assert set(record.values) <= set(again)
            for name, values in record.values.items():
                if name.endswith("_accuracy"):  # calibrated anew in every version
                    assert np.shape(values) == np.shape(again[name])
                    continue
                np.testing.assert_allclose(values, again[name], rtol=1e-9, atol=1e-12)


def test_the_exported_table_is_the_same(spec, store, tmp_path, capsys):
    target = tmp_path / "table.csv"
    assert main(["sweep", "export", str(spec), "--store", str(store), "--out", str(target)]) == 0
    with target.open() as now, (spec.parent / "store" / "table.csv").open() as then:
        rows, earlier = list(csv.DictReader(now)), list(csv.DictReader(then))
    # fields that Problem got since are columns more; those that were there say what they said
    assert [{name: row[name] for name in earlier[0]} for row in rows] == earlier
