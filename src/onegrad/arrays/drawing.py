"""Random numbers from a device's own generator: every block of rows has its own stream."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from onegrad.arrays.namespace import Array
from onegrad.arrays.splitmix import GOLDEN_GAMMA, MASK_64, splitmix64

DEVICE_BLOCK = 8192  # rows that share a stream when the device draws

_here = threading.local()


def drawing(
    out: Array, normal: bool, key: Sequence[int], start: int
) -> Callable[[Sequence[int]], None]:
    """Return the function that fills `out`, (B, rows, width), with the numbers of B seeds.

    They are standard normal or uniform over [0, 1): the rows from `start` on of the matrix that
    `key` names.
    """
    blocks = [
        (reduce(_mix, (*key, start + r), 0), out[:, r : r + DEVICE_BLOCK].unbind(0))
        for r in range(0, out.shape[1], DEVICE_BLOCK)
    ]

    def draw(seeds: Sequence[int]) -> None:
        generator = _generator(out.device)
        for name, stack in blocks:
            for seed, part in zip(seeds, stack, strict=True):
                generator.manual_seed(_mix(name, seed) >> 1)
                if normal:
                    part.normal_(generator=generator)
                else:
                    part.uniform_(generator=generator)

    return draw


def _generator(device: Any) -> Any:
    """One per thread: it is seeded before every use, and torch makes none while it records."""
    kept = _here.__dict__.setdefault("generators", {})
    if device not in kept:
        kept[device] = sys.modules["torch"].Generator(device)
    return kept[device]


def _mix(name: int, word: int) -> int:
    """Return the 64-bit name of a stream from a name and one more word."""
    return splitmix64((name + word + GOLDEN_GAMMA) & MASK_64)
