"""Maps and sums over the workers of a Dask cluster."""

import asyncio
import concurrent.futures
import contextlib
import importlib
import logging
import operator
import queue
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.parallel.children import interrupts_blocked, items_per_task, timed_results
from onegrad.parallel.threads import Item, Value

WORKER_CHECK = 1.0  # seconds between two looks at whether the cluster has workers
MAX_WITHOUT_WORKERS = 60.0  # seconds, in which workers that are restarted come back
RESUME = "finished work is stored: run this again when it is back"


def cluster_map(
    function: Callable[[Item], Value],
    items: Iterable[Item],
    client: Any,
    *,
    lost: Callable[[Item, str], Value],
) -> Iterator[Value]:
    """Map over the workers of a cluster, which may come and go; yield results as they finish.

    What is lost with its worker runs again. A task is one item, or as many short ones as fill a
    quarter of a second. Twice as many tasks are in flight as the cluster has threads.

    lost : the result of an item whose task failed, from the item and a message.
    """
    source = iter(items)
    in_flight: dict[Any, list[Item]] = {}
    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()

    # a second task waits at each thread while the result of its first travels
    def submit(size: int) -> None:
        """Submit as many tasks of `size` items as the window holds, at least one."""
        window = 2 * max(1, int(sum(client.nthreads().values())))
        for _ in range(max(1, window - len(in_flight))):
            if task := list(islice(source, size)):
                # not pure: Dask would hash every item, and run equal ones once
                future = client.submit(timed_results, function, task, pure=False)
                in_flight[future] = task
                future.add_done_callback(finished.put)

    with _lost_scheduler_in_one_line(client):
        submit(1)
        while in_flight:
            future = _while_there_are_workers(lambda s: finished.get(timeout=s), client)
            error = _while_there_are_workers(future.exception, client)
            task, seconds = in_flight.pop(future), 0.0
            if error is None:
                seconds, results = _while_there_are_workers(future.result, client)
            elif future.cancelled():
                raise error
            else:
                results = [lost(item, f"{type(error).__name__}: {error}") for item in task]
            yield from results
            future.release()
            submit(items_per_task(seconds, len(task)))


def cluster_sum(
    function: Callable[..., Value],
    items: Sequence[tuple[Any, ...]],
    client: Any,
    plus: Callable[[Value, Value], Value],
    progress: Callable[[int, int], None] | None = None,
) -> Value:
    """Return the sum of function(*item), added in pairs on the workers: one result travels back.

    Dask objects among the arguments are computed first, where their data are.
    """
    from dask.base import is_dask_collection

    with _lost_scheduler_in_one_line(client):
        # a task, not scattered data: the scheduler can make it again when its worker is gone
        shared = client.submit(partial, function, pure=False)
        futures = []
        for item in items:
            arguments = (client.compute(x) if is_dask_collection(x) else x for x in item)
            futures.append(client.submit(operator.call, shared, *arguments, pure=False))
        terms = list(futures)
        while len(futures) > 1:
            pairs = zip(futures[::2], futures[1::2], strict=False)
            odd = futures[len(futures) - len(futures) % 2 :]
            futures = [client.submit(plus, a, b, pure=False) for a, b in pairs] + odd
        if progress is not None:
            as_completed = importlib.import_module("distributed").as_completed
            for done, _ in enumerate(as_completed(terms, loop=client.loop), 1):
                progress(done, len(items))
        del terms  # the workers may forget what has been added
        error = _while_there_are_workers(futures[0].exception, client)
        if error is not None:
            raise error
        return _while_there_are_workers(futures[0].result, client)


def _while_there_are_workers(wait: Callable[[float], Value], client: Any) -> Value:
    """Return what `wait` returns; give up when there have been no workers for long.

    A result that is finished can still be lost with its worker: reading it waits like any other.

    wait : takes a number of seconds, and raises TimeoutError or queue.Empty when they are over.
    """
    last_seen = time.monotonic()
    while True:
        with contextlib.suppress(queue.Empty, TimeoutError):
            return wait(WORKER_CHECK)
        if client.nthreads():
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > MAX_WITHOUT_WORKERS:
            seconds = f"{MAX_WITHOUT_WORKERS:.0f} s"
            raise RuntimeError(f"the cluster has had no workers for {seconds}; {RESUME}")


@contextlib.contextmanager
def _lost_scheduler_in_one_line(client: Any) -> Iterator[None]:
    """Report a scheduler that goes away in one line: Dask cancels all that it was asked for."""
    address = getattr(client.scheduler, "address", "") or "of this cluster"
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        cancelled = isinstance(error, concurrent.futures.CancelledError | asyncio.CancelledError)
        if client.status == "running" and not cancelled:
            raise
        raise RuntimeError(f"the scheduler {address} went away; {RESUME}") from None


# -- clients -----------------------------------------------------------------------------------


@contextlib.contextmanager
def cluster_client(
    address: str | None = None, workers: int | None = None, gpus: Sequence[str] = ()
) -> Iterator[Any]:
    """Yield a client of the scheduler at an address, or of a new cluster on this machine.

    Parameters
    ----------
    workers : number of processes of a new cluster.
    gpus : the GPUs that these own in turn, as CUDA_VISIBLE_DEVICES names them.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        argument = "workers" if address is None else "cluster"
        raise InvalidInput(argument, problem="needs Dask: pip install 'onegrad[dask]'") from None
    with contextlib.ExitStack() as stack:
        logger = logging.getLogger("distributed.client")  # it would only repeat what is raised
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)
        scheduler: Any = address
        if address is None:
            resource_tracker.ensure_running()  # its start would unblock interrupts
            with interrupts_blocked():  # the cluster's threads and processes never see them
                cluster = distributed.LocalCluster(
                    n_workers=0 if gpus else workers,
                    threads_per_worker=1,
                    # on this machine alone: whoever can reach a scheduler can run code
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs="CRITICAL",
                )
                if gpus:
                    _start_workers_with_gpus(cluster, workers or 0, gpus)
            scheduler = stack.enter_context(cluster)
        else:
            _check_scheduler_listens(address)
        try:
            client = distributed.Client(scheduler, timeout="20s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise _no_scheduler(address, error) from None
        stack.enter_context(client)
        if gpus:
            client.wait_for_workers(workers, timeout=60)
        if not client.nthreads():
            problem = "the scheduler has no workers; start some"
            raise InvalidInput("cluster", address, problem=problem)
        yield client


def _start_workers_with_gpus(cluster: Any, workers: int, gpus: Sequence[str]) -> None:
    """Start workers that own these GPUs in turn.

    The environment of a process is set before torch looks for devices in it.
    """
    for i in range(workers):
        (spec,) = cluster.new_worker_spec().values()
        owned = {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)]}
        options = spec["options"] | {"env": spec["options"].get("env", {}) | owned}
        cluster.worker_spec[i] = spec | {"options": options}
    cluster.scale(workers)


def _check_scheduler_listens(address: str) -> None:
    """Fail at once if nothing listens at the address: Dask would retry until it times out."""
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if scheme in ("", "tcp", "tls"):
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except (OSError, ValueError, OverflowError) as error:
            raise _no_scheduler(address, error) from None


def _no_scheduler(address: str | None, error: Exception) -> InvalidInput:
    return InvalidInput("cluster", address, problem=f"no scheduler answers: {error}")
