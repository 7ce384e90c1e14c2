"""Work in the processes of others: joblib's on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import importlib
import logging
import operator
import os
import queue
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from onegrad.exceptions import InvalidInput
from onegrad.io.children import end_with, timed, together

T = TypeVar("T")
R = TypeVar("R")

LOOK, ALONE = 1.0, 60.0  # seconds between two looks at a cluster; that one may be without workers
KEPT = "what is finished is kept: run this again when it is back"


def over_processes(function: Callable[[T], R], items: Iterable[T], jobs: int) -> Iterator[R]:
    """Map over `jobs` processes of joblib, or in this one for a single job; results in order.

    Items are drawn as they are due. function : picklable where there are several processes.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    from joblib import Parallel, delayed

    watched = delayed(partial(_watched, os.getpid(), function))
    yield from Parallel(n_jobs=jobs, return_as="generator")(watched(item) for item in items)


def _watched(parent: int, function: Callable[[T], R], item: T) -> R:
    """function(item), in a process that ends with its parent where it is a child of it."""
    if os.getppid() == parent:
        end_with(parent)
    return function(item)


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
    waiting: dict[Any, list[T]] = {}
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def submit(size: int) -> None:
        """As many tasks of `size` items as the window has room for, at least one."""
        window = 2 * max(1, int(sum(client.nthreads().values())))
        for _ in range(max(1, window - len(waiting))):
            if block := list(islice(source, size)):
                future = client.submit(timed, function, block, pure=False)
                waiting[future] = block
                future.add_done_callback(finished.put)

    with _scheduler_there(client):
        submit(1)
        while waiting:
            future = _next(finished, client)
            block, error, seconds = waiting.pop(future), future.exception(), 0.0
            if error is None:
                seconds, results = future.result()
            elif future.cancelled():
                raise error
            else:
                results = [lost(item, f"{type(error).__name__}: {error}") for item in block]
            yield from results
            future.release()
            submit(together(seconds, len(block)))


def _next(finished: queue.SimpleQueue[Any], client: Any) -> Any:
    """The next future that is done; not waited for for ever where no workers are left."""
    alone = time.monotonic()
    while True:
        with contextlib.suppress(queue.Empty):
            return finished.get(timeout=LOOK)
        if client.nthreads():
            alone = time.monotonic()
        elif time.monotonic() - alone > ALONE:
            raise RuntimeError(f"the cluster has had no workers for {ALONE:.0f} s; {KEPT}")


@contextlib.contextmanager
def _scheduler_there(client: Any) -> Iterator[None]:
    """A scheduler that goes away as one line: Dask cancels all that it was asked for."""
    address = getattr(client.scheduler, "address", "") or "of this cluster"
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        cancelled = isinstance(error, concurrent.futures.CancelledError | asyncio.CancelledError)
        if client.status == "running" and not cancelled:
            raise
        raise RuntimeError(f"the scheduler {address} went away; {KEPT}") from None


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
    with _scheduler_there(client):
        return _sum_over_cluster(function, arguments, client, plus, progress)


def _sum_over_cluster(
    function: Callable[..., R],
    arguments: Sequence[tuple[Any, ...]],
    client: Any,
    plus: Callable[[R, R], R],
    progress: Callable[[int, int], None] | None,
) -> R:
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
        stack.enter_context(_quiet("distributed.client"))
        scheduler: Any = address
        if address is None:
            with _interrupts_later():  # the cluster's threads and processes never see them
                cluster = distributed.LocalCluster(
                    n_workers=0 if gpus else workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs="CRITICAL",
                )
                _own(cluster, workers or 0, gpus)
            scheduler = stack.enter_context(cluster)
        else:
            _answering(address)
        try:
            client = distributed.Client(scheduler, timeout="20s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"--cluster {address}: no scheduler answers: {error}") from None
        stack.enter_context(client)
        if gpus:
            client.wait_for_workers(workers, timeout=60)
        if not client.nthreads():
            raise InvalidInput(f"--cluster {address}: the scheduler has no workers; start some")
        yield client


def _own(cluster: Any, workers: int, gpus: Sequence[str]) -> None:
    """Start so many workers that own these GPUs in turn; none where there are no GPUs to own.

    The environment of a process is set before torch looks for devices in it.
    """
    for i in range(workers) if gpus else ():
        (spec,) = cluster.new_worker_spec().values()
        owned = {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)]}
        options = spec["options"] | {"env": spec["options"].get("env", {}) | owned}
        cluster.worker_spec[i] = spec | {"options": options}
    if gpus:
        cluster.scale(workers)


def _answering(address: str) -> None:
    """Complain at once where nobody listens: Dask would try until its time is over."""
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if scheme in ("", "tcp", "tls"):
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except (OSError, ValueError, OverflowError) as error:
            raise InvalidInput(f"--cluster {address}: no scheduler answers: {error}") from None


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold Ctrl-C back. Threads and processes that are started meanwhile keep it held back."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would let it through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """Without the log of somebody who says again what an exception says."""
    level = logging.getLogger(logger).level
    logging.getLogger(logger).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logging.getLogger(logger).setLevel(level)


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError:
        message = "--workers and --cluster need Dask: pip install 'onegrad[dask]'"
        raise InvalidInput(message) from None
