"""Fold: the sum of one function over all parts of a data set, wherever the parts are computed.

.. math:: \\mathrm{fold}(f, p) = f(p_1) + f(p_2) + \\dots + f(p_k)

Serial, several processes and a Dask cluster run the same function on the same parts. The sums of
this package are exact (see onegrad.ridge.moments), so the ways cannot disagree; a part that is
computed again after a worker was lost gives what it would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from onegrad.data.partitions import Partition, RowBlock
from onegrad.exceptions import InvalidInput
from onegrad.io.progress import Progress
from onegrad.parallel.cluster import cluster_sum
from onegrad.parallel.processes import process_map


class Sums(Protocol):
    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Sums)


def add_optional(a: S | None, b: S | None) -> S | None:
    """a + b, where None is the sum of no rows."""
    if a is None or b is None:
        return a if b is None else b
    return a + b


def sum_over_partitions(
    function: Callable[[Partition], S | None],
    parts: Sequence[Partition],
    *,
    client: Any = None,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> S:
    """Sum of function(part) over the parts; an empty part gives None.

    Parameters
    ----------
    function : picklable where jobs > 1 or a client is given.
    parts : pieces of the data that are read by whoever computes them.
    client : a dask.distributed Client, whose workers compute the parts.
    jobs : number of joblib processes, without a client.
    progress : called with (done, all) after each part.
    """
    total: S | None = None
    if client is not None and parts:
        # a part without its data, and its data: whoever has them computes it
        pieces = [(p.filled(*(None for _ in p.remote())), *p.remote()) for p in parts]
        add: Callable[[S | None, S | None], S | None] = add_optional
        total = cluster_sum(partial(_filled, function), pieces, client, add, progress)
    else:
        jobs = jobs if len(parts) > 1 else 1
        if isinstance(progress, Progress) and jobs == 1:
            progress(0, len(parts))
            parts = [_Told(part, progress.rows) for part in parts]
        results = process_map(function, parts, jobs)
        for done, result in enumerate(results, 1):
            total = add_optional(total, result)
            if progress is not None:
                progress(done, len(parts))
    if total is None:
        raise InvalidInput("the data have no rows")
    return total


@dataclass(frozen=True)
class _Told(Partition):
    """A part that tells of its rows as they are read."""

    part: Partition
    tell: Callable[[int], None]

    def blocks(self) -> Iterator[RowBlock]:
        for block in self.part.blocks():
            yield block
            self.tell(len(block))


def _filled(function: Callable[[Partition], S | None], part: Partition, *data: Any) -> S | None:
    return function(part.filled(*data))
