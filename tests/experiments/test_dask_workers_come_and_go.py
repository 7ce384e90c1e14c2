"""A cell lost with its Dask worker runs again, and the results are those of one core."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from soak import sweeping

from onegrad.exceptions import InvalidInput
from onegrad.experiments import Store, run_cells
from onegrad.experiments.runner import RunOptions, executor, with_dask, with_processes
from onegrad.studies.measures import MEASURES

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("default")]  # dask's, about ports, forks


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        silence_logs="CRITICAL",
    ) as cluster:  # fmt: skip
        yield cluster


def _kill_a_worker_when(started: Path, client: Any, killed: list[int]) -> None:
    """kill -9 of a worker's process once the store has its first result."""
    while not started.exists() or not any(started.iterdir()):
        time.sleep(0.02)
    pids = client.run(os.getpid)
    victim = next(iter(pids.values()))
    os.kill(victim, signal.SIGKILL)
    killed.append(victim)


def test_a_worker_killed_in_mid_cell(cluster: Any, tmp_path: Path) -> None:
    from distributed import Client

    size = {"cells": 10, "wait": 0.15, "numbers": 600}
    cells = sweeping.rehearsal(**size)
    killed: list[int] = []
    with Client(cluster, set_as_default=False) as client, Store(tmp_path / "dask") as store:
        arguments = (tmp_path / "dask" / "arrays", client, killed)
        killer = threading.Thread(target=_kill_a_worker_when, args=arguments)
        killer.start()
        summary = run_cells(cells, store, MEASURES, with_dask(client))
        killer.join()
    assert killed, "a worker must have been killed while cells were running"
    assert (summary.computed, summary.failed) == (10, 0)
    with Store(tmp_path / "serial") as store:
        run_cells(cells, store, MEASURES, with_processes(1))
    assert sweeping.contents(tmp_path / "dask") == sweeping.contents(tmp_path / "serial")


def test_a_measure_that_raises_is_noted_and_retried(cluster: Any, tmp_path: Path) -> None:
    cells = sweeping.rehearsal(3, wait=-1.0)  # time.sleep refuses
    good = sweeping.rehearsal(3)
    address = RunOptions(cluster=cluster.scheduler_address)
    with executor(address) as execute, Store(tmp_path) as store:
        summary = run_cells([*cells, *good], store, MEASURES, execute)
        assert (summary.computed, summary.failed) == (3, 3)
        failures = store.condition().failed
    assert set(failures) == {c.key for c in cells}
    assert all(
        "ValueError: sleep length" in message and ".py:" in message for message in failures.values()
    )


def test_options_that_cannot_be() -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"workers": 0}, "workers must be 1 to 1024; got 0"),
        ({"workers": 1, "cluster": "tcp://x"}, "give workers or a cluster, not both"),
        ({"cluster": "nonsense"}, "cluster 'nonsense'"),
        ({"device": "abacus"}, "device must be .*; got 'abacus'"),
    ]
    for options, message in refused:
        with pytest.raises(InvalidInput, match=message), executor(RunOptions(**options)):
            pass
