"""Ways to map a function over cells: in this process, in several, on a Dask cluster.

Each takes (function, cells) and yields outcomes as they finish. It draws few cells ahead of time,
so that a runner that is stopped has little in flight.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from onegrad.arrays import get_ops, visible_gpus
from onegrad.exceptions import InvalidInput
from onegrad.experiments.runner import CellExecutor, lost_outcome
from onegrad.parallel.children import child_map
from onegrad.parallel.cluster import cluster_client, cluster_map
from onegrad.parallel.cores import core_count

MAX_WORKERS = 1024  # more is taken for a slip; not tuned


@dataclass(frozen=True)
class RunOptions:
    """Where cells run: by default in one process per core of this machine."""

    workers: int | None = None  # processes of a Dask cluster on this machine
    cluster: str | None = None  # address of an existing Dask scheduler
    device: str = "cpu"
    shard: str | None = None  # "i/k": part i of k batch jobs


def with_processes(jobs: int) -> CellExecutor:
    """Run cells in `jobs` processes of one BLAS thread each; with one job, in this process.

    A cell whose process dies runs again.
    """
    if jobs == 1:
        return map
    return lambda measure, cells: child_map(measure, cells, jobs, lost=lost_outcome)


def with_dask(client: Any) -> CellExecutor:
    """Run cells on a Dask cluster whose workers may come and go.

    A cell whose worker dies runs again.
    """
    return lambda measure, cells: cluster_map(measure, cells, client, lost=lost_outcome)


@contextlib.contextmanager
def executor(options: RunOptions) -> Iterator[CellExecutor]:
    """Yield the executor for these options; a device that this machine lacks is refused here."""
    workers, cluster = options.workers, options.cluster
    if cluster is None:  # whose workers may have what this machine lacks
        get_ops(options.device)
    if workers is not None and cluster is not None:
        raise InvalidInput("workers", problem="give workers or a cluster, not both")
    if workers is None and cluster is None:
        yield with_processes(core_count())
        return
    if workers is not None and not 1 <= workers <= MAX_WORKERS:
        raise InvalidInput("workers", workers, f"1 to {MAX_WORKERS}")
    gpus = visible_gpus() if workers is not None and options.device == "cuda" else []
    with cluster_client(cluster, workers, gpus) as client:
        yield with_dask(client)
