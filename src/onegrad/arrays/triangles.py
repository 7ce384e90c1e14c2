"""Symmetric matrices in their upper triangles, handled tile by tile so that tiles stay in cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.arrays.namespace import Array, is_torch, namespace, transpose

TILE = 128  # rows and columns of a square that stays in cache
ROW_PADDING = 8  # entries that keep the rows of a copy from falling into the same cache lines


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


def zero_below(C: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return C with zeros below the diagonal, as numpy.triu does."""
    out = np.zeros_like(C)
    for r in range(0, C.shape[-1], TILE):
        rows, beyond = slice(r, r + TILE), slice(r + TILE, None)
        out[..., rows, beyond] = C[..., rows, beyond]
        out[..., rows, rows] = np.triu(C[..., rows, rows])
    return out


def copy_upper(C: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
    """Copy the upper triangles of C, and little of what lies below, to `out`."""
    for r in range(0, C.shape[-1], TILE):
        rows = slice(r, r + TILE)
        out[..., rows, r:] = C[..., rows, r:]
