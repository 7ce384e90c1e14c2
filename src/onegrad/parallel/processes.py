"""Maps over the processes of joblib on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from onegrad.parallel.children import end_with_parent
from onegrad.parallel.threads import Item, Value


def process_map(
    function: Callable[[Item], Value], items: Iterable[Item], jobs: int
) -> Iterator[Value]:
    """Map over `jobs` processes, or in this one for a single job; yield results in order.

    Items are drawn as they are due. The function is picklable where there are several processes.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    from joblib import Parallel, delayed

    call = delayed(partial(_call, os.getpid(), function))
    yield from Parallel(n_jobs=jobs, return_as="generator")(call(item) for item in items)


def _call(parent: int, function: Callable[[Item], Value], item: Item) -> Value:
    """Return function(item) from a process that ends with its parent, if it is a child of it."""
    if os.getppid() == parent:
        end_with_parent(parent)
    return function(item)
