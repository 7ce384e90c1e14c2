"""Fold: the sum of one function over all parts of a data set, wherever the parts are computed.

.. math:: \\mathrm{fold}(f, p) = f(p_1) + f(p_2) + \\dots + f(p_k)

Serial, several processes and a Dask cluster run the same function on the same parts. The sums of
this package are exact (see onegrad.ridge.moments), so the ways cannot disagree; a part that is
computed again after a worker was lost gives what it would have given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Protocol, Self, TypeVar

from onegrad.data.parts import Part
from onegrad.errors import InvalidInput


class Sums(Protocol):
    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Sums)
V = TypeVar("V")

Progress = Callable[[int, int], None]  # parts done, parts in all


def plus(a: S | None, b: S | None) -> S | None:
    """a + b, where None is the sum of no rows."""
    if a is None or b is None:
        return a if b is None else b
    return a + b


def fold(
    function: Callable[[Part], S | None],
    parts: Sequence[Part],
    *,
    client: Any = None,
    jobs: int = 1,
    progress: Progress | None = None,
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
        total = _on_cluster(function, parts, client, progress)
    elif jobs == 1 or len(parts) <= 1:
        total = reduce(plus, _counted(map(function, parts), len(parts), progress), total)
    else:
        from joblib import Parallel, delayed

        results = Parallel(n_jobs=jobs, return_as="generator")(delayed(function)(p) for p in parts)
        total = reduce(plus, _counted(results, len(parts), progress), total)
    if total is None:
        raise InvalidInput("the data have no rows")
    return total


def _counted(
    results: Iterable[S | None], total: int, progress: Progress | None
) -> Iterable[S | None]:
    for done, result in enumerate(results, 1):
        yield result
        if progress is not None:
            progress(done, total)


def _on_cluster(
    function: Callable[[Part], S | None],
    parts: Sequence[Part],
    client: Any,
    progress: Progress | None,
) -> S | None:
    """Parts are tasks; partial sums are added in pairs on the workers, so that one comes back."""
    from distributed import as_completed

    # a task, not scattered data: the scheduler can make it again when its worker is gone
    shared = client.submit(_same, function, pure=False)
    futures = [_submitted(client, shared, part) for part in parts]
    watched = list(futures)
    while len(futures) > 1:
        pairs = zip(futures[::2], futures[1::2], strict=False)
        odd = futures[len(futures) - len(futures) % 2 :]
        futures = [client.submit(plus, a, b, pure=False) for a, b in pairs] + odd
    if progress is not None:
        for done, _ in enumerate(as_completed(watched), 1):  # type: ignore[no-untyped-call]
            progress(done, len(parts))
    del watched
    result: S | None = futures[0].result()
    return result


def _submitted(client: Any, shared: Any, part: Part) -> Any:
    """The task of one part, after those that compute its data where they are Dask objects."""
    data = part.remote()
    present = [client.compute(d) if d is not None else None for d in data]
    empty = part.filled(*(None for _ in data))
    return client.submit(_apply, shared, empty, *present, pure=False)


def _same(value: V) -> V:
    return value


def _apply(function: Callable[[Part], S | None], part: Part, *data: Any) -> S | None:
    return function(part.filled(*data))
