"""Processes that compute what takes longer than a repaint, and a cache of their answers.

An answer becomes JSON once, where it is computed, and is kept and sent as these bytes.
"""

import asyncio
import json
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from onegrad.exceptions import NotConverged
from onegrad.parallel.children import MAX_ATTEMPTS, Attempt, Child
from onegrad.parallel.cores import core_count

# Browser, server and single points go first, then simulations, then curves and networks.
SIMULATION_NICENESS, BACKGROUND_NICENESS = 10, 15


class AnswerCache:
    """The most recently used answers, up to a number of bytes (64 MiB)."""

    def __init__(self, max_bytes: int = 64 * 2**20) -> None:
        self.max_bytes, self.bytes = max_bytes, 0
        self._answers: dict[str, bytes] = {}  # the newest last

    def get(self, question: str) -> bytes | None:
        """Return the answer if it is kept."""
        answer = self._answers.pop(question, None)
        if answer is not None:
            self._answers[question] = answer
        return answer

    def keep(self, question: str, answer: bytes) -> None:
        """Keep an answer; those used least recently are dropped for it."""
        if question in self._answers:  # asked twice before it was computed
            self._forget(question)
        self._answers[question] = answer
        self.bytes += _size(question, answer)
        while self.bytes > self.max_bytes and len(self._answers) > 1:
            self._forget(next(iter(self._answers)))

    def _forget(self, question: str) -> None:
        self.bytes -= _size(question, self._answers.pop(question))


def _size(question: str, answer: bytes) -> int:
    return len(question) + len(answer) + 200  # the objects themselves


class Workers:
    """Compute functions in other processes, and remember their values as JSON.

    Functions are told apart by name and arguments by their `repr`, which must say everything.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or min(2, core_count())
        self._background = Processes(self.count, BACKGROUND_NICENESS)
        self._foreground = Processes(2)  # more, for number and spectrum of a moving slider
        self._own_thread = ThreadPoolExecutor(1)
        self.cache = AnswerCache()

    def warm(self) -> None:
        """Start the processes before the first question, with the libraries that it needs."""
        for processes in (self._foreground, self._background):
            for _ in range(processes.count):
                processes.submit(_import_theory)

    async def compute(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        """Return the value of a function as JSON, computed in another process."""
        return await self._cached(self._background.submit, function, *arguments)

    async def compute_now(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        """Return it from a process that computes no curves, which would hold it up."""
        return await self._cached(self._foreground.submit, function, *arguments)

    async def compute_here(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        """Return it computed in this process, one at a time: for what takes little."""
        return await self._cached(self._own_thread.submit, function, *arguments)

    async def _cached(
        self, submit: Callable[..., Future[bytes]], function: Callable[..., Any], *arguments: Any
    ) -> bytes:
        question = f"{function.__name__}{arguments!r}"
        answer = self.cache.get(question)
        if answer is None:
            answer = await asyncio.wrap_future(submit(to_json, function, *arguments))
            self.cache.keep(question, answer)
        return answer

    def stop(self) -> None:
        """End the processes without waiting for what they compute."""
        self._foreground.stop()
        self._background.stop()
        self._own_thread.shutdown(wait=False, cancel_futures=True)


class Processes:
    """Threads that each wait for a process, which is replaced when it is killed."""

    def __init__(self, count: int, niceness: int = 0) -> None:
        self.count, self._niceness = count, niceness
        self._threads = ThreadPoolExecutor(count)
        self._children: set[Child] = set()
        self._idle: list[Child] = []
        self._stopped = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Return the future value of a function, from a process."""
        return self._threads.submit(self.call, function, *arguments)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return its value from a process; from a fresh one if that is killed meanwhile."""
        for _ in range(MAX_ATTEMPTS):
            child = self._idle.pop() if self._idle else self._start()
            if self._stopped:
                child.end()
                break
            child.send([Attempt((function, arguments))])
            try:
                results = child.receive()
            except Exception:  # what the function raised: the process itself is well
                self._idle.append(child)
                raise
            if results is not None:
                self._idle.append(child)
                return results[0]
            self._children.discard(child)
        raise NotConverged("the process that computed this was ended")

    def _start(self) -> Child:
        child = Child(_call)
        ours = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, child.process.pid, ours + self._niceness)
        self._children.add(child)
        return child

    def stop(self) -> None:
        """End them without waiting for what they compute."""
        self._stopped = True
        for child in list(self._children):
            child.process.kill()
            child.process.wait()
        self._threads.shutdown(wait=False, cancel_futures=True)


def to_json(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Return the value of a function as JSON."""
    value = function(*arguments)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _call(question: tuple[Callable[..., Any], tuple[Any, ...]]) -> Any:
    function, arguments = question
    return function(*arguments)


def _import_theory() -> None:
    import onegrad.theory  # noqa: F401
