"""Array namespaces, and the few functions that NumPy and torch spell differently."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.special

TILE = 128  # rows and columns of a square that stays in cache

Array = Any  # a numpy.ndarray or a torch.Tensor
Floats = np.ndarray[Any, np.dtype[np.float64]]


def is_torch(x: object) -> bool:
    """Whether x is a torch tensor; torch is never imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace(x: object) -> Any:
    """The module whose functions accept x: numpy or torch."""
    return sys.modules["torch"] if is_torch(x) else np


def erf(x: Array) -> Array:
    """The error function, which the array API does not name."""
    return sys.modules["torch"].special.erf(x) if is_torch(x) else scipy.special.erf(x)


def one_minus_square(x: Array) -> Array:
    """1 - x^2, in one pass over a torch tensor."""
    if is_torch(x):
        return sys.modules["torch"].addcmul(x.new_ones(()), x, x, value=-1)
    return 1 - x * x


def to_numpy(x: Array) -> np.ndarray[Any, Any]:
    """x as a NumPy array in host memory."""
    return np.asarray(x.detach().cpu() if is_torch(x) else x)


def transpose(x: Array) -> Array:
    """The last two axes exchanged."""
    return x.swapaxes(-1, -2)


def symmetric(C: Array) -> Array:
    """The symmetric matrices with the upper triangles of C."""
    xp = namespace(C)
    if is_torch(C):
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


def upper(C: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """C with zeros below the diagonal, as numpy.triu, but by tiles that stay in cache."""
    out = np.zeros_like(C)
    for r in range(0, C.shape[-1], TILE):
        rows, beyond = slice(r, r + TILE), slice(r + TILE, None)
        out[..., rows, beyond] = C[..., rows, beyond]
        out[..., rows, rows] = np.triu(C[..., rows, rows])
    return out
