"""Local workers own the visible GPUs in turn, and what drew the random numbers is recorded."""

import os

import numpy as np
import pytest

from onegrad.arrays import visible_gpus
from onegrad.experiments import Store, cells_of, run_cells
from onegrad.experiments.runner import with_dask, with_processes
from onegrad.experiments.spec import parse_spec
from onegrad.io.progress import TerminalProgress
from onegrad.parallel.cluster import cluster_client
from onegrad.studies.measures import MEASURES, standard

SPEC = {
    "measure": "errors",
    "seeds": 6,
    "seeds_per_cell": 2,
    "problem": {"n": 60, "d": 10, "N": 20, "eta": 1.0, "ridge": [0.1, 1.0]},
}


def owned():
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def cells(**options):
    return cells_of(parse_spec({"grid": SPEC | {"options": options}}, "test", MEASURES).grids[0])


def test_visible_gpus_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, 5")
    assert visible_gpus() == ["2", "5"]


@pytest.mark.full
def test_three_workers_of_two_gpus_give_what_one_process_gives(tmp_path):
    wanted = cells()
    with cluster_client(workers=3, gpus=["2", "5"]) as client:
        assert sorted(client.run(owned).values()) == ["2", "2", "5"]
        with Store(tmp_path / "many") as store:
            quiet = TerminalProgress(quiet=True)
            done = run_cells(wanted, store, MEASURES, with_dask(client), progress=quiet)
            assert done.computed == len(wanted) == 3 and not done.failed
            many = {cell.key: store.values(cell.key)["test"] for cell in wanted}
    with Store(tmp_path / "one") as store:
        run_cells(wanted, store, MEASURES, with_processes(1), progress=TerminalProgress(quiet=True))
        for cell in wanted:
            np.testing.assert_allclose(many[cell.key], store.values(cell.key)["test"], rtol=1e-10)


class Gpu:
    """Operations of a device that draws its own numbers."""

    can_draw = prefers_to_draw = True


def test_the_record_says_who_drew_the_numbers(monkeypatch):
    monkeypatch.setattr(standard, "get_ops", lambda *_: Gpu())
    for options, device, recorded in (
        ({}, "cuda", "cuda, own random numbers"),
        ({}, "cuda:1", "cuda:1, own random numbers"),
        ({"random": "host"}, "cuda", "cuda"),
        ({}, "cpu", "cpu"),
    ):
        assert standard.device_record(cells(**options)[0], device) == recorded
