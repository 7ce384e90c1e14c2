"""Sums over the rows of a role, and who takes which rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from onegrad.arrays import Array
from onegrad.networks.sampling import Sampler, Stretch
from onegrad.networks.streams import Role
from onegrad.parallel import pool_map

Sums = TypeVar("Sums")


def total(
    sampler: Sampler,
    rows: tuple[Role, int, int],
    begin: Callable[[], Sums],
    add: Callable[[Sums, Stretch], None],
    arrays: Callable[[Sums], Sequence[Array]],
) -> Sums:
    """The sums that `begin` starts and `add` continues with every stretch of rows.

    rows : role, how many, and which batch of the steps.
    arrays : what the sums consist of.
    """
    role, n, index = rows
    first = begin()
    entries = sum(math.prod(x.shape) for x in arrays(first))
    workers = sampler.execution.row_workers(n, entries)
    if workers == 1:
        for stretch in sampler.rows(role, n, index):
            add(first, stretch)
        return first
    sampler.ready()
    sums = [first, *(begin() for _ in range(workers - 1))]

    def take(k: int) -> None:
        for stretch in sampler.rows(role, n, index, (k, workers)):
            add(sums[k], stretch)

    pool_map(take, range(workers))
    sampler.ops.add_arrays(arrays(first), [arrays(x) for x in sums[1:]])
    return first
