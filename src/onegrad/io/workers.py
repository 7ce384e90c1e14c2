"""Work in other processes: those of joblib on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import importlib
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from onegrad.errors import InvalidInput

T = TypeVar("T")
R = TypeVar("R")

TASK, MOST_TOGETHER = 0.25, 64  # seconds that short items fill together, and how many at most
ORPHANED = 10  # seconds after which the processes of a parent that was killed go away


def over_processes(
    function: Callable[[T], R],
    items: Iterable[T],
    jobs: int,
    *,
    ordered: bool = True,
    threads: int | None = None,
) -> Iterator[R]:
    """Map over `jobs` processes, or in this one for a single job; items are drawn as they are due.

    Parameters
    ----------
    function : picklable where there are several processes.
    ordered : results in the order of the items, else as they finish.
    threads : BLAS threads a process, in processes that do not outlive their parent by long; None
        leaves both to joblib's settings.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    from joblib import Parallel, delayed, parallel_config

    settings: dict[str, Any] = {"return_as": "generator" if ordered else "generator_unordered"}
    with contextlib.ExitStack() as stack:
        if threads is not None:
            stack.enter_context(parallel_config("loky", inner_max_num_threads=threads))
            settings["idle_worker_timeout"] = ORPHANED
        yield from Parallel(n_jobs=jobs, **settings)(delayed(function)(item) for item in items)


def over_cluster(
    function: Callable[[T], R],
    items: Iterable[T],
    client: Any,
    *,
    lost: Callable[[T, str], R],
) -> Iterator[R]:
    """Map over the workers of a cluster, which may come and go; results as they finish.

    What is lost with its worker runs again. A task is one item, or as many short ones as fill a
    quarter of a second. Twice as many tasks as there are threads now are in flight.

    lost : the result of an item whose task came to nothing, from the item and a message.
    """
    source = iter(items)
    waiting: dict[str, list[T]] = {}

    def submit(size: int) -> list[Any]:
        """As many tasks of `size` items as the window has room for, at least one."""
        window = 2 * max(1, int(sum(client.nthreads().values())))
        futures = []
        for _ in range(max(1, window - len(waiting))):
            if block := list(islice(source, size)):
                futures.append(client.submit(_timed, function, block, pure=False))
                waiting[futures[-1].key] = block
        return futures

    flow = _distributed().as_completed(submit(1), loop=client.loop)
    for future in flow:
        block, error, seconds = waiting.pop(future.key), future.exception(), 0.0
        if error is None:
            seconds, results = future.result()
        else:
            results = [lost(item, f"{type(error).__name__}: {error}") for item in block]
        yield from results
        future.release()
        each = max(seconds / len(block), 1e-6)
        for fresh in submit(max(1, min(MOST_TOGETHER, int(TASK / each)))):
            flow.add(fresh)


def sum_over_cluster(
    function: Callable[..., R],
    arguments: Sequence[tuple[Any, ...]],
    client: Any,
    plus: Callable[[R, R], R],
    progress: Callable[[int, int], None] | None = None,
) -> R:
    """Sum of function(*a) over the arguments a, added in pairs on the workers: one result returns.

    Dask objects among the arguments are computed first, where their data are.
    """
    from dask.base import is_dask_collection

    # a task, not scattered data: the scheduler can make it again when its worker is gone
    shared = client.submit(partial, function, pure=False)
    futures = []
    for values in arguments:
        there = (client.compute(x) if is_dask_collection(x) else x for x in values)
        futures.append(client.submit(operator.call, shared, *there, pure=False))
    watched = list(futures)
    while len(futures) > 1:
        pairs = zip(futures[::2], futures[1::2], strict=False)
        odd = futures[len(futures) - len(futures) % 2 :]
        futures = [client.submit(plus, a, b, pure=False) for a, b in pairs] + odd
    if progress is not None:
        for done, _ in enumerate(_distributed().as_completed(watched, loop=client.loop), 1):
            progress(done, len(arguments))
    del watched  # the workers may forget what is added up
    result: R = futures[0].result()
    return result


@contextlib.contextmanager
def connected(
    address: str | None = None, workers: int | None = None, gpus: Sequence[str] = ()
) -> Iterator[Any]:
    """A client of the scheduler at this address, or of a cluster of `workers` processes here.

    gpus : the GPUs that these own in turn, as CUDA_VISIBLE_DEVICES names them.
    """
    distributed = _distributed()
    with contextlib.ExitStack() as stack:
        scheduler: Any = address
        if address is None:
            scheduler = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=0 if gpus else workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs="ERROR",
                )
            )
            for i in range(workers or 0) if gpus else ():
                # the environment of a process is set before torch looks for devices in it
                (spec,) = scheduler.new_worker_spec().values()
                owned = {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)]}
                options = spec["options"] | {"env": spec["options"].get("env", {}) | owned}
                scheduler.worker_spec[i] = spec | {"options": options}
            if gpus:
                scheduler.scale(workers)
        try:
            client = distributed.Client(scheduler, timeout="20s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"--cluster {address}: no scheduler answers: {error}") from None
        yield stack.enter_context(client)


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        message = "--workers and --cluster need Dask: pip install 'onegrad[dask]'"
        raise InvalidInput(message) from None


def _timed(function: Callable[[T], R], items: Sequence[T]) -> tuple[float, list[R]]:
    start = time.perf_counter()
    results = [function(item) for item in items]
    return time.perf_counter() - start, results
