"""Ways to map a function over cells: in this process, in several, on a Dask cluster.

Each takes (measure, texts) and yields outcomes as they finish, pulling few texts ahead of time, so
that a runner that is stopped has little in flight.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from onegrad.arrays import get_ops, visible_gpus
from onegrad.exceptions import InvalidInput
from onegrad.experiments.runner import Executor, lost
from onegrad.parallel import core_count
from onegrad.parallel.children import child_map
from onegrad.parallel.cluster import cluster_client, cluster_map


@dataclass(frozen=True)
class Where:
    """Where cells run: on all cores when nothing is asked for."""

    workers: int | None = None  # processes of a Dask cluster on this machine
    cluster: str | None = None  # address of an existing Dask scheduler
    device: str = "cpu"
    shard: str | None = None  # "i/k": part i of k batch jobs


def with_processes(jobs: int) -> Executor:
    """`jobs` processes of one BLAS thread each, or this one: cells lost with theirs run again."""
    if jobs == 1:
        return lambda measure, texts: map(measure, texts)
    return lambda measure, texts: child_map(measure, texts, jobs, lost=lost)


def with_dask(client: Any) -> Executor:
    """A Dask cluster whose workers may come and go: cells lost with their worker run again."""
    return lambda measure, texts: cluster_map(measure, texts, client, lost=lost)


@contextlib.contextmanager
def executor(where: Where) -> Iterator[Executor]:
    """The executor that is asked for; a device that this machine lacks is refused here."""
    workers, cluster = where.workers, where.cluster
    if cluster is None:
        get_ops(where.device)
    if workers is not None and cluster is not None:
        raise InvalidInput("give --workers or --cluster, not both")
    if workers is None and cluster is None:
        yield with_processes(core_count())
        return
    if workers is not None and not 1 <= workers <= 1024:
        raise InvalidInput(f"--workers must be 1 to 1024; got {workers}")
    own = visible_gpus() if workers is not None and where.device == "cuda" else []
    with cluster_client(cluster, workers, own) as client:
        yield with_dask(client)
