"""The size of the pieces in which a run is done: a frozen choice, made before the run starts."""

from __future__ import annotations

from dataclasses import dataclass

# Sizes below bound memory and idle threads. docs/performance.md measures what they make together;
# none was tuned by itself.
WORKER_BLOCK_ROWS = 1024  # rows that a row worker takes at a time
MIN_BUSY_SHARE = 0.85  # of the row workers that must have work until the end
MAX_KEPT_ENTRIES = 2**24  # entries that a thread may keep where that spares making them: 128 MB


@dataclass(frozen=True)
class ExecutionPolicy:
    """Sizes of blocks and stacks, and numbers of workers, on one device; see `Ops.policy`.

    Parameters
    ----------
    threads : threads of the host that compute one stack together.
    blas_threads : BLAS threads of each of them; None leaves BLAS as it is.
    stacks_at_once : stacks that run side by side.
    max_stack, max_stack_entries : matrices in a stack, and their entries together.
    min_block_rows, min_blocks, block_entries : rows handled at a time are at least `min_blocks`
        blocks of `min_block_rows`, or as many blocks as make `block_entries` entries.
    max_kept_entries : entries that may be kept where that spares making them again.
    max_worker_entries : entries that the sums of all row workers may have together.
    per_worker : the policy of one of several stacks or row workers; None means this one.
    """

    threads: int = 1
    blas_threads: int | None = 1
    stacks_at_once: int = 1
    max_stack: int = 1
    max_stack_entries: int = 0
    min_block_rows: int = 1
    min_blocks: int = 1
    block_entries: int = 0
    max_kept_entries: int = MAX_KEPT_ENTRIES
    max_worker_entries: int = 0
    per_worker: ExecutionPolicy | None = None

    @property
    def worker(self) -> ExecutionPolicy:
        """Policy of one of several stacks that run side by side, or of one row worker."""
        return self.per_worker or self

    def stack_size(self, entries: int) -> int:
        """Return how many matrices of `entries` entries to stack."""
        return max(1, min(self.max_stack, self.max_stack_entries // entries))

    def block_rows(self, block: int, entries: int) -> int:
        """Return how many rows to handle at a time, a multiple of `block`.

        entries : entries that one row makes.
        """
        block = max(block, self.min_block_rows)
        return block * max(self.min_blocks, self.block_entries // (entries * block))

    def fits_in_memory(self, entries: int) -> bool:
        """Return whether an array of `entries` entries may be kept."""
        return entries <= self.max_kept_entries

    def row_workers(self, rows: int, entries: int) -> int:
        """Return how many threads take rows by themselves, each with sums of `entries` entries.

        With many rows that is fastest: no thread waits for another. It takes memory, and few blocks
        leave threads idle; then one thread takes all rows and the pool shares every product.
        """
        if self.threads * entries > self.max_worker_entries:
            return 1
        rounds = -(-rows // (WORKER_BLOCK_ROWS * self.threads))
        busy = rows >= MIN_BUSY_SHARE * rounds * self.threads * WORKER_BLOCK_ROWS
        return self.threads if busy else 1
