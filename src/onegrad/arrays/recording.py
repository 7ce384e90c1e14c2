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


def current_recording() -> Rehearsal | Recording | None:
    """Return what this thread rehearses or records, if it does."""
    return getattr(_this_thread, "recording", None)


@contextmanager
def _as_current(recording: Rehearsal | Recording) -> Iterator[None]:
    _this_thread.recording = recording
    try:
        yield
    finally:
        _this_thread.recording = None


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
        recordings: dict[int, Rehearsal | Recording]
        recordings = self._per_thread.__dict__.setdefault("recordings", {})
        recording = recordings.get(len(seeds))
        if recording is None:
            recording = recordings[len(seeds)] = Rehearsal()
            with _as_current(recording):
                return _fetch(work(seeds, tick))
        if isinstance(recording, Rehearsal) and not self.failure:
            recording = recordings[len(seeds)] = self._record(work, seeds, recording)
        if isinstance(recording, Recording):
            return recording(seeds, tick)
        return _fetch(work(seeds, tick))

    def _record(self, work: Work, seeds: Seeds, rehearsal: Rehearsal) -> Rehearsal | Recording:
        try:
            return Recording(self.executor, work, seeds, rehearsal.arrays)
        except RuntimeError as error:  # torch's: something that cannot be recorded
            self.failure = f"{type(error).__name__}: {error}"
            logging.getLogger(__name__).info("stacks are not recorded: %s", self.failure)
            return rehearsal


class Rehearsal:
    """A stack that is called directly: the arrays that it draws into, or copies to, are kept."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []

    def array(self, make: Callable[[], Array]) -> Array:
        """Return a new array, and keep it."""
        self.arrays.append(make())
        return self.arrays[-1]


class Recording:
    """One stack: arrays for its random numbers, a graph of what follows, and the results."""

    def __init__(self, executor: Any, work: Work, seeds: Seeds, arrays: list[Array]) -> None:
        self.draws: list[Callable[[Seeds], None]] = []
        self.ticks = 0
        self._arrays, self._unused = arrays, iter(arrays)
        old_graphs = _old_graphs.setdefault(executor.place, deque())
        with _capturing:  # torch counts the graphs that there are without a lock of its own
            before = old_graphs.pop() if old_graphs else None
            self.graph = executor.graph()
            self.graph.capture_begin(
                **({} if before is None else {"pool": before.pool()}),
                capture_error_mode="thread_local",
            )
            try:
                with _as_current(self):
                    results = work(seeds, self._count)
                self.flat = executor.torch.cat([x.reshape(-1) for x in results.values()])
            except BaseException:
                with suppress(RuntimeError):
                    self.graph.capture_end()
                raise
            self.graph.capture_end()
            del before
        self.shapes = {name: tuple(x.shape) for name, x in results.items()}
        self._old_graphs = old_graphs

    def array(self, _: Callable[[], Array]) -> Array:
        """Return the next array of the rehearsal."""
        array = next(self._unused, None)
        if array is None:
            raise RuntimeError("a stack needs more arrays than the first one did")
        return array

    def __call__(self, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
        for draw in self.draws:
            draw(seeds)
        self.graph.replay()
        results = _split(to_numpy(self.flat), self.shapes)
        for _ in range(self.ticks):
            tick()
        return results

    def __del__(self) -> None:
        if hasattr(self, "_old_graphs"):
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
