"""Processes of our own: a pipe to each, a pipe back, and nothing that outlives them.

No semaphores, no shared memory, no helpers: whoever is killed, there is nothing to sweep. A child
ends when its parent does, whatever it is doing (see `end_with`).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
R = TypeVar("R")

WATCH = 0.5  # seconds between two looks at whether the parent is there
TASK, MOST_TOGETHER = 0.25, 64  # seconds that short items fill together, and how many at most
TRIES = 3  # of an item over which its process dies
BARREN = 8  # deaths in a row, beside one a process, after which no more are started
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_watched = 0  # the process that is watched already: a fork starts without the thread


def end_with(parent: int) -> None:
    """End this process soon after its parent, by a thread that looks whether it is there.

    The thread needs Python's lock for a moment: a call into a library that does not give it up
    holds it off until it returns.
    """

    def watch() -> NoReturn:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)  # not sys.exit: the main thread may be blocked in a pipe for ever

    global _watched
    if _watched != os.getpid():
        _watched = os.getpid()
        threading.Thread(target=watch, name="onegrad-end-with-parent", daemon=True).start()


def timed(function: Callable[[T], R], items: Iterable[T]) -> tuple[float, list[R]]:
    """The results, and the seconds that they took."""
    start = time.perf_counter()
    results = [function(item) for item in items]
    return time.perf_counter() - start, results


def together(seconds: float, items: int) -> int:
    """How many items fill TASK seconds, when so many took `seconds`."""
    return max(1, min(MOST_TOGETHER, int(TASK * items / max(seconds, 1e-6))))


@dataclass(frozen=True)
class Attempt:
    """An item and how often a process died over it alone."""

    item: Any
    deaths: int = 0


class Child:
    """A process that applies one function to blocks of items."""

    def __init__(self, function: Callable[[Any], Any], threads: int) -> None:
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from onegrad.io.children import serve; serve({os.getpid()})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | dict.fromkeys(THREADS, str(threads)),
            process_group=0,  # Ctrl-C is the parent's affair
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.told = Connection(os.dup(self.process.stdin.fileno()), readable=False)
        self.said = Connection(os.dup(self.process.stdout.fileno()), writable=False)
        self.process.stdin.close()
        self.process.stdout.close()
        self.size = 1
        self.block: list[Attempt] = []
        self._tell(pickle.dumps(function))

    def _tell(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it is dead: the next answer will say so
            self.told.send_bytes(data)

    def give(self, block: list[Attempt]) -> None:
        self.block = block
        self._tell(pickle.dumps([attempt.item for attempt in block]))

    def answer(self) -> list[Any] | None:
        """The results of the block; None when the process died over it."""
        try:
            seconds, results, error = pickle.loads(self.said.recv_bytes())
        except (EOFError, OSError):
            self.end()
            return None
        if error is not None:
            raise error
        self.size = together(seconds, len(self.block))
        return list(results)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        self.told.close()
        self.said.close()


def over_children(
    function: Callable[[T], R],
    items: Iterable[T],
    jobs: int,
    *,
    lost: Callable[[T, str], R],
    threads: int = 1,
) -> Iterator[R]:
    """Map over `jobs` processes of `threads` BLAS threads each; results as they finish.

    Items are drawn as they are due; short ones travel together. Those whose process dies are tried
    again, each alone.

    Parameters
    ----------
    function : importable by name; what it raises is raised here.
    lost : the result of an item whose process died each time, from the item and a message.
    """
    source, again = map(Attempt, items), deque[Attempt]()
    crew, spare = set[Child](), list[Child]()
    busy: dict[Any, Child] = {}
    ready: list[R] = []
    barren = 0
    try:
        while True:
            while len(busy) < jobs:
                size = spare[-1].size if spare else 1
                block = [again.popleft()] if again else list(islice(source, size))
                if not block:
                    break
                child = spare.pop() if spare else Child(function, threads)
                crew.add(child)
                busy[child.said] = child
                child.give(block)
            yield from ready  # they are kept while the processes work
            ready.clear()
            if not busy:
                return
            for said in wait(list(busy)):
                child = busy.pop(said)
                results = child.answer()
                if results is not None:
                    barren = 0
                    ready += results
                    spare.append(child)
                    continue
                crew.discard(child)
                barren, code = barren + 1, child.process.returncode
                if barren > BARREN + jobs:
                    raise RuntimeError(f"{barren} processes in a row ended, the last with {code}")
                alone = len(child.block) == 1  # else the others may be to blame
                for item, deaths in ((a.item, a.deaths + alone) for a in child.block):
                    if deaths < TRIES:
                        again.append(Attempt(item, deaths))
                    else:
                        ready.append(lost(item, f"its process ended with {code}, {deaths} times"))
    finally:
        for child in crew:
            child.end()


def serve(parent: int) -> None:
    """The child: a function comes first, then blocks of items until the parent hangs up."""
    end_with(parent)
    heard = Connection(os.dup(0), writable=False)
    said = Connection(os.dup(1), readable=False)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a library prints is not taken for an answer
    with contextlib.suppress(EOFError, BrokenPipeError):
        function = pickle.loads(heard.recv_bytes())
        while True:
            block, error = pickle.loads(heard.recv_bytes()), None
            seconds, results = 0.0, list[Any]()
            try:
                seconds, results = timed(function, block)
            except Exception as raised:
                error = raised
            said.send_bytes(_pickled(seconds, results, error))


def _pickled(seconds: float, results: list[Any], error: Exception | None) -> bytes:
    try:
        data = pickle.dumps((seconds, results, error))
        if error is not None:
            pickle.loads(data)  # some exceptions can be sent but not received
        return data
    except Exception:
        plain = RuntimeError(f"{type(error).__name__}: {error}" if error else "no plain result")
        return pickle.dumps((seconds, [], plain))
