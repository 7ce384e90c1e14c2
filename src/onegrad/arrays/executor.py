"""What a device does beside arithmetic: queues, repeated work, random numbers, free memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from onegrad.arrays.memory import free_bytes
from onegrad.arrays.namespace import Array, Floats, to_numpy

Seeds = tuple[int, ...]
Work = Callable[[Seeds, Callable[[], None]], dict[str, Array]]  # (seeds, tick): arrays by name
Repeat = Callable[[Work, Seeds, Callable[[], None]], dict[str, Floats]]  # how it is called


class Executor(Protocol):
    """One device: `ops.executor` belongs to the arrays of `ops`."""

    @property
    def can_draw(self) -> bool:
        """True if the device has a generator of its own."""

    @property
    def prefers_to_draw(self) -> bool:
        """True if drawing on the device is faster than on the host."""

    def queue(self) -> AbstractContextManager[None]:
        """Return a context in which a stack has a queue of the device to itself."""

    def repeater(self, stacks: int, entries: int) -> Repeat:
        """Return how to call the work of so many equal stacks with so many entries each."""

    def draw(
        self,
        seeds: Sequence[int],
        normal: bool,
        key: Sequence[int],
        start: int,
        rows: int,
        width: int,
    ) -> Array:
        """Return numbers of the device's own generator, shape (seeds, rows, width).

        They are standard normal or uniform over [0, 1): the rows from `start` on of the matrix that
        (seed, key) names, the same however many rows are drawn at a time.
        """

    def wait(self) -> None:
        """Wait until the device has finished."""

    def free_bytes(self) -> int:
        """Return the memory that is available now."""


class HostExecutor:
    """The host itself: work is called directly, and random numbers come from NumPy."""

    can_draw = False
    prefers_to_draw = False

    def queue(self) -> AbstractContextManager[None]:
        return nullcontext()

    def repeater(self, stacks: int, entries: int) -> Repeat:
        return run_directly

    def draw(
        self,
        seeds: Sequence[int],
        normal: bool,
        key: Sequence[int],
        start: int,
        rows: int,
        width: int,
    ) -> Array:
        raise NotImplementedError("this device has no generator of its own")

    def wait(self) -> None:
        """Return at once: the host has always finished."""

    def free_bytes(self) -> int:
        return free_bytes()


def run_directly(work: Work, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
    """Call the work and return its arrays in host memory."""
    return {name: to_numpy(x) for name, x in work(seeds, tick).items()}
