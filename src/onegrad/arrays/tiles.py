"""Tiles of a matrix that the threads of a pool compute."""

from __future__ import annotations

import math
from collections.abc import Sequence

MAX_TILE_ROWS = 512  # a tile's entries are still in the cache when a function follows


def slices(length: int, parts: int) -> list[slice]:
    """Return slices of about equal lengths, none empty, that start at multiples of eight."""
    step = max(8, -(-length // (8 * parts)) * 8)
    return [slice(i, min(i + step, length)) for i in range(0, length, step)]


def rectangle(shape: Sequence[int], threads: int) -> list[tuple[slice, slice]]:
    """Return the tiles of a matrix: as many as threads, or more where they would be large.

    Tiles are up to twice as wide as they are high: a product then packs least for what it computes.
    """
    rows, columns = shape
    if threads == 1:
        return [(slice(0, rows), slice(0, columns))]
    ways = [(h, threads // h) for h in range(1, threads + 1) if threads % h == 0]
    high, wide = min(ways, key=lambda way: abs(math.log(2 * rows * way[1] / (columns * way[0]))))
    high *= -(-rows // (high * MAX_TILE_ROWS))
    return [(i, j) for i in slices(rows, high) for j in slices(columns, wide)]


def triangle(m: int, threads: int) -> list[tuple[slice, slice]]:
    """Return the tiles of an upper triangle; those on the diagonal, half as costly, come last."""
    cuts = slices(m, 1 if threads == 1 else math.ceil(math.sqrt(2 * threads)))
    pairs = [(i, j) for k, i in enumerate(cuts) for j in cuts[k + 1 :]]
    return [*pairs, *((i, i) for i in cuts)]
