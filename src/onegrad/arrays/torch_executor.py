"""Work of a torch device beside arithmetic: streams, recordings, random numbers, memory.

On a GPU a small stack takes more than a hundred kernels, which Python starts more slowly than the
device computes them. Stacks of equal shapes differ in their random numbers alone. So the work of
a stack is recorded once and repeated with the random numbers of other seeds: these are drawn, as
ever, one by one, into arrays that are kept, and all that follows is one call.

The arrays are those of the first stack, which is called directly: what a graph allocates itself it
uses again for other things, before and after.
"""

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from typing import Any

import numpy as np

from onegrad.arrays.executor import (
    GOLDEN_GAMMA,
    MASK_64,
    DeviceExecutor,
    Repeat,
    Seeds,
    Work,
    run_directly,
    splitmix64,
)
from onegrad.arrays.namespace import Array, Floats, namespace, to_numpy

STREAM_ROWS = 8192  # rows that share a random stream
# Entries of a stack up to which launches take longer than the work: some 140 of them kept the
# device at work for only 1.7 ms of 3.3 to 4.8.
MAX_RECORDED_ENTRIES = 2**23
MIN_RECORDED_STACKS = 8  # from which on a recording pays: each queue makes its own

_idle_streams: dict[Any, deque[Any]] = {}  # by device: they are few and kept, each has its memory
_old_graphs: dict[Any, deque[Any]] = {}  # by device: kept for their memory, which the next uses
_capturing = threading.Lock()
_this_thread = threading.local()


class TorchExecutor(DeviceExecutor):
    """A torch device, "cpu" or "cuda:k".

    kind, drawn : types of its arrays, and of the random numbers that they are filled with.
    """

    can_draw = True

    def __init__(self, torch: Any, place: Any, kind: Any, drawn: Any) -> None:
        self.torch, self.place, self.kind, self.drawn = torch, place, kind, drawn
        self.is_cuda = self.prefers_to_draw = place.type == "cuda"

    @contextmanager
    def queue(self) -> Iterator[None]:
        if not self.is_cuda:
            yield
            return
        idle = _idle_streams.setdefault(self.place, deque())
        try:
            stream = idle.pop()
        except IndexError:
            stream = self.torch.cuda.Stream(self.place)
        try:
            with self.torch.cuda.stream(stream):
                yield
        finally:
            idle.append(stream)

    def repeater(self, stacks: int, entries: int) -> Repeat:
        many_and_small = stacks >= MIN_RECORDED_STACKS and entries <= MAX_RECORDED_ENTRIES
        return Recorder(self) if self.is_cuda and many_and_small else run_directly

    def graph(self) -> Any:
        """Return a new graph, which a recording is made in."""
        return self.torch.cuda.CUDAGraph()

    def reused(self, make: Callable[[], Array]) -> Array:
        """Return a new array or, where stacks are repeated, the one that the first of them made."""
        recording = _current_recording()
        return make() if recording is None else recording.array(make)

    def draw(
        self, seeds: Seeds, key: tuple[int, ...], start: int, rows: int, width: int, normal: bool
    ) -> Array:
        shape, kind = (len(seeds), rows, width), {"dtype": self.drawn, "device": self.place}
        out = self.reused(lambda: self.torch.empty(shape, **kind))
        streams = [
            (reduce(_mix, (*key, start + r), 0), out[:, r : r + STREAM_ROWS].unbind(0))
            for r in range(0, rows, STREAM_ROWS)
        ]

        def fill(seeds: Seeds) -> None:
            generator = self._generator()
            for name, stack in streams:
                for seed, part in zip(seeds, stack, strict=True):
                    generator.manual_seed(_mix(name, seed) >> 1)
                    if normal:
                        part.normal_(generator=generator)
                    else:
                        part.uniform_(generator=generator)

        recording = _current_recording()
        if recording is None or recording.draws is None:
            fill(seeds)
        else:
            recording.draws.append(fill)
        return out.to(self.kind)

    def _generator(self) -> Any:
        """Return this thread's generator: seeded before every use, and never made in a graph."""
        generators = _this_thread.__dict__.setdefault("generators", {})
        if self.place not in generators:
            generators[self.place] = self.torch.Generator(self.place)
        return generators[self.place]

    def wait(self) -> None:
        if self.is_cuda:
            self.torch.cuda.synchronize(self.place)

    def free_bytes(self) -> int:
        if not self.is_cuda:
            return super().free_bytes()
        cuda = self.torch.cuda
        unused = cuda.memory_reserved(self.place) - cuda.memory_allocated(self.place)
        return int(cuda.mem_get_info(self.place)[0]) + int(unused)


class Recorder:
    """Calls the equal stacks of a run: in every thread the first directly, then from a recording.

    Where a recording fails all further stacks are called directly, and `failure` says why, as does
    the log.
    """

    def __init__(self, executor: TorchExecutor) -> None:
        self.executor, self.failure = executor, ""
        self._per_thread = threading.local()

    def __call__(self, work: Work, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
        recordings: dict[int, Recording]
        recordings = self._per_thread.__dict__.setdefault("recordings", {})
        recording = recordings.get(len(seeds))
        if recording is None:
            recording = recordings[len(seeds)] = Recording()
            with recording.as_current():
                return _fetch(*_flat(work(seeds, tick)))
        if recording.graph is None and not self.failure:
            try:
                recording.capture(self.executor, work, seeds)
            except RuntimeError as error:  # torch's: something that cannot be recorded
                self.failure = f"{type(error).__name__}: {error}"
                logging.getLogger(__name__).info("stacks are not recorded: %s", self.failure)
        if recording.graph is None:
            return _fetch(*_flat(work(seeds, tick)))
        return recording(seeds, tick)


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

    def capture(self, executor: TorchExecutor, work: Work, seeds: Seeds) -> None:
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
                self.flat, self.shapes = _flat(results)
            except BaseException:
                with suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
            del before
        self.graph = graph

    def __call__(self, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
        for draw in self.draws or ():
            draw(seeds)
        self.graph.replay()
        results = _fetch(self.flat, self.shapes)
        for _ in range(self.ticks):
            tick()
        return results

    def __del__(self) -> None:
        if self.graph is not None:
            self._old_graphs.append(self.graph)

    def _count(self) -> None:
        self.ticks += 1


def _flat(results: dict[str, Array]) -> tuple[Array, dict[str, tuple[int, ...]]]:
    """Return all entries of tensors of one type as one tensor, for one copy, and their shapes."""
    flat = namespace(next(iter(results.values()))).cat([x.reshape(-1) for x in results.values()])
    return flat, {name: tuple(x.shape) for name, x in results.items()}


def _fetch(flat: Array, shapes: dict[str, tuple[int, ...]]) -> dict[str, Floats]:
    ends = np.cumsum([math.prod(shape) for shape in shapes.values()])
    parts = np.split(to_numpy(flat), ends[:-1])
    return {name: part.reshape(shapes[name]) for name, part in zip(shapes, parts, strict=True)}


def _current_recording() -> Recording | None:
    """Return the stack that this thread calls for the first time or records, if it does."""
    return getattr(_this_thread, "recording", None)


def _mix(name: int, word: int) -> int:
    """Return the 64-bit name of a stream from a name and one more word."""
    return splitmix64((name + word + GOLDEN_GAMMA) & MASK_64)
