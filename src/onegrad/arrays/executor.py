"""Work of a device beside arithmetic: queues, random numbers, free memory."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np

from onegrad.arrays.memory import free_bytes
from onegrad.arrays.namespace import Array

MASK_64 = 2**64 - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: the increment of splitmix64

Words = TypeVar("Words", int, np.ndarray[Any, np.dtype[np.uint64]])
Seeds = tuple[int, ...]


class DeviceExecutor:
    """A device without queues or a generator of its own; others override what they have."""

    can_draw = False  # True if the device has a generator of its own
    prefers_to_draw = False  # True if that is faster than drawing on the host

    def queue(self) -> AbstractContextManager[None]:
        """Return a context in which a stack has a queue of the device to itself."""
        return nullcontext()

    def draw(
        self, seeds: Seeds, key: tuple[int, ...], start: int, rows: int, width: int, normal: bool
    ) -> Array:
        """Return rows from `start` on of the random matrix of each seed, (seeds, rows, width).

        A key names the matrix; its entries are normal, or uniform over [0, 1), and do not depend on
        how many rows are drawn at a time.
        """
        raise NotImplementedError

    def wait(self) -> None:
        """Wait until the device has finished."""

    def free_bytes(self) -> int:
        """Return the memory that is available now."""
        return free_bytes()


def splitmix64(words: Words) -> Words:
    """Return the finaliser of splitmix64: every bit of a word reaches every bit of the result.

    It takes one integer below 2**64 (faster so than as NumPy's) or an array of uint64.
    """
    h: Any = words  # an int would grow past 64 bits: it is masked; an array wraps by itself
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = ((h ^ (h >> shift)) * factor) & MASK_64
    return h ^ (h >> 31)
