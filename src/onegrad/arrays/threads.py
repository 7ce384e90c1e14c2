"""Cores, the threads of BLAS, and work that runs abreast."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


def cores() -> int:
    """Processor cores that this process may use, OMP_NUM_THREADS and the like respected."""
    from threadpoolctl import threadpool_info

    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    blas = [int(pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(1, min(allowed or 1, *blas)) if blas else (allowed or 1)


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Let every BLAS call use so many threads."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(count, user_api="blas"):
        yield


def abreast(
    f: Callable[[Item], Value], items: Iterable[Item], threads: int | None = None
) -> Iterator[Value]:
    """f(item) for every item, in order, on so many threads (all cores) with one BLAS thread each.

    Few items are taken ahead. A single one is left to this thread and all BLAS threads.
    """
    coming, count = iter(items), threads or cores()
    first = list(islice(coming, min(count, 2)))
    if len(first) < 2:
        yield from map(f, chain(first, coming))
        return
    with blas_threads(1), ThreadPoolExecutor(count) as pool:
        ahead: deque[Future[Value]] = deque()
        for item in chain(first, coming):
            ahead.append(pool.submit(f, item))
            if len(ahead) > count:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
