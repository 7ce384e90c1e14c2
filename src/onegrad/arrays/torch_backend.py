"""The same on torch: tensors of one device, products of whole stacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from onegrad.arrays.namespace import Array, transpose
from onegrad.arrays.numpy_backend import Backend, Elementwise
from onegrad.arrays.threads import Item, Value
from onegrad.errors import InvalidInput

DEVICES = "cpu (NumPy), torch (torch on the CPU), cuda or cuda:k"
STRETCH = 2**28  # entries of features that a GPU makes at a time
DEVICE_BLOCK = 8192  # rows that share a stream when the device draws
PANEL = 128  # columns that the factorisation of a stack takes at a time


class TorchBackend(Backend):
    """Torch tensors on one device; products of stacks, and blocks where half a matrix suffices."""

    blas_threads = None

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

    def stretch(self, block: int, entries: int, team: int = 1) -> int:
        block = max(block, DEVICE_BLOCK)  # whole streams: the numbers do not depend on the stretch
        return max(block, STRETCH // (entries * block) * block)

    def preferred_batch(self, entries: int) -> int:
        return max(1, min(128, 2**26 // entries)) if self.is_cuda else 1

    def may_hold(self, entries: int, team: int = 1) -> bool:
        return entries <= 8 * STRETCH

    def map(self, f: Callable[[Item], Value], items: Sequence[Item]) -> list[Value]:
        return [f(item) for item in items]

    def takers(self, rows: int, entries: int, team: int) -> int:
        return 1

    def by_rows(self, f: Callable[[slice], Array], rows: int) -> Array:
        return f(slice(0, rows))

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

    def scaled(self, X: Array, r: Array) -> Array:
        return X * r[..., None]

    def product(self, X: Array, W: Array, f: Elementwise | None = None) -> Array:
        P = X @ transpose(W)
        return P if f is None else f(P)

    def add_mixture(self, c: Array, y: Array, F: Array) -> None:
        c += (y[:, None, :] @ F)[:, 0]

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        C.view(-1, *C.shape[-2:]).baddbmm_(transpose(_stack(A)), _stack(B))

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        A = transpose(A) if over_rows else A  # (..., k, m): C += A^T A
        leaf = max(128, min(512, C.shape[-1] // 8))
        self._add_upper(C.view(-1, *C.shape[-2:]), _stack(A), leaf)

    def _add_upper(self, C: Array, A: Array, leaf: int) -> None:
        """C += A^T A without the blocks below the diagonal; those of size `leaf` are whole."""
        m = C.shape[-1]
        if m <= leaf:
            C.baddbmm_(transpose(A), A)
            return
        h = max(64, m // 128 * 64)  # about half of m, at a multiple of 64
        self._add_upper(C[:, :h, :h], A[..., :h], leaf)
        C[:, :h, h:].baddbmm_(transpose(A[..., :h]), A[..., h:])
        self._add_upper(C[:, h:, h:], A[..., h:], leaf)

    def eigh(self, C: Array) -> tuple[Array, Array]:
        values, vectors = self.torch.linalg.eigh(C, UPLO="U")
        return values, vectors

    def shifts_at_once(self, C: Array) -> int:
        return max(1, STRETCH // int(C.numel()))

    def shifted(self, C: Array, shifts: Sequence[float], use_up: bool = False) -> Array:
        A = C[..., None, :, :]
        if not use_up or len(shifts) > 1:
            A = A.repeat_interleave(len(shifts), -3)
        A.diagonal(dim1=-2, dim2=-1).add_(self.asarray(shifts)[:, None])
        return A

    def cholesky(self, A: Array) -> tuple[Array, Array]:
        """Left-looking, one product per block row: what torch does for a stack is far slower.

        To the solvers, which count columns, an upper triangle is the lower one of its transpose.
        """
        torch, m, panel, lead = self.torch, A.shape[-1], PANEL, A.shape[:-2]
        if lead.numel() == 1 or m <= panel:
            L, info = torch.linalg.cholesky_ex(transpose(A))
            return transpose(L), info == 0
        U = A.view(-1, m, m)
        eye = torch.eye(panel, dtype=self.kind, device=self.place)
        definite = torch.ones(len(U), dtype=torch.bool, device=self.place)
        for j in range(0, m, panel):
            row = U[:, j : j + panel, j:]
            if j:
                row.baddbmm_(transpose(U[:, :j, j : j + panel]), U[:, :j, j:], alpha=-1)
            L, info = torch.linalg.cholesky_ex(transpose(row[..., :panel]))
            definite &= info == 0
            row[..., :panel] = transpose(L)
            if j + panel < m:
                inverse = torch.linalg.solve_triangular(L, eye, upper=False)
                row[..., panel:] = inverse @ row[..., panel:]
        return A, definite.view(lead)

    def cholesky_solve(self, U: Array, b: Array) -> Array:
        b = b.expand(*U.shape[:-2], *b.shape[-2:])
        z = self.torch.linalg.solve_triangular(transpose(U), b, upper=False)
        return self.torch.linalg.solve_triangular(U, z, upper=True)

    def half_solve(self, U: Array, R: Array) -> Array:
        return self.torch.linalg.solve_triangular(U, R, upper=True, left=False)

    def inverse_triangle(self, U: Array) -> Array:
        eye = self.torch.eye(U.shape[-1], dtype=self.kind, device=self.place)
        return self.torch.linalg.solve_triangular(U, eye.expand(U.shape), upper=True)

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


def _stack(A: Array) -> Array:
    """A with one leading axis."""
    return A.reshape(-1, *A.shape[-2:])


def _mix(h: int, word: int) -> int:
    """A 64-bit name from a name and one more word: a round of splitmix64, cheaper than NumPy's."""
    h = (h + word + 0x9E3779B97F4A7C15) & _MASK
    h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & _MASK
    return h ^ (h >> 31)


_MASK = 2**64 - 1
