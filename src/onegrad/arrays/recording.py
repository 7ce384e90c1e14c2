"""The work of a stack on a GPU, recorded once and repeated with the random numbers of other seeds.

A small stack takes more than a hundred kernels, which Python starts more slowly than the device
computes them. Stacks of equal shapes differ in their random numbers alone: these are drawn, as
ever, one by one, into arrays that are kept, and all that follows is one call.

The arrays are those of the first stack, which is called directly: what a graph allocates itself it
uses again for other things, before and after.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from onegrad.arrays.executor import Seeds, Work
from onegrad.arrays.namespace import Array, Floats, namespace, to_numpy

_this_thread = threading.local()
_capturing = threading.Lock()
_old_graphs: dict[Any, deque[Any]] = {}  # by device: kept for their memory, which the next uses


def current_recording() -> Recording | None:
    """Return the stack that this thread calls for the first time or records, if it does."""
    return getattr(_this_thread, "recording", None)


class Recorder:
    """Calls the equal stacks of a run: in every thread the first directly, then from a recording.

    Where a recording fails all further stacks are called directly, and `failure` says why, as does
    the log.

    executor : of a torch device: its `place`, `graph()` and `torch` are used.
    """

    def __init__(self, executor: Any) -> None:
        self.executor, self.failure = executor, ""
        self._per_thread = threading.local()

    def __call__(self, work: Work, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
        recordings: dict[int, Recording]
        recordings = self._per_thread.__dict__.setdefault("recordings", {})
        recording = recordings.get(len(seeds))
        if recording is None:
            recording = recordings[len(seeds)] = Recording()
            with recording.as_current():
                return _fetch(work(seeds, tick))
        if recording.graph is None and not self.failure:
            try:
                recording.capture(self.executor, work, seeds)
            except RuntimeError as error:  # torch's: something that cannot be recorded
                self.failure = f"{type(error).__name__}: {error}"
                logging.getLogger(__name__).info("stacks are not recorded: %s", self.failure)
        return _fetch(work(seeds, tick)) if recording.graph is None else recording(seeds, tick)


class Recording:
    """One stack: arrays for its random numbers, a graph of what follows, and the results.

    The stack is first called directly, which makes the arrays that it draws into or copies to. They
    are kept, and a second call is captured with them.
    """

    def __init__(self) -> None:
        self.graph: Any = None
        self.draws: list[Callable[[Seeds], None]] | None = None  # from the second call on
        self.ticks = 0
        self._arrays: list[Array] = []

    @contextmanager
    def as_current(self) -> Iterator[None]:
        _this_thread.recording = self
        try:
            yield
        finally:
            _this_thread.recording = None

    def array(self, make: Callable[[], Array]) -> Array:
        """Return a new array in the first call, and the next one of these in the second."""
        if self.draws is None:
            self._arrays.append(make())
            return self._arrays[-1]
        array = next(self._unused, None)
        if array is None:
            raise RuntimeError("a stack needs more arrays than the first one did")
        return array

    def capture(self, executor: Any, work: Work, seeds: Seeds) -> None:
        """Record the work on a stack; it is not done yet."""
        self.draws, self._unused = [], iter(self._arrays)
        self._old_graphs = _old_graphs.setdefault(executor.place, deque())
        with _capturing:  # torch counts the graphs that there are without a lock of its own
            before = self._old_graphs.pop() if self._old_graphs else None
            graph = executor.graph()
            graph.capture_begin(
                **({} if before is None else {"pool": before.pool()}),
                capture_error_mode="thread_local",
            )
            try:
                with self.as_current():
                    results = work(seeds, self._count)
                self.flat = executor.torch.cat([x.reshape(-1) for x in results.values()])
            except BaseException:
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
            del before
        self.shapes = {name: tuple(x.shape) for name, x in results.items()}
        self.graph = graph

    def __call__(self, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
        for draw in self.draws or ():
            draw(seeds)
        self.graph.replay()
        results = _split(to_numpy(self.flat), self.shapes)
        for _ in range(self.ticks):
            tick()
        return results

    def __del__(self) -> None:
        if self.graph is not None:
            self._old_graphs.append(self.graph)

    def _count(self) -> None:
        self.ticks += 1


def _fetch(results: dict[str, Array]) -> dict[str, Floats]:
    """Return torch tensors of one type in host memory, by one copy."""
    flat = namespace(next(iter(results.values()))).cat([x.reshape(-1) for x in results.values()])
    return _split(to_numpy(flat), {name: tuple(x.shape) for name, x in results.items()})


def _split(flat: Floats, shapes: dict[str, tuple[int, ...]]) -> dict[str, Floats]:
    parts, start = {}, 0
    for name, shape in shapes.items():
        stop = start + math.prod(shape)
        parts[name] = flat[start:stop].reshape(shape)
        start = stop
    return parts
