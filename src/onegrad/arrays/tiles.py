"""Tiles of a matrix: what the threads of a pool compute, and what stays in a cache.

Symmetric matrices live in their upper triangles.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onegrad.arrays.namespace import Array, is_torch, namespace, transpose

NARROW_TILE = 128  # columns that a tile of a Gram matrix would be wider by for what it costs
MAX_TILE_ROWS = 512  # a tile's entries are still in the cache when a function follows
TILE = 128  # rows and columns of a square that stays in cache: 128 kB
ROW_PADDING = 8  # entries that keep the rows of a copy from falling into the same cache lines


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
    grids = [(h, threads // h) for h in range(1, threads + 1) if threads % h == 0]
    high, wide = min(grids, key=lambda g: abs(math.log(2 * rows * g[1] / (columns * g[0]))))
    high *= -(-rows // (high * MAX_TILE_ROWS))
    return [(i, j) for i in slices(rows, high) for j in slices(columns, wide)]


def triangle(m: int, threads: int, matrices: int = 1) -> list[tuple[slice, slice]]:
    """Return the tiles of an upper triangle; those on the diagonal, half as costly, come last.

    There are as many as give the threads about the same to do with all matrices of a stack; narrow
    tiles cost more for what they compute.
    """

    def cost(cuts: int) -> float:
        width, squares, halves = m / cuts, matrices * cuts * (cuts - 1) // 2, matrices * cuts
        rounds, rest = divmod(squares, threads)  # the rest of the squares, then pairs of halves
        idle = threads - rest if rest else 0
        spare = max(0, halves - 2 * idle)
        last = rounds + (1 if rest else 0) + math.ceil(spare / threads) / 2
        return last * width * (width + NARROW_TILE)

    most = 1 if threads == 1 else 3 * math.isqrt(2 * threads)
    cuts = slices(m, min(range(1, most + 1), key=cost))
    pairs = [(i, j) for k, i in enumerate(cuts) for j in cuts[k + 1 :]]
    return [*pairs, *((i, i) for i in cuts)]


def symmetric(C: Array) -> Array:
    """Return the symmetric matrices that have the upper triangles of C (..., m, m)."""
    if is_torch(C):
        xp = namespace(C)
        full = xp.triu(C)
        full += transpose(xp.triu(C, 1))
        return full
    full = np.empty_like(C)
    for r in range(0, C.shape[-1], TILE):
        rows, beyond = slice(r, r + TILE), slice(r + TILE, None)
        full[..., rows, beyond] = C[..., rows, beyond]
        full[..., beyond, rows] = transpose(C[..., rows, beyond])
        corner = np.triu(C[..., rows, rows])
        full[..., rows, rows] = corner + transpose(np.triu(corner, 1))
    return full


def copy_upper(C: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
    """Copy the upper triangles of C, and little of what lies below, to `out`."""
    for r in range(0, C.shape[-1], TILE):
        rows = slice(r, r + TILE)
        out[..., rows, r:] = C[..., rows, r:]
