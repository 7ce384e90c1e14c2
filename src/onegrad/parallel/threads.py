"""Maps over the threads of this process."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain, islice
from typing import TypeVar

from onegrad.parallel.cores import blas_threads, thread_count

Item = TypeVar("Item")
Value = TypeVar("Value")


class WorkCancelled(Exception):
    """Raised by work that was asked to stop: another item failed, or the user interrupted."""


def thread_map(
    function: Callable[[Item], Value],
    items: Iterable[Item],
    threads: int | None = None,
    *,
    stop: threading.Event | None = None,
) -> Iterator[Value]:
    """Yield function(item) for every item, in order, from threads with one BLAS thread each.

    Few items are taken ahead. A single one is left to this thread and all BLAS threads. After a
    failure or an interrupt, or when the caller wants no more, nothing further starts, `stop` is
    set so that running work can end early, and the first failure is raised.

    threads : their number; None takes :func:`thread_count`.
    """
    count = threads or thread_count()
    source = iter(items)
    # two items tell whether threads are worth starting; more would be drawn too early
    first = list(islice(source, min(count, 2)))
    if len(first) < 2:
        yield from map(function, chain(first, source))
        return
    with blas_threads(1), ThreadPoolExecutor(count) as pool:
        yield from _in_order(function, chain(first, source), pool, stop, ahead=count)


def _in_order(
    function: Callable[[Item], Value],
    items: Iterable[Item],
    pool: ThreadPoolExecutor,
    stop: threading.Event | None,
    ahead: int | None,
) -> Iterator[Value]:
    """Yield the results in order, with at most `ahead` items taken in advance; None takes all."""
    stop, failures = stop or threading.Event(), list[BaseException]()

    def call(item: Item) -> Value:
        if stop.is_set():
            raise WorkCancelled
        try:
            return function(item)
        except BaseException as error:
            failures.append(error)
            stop.set()
            raise

    futures: deque[Future[Value]] = deque()
    try:
        for item in items:
            futures.append(pool.submit(call, item))
            if ahead is not None and len(futures) > ahead:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()
    except BaseException as error:  # GeneratorExit, too: the caller wants no more
        stop.set()
        for future in futures:
            future.cancel()
        if failures and isinstance(error, WorkCancelled):
            raise failures[0] from None
        raise


# -- the pool of the current thread ------------------------------------------------------------


class _Current(threading.local):
    """The pool that the current thread has opened; the threads of a pool have none."""

    pool: ThreadPoolExecutor | None = None
    size: int = 1
    stop: threading.Event | None = None


_current = _Current()


@contextmanager
def thread_pool(
    threads: int, blas: int | None = 1, stop: threading.Event | None = None
) -> Iterator[None]:
    """Open a pool of threads that `pool_map` and `pool_submit` use within this context.

    There is one pool for everything: products are cut into tiles and rows into blocks, with one
    BLAS thread for each, so that no second set of threads waits or spins beside it.

    Parameters
    ----------
    blas : BLAS threads of each thread; None leaves BLAS as it is.
    stop : event that a failure sets.
    """
    if threads == 1:
        yield
        return
    before = _current.pool, _current.size, _current.stop
    with nullcontext() if blas is None else blas_threads(blas), ThreadPoolExecutor(threads) as pool:
        _current.pool, _current.size, _current.stop = pool, threads, stop
        try:
            yield
        finally:
            _current.pool, _current.size, _current.stop = before


def pool_size() -> int:
    """Return the number of threads that `pool_map` would use here.

    It is one without a pool, and one in the threads of a pool.
    """
    return _current.size


def pool_map(function: Callable[[Item], Value], items: Iterable[Item]) -> list[Value]:
    """Return function(item) for every item, in order, from the pool if there is one."""
    work = list(items)
    if _current.pool is None or len(work) < 2:
        return [function(item) for item in work]
    return list(_in_order(function, work, _current.pool, _current.stop, ahead=None))


def pool_submit(function: Callable[[Item], None], items: Sequence[Item]) -> Callable[[], None]:
    """Let the pool begin with function(item) for every item; calling the result waits for them.

    Without a pool nothing begins before that call.
    """
    pool = _current.pool
    futures = [] if pool is None else [pool.submit(function, item) for item in items]

    def wait() -> None:
        for future in futures:
            future.result()
        if pool is None:
            for item in items:
                function(item)

    return wait


def all_blas_threads() -> AbstractContextManager[None]:
    """Return a context in which one BLAS call has as many threads as the pool."""
    return nullcontext() if _current.size == 1 else blas_threads(_current.size)
