"""Operations on torch tensors of one device: products of whole stacks."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from onegrad.arrays.namespace import Array, is_torch, transpose
from onegrad.arrays.ops import Elementwise, Ops, Seeds, in_chunks
from onegrad.arrays.policy import ExecutionPolicy
from onegrad.arrays.splitmix import GOLDEN_GAMMA, MASK_64, splitmix64
from onegrad.exceptions import InvalidInput

STREAM_ROWS = 8192  # rows that share a random stream
# Measured together on one H200 (benchmarks/gpu.py, docs/performance.md); other devices may differ.
BLOCK_ENTRIES = 2**28  # entries of features that are made at a time
QUEUES = 2  # stacks in flight: while one waits for its results, the other fills the device's queue
MAX_STACK, MAX_STACK_ENTRIES = 128, 2**26  # matrices that a GPU computes together
MAX_SHIFTED_ENTRIES = 2**29  # entries of shifted matrices that are factored together
PANEL_ROWS = 128  # rows that the factorisation of a stack takes at a time
MANY_MATRICES = 256  # from which on half as many rows are faster
FEW_MATRICES = 8  # below which a small product does not fill the device

_idle_streams: dict[Any, deque[Any]] = {}  # by device: they are few and kept, each has its memory


class TorchOps(Ops):
    """Torch tensors; see `Ops` for what each operation does."""

    can_draw = True

    def __init__(
        self, device: str = "torch", dtype: str = "float64", drawn: str | None = None
    ) -> None:
        try:
            import torch
        except ImportError:
            problem = "needs torch: pip install 'onegrad[torch]'"
            raise InvalidInput("device", device, problem=problem) from None
        try:
            self.place = torch.device("cpu" if device == "torch" else device)
        except RuntimeError:
            raise InvalidInput("device", device, "cuda or cuda:k") from None
        is_cuda = self.is_cuda = self.prefers_to_draw = self.place.type == "cuda"
        if is_cuda and not torch.cuda.is_available():
            problem = "no CUDA device is visible; use device='cpu'"
            raise InvalidInput("device", device, problem=problem)
        if is_cuda and (self.place.index or 0) >= torch.cuda.device_count():
            problem = f"{torch.cuda.device_count()} CUDA device(s) are visible"
            raise InvalidInput("device", device, problem=problem)
        super().__init__(device, dtype)
        self.torch, self.kind = torch, getattr(torch, dtype)
        self.drawn = self.kind if drawn is None else getattr(torch, drawn)

    @staticmethod
    def device_of(x: Array) -> str:
        if not is_torch(x):
            return ""
        return "torch" if x.device.type == "cpu" else str(x.device)

    def policy(self, threads: int) -> ExecutionPolicy:
        if self.is_cuda:
            _load_solvers(self.place)
        return ExecutionPolicy(
            threads=threads,
            blas_threads=None,
            stacks_at_once=QUEUES if self.is_cuda else 1,
            max_stack=MAX_STACK if self.is_cuda else 1,
            max_stack_entries=MAX_STACK_ENTRIES,
            min_block_rows=STREAM_ROWS,  # the numbers do not depend on the size of a block
            block_entries=BLOCK_ENTRIES,
            max_kept_entries=8 * BLOCK_ENTRIES,
        )

    @contextmanager
    def queue(self) -> Iterator[None]:
        if not self.is_cuda:
            yield
            return
        idle = _idle_streams.setdefault(self.place, deque())
        try:
            stream = idle.pop()
        except IndexError:
            stream = self.torch.cuda.Stream(self.place)
        try:
            with self.torch.cuda.stream(stream):
                yield
        finally:
            idle.append(stream)

    def wait(self) -> None:
        if self.is_cuda:
            self.torch.cuda.synchronize(self.place)

    def free_bytes(self) -> int:
        if not self.is_cuda:
            return super().free_bytes()
        cuda = self.torch.cuda
        unused = cuda.memory_reserved(self.place) - cuda.memory_allocated(self.place)
        return int(cuda.mem_get_info(self.place)[0]) + int(unused)

    def draw(
        self, seeds: Seeds, key: tuple[int, ...], start: int, rows: int, width: int, normal: bool
    ) -> Array:
        out = self.torch.empty((len(seeds), rows, width), dtype=self.drawn, device=self.place)
        generator = self.torch.Generator(self.place)
        for r in range(0, rows, STREAM_ROWS):
            name = reduce(_mix, (*key, start + r), 0)
            for seed, part in zip(seeds, out[:, r : r + STREAM_ROWS].unbind(0), strict=True):
                generator.manual_seed(_mix(name, seed) >> 1)
                if normal:
                    part.normal_(generator=generator)
                else:
                    part.uniform_(generator=generator)
        return out.to(self.kind)

    def asarray(self, x: Any) -> Array:
        host = self.torch.from_numpy(np.array(x, dtype=self.dtype))
        return host.to(self.place, non_blocking=True)  # the device's queue is not waited for

    def cast(self, x: Array) -> Array:
        return x.to(self.kind)

    def zeros(self, *shape: int) -> Array:
        return self.torch.zeros(shape, dtype=self.kind, device=self.place)

    def host_buffer(self, *shape: int) -> np.ndarray[Any, Any]:
        memory = self.torch.empty(shape, dtype=self.torch.float64, pin_memory=self.is_cuda)
        return np.asarray(memory)

    def from_buffer(self, buffer: np.ndarray[Any, Any]) -> Array:
        return self.torch.from_numpy(buffer).to(self.place, non_blocking=True).to(self.kind)

    # -- elementwise -------------------------------------------------------------------------

    def apply(
        self,
        f: Elementwise,
        x: Array,
        y: Array | None = None,
        scale: float = 0.0,
        out: Array | None = None,
    ) -> Array:
        del out  # torch makes new tensors as fast
        return self.stored(f(x if y is None else self.torch.add(x, y, alpha=scale)))

    def stored(self, F: Array) -> Array:
        """Return features as this precision keeps them."""
        return F

    # -- products ----------------------------------------------------------------------------

    def add_product(self, C: Array, A: Array, B: Array) -> None:
        C.view(-1, *C.shape[-2:]).baddbmm_(transpose(_stack(A)), _stack(B))

    def add_gram(self, C: Array, A: Array, over_rows: bool = False) -> None:
        A = transpose(A) if over_rows else A  # (..., k, m): C += A^T A
        C, A = C.view(-1, *C.shape[-2:]), _stack(A)
        leaf = 512 if len(C) < FEW_MATRICES else max(128, min(512, C.shape[-1] // 8))
        self._add_upper(C, transpose(A), A, leaf)

    def _add_upper(self, C: Array, A: Array, B: Array, leaf: int) -> None:
        """C += A B without the blocks below the diagonal; those of size `leaf` are not cut."""
        m = C.shape[-1]
        if m <= leaf:
            self._add_matmul(C, A, B)
            return
        # torch has no product that fills one triangle: halves, of which the lower left is left out
        h = max(64, m // 128 * 64)  # about half of m, at a multiple of 64
        self._add_upper(C[:, :h, :h], A[:, :h], B[..., :h], leaf)
        self._add_matmul(C[:, :h, h:], A[:, :h], B[..., h:])
        self._add_upper(C[:, h:, h:], A[:, h:], B[..., h:], leaf)

    def _add_matmul(self, C: Array, A: Array, B: Array) -> None:
        C.baddbmm_(A, B)

    # -- symmetric matrices ------------------------------------------------------------------

    def eigh(self, C: Array) -> tuple[Array, Array]:
        return self.torch.linalg.eigh(C, UPLO="U")

    def shifted_cholesky(
        self, C: Array, shifts: Sequence[float], overwrite: bool = False
    ) -> tuple[Array, Array]:
        A = C[..., None, :, :]
        if not overwrite or len(shifts) > 1:
            A = A.repeat_interleave(len(shifts), -3)
        s = float(shifts[0]) if len(shifts) == 1 else self.asarray(shifts)[:, None]
        A.diagonal(dim1=-2, dim2=-1).add_(s)
        # To the solvers, which count columns, an upper triangle is the lower one of its transpose.
        # cholesky_ex does not wait for the device, as cholesky would to raise an exception.
        L, info = self.torch.linalg.cholesky_ex(transpose(A))
        return transpose(L), info == 0

    def solve_shifted(self, C: Array, shifts: Sequence[float], b: Array) -> tuple[Array, Array]:
        size = max(1, MAX_SHIFTED_ENTRIES // int(C.numel()))
        return in_chunks(lambda part, last: self._solve_chunk(C, part, b, last), shifts, size)

    def _solve_chunk(
        self, C: Array, shifts: Sequence[float], b: Array, overwrite: bool
    ) -> tuple[Array, Array]:
        """Solve a stack by block rows, nearly all in products: torch's own solver is far slower."""
        torch, (B, m, _), R = self.torch, C.shape, len(shifts)
        p = PANEL_ROWS if B * R <= MANY_MATRICES else PANEL_ROWS // 2
        if B * R == 1 or m <= p:
            U, definite = self.shifted_cholesky(C, shifts, overwrite)
            return self.cholesky_solve(U, b[:, None, :, None])[..., 0], definite
        in_place = overwrite and R == 1
        U = C if in_place else torch.empty(B * R, m, m, dtype=self.kind, device=self.place)
        x, s = b.repeat_interleave(R, 0)[..., None], self.asarray(shifts).repeat(B)[:, None]
        eye, inverses = torch.eye(p, dtype=self.kind, device=self.place), []
        definite = torch.ones(B * R, dtype=torch.bool, device=self.place)
        for j in range(0, m, p):  # U^T U = C + s and U^T z = b; rows of U and z become known
            row, z = U[:, j : j + p, j:], x[:, j : j + p]
            if not in_place:
                row.view(B, R, *row.shape[1:])[...] = C[:, None, j : j + p, j:]
            row.diagonal(dim1=-2, dim2=-1).add_(s)
            if j:
                above = transpose(U[:, :j, j : j + p])
                row.baddbmm_(above, U[:, :j, j:], alpha=-1)
                z.baddbmm_(above, x[:, :j], alpha=-1)
            L, info = torch.linalg.cholesky_ex(transpose(row[..., :p]))
            definite &= info == 0
            k = L.shape[-1]
            inverse = torch.linalg.solve_triangular(L, eye[:k, :k], upper=False)
            inverses.append(inverse)
            row[..., p:] = inverse @ row[..., p:]
            z[...] = inverse @ z
        for j, inverse in zip(range(0, m, p)[::-1], inverses[::-1], strict=True):  # U x = z
            z = x[:, j : j + p]
            if j + p < m:
                z.baddbmm_(U[:, j : j + p, j + p :], x[:, j + p :], alpha=-1)
            z[...] = transpose(inverse) @ z
        return x.view(B, R, m), definite.view(B, R)

    def cholesky_solve(self, U: Array, b: Array) -> Array:
        b = b.expand(*U.shape[:-2], *b.shape[-2:])
        z = self.torch.linalg.solve_triangular(transpose(U), b, upper=False)
        return self.torch.linalg.solve_triangular(U, z, upper=True)

    def solve_lower(self, U: Array, R: Array) -> Array:
        return self.torch.linalg.solve_triangular(U, R, upper=True, left=False)

    def invert_triangle(self, U: Array) -> Array:
        eye = self.torch.eye(U.shape[-1], dtype=self.kind, device=self.place)
        return self.torch.linalg.solve_triangular(U, eye.expand(U.shape), upper=True)


@lru_cache
def _load_solvers(place: Any) -> None:
    """Let torch load its solvers now: it does so once, and not safely in threads."""
    import torch

    torch.linalg.inv(torch.ones(1, 1, device=place))


def _mix(name: int, word: int) -> int:
    """Return the 64-bit name of a stream from a name and one more word."""
    return splitmix64((name + word + GOLDEN_GAMMA) & MASK_64)


def _stack(A: Array) -> Array:
    return A.reshape(-1, *A.shape[-2:])
