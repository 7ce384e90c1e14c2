r"""A pass over the data: the sum of one function over all partitions, wherever it is computed.

.. math:: \mathrm{sum}(f, p) = f(p_1) + f(p_2) + \dots + f(p_k)

One process, several processes and a Dask cluster call the same function on the same partitions. The
sums of this package are exact (see onegrad.ridge.moments), so that the results are equal bit for
bit; a partition that is computed again after a worker was lost gives what it gave before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from onegrad.data.partitions import Partition, RowBlock
from onegrad.exceptions import InvalidInput
from onegrad.io.progress import Progress, as_progress
from onegrad.parallel.cluster import cluster_sum
from onegrad.parallel.processes import process_map


class Summable(Protocol):
    """A value that adds."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Summable)


def add_optional(a: S | None, b: S | None) -> S | None:
    """Return a + b, where None is the sum of no rows."""
    if a is None or b is None:
        return a if b is None else b
    return a + b


def sum_over_partitions(
    function: Callable[[Partition], S | None],
    partitions: Sequence[Partition],
    *,
    client: Any = None,
    jobs: int = 1,
    progress: Progress | Callable[[int, int], None] | None = None,
) -> S:
    """Return the sum of function(partition) over all partitions.

    Parameters
    ----------
    function : gives None for an empty partition; picklable if jobs > 1 or with a client.
    partitions : read by the process that calls the function.
    client : a dask.distributed Client, whose workers call the function.
    jobs : number of joblib processes, without a client.
    progress : called with (done, all) after each partition.
    """
    total: S | None = None
    if client is not None and partitions:
        calls = [partition.remake() for partition in partitions]
        tasks = [(make, *arguments) for make, arguments in calls]
        add: Callable[[S | None, S | None], S | None] = add_optional
        total = cluster_sum(partial(_call_on_worker, function), tasks, client, add, progress)
    else:
        jobs = jobs if len(partitions) > 1 else 1
        report = as_progress(progress)
        if jobs == 1:
            report.begin_parts(len(partitions))
            partitions = [_CountedPartition(p, report.rows) for p in partitions]
        for done, result in enumerate(process_map(function, partitions, jobs), 1):
            total = add_optional(total, result)
            report(done, len(partitions))
    if total is None:
        raise InvalidInput("data", problem="the table is empty")
    return total


@dataclass(frozen=True)
class _CountedPartition(Partition):
    """A partition that reports its rows as they are read."""

    partition: Partition
    report: Callable[[int], None]

    def blocks(self) -> Iterator[RowBlock]:
        for block in self.partition.blocks():
            yield block
            self.report(len(block))


def _call_on_worker(
    function: Callable[[Partition], S | None], make: Callable[..., Partition], *arguments: Any
) -> S | None:
    return function(make(*arguments))
