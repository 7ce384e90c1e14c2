"""Work of a torch device beside arithmetic: streams, random numbers, memory."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

from onegrad.arrays.executor import GOLDEN_GAMMA, MASK_64, DeviceExecutor, Seeds, splitmix64
from onegrad.arrays.namespace import Array

STREAM_ROWS = 8192  # rows that share a random stream

_idle_streams: dict[Any, deque[Any]] = {}  # by device: they are few and kept, each has its memory


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

    def draw(
        self, seeds: Seeds, key: tuple[int, ...], start: int, rows: int, width: int, normal: bool
    ) -> Array:
        out = self.torch.empty((len(seeds), rows, width), dtype=self.drawn, device=self.place)
        generator = self.torch.Generator(self.place)
        for r in range(0, rows, STREAM_ROWS):
            name = reduce(_mix, (*key, start + r), 0)
            for seed, part in zip(seeds, out[:, r : r + STREAM_ROWS].unbind(0), strict=True):
                generator.manual_seed(_mix(name, seed) >> 1)
                if normal:
                    part.normal_(generator=generator)
                else:
                    part.uniform_(generator=generator)
        return out.to(self.kind)

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
