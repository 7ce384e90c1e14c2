"""Work of a torch device beside arithmetic: streams, recordings, random numbers, memory."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

from onegrad.arrays.executor import (
    GOLDEN_GAMMA,
    MASK_64,
    DeviceExecutor,
    RandomBlock,
    Repeat,
    run_directly,
    splitmix64,
)
from onegrad.arrays.namespace import Array
from onegrad.arrays.recording import Recorder, current_recording

STREAM_ROWS = 8192  # rows that share a random stream
# Entries of a stack up to which launches take longer than the work: some 140 of them kept the
# device at work for only 1.7 ms of 3.3 to 4.8.
MAX_RECORDED_ENTRIES = 2**23
MIN_RECORDED_STACKS = 8  # from which on a recording pays: each queue makes its own

_idle_streams: dict[Any, deque[Any]] = {}  # by device: they are few and kept, each has its memory
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
        recording = current_recording()
        return make() if recording is None else recording.array(make)

    def draw(self, seeds: Sequence[int], block: RandomBlock) -> Array:
        shape = (len(seeds), block.rows, block.width)
        kind = {"dtype": self.drawn, "device": self.place}
        out = self.reused(lambda: self.torch.empty(shape, **kind))
        streams = [
            (reduce(_mix, (*block.key, block.start + r), 0), out[:, r : r + STREAM_ROWS].unbind(0))
            for r in range(0, block.rows, STREAM_ROWS)
        ]

        def fill(seeds: Sequence[int]) -> None:
            generator = self._generator()
            for name, stack in streams:
                for seed, rows in zip(seeds, stack, strict=True):
                    generator.manual_seed(_mix(name, seed) >> 1)
                    if block.normal:
                        rows.normal_(generator=generator)
                    else:
                        rows.uniform_(generator=generator)

        recording = current_recording()
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


def _mix(name: int, word: int) -> int:
    """Return the 64-bit name of a stream from a name and one more word."""
    return splitmix64((name + word + GOLDEN_GAMMA) & MASK_64)
