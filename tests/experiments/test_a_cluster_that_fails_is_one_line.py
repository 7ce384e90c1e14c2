"""No scheduler, no workers, a scheduler that goes away, Ctrl-C: one line, at once."""

import operator
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from soak import sweeping

from onegrad.exceptions import InvalidInput
from onegrad.experiments.runner import RunOptions, executor
from onegrad.parallel.cluster import cluster_map, cluster_sum
from programs import ONEGRAD

pytestmark = [pytest.mark.full, pytest.mark.filterwarnings("default")]  # dask's, about ports, forks


@pytest.fixture
def distributed() -> Any:
    return pytest.importorskip("distributed")


def slowly(x: int) -> int:
    time.sleep(0.2)
    return x


def unexpected(item: int, message: str) -> int:
    raise AssertionError(message)


def cluster(workers: int) -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
        dashboard_address=None, silence_logs="CRITICAL",
    )  # fmt: skip


def test_nobody_listens(distributed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without asking Dask, which tries for its 20 seconds."""
    monkeypatch.setattr(distributed, "Client", None)
    with socket.socket() as taken:  # bound, not listening: a connection is refused
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with (
            pytest.raises(InvalidInput, match=f"cluster '{address}': no scheduler answers"),
            executor(RunOptions(cluster=address)),
        ):
            pass


def test_no_workers(distributed: Any) -> None:
    with (
        cluster(0) as empty,
        pytest.raises(InvalidInput, match="the scheduler has no workers"),
        executor(RunOptions(cluster=empty.scheduler_address)),
    ):
        pass


def test_the_last_worker_goes_away(distributed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onegrad.parallel.cluster.WORKER_CHECK", 0.1)
    monkeypatch.setattr("onegrad.parallel.cluster.MAX_WITHOUT_WORKERS", 0.5)
    with cluster(1) as one, distributed.Client(one, set_as_default=False) as client:
        results = cluster_map(slowly, range(50), client, lost=unexpected)
        next(results)
        one.scale(0)
        with pytest.raises(RuntimeError, match=r"no workers for .* finished work is stored"):
            list(results)


@pytest.mark.parametrize("sums", [False, True])
def test_the_scheduler_goes_away(distributed: Any, sums: bool) -> None:
    with cluster(1) as one, distributed.Client(one, set_as_default=False) as client:
        client._timeout = 3  # of finding it again; the first time takes what it takes

        def work() -> None:
            if sums:
                items = [(i,) for i in range(50)]
                cluster_sum(slowly, items, client, operator.add, lambda *_: one.close())
            for _ in cluster_map(slowly, range(50), client, lost=unexpected):
                one.close()

        with pytest.raises(RuntimeError, match=r"the scheduler .* went away; finished work"):
            work()


def test_ctrl_c(tmp_path: Path) -> None:
    """As a terminal sends it: to the runner and to the workers, which say nothing."""
    spec, store = tmp_path / "spec.toml", tmp_path / "store"
    spec.write_text(sweeping.rehearsal_toml(400, wait=0.3, numbers=1200), "utf-8")
    command = [*ONEGRAD, "sweep", "run", str(spec), "--workers", "2"]
    process = subprocess.Popen(
        [*command, "--store", str(store)], stderr=subprocess.PIPE, text=True, process_group=0
    )
    # the row of a cell follows its array, and the next array follows the row
    while len(list((store / "arrays").glob("*.npy"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert 0 < len(sweeping.contents(store)) < 400, "what is done is kept, and it did not go on"
    assert said.splitlines()[-1] == "onegrad sweep: interrupted"
    assert "Traceback" not in said and "Error" not in said, said
