"""Array namespaces and the few operations that NumPy and torch spell differently.

The only file that knows torch exists. A backend works on stacks of matrices: the leading axis
counts replicates. Gram matrices are symmetric; only their lower triangles are filled and read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import scipy.special

from onegrad.arrays import blas as _blas
from onegrad.arrays.threads import Item, Value, abreast
from onegrad.errors import InvalidInput
from onegrad.ridge.shifted import solve_shifted

Array = Any  # a numpy.ndarray or a torch.Tensor
Elementwise = Callable[..., Array]  # f(x), and f(x, out=...) on NumPy arrays; out may be x

CACHED = 2**16  # entries of an elementwise slice: they stay in a core's own cache
STRETCH = 2**28  # entries of features that a GPU makes at a time
DEVICE_BLOCK = 8192  # rows that share a stream when the device draws
PANEL = 128  # columns that the factorisation of a stack takes at a time


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


def one_minus_square(x: Array) -> Array:
    """1 - x^2, in one pass over a torch tensor."""
    if is_torch(x):
        return sys.modules["torch"].addcmul(x.new_ones(()), x, x, value=-1)
    return 1 - x * x


def transpose(x: Array) -> Array:
    """The last two axes exchanged."""
    return x.swapaxes(-1, -2)


@contextmanager
def one_line_memory_errors() -> Iterator[None]:
    """Running out of memory, on the host or on a GPU, as one line that says what to change."""
    advice = "lower n, N or batch, list fewer etas, or use dtype float32"
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"out of memory ({error}): {advice}") from None
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise MemoryError(f"the GPU is out of memory: {advice}") from None


def gpus() -> list[str]:
    """Names of the CUDA devices; none when torch is not installed."""
    try:
        import torch
    except ImportError:
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


class Backend:
    """NumPy arrays on the host."""

    device = "cpu"

    def __init__(self, dtype: str = "float64", threads: int = 1) -> None:
        self.dtype: Any = np.dtype(dtype)
        self.itemsize = self.dtype.itemsize
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    # -- arrays ------------------------------------------------------------------------------

    def asarray(self, x: Any) -> Array:
        """A host array on this device, in this precision."""
        return np.asarray(x, dtype=self.dtype)

    def zeros(self, *shape: int) -> Array:
        return np.zeros(shape, dtype=self.dtype)

    def host_buffer(self, *shape: int) -> np.ndarray[Any, Any]:
        """Host memory that is filled with float64 numbers and then handed to `from_buffer`."""
        return np.empty(shape)

    def from_buffer(self, buffer: np.ndarray[Any, Any]) -> Array:
        return buffer.astype(self.dtype, copy=False)

    def stretch(self, block: int, entries: int) -> int:
        """Rows handled at a time, a multiple of `block`, when a row makes so many entries."""
        return block

    def preferred_batch(self, entries: int) -> int:
        """Replicates to stack when each has a weight matrix of so many entries."""
        return 1

    def side_by_side(self) -> tuple[int, Backend]:
        """Stacks that run at a time, and the backend of each: here one per core."""
        return self.threads, Backend(self.dtype.name)

    def free_bytes(self) -> int:
        """Memory that is available now, caches that the system would give up included."""
        try:
            lines = Path("/proc/meminfo").read_text().splitlines()
            return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable"))
        except (OSError, StopIteration):  # not Linux: half of what is installed
            try:
                return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
            except (AttributeError, ValueError, OSError):
                return 8 * 2**30

    def map(self, f: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        """f(item) for every item, on threads of one BLAS thread each where all have work."""
        return list(abreast(f, items, self.threads if len(items) >= self.threads else 1))

    def each(self, f: Callable[[Any], None], items: Iterable[Any]) -> None:
        """f(item) for every item, on this backend's threads."""
        for _ in self._pool.map(f, items) if self._pool else map(f, items):
            pass

    # -- elementwise -------------------------------------------------------------------------

    def apply(
        self,
        f: Elementwise,
        x: Array,
        y: Array | None = None,
        scale: float = 0.0,
        out: Array | None = None,
    ) -> Array:
        """f(x + scale y) entry by entry, by slices that never leave the cache.

        The result may be made in `out`, which may be x.
        """
        made = np.empty_like(x) if out is None else out
        step = max(1, CACHED // max(1, x.shape[-1]))
        rows = [
            (i, slice(r, r + step)) for i in range(x.shape[0]) for r in range(0, x.shape[1], step)
        ]

        def some(places: Sequence[tuple[int, slice]]) -> None:
            scratch = None if y is None else np.empty((step, x.shape[-1]), x.dtype)
            for place in places:
                z = x[place]
                if scratch is not None and y is not None:
                    moved = np.multiply(y[place], scale, out=scratch[: len(z)])
                    moved += z
                    z = moved
                f(z, out=made[place])

        self.each(some, [rows[i :: self.threads] for i in range(self.threads)])
        return made

    # -- matrices ----------------------------------------------------------------------------

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        """C += A^T B."""
        for c, a, b in zip(C, A, B, strict=True):
            _blas.add_product(c, a, b)

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        """C += A^T A, or A A^T where `over_rows`."""
        for c, a in zip(C, A, strict=True):
            _blas.add_gram(c, a, over_rows)

    def solve_shifted(self, C: Array, shifts: Sequence[float], b: Array) -> Array:
        """(C + shift I)^-1 b for each shift: shape (B, m, shifts). C is used up.

        NaN where rounding has made a matrix indefinite.
        """
        return np.stack([solve_shifted(c, shifts, v) for c, v in zip(C, b, strict=True)])

    def eigh(self, C: Array) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors."""
        return np.linalg.eigh(C)

    def device_entries(
        self, seeds: Any, law: Any, key: Any, start: int, rows: int, width: int
    ) -> Array:
        raise InvalidInput("random='device' needs device='torch' or 'cuda'")


class TorchBackend(Backend):
    """Torch tensors on one device; products of stacks, and blocks where half a matrix suffices."""

    def __init__(self, device: str, dtype: str, threads: int = 1) -> None:
        super().__init__(dtype, threads)
        try:
            import torch
        except ImportError:
            raise InvalidInput(
                f"device {device!r} needs torch: pip install 'onegrad[torch]'"
            ) from None
        name = "cpu" if device == "torch" else device
        try:
            self.place = torch.device(name)
        except RuntimeError:
            raise InvalidInput(f"device must be {DEVICES}; got {device!r:.60}") from None
        if self.place.type == "cuda" and not torch.cuda.is_available():
            raise InvalidInput(f"device {device!r}: no CUDA device is visible; use device='cpu'")
        if self.place.type == "cuda" and (self.place.index or 0) >= torch.cuda.device_count():
            raise InvalidInput(
                f"device {device!r}: {torch.cuda.device_count()} CUDA device(s) are visible"
            )
        self.torch, self.device = torch, device
        self.kind = getattr(torch, dtype)
        self.is_cuda = self.place.type == "cuda"

    def asarray(self, x: Any) -> Array:
        host = self.torch.from_numpy(np.array(x, dtype=self.dtype))
        return host.to(self.place, non_blocking=True)  # the device's queue is not waited for

    def zeros(self, *shape: int) -> Array:
        return self.torch.zeros(shape, dtype=self.kind, device=self.place)

    def host_buffer(self, *shape: int) -> np.ndarray[Any, Any]:
        buffer = self.torch.empty(shape, dtype=self.torch.float64, pin_memory=self.is_cuda)
        return np.asarray(buffer.numpy())

    def from_buffer(self, buffer: np.ndarray[Any, Any]) -> Array:
        host = self.torch.from_numpy(buffer)
        return host.to(self.place, non_blocking=True).to(self.kind)

    def stretch(self, block: int, entries: int) -> int:
        block = max(block, DEVICE_BLOCK)  # whole streams: the numbers do not depend on the stretch
        return max(block, STRETCH // (entries * block) * block)

    def preferred_batch(self, entries: int) -> int:
        return max(1, min(128, 2**26 // entries)) if self.is_cuda else 1

    def map(self, f: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        return [f(item) for item in items]

    def side_by_side(self) -> tuple[int, Backend]:
        """Two on a GPU: while one waits for its results the other fills the device's queue."""
        if not self.is_cuda:
            return 1, self
        self.torch.linalg.inv(self.zeros(1, 1) + 1)  # torch loads its solvers once, not in threads
        return 2, self

    def free_bytes(self) -> int:
        if self.is_cuda:
            cuda = self.torch.cuda
            kept = cuda.memory_reserved(self.place) - cuda.memory_allocated(self.place)
            return int(cuda.mem_get_info(self.place)[0]) + int(kept)
        return super().free_bytes()

    def apply(
        self,
        f: Elementwise,
        x: Array,
        y: Array | None = None,
        scale: float = 0.0,
        out: Array | None = None,
    ) -> Array:
        return f(x if y is None else self.torch.add(x, y, alpha=scale))

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        C.baddbmm_(transpose(A), B)

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        A = transpose(A) if over_rows else A  # (B, k, m): C += A^T A
        m = C.shape[-1]
        self._add_lower(C, A, max(128, min(512, m // 8)))

    def _add_lower(self, C: Array, A: Array, leaf: int) -> None:
        """C += A^T A without the blocks above the diagonal; those of size `leaf` are whole."""
        m = C.shape[-1]
        if m <= leaf:
            C.baddbmm_(transpose(A), A)
            return
        h = _half(m)
        self._add_lower(C[:, :h, :h], A[..., :h], leaf)
        C[:, h:, :h].baddbmm_(transpose(A[..., h:]), A[..., :h])
        self._add_lower(C[:, h:, h:], A[..., h:], leaf)

    def solve_shifted(self, C: Array, shifts: Sequence[float], b: Array) -> Array:
        B, m = b.shape
        at_once = max(1, STRETCH // (B * m * m))  # factors of several shifts as one stack
        parts = []
        for i in range(0, len(shifts), at_once):
            part = self.asarray(shifts[i : i + at_once])
            A = C[:, None].repeat(1, len(part), 1, 1)
            A.diagonal(dim1=-2, dim2=-1).add_(part[:, None])
            L, failed = self._cholesky(A.view(-1, m, m))
            rhs = b[:, None].expand(B, len(part), m).reshape(-1, m, 1)
            z = self.torch.linalg.solve_triangular(L, rhs, upper=False)
            x = self.torch.linalg.solve_triangular(transpose(L), z, upper=True)
            x = x.masked_fill(failed[:, None, None], float("nan"))
            parts.append(x.view(B, len(part), m))
        return transpose(self.torch.cat(parts, 1))

    def _cholesky(self, L: Array) -> tuple[Array, Array]:
        """L with L L^T = A, made in A's lower triangle, and which of the stack failed.

        The upper triangle is not cleared.
        """
        torch, m, panel = self.torch, L.shape[-1], PANEL
        if len(L) == 1 or m <= panel:
            L, info = torch.linalg.cholesky_ex(L)
            return L, info != 0
        eye = torch.eye(panel, dtype=self.kind, device=self.place)
        failed = torch.zeros(len(L), dtype=torch.bool, device=self.place)
        for j in range(0, m, panel):  # left-looking: one product per block column
            column = L[:, j:, j : j + panel]
            if j:
                column.baddbmm_(L[:, j:, :j], transpose(L[:, j : j + panel, :j]), alpha=-1)
            D, info = torch.linalg.cholesky_ex(column[:, :panel])
            failed |= info != 0
            column[:, :panel] = D
            if j + panel < m:
                inverse = torch.linalg.solve_triangular(D, eye, upper=False)
                column[:, panel:] = column[:, panel:] @ transpose(inverse)
        return L, failed

    def eigh(self, C: Array) -> tuple[Array, Array]:
        values, vectors = self.torch.linalg.eigh(C, UPLO="L")
        return values, vectors

    def device_entries(
        self, seeds: Any, law: Any, key: Any, start: int, rows: int, width: int
    ) -> Array:
        """As `Sampler.entries`, drawn on the device by its own generator."""
        if law.name not in ("gaussian", "rademacher", "uniform", "unit"):
            raise InvalidInput(f"random='device' draws no {law.name}; use random='host'")
        torch = self.torch
        out = torch.empty((len(seeds), rows, width), dtype=self.kind, device=self.place)
        generator = torch.Generator(self.place)
        for r in range(0, rows, DEVICE_BLOCK):
            name = reduce(_mix, (*key, start + r), 0)
            for seed, part in zip(seeds, out[:, r : r + DEVICE_BLOCK].unbind(0), strict=True):
                generator.manual_seed(_mix(name, seed) >> 1)
                if law.name == "gaussian":
                    part.normal_(generator=generator)
                else:
                    part.uniform_(generator=generator)
        if law.name == "rademacher":
            out = (out < 0.5).to(self.kind) * 2 - 1
        elif law.name == "uniform":
            out = (out - 0.5) * 12**0.5
        return out


def _half(m: int) -> int:
    """About half of m, at a multiple of 64."""
    return max(64, m // 128 * 64)


def _mix(h: int, word: int) -> int:
    """A 64-bit name from a name and one more word: a round of splitmix64, cheaper than NumPy's."""
    h = (h + word + 0x9E3779B97F4A7C15) & _MASK
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & _MASK
    return h ^ (h >> 31)


_MASK = 2**64 - 1


DEVICES = "cpu (NumPy), torch (torch on the CPU), cuda or cuda:k"


def backend(device: str = "cpu", dtype: str = "float64", threads: int = 1) -> Backend:
    """The operations for a device: cpu is NumPy; torch, cuda and cuda:k are torch."""
    if dtype not in ("float64", "float32"):
        raise InvalidInput(f"dtype must be float64 or float32; got {dtype!r:.60}")
    if device == "cpu":
        return Backend(dtype, threads)
    if device == "torch" or str(device).split(":")[0] == "cuda":
        return TorchBackend(device, dtype, threads)
    raise InvalidInput(f"device must be {DEVICES}; got {device!r:.60}")
