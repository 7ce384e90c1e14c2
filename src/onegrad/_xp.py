"""Array namespaces and the few operations NumPy and torch spell differently.

The only file that knows torch exists. Everything here works on stacks of matrices: the leading axis
counts replicates.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from onegrad.errors import InvalidInput

Array = Any  # a numpy.ndarray or a torch.Tensor

CACHED = 2**15  # entries of an elementwise slice that stays in a core's own cache
PANEL = 128  # columns that the blocked Cholesky factorisation of a stack takes at a time


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


def to_numpy(x: Array) -> np.ndarray[Any, Any]:
    """x as a NumPy array in host memory."""
    return np.asarray(x.detach().cpu() if is_torch(x) else x)


def transpose(x: Array) -> Array:
    """The last two axes exchanged."""
    return x.swapaxes(-1, -2)


class Backend:
    """NumPy arrays on the host; BLAS calls that update in place and touch half of a Gram matrix."""

    device = "cpu"

    def __init__(self, dtype: str = "float64", threads: int = 1) -> None:
        self.dtype: Any = np.dtype(dtype)
        self.itemsize = self.dtype.itemsize
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def asarray(self, x: Any) -> Array:
        """A host array on this device, in this precision."""
        return np.asarray(x, dtype=self.dtype)

    def zeros(self, *shape: int) -> Array:
        return np.zeros(shape, dtype=self.dtype)

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        """C += A^T B for every replicate."""
        gemm = scipy.linalg.get_blas_funcs("gemm", (C,))
        for c, a, b in zip(C, A, B, strict=True):  # row-major c is column-major c^T = b^T a
            gemm(1.0, b.T, a.T, beta=1.0, c=c.T, trans_b=True, overwrite_c=True)

    def add_gram(self, C: Array, A: Array, rows: bool = False) -> None:
        """Lower triangle of C += A^T A, or A A^T where `rows`."""
        syrk = scipy.linalg.get_blas_funcs("syrk", (C,))
        for c, a in zip(C, A, strict=True):
            syrk(1.0, a.T, beta=1.0, c=c.T, trans=rows, lower=False, overwrite_c=True)

    def apply(self, f: Callable[..., Array], *arrays: Array) -> Array:
        """f(*arrays), slice of rows by slice of rows: temporaries never leave the cache."""
        first = arrays[0]
        out = np.empty_like(first)
        step = max(1, CACHED // max(1, first.shape[-1]))
        slices = [
            (i, slice(r, r + step))
            for i in range(first.shape[0])
            for r in range(0, first.shape[1], step)
        ]

        def one(where: tuple[int, slice]) -> None:
            out[where] = f(*(x[where] for x in arrays))

        for _ in self._pool.map(one, slices) if self._pool else map(one, slices):
            pass
        return out

    def solve_shifted(self, C: Array, shift: float, b: Array) -> Array:
        """(C + shift I)^-1 b from the lower triangle of C, by Cholesky; b has shape (..., m)."""
        potrf, potrs = scipy.linalg.get_lapack_funcs(("potrf", "potrs"), (C,))
        x = np.empty_like(b)
        work = np.empty_like(C[0])
        for i, c in enumerate(C):
            for r in range(0, len(c), 64):  # half of the copy is enough
                work[r : r + 64, : r + 64] = c[r : r + 64, : r + 64]
            work.flat[:: len(c) + 1] += shift
            U, info = potrf(work.T, lower=False, clean=False, overwrite_a=True)
            if info:
                raise np.linalg.LinAlgError("the Gram matrix is not positive definite")
            x[i] = potrs(U, b[i], lower=False)[0]
        return x

    def eigh(self, C: Array) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors from the lower triangle."""
        return np.linalg.eigh(C)


def backend(device: str = "cpu", dtype: str = "float64", threads: int = 1) -> Backend:
    """The operations for a device: "cpu" is NumPy, "torch" or "cuda[:k]" is torch."""
    if dtype not in ("float64", "float32"):
        raise InvalidInput(f"dtype must be float64 or float32; got {dtype!r:.60}")
    if device == "cpu":
        return Backend(dtype, threads)
    raise InvalidInput(f"device must be cpu, torch, cuda or cuda:k; got {device!r:.60}")
