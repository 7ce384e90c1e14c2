"""Several runners on one store neither lose nor duplicate cells, and shards are a partition."""

import json
from pathlib import Path

import pytest
from soak import sweeping

from onegrad.experiments import Store, run_cells, shard
from onegrad.experiments.runner import with_processes
from onegrad.studies.measures import MEASURES


@pytest.mark.full
def test_two_runners_at_once(tmp_path: Path) -> None:
    size = {"cells": 120, "wait": 0.004}
    said = [tmp_path / f"{name}.json" for name in "ab"]
    store = tmp_path / "store"
    gate = sweeping.processes.Barrier(2)  # neither begins before the other is there
    runners = [sweeping.start(sweeping.sweep, str(store), size, str(f), gate) for f in said]
    for runner in runners:
        runner.join()
        assert runner.exitcode == 0
    first, second = (json.loads(file.read_text("utf-8")) for file in said)
    alone = tmp_path / "alone"
    sweeping.sweep(str(alone), size)
    assert sweeping.contents(store) == sweeping.contents(alone)
    assert first["failed"] == second["failed"] == 0
    assert min(first["computed"], second["computed"]) > 0, "both must have worked"
    twice = first["computed"] + second["computed"] - size["cells"]
    assert 0 <= twice < size["cells"] / 2, f"{twice} cells were computed twice"


def test_shards_are_a_partition_whatever_the_order() -> None:
    cells = sweeping.rehearsal(40)
    for k in range(1, 10):
        parts = [shard(cells, f"{i}/{k}") for i in range(1, k + 1)]
        again = [shard(cells[::-1], f"{i}/{k}") for i in range(1, k + 1)]
        assert sorted(c.key for part in parts for c in part) == sorted(c.key for c in cells)
        assert [{c.key for c in x} for x in parts] == [{c.key for c in x} for x in again]


def test_shards_write_their_own_files_and_are_read_together(tmp_path: Path) -> None:
    cells = sweeping.rehearsal(30)
    for i in (1, 2, 3):
        with Store(tmp_path, part=f"cells-{i}-of-3") as store:
            run_cells(shard(cells, f"{i}/3"), store, MEASURES, with_processes(1))
    assert len(list(tmp_path.glob("*.sqlite"))) == 3
    with Store(tmp_path) as store:  # and a runner of the whole grid finds nothing left
        assert store.done() == {c.key for c in cells}
        assert run_cells(cells, store, MEASURES, with_processes(1)).computed == 0
        assert {r.cell for r in store.records()} == set(cells)
