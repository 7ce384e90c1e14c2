"""Processes that compute what takes longer than a repaint, and a memory of what they found."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from threadpoolctl import threadpool_limits

REMEMBERED = 20_000  # answers


def in_the_background(niceness: int = 5) -> None:
    """Start of a worker: browser and server go first, and matrix products take one core.

    The parent handles Ctrl-C.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    if hasattr(os, "nice"):
        os.nice(niceness)


class Workers:
    """`await workers(f, *arguments)`: f's value, computed in another process or remembered."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count or min(2, os.cpu_count() or 1)
        self._pool: ProcessPoolExecutor | None = None
        self._thread = ThreadPoolExecutor(1)
        self._memory: OrderedDict[Hashable, Any] = OrderedDict()

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.count, context, in_the_background)
        return self._pool

    def warm(self) -> None:
        """Start the processes before the first question."""
        for _ in range(self.count):
            self._start().submit(_import_theory)

    async def here(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The value computed in this process, one question at a time: for what takes little."""
        return await self._remembered(self._thread, function, *arguments)

    async def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The value computed in another process."""
        pool = self._start()
        try:
            return await self._remembered(pool, function, *arguments)
        except BrokenProcessPool:  # a worker was killed: once more with fresh ones
            if self._pool is pool:
                self.stop()
            return await self._remembered(self._start(), function, *arguments)

    async def _remembered(self, pool: Executor, function: Callable[..., Any], *args: Any) -> Any:
        key = (function.__name__, *args)
        if key not in self._memory:
            loop = asyncio.get_running_loop()
            self._memory[key] = await loop.run_in_executor(pool, function, *args)
            if len(self._memory) > REMEMBERED:
                self._memory.popitem(last=False)
        self._memory.move_to_end(key)
        return self._memory[key]

    def stop(self) -> None:
        """End the processes without waiting for what they compute."""
        pool, self._pool = self._pool, None
        if pool is not None:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


def _import_theory() -> None:
    import onegrad.theory  # noqa: F401
