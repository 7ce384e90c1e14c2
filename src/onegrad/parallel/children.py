"""Processes on this machine: children of our own, and those of joblib.

Our own have one pipe to each and one pipe back. There are no semaphores, no shared memory and no
helper processes: whoever is killed, nothing is left to clean up. What they run must be importable
by name. Joblib's also take functions that are not, such as a user's generator of rows. All of them
end when their parent does, whatever they are doing (see `end_with_parent`).
"""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from onegrad.exceptions import AssumptionWarning, warn
from onegrad.parallel.threads import Item, Value

TASK_SECONDS, MAX_TASK_ITEMS = 0.25, 64  # short items are sent together until they fill a task
MAX_ATTEMPTS = 3  # of an item over which its process dies
MAX_DEATHS_IN_A_ROW = 8  # beside one per process, after which no more are started
# Processes share the cores already; BLAS reads these once, when it is loaded.
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}
_watched = set[int]()  # processes that are watched already: a fork starts without the thread


def child_map(
    function: Callable[[Item], Value],
    items: Iterable[Item],
    jobs: int,
    *,
    lost: Callable[[Item, str], Value],
) -> Iterator[Value]:
    """Map over `jobs` processes of one BLAS thread each; yield results as they finish.

    Items are drawn as they are due; short ones travel together. Items whose process dies are tried
    again, one at a time.

    Parameters
    ----------
    function : importable by name; what it raises is raised here.
    lost : the result of an item whose process died each time, from the item and a message.
    """
    source, retries = map(Attempt, items), deque[Attempt]()
    living, idle = set[Child](), list[Child]()
    busy: dict[Any, Child] = {}
    ready: list[Value] = []
    deaths_in_a_row = 0
    try:
        while True:
            while len(busy) < jobs:
                size = idle[-1].task_items if idle else 1
                task = [retries.popleft()] if retries else list(islice(source, size))
                if not task:
                    break
                child = idle.pop() if idle else Child(function)
                living.add(child)
                busy[child.results] = child
                child.send(task)
            yield from ready  # results wait here while the processes work
            ready.clear()
            if not busy:
                return
            for connection in wait(list(busy)):
                child = busy.pop(connection)
                results = child.receive()
                if results is not None:
                    deaths_in_a_row = 0
                    ready += results
                    idle.append(child)
                    continue
                living.discard(child)
                deaths_in_a_row += 1
                code = child.process.returncode
                if deaths_in_a_row > MAX_DEATHS_IN_A_ROW + jobs:
                    raise RuntimeError(
                        f"{deaths_in_a_row} processes in a row ended, the last with {code}"
                    )
                to_blame = len(child.task) == 1  # else another item of the task may be
                for item, deaths in ((a.item, a.deaths + to_blame) for a in child.task):
                    if deaths < MAX_ATTEMPTS:
                        retries.append(Attempt(item, deaths))
                    else:
                        ready.append(lost(item, f"its process ended with {code}, {deaths} times"))
    finally:
        for child in living:
            child.end()


@dataclass(frozen=True)
class Attempt:
    """An item, and how many processes have died over it alone."""

    item: Any
    deaths: int = 0


class Child:
    """A process of one BLAS thread that applies one function to lists of items."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from onegrad.parallel.children import serve; serve({os.getpid()})"
        )
        with interrupts_blocked():  # the parent handles Ctrl-C
            self.process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | ONE_THREAD,
                # a group of its own: Ctrl-C at a terminal goes to the parent's alone
                process_group=0,
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        # copies: a Connection closes its descriptor, and so does the process
        self.tasks = Connection(os.dup(self.process.stdin.fileno()), readable=False)
        self.results = Connection(os.dup(self.process.stdout.fileno()), writable=False)
        self.process.stdin.close()
        self.process.stdout.close()
        self.task_items = 1  # that fill TASK_SECONDS, by the last task
        self.task: list[Attempt] = []
        self._write(pickle.dumps(function))

    def send(self, task: list[Attempt]) -> None:
        self.task = task
        self._write(pickle.dumps([attempt.item for attempt in task]))

    def receive(self) -> list[Any] | None:
        """Return the results of the task; None if the process died over it."""
        try:
            seconds, results, concerns, error = pickle.loads(self.results.recv_bytes())
        except (EOFError, OSError):
            self.end()
            return None
        warn(*concerns)
        if error is not None:
            raise error
        self.task_items = items_per_task(seconds, len(self.task))
        return list(results)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.tasks.close()
        self.results.close()

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it is dead, which `receive` will find
            self.tasks.send_bytes(data)


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C in this thread, and for good in threads and processes started meanwhile."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(parent: int) -> None:
    """Run in the child: read a function, then tasks until the parent closes the pipe."""
    end_with_parent(parent)
    tasks = Connection(os.dup(0), writable=False)
    answers = Connection(os.dup(1), readable=False)
    # what a library reads is not a task
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a library prints is not taken for an answer
    with contextlib.suppress(EOFError, OSError):  # the parent is gone, maybe in mid-message
        function = pickle.loads(tasks.recv_bytes())
        while True:
            items, error = pickle.loads(tasks.recv_bytes()), None
            seconds, results = 0.0, list[Any]()
            concerns = list[Warning]()
            try:
                (seconds, results), concerns = with_warnings(timed_results, function, items)
            except Exception as raised:
                error = raised
            answers.send_bytes(_pickled(seconds, results, concerns, error))


def with_warnings(function: Callable[..., Value], *arguments: Any) -> tuple[Value, list[Any]]:
    """Return function(*arguments) and our warnings that it issued, for the parent to issue."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AssumptionWarning)
        value = function(*arguments)
    ours = [w.message for w in caught if isinstance(w.message, AssumptionWarning)]
    for w in caught:  # of libraries: not all of them can be pickled
        if w.message not in ours:
            warnings.showwarning(w.message, w.category, w.filename, w.lineno)
    return value, ours


def _pickled(
    seconds: float, results: list[Any], concerns: list[Warning], error: Exception | None
) -> bytes:
    try:
        data = pickle.dumps((seconds, results, concerns, error))
        if error is not None:
            pickle.loads(data)  # some exceptions can be sent but not received
        return data
    except Exception:
        text = f"{type(error).__name__}: {error}" if error else "the result cannot be pickled"
        return pickle.dumps((seconds, [], [], RuntimeError(text)))


def end_with_parent(parent: int) -> None:
    """End this process soon after its parent, by a thread that checks whether it is alive.

    The thread needs Python's lock for a moment: a call into a library that does not release it
    delays the end until it returns.
    """

    def watch() -> NoReturn:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)  # not sys.exit: the main thread may be blocked in a pipe for ever

    if os.getpid() not in _watched:
        _watched.add(os.getpid())
        threading.Thread(target=watch, name="onegrad-end-with-parent", daemon=True).start()


def timed_results(
    function: Callable[[Item], Value], items: Iterable[Item]
) -> tuple[float, list[Value]]:
    """Return the seconds that all items took, and their results."""
    start = time.perf_counter()
    results = [function(item) for item in items]
    return time.perf_counter() - start, results


def items_per_task(seconds: float, items: int) -> int:
    """Return how many items fill TASK_SECONDS, given that `items` of them took `seconds`."""
    return max(1, min(MAX_TASK_ITEMS, int(TASK_SECONDS * items / max(seconds, 1e-6))))


# -- processes of joblib -------------------------------------------------------------------------


def process_map(
    function: Callable[[Item], Value], items: Iterable[Item], jobs: int
) -> Iterator[Value]:
    """Map over `jobs` processes, or in this one for a single job; yield results in order.

    Items are drawn as they are due.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    from joblib import Parallel, delayed

    call = delayed(partial(_call, os.getpid(), function))
    for value, concerns in Parallel(n_jobs=jobs, return_as="generator")(map(call, items)):
        warn(*concerns)
        yield value


def _call(parent: int, function: Callable[[Item], Value], item: Item) -> tuple[Value, list[Any]]:
    """Return function(item) and its warnings from a process that ends with its parent."""
    if os.getppid() != parent:  # joblib runs it in a thread, or on another machine
        return function(item), []
    end_with_parent(parent)
    return with_warnings(function, item)
