"""Processes that compute what takes longer than a repaint, and a cache of their answers.

An answer becomes JSON once, where it is computed, and is kept and sent as these bytes.
"""

import asyncio
import functools
import json
import os
import signal
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from threadpoolctl import threadpool_limits

from onegrad.exceptions import NotConverged
from onegrad.parallel.children import MAX_ATTEMPTS, Attempt, Child
from onegrad.parallel.cores import core_count

# Of curves and networks: browser, server and single points go first, and so do simulations (10).
BACKGROUND_NICENESS = 15


@functools.cache
def run_in_background(niceness: int) -> None:
    """Use one core, let programs of less niceness go first, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    if hasattr(os, "nice"):
        os.nice(niceness)


class AnswerCache:
    """The most recently used answers, up to a number of bytes (64 MiB)."""

    def __init__(self, max_bytes: int = 64 * 2**20) -> None:
        self.max_bytes, self.bytes = max_bytes, 0
        self._answers: OrderedDict[str, bytes] = OrderedDict()

    def get(self, question: str) -> bytes | None:
        """Return the answer if it is kept."""
        if question in self._answers:
            self._answers.move_to_end(question)
        return self._answers.get(question)

    def keep(self, question: str, answer: bytes) -> None:
        """Keep an answer; those used least recently make room for it."""
        if question in self._answers:  # asked twice before it was computed
            self.bytes -= _size(question, self._answers.pop(question))
        self._answers[question] = answer
        self.bytes += _size(question, answer)
        while self.bytes > self.max_bytes and len(self._answers) > 1:
            self.bytes -= _size(*self._answers.popitem(last=False))


def _size(question: str, answer: bytes) -> int:
    return len(question) + len(answer) + 200  # the objects themselves


class Workers:
    """Compute functions in other processes, and remember their values as JSON.

    Functions are told apart by name and arguments by their `repr`, which must say everything.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = count or min(2, core_count())
        in_background = functools.partial(_call, niceness=BACKGROUND_NICENESS)
        self._background = Processes(self.count, in_background)
        self._foreground = Processes(2, _call)  # more, for number and spectrum of a moving slider
        self._own_thread = ThreadPoolExecutor(1)
        self.cache = AnswerCache()

    def warm(self) -> None:
        """Start the processes before the first question."""
        self._foreground.warm()
        self._background.warm()

    async def compute(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        """Return the value of a function as JSON, computed in another process."""
        return await self._cached(self._background.submit, function, *arguments)

    async def compute_now(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        """Return it from a process that computes no curves, which would hold it up."""
        return await self._cached(self._foreground.submit, function, *arguments)

    async def compute_here(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        """Return it computed in this process, one at a time: for what takes little."""
        thread = self._own_thread
        return await self._cached(lambda *q: thread.submit(to_json, *q), function, *arguments)

    async def _cached(
        self, submit: Callable[..., Future[bytes]], function: Callable[..., Any], *arguments: Any
    ) -> bytes:
        question = f"{function.__name__}{arguments!r}"
        answer = self.cache.get(question)
        if answer is None:
            answer = await asyncio.wrap_future(submit(function, *arguments))
            self.cache.keep(question, answer)
        return answer

    def stop(self) -> None:
        """End the processes without waiting for what they compute."""
        self._foreground.stop()
        self._background.stop()
        self._own_thread.shutdown(wait=False, cancel_futures=True)


class Processes:
    """Threads that each wait for a process, which is replaced when it is killed."""

    def __init__(self, count: int, call: Callable[..., bytes]) -> None:
        self.count = count
        self._call = call
        self._threads = ThreadPoolExecutor(count)
        self._children: set[Child] = set()
        self._idle: list[Child] = []
        self._stopped = False

    def warm(self) -> None:
        """Start them all, with the libraries that their first question needs."""
        for _ in range(self.count):
            self.submit(_import_theory)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[bytes]:
        """Return the future JSON of a function's value."""
        return self._threads.submit(self._compute, function, *arguments)

    def _compute(self, function: Callable[..., Any], *arguments: Any) -> bytes:
        """Return the JSON from a process; from a fresh one if that is killed meanwhile."""
        for _ in range(MAX_ATTEMPTS):
            child = self._idle.pop() if self._idle else Child(self._call)
            self._children.add(child)
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
                return bytes(results[0])
            self._children.discard(child)
        raise NotConverged("the process that computed this was ended")

    def stop(self) -> None:
        """End them without waiting for what they compute."""
        self._stopped = True
        for child in list(self._children):
            child.process.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for child in self._idle:
            child.end()


def to_json(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Return the value of a function as JSON."""
    value = function(*arguments)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _call(question: tuple[Callable[..., Any], tuple[Any, ...]], niceness: int = 0) -> bytes:
    run_in_background(niceness)
    function, arguments = question
    return to_json(function, *arguments)


def _import_theory() -> None:
    import onegrad.theory  # noqa: F401
