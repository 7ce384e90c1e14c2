"""Ways to map a function over cells: in this process, with joblib, on a Dask cluster.

Each takes (measure, texts) and yields outcomes as they finish, pulling few texts ahead of time, so
that a runner that is stopped has little in flight.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from onegrad.errors import InvalidInput
from onegrad.experiments.runner import Executor, Outcome, lost

Function = Callable[[str], Outcome]
ORPHANED = 10  # seconds after which the processes of a runner that was killed go away


def serial(measure: Function, texts: Iterable[str]) -> Iterator[Outcome]:
    """One after another in this process."""
    return map(measure, texts)


def with_joblib(jobs: int) -> Executor:
    """`jobs` local processes, one BLAS thread each."""

    def execute(measure: Function, texts: Iterable[str]) -> Iterator[Outcome]:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config("loky", inner_max_num_threads=1):
            pool = Parallel(
                n_jobs=jobs, return_as="generator_unordered", batch_size=1,
                idle_worker_timeout=ORPHANED,
            )  # fmt: skip
            yield from pool(delayed(measure)(text) for text in texts)

    return serial if jobs == 1 else execute


def with_dask(client: Any) -> Executor:
    """A Dask cluster whose workers may come and go: a cell lost with its worker runs again."""

    def execute(measure: Function, texts: Iterable[str]) -> Iterator[Outcome]:
        source = iter(texts)

        def submit(count: int) -> list[Any]:
            futures = []
            for text in islice(source, count):
                future = client.submit(measure, text, pure=False)
                waiting[future.key] = text
                futures.append(future)
            return futures

        waiting: dict[str, str] = {}
        flow = _distributed().as_completed(submit(_window(client)), loop=client.loop)
        for future in flow:
            text = waiting.pop(future.key)
            error = future.exception()
            yield (
                future.result() if error is None else lost(text, f"{type(error).__name__}: {error}")
            )
            future.release()
            for fresh in submit(max(1, _window(client) - len(waiting))):
                flow.add(fresh)

    return execute


@contextlib.contextmanager
def executor(workers: int | None = None, cluster: str | None = None) -> Iterator[Executor]:
    """The executor that the options ask for: joblib on all cores when they ask for nothing."""
    if workers is not None and cluster is not None:
        raise InvalidInput("give --workers or --cluster, not both")
    if workers is None and cluster is None:
        yield with_joblib(os.cpu_count() or 1)
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
                    dashboard_address=None,
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
