"""Processes that compute what takes longer than a repaint, and a memory of what they found."""

from __future__ import annotations

import asyncio
import functools
import os
import pickle
import signal
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from threadpoolctl import threadpool_limits

from onegrad.exceptions import NotConverged
from onegrad.parallel import core_count
from onegrad.parallel.children import MAX_ATTEMPTS, Attempt, Child

REMEMBERED = 64 * 2**20  # bytes of answers and questions


@functools.cache
def in_the_background(niceness: int = 5) -> None:
    """Start of a worker: browser and server go first, and matrix products take one core.

    The parent handles Ctrl-C.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    if hasattr(os, "nice"):
        os.nice(niceness)


class Memory:
    """The answers last asked for, of so many bytes together."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self.most, self.bytes = most, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def __contains__(self, question: str) -> bool:
        return question in self._kept

    def __getitem__(self, question: str) -> Any:
        self._kept.move_to_end(question)
        return pickle.loads(self._kept[question])

    def __setitem__(self, question: str, answer: Any) -> None:
        old = self._kept.pop(question, None)
        self._kept[question] = data = pickle.dumps(answer)
        self.bytes += _size(question, data) - (0 if old is None else _size(question, old))
        while self.bytes > self.most and len(self._kept) > 1:
            self.bytes -= _size(*self._kept.popitem(last=False))


def _size(question: str, data: bytes) -> int:
    return len(question) + len(data) + 200  # the objects' own


class Workers:
    """`await workers(f, *arguments)`: f's value, computed in another process or remembered.

    Arguments are values whose `repr` says all: it is what an answer is remembered by.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or min(2, core_count())
        self._asking = ThreadPoolExecutor(self.count)  # a thread waits for each process
        self._thread = ThreadPoolExecutor(1)
        self._children: set[Child] = set()
        self._spare: list[Child] = []
        self._stopped = False
        self._memory = Memory()

    def warm(self) -> None:
        """Start the processes before the first question."""
        for _ in range(self.count):
            self._asking.submit(self._ask, _import_theory)

    async def here(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The value computed in this process, one question at a time: for what takes little."""
        return await self._remembered(self._thread, function, function, *arguments)

    async def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The value computed in another process."""
        return await self._remembered(self._asking, function, self._ask, function, *arguments)

    async def _remembered(
        self, pool: ThreadPoolExecutor, function: Callable[..., Any], *call: Any
    ) -> Any:
        question = f"{function.__name__}{call[1:]!r}"
        if question not in self._memory:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(pool, *call)
            self._memory[question] = answer
            return answer
        return self._memory[question]

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The value from a process; from a fresh one if that is killed over it."""
        for _ in range(MAX_ATTEMPTS):
            child = self._spare.pop() if self._spare else Child(_apply, threads=1)
            self._children.add(child)
            if self._stopped:
                child.end()
                break
            child.send([Attempt((function, arguments))])
            try:
                answers = child.receive()
            except Exception:  # the function's own
                self._spare.append(child)
                raise
            if answers is not None:
                self._spare.append(child)
                return answers[0]
            self._children.discard(child)
        raise NotConverged("the process that computed this was ended")

    def stop(self) -> None:
        """End the processes without waiting for what they compute."""
        self._stopped = True
        for child in list(self._children):
            child.process.kill()
        self._asking.shutdown(wait=True, cancel_futures=True)
        self._thread.shutdown(wait=False, cancel_futures=True)
        for child in self._spare:
            child.end()


def _apply(question: tuple[Callable[..., Any], tuple[Any, ...]]) -> Any:
    in_the_background()
    function, arguments = question
    return function(*arguments)


def _import_theory() -> None:
    import onegrad.theory  # noqa: F401
