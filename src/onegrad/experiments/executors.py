"""Ways to map a function over cells: in this process, with joblib, on a Dask cluster.

Each takes (measure, texts) and yields outcomes as they finish, pulling few texts ahead of time, so
that a runner that is stopped has little in flight.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from onegrad.arrays import backend
from onegrad.errors import InvalidInput
from onegrad.experiments.runner import Executor, Outcome, lost

Function = Callable[[str], Outcome]
TASK, MOST_TOGETHER = 0.25, 64  # seconds that short cells fill together, and how many at most
ORPHANED = 10  # seconds after which the processes of a runner that was killed go away


def serial(measure: Function, texts: Iterable[str]) -> Iterator[Outcome]:
    """One after another in this process."""
    return map(measure, texts)


def with_joblib(jobs: int) -> Executor:
    """`jobs` local processes, one BLAS thread each; joblib batches cells that are very short."""

    def execute(measure: Function, texts: Iterable[str]) -> Iterator[Outcome]:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config("loky", inner_max_num_threads=1):
            pool = Parallel(
                n_jobs=jobs, return_as="generator_unordered", idle_worker_timeout=ORPHANED
            )
            yield from pool(delayed(measure)(text) for text in texts)

    return serial if jobs == 1 else execute


def with_dask(client: Any) -> Executor:
    """A Dask cluster whose workers may come and go: cells lost with their worker run again.

    A task is one cell, or as many short ones as fill a quarter of a second.
    """

    def execute(measure: Function, texts: Iterable[str]) -> Iterator[Outcome]:
        source = iter(texts)
        waiting: dict[str, list[str]] = {}

        def submit(count: int, size: int) -> list[Any]:
            futures = []
            for _ in range(count):
                if block := list(islice(source, size)):
                    futures.append(client.submit(_several, measure, block, pure=False))
                    waiting[futures[-1].key] = block
            return futures

        flow = _distributed().as_completed(submit(_window(client), 1), loop=client.loop)
        for future in flow:
            block, error = waiting.pop(future.key), future.exception()
            if error is None:
                outcomes = future.result()
            else:
                outcomes = [lost(text, f"{type(error).__name__}: {error}") for text in block]
            yield from outcomes
            future.release()
            seconds = sum(o.provenance.seconds for o in outcomes) / len(outcomes)
            size = max(1, min(MOST_TOGETHER, int(TASK / max(seconds, 1e-6))))
            for fresh in submit(max(1, _window(client) - len(waiting)), size):
                flow.add(fresh)

    return execute


def _several(measure: Function, texts: Sequence[str]) -> list[Outcome]:
    return [measure(text) for text in texts]


@contextlib.contextmanager
def executor(
    workers: int | None = None, cluster: str | None = None, device: str = "cpu"
) -> Iterator[Executor]:
    """The executor that the options ask for: joblib on all cores when they ask for nothing.

    device : asked for by the cells; refused here when they run on this machine and it has none.
    """
    if cluster is None:
        backend(device)
    if workers is not None and cluster is not None:
        raise InvalidInput("give --workers or --cluster, not both")
    if workers is None and cluster is None:
        from joblib import cpu_count

        yield with_joblib(cpu_count())  # the cores this process may use
        return
    if workers is not None and not 1 <= workers <= 1024:
        raise InvalidInput(f"--workers must be 1 to 1024; got {workers}")
    distributed = _distributed()
    with contextlib.ExitStack() as stack:
        address: Any = cluster
        if cluster is None:
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs="ERROR",
                )
            )
        try:
            client = distributed.Client(address, timeout="20s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"--cluster {cluster}: no scheduler answers: {error}") from None
        yield with_dask(stack.enter_context(client))


def _window(client: Any) -> int:
    """Cells in flight: twice the threads there are now, as workers come and go."""
    return 2 * max(1, int(sum(client.nthreads().values())))


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        message = "--workers and --cluster need Dask: pip install 'onegrad[dask]'"
        raise InvalidInput(message) from None
