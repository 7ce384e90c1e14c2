"""Cores, the threads of BLAS, and work that runs abreast."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


class Stopped(Exception):
    """Raised by work that was asked to stop: another item failed, or the user interrupted."""


def cores() -> int:
    """Processor cores that this process may use, OMP_NUM_THREADS and the like respected."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    pools = _pools("torch" in sys.modules).info()
    blas = [int(pool["num_threads"]) for pool in pools if pool["user_api"] == "blas"]
    return max(1, min(allowed or 1, *blas)) if blas else (allowed or 1)


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Let every BLAS call use so many threads."""
    with _pools("torch" in sys.modules).limit(limits=count, user_api="blas"):
        yield


@lru_cache(maxsize=2)
def _pools(torch: bool) -> Any:
    """The BLAS libraries of this process: looking for them takes milliseconds, so it is done once.

    Those of NumPy and SciPy, and again when torch has brought its own.
    """
    import scipy.linalg.cython_blas  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Here(threading.local):
    """What the current thread may share its work with; the threads of a team have no team."""

    pool: ThreadPoolExecutor | None = None
    size: int = 1
    stop: threading.Event | None = None


_here = _Here()


@contextmanager
def team(size: int, blas: int | None = 1, stop: threading.Event | None = None) -> Iterator[None]:
    """So many threads share, within this context, what `share` is given; BLAS has `blas` each.

    One pool for everything: products are cut into tiles and rows into blocks, one BLAS thread a
    tile, so that no second pool of threads waits or spins beside it. `stop` is set by a failure.
    """
    if size == 1:
        yield
        return
    before = _here.pool, _here.size, _here.stop
    with nullcontext() if blas is None else blas_threads(blas), ThreadPoolExecutor(size) as pool:
        _here.pool, _here.size, _here.stop = pool, size, stop
        try:
            yield
        finally:
            _here.pool, _here.size, _here.stop = before


def team_size() -> int:
    """Threads that `share` would use here: one without a team, and within its own work."""
    return _here.size


def share(f: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
    """f(item) for every item, in order, by the threads of the team."""
    if _here.pool is None:
        return [f(item) for item in items]
    return list(abreast(f, items, _here.size, stop=_here.stop, pool=_here.pool))


def start(f: Callable[[Item], None], items: Sequence[Item]) -> Callable[[], None]:
    """Let the team begin with f(item) for every item; what is returned waits for them.

    Without a team nothing begins before that.
    """
    pool = _here.pool
    futures = [] if pool is None else [pool.submit(f, item) for item in items]

    def wait() -> None:
        for future in futures:
            future.result()
        if pool is None:
            for item in items:
                f(item)

    return wait


def whole_blas() -> Any:
    """A context in which one BLAS call has all threads of the team: where no tiles are cut."""
    return nullcontext() if _here.size == 1 else blas_threads(_here.size)


def abreast(
    f: Callable[[Item], Value],
    items: Iterable[Item],
    threads: int | None = None,
    *,
    stop: threading.Event | None = None,
    pool: ThreadPoolExecutor | None = None,
) -> Iterator[Value]:
    """f(item) for every item, in order, on so many threads (all cores) with one BLAS thread each.

    Few items are taken ahead. A single one is left to this thread and all BLAS threads. After a
    failure, an interrupt or a caller that wants no more, nothing further starts, `stop` is set so
    that what runs can end early, and the first failure is raised. A `pool` of so many threads
    outlives the call, takes all items at once and leaves BLAS as it is: for short work on items of
    no size that calls none.
    """
    coming, count = iter(items), threads or cores()
    first = list(islice(coming, min(count, 2)))
    if len(first) < 2:
        yield from map(f, chain(first, coming))
        return
    stop, failures = stop or threading.Event(), list[BaseException]()

    def one(item: Item) -> Value:
        if stop.is_set():
            raise Stopped
        try:
            return f(item)
        except BaseException as error:
            failures.append(error)
            stop.set()
            raise

    limited = nullcontext() if pool else blas_threads(1)
    with limited, nullcontext(pool) if pool else ThreadPoolExecutor(count) as team:
        ahead: deque[Future[Value]] = deque()
        try:
            for item in chain(first, coming):
                ahead.append(team.submit(one, item))
                if pool is None and len(ahead) > count:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        except BaseException as error:
            stop.set()
            for future in ahead:
                future.cancel()
            if failures and isinstance(error, Stopped):
                raise failures[0] from None
            raise
