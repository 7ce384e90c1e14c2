"""The work of a stack on a GPU, recorded once and repeated with the random numbers of other seeds.

A small network takes more than a hundred kernels, which Python starts more slowly than the device
computes them. Stacks of equal shapes differ in their random numbers alone: these are drawn, as
ever, one by one, into arrays that are kept, and all that follows is one call.

The arrays are those of the first stack, which is called as it is: what a graph allocates itself it
uses again for other things, before and after.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from onegrad.arrays.namespace import Array, Floats, namespace, to_numpy

Seeds = tuple[int, ...]
Work = Callable[[Seeds, Callable[[], None]], dict[str, Array]]  # (seeds, tick): arrays by name
Repeat = Callable[[Work, Seeds, Callable[[], None]], dict[str, Floats]]  # how it is called

_here = threading.local()
_capturing = threading.Lock()
_spent: dict[Any, deque[Any]] = {}  # by device: graphs kept for their memory, which the next uses


def run_directly(work: Work, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
    """What the work finds, in host memory."""
    return {name: to_numpy(x) for name, x in work(seeds, tick).items()}


def recording() -> Rehearsal | Recording | None:
    """What this thread rehearses or records, if it does."""
    return getattr(_here, "now", None)


@contextmanager
def _now(what: Rehearsal | Recording) -> Iterator[None]:
    _here.now = what
    try:
        yield
    finally:
        _here.now = None


class Recorder:
    """Calls the equal stacks of a run: in every thread the first as it is, then from a recording.

    Where a recording fails all further stacks are called as they are, and `failure` says why, as
    does the log.
    """

    def __init__(self, ops: Any) -> None:
        self.ops, self.failure = ops, ""
        self._mine = threading.local()

    def __call__(self, work: Work, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
        mine: dict[int, Rehearsal | Recording] = self._mine.__dict__.setdefault("kept", {})
        known = mine.get(len(seeds))
        if known is None:
            known = mine[len(seeds)] = Rehearsal()
            with _now(known):
                return fetched(work(seeds, tick))
        if isinstance(known, Rehearsal) and not self.failure:
            known = self._recorded(work, seeds, known)
            mine[len(seeds)] = known
        if isinstance(known, Recording):
            return known(seeds, tick)
        return fetched(work(seeds, tick))

    def _recorded(self, work: Work, seeds: Seeds, first: Rehearsal) -> Rehearsal | Recording:
        try:
            return Recording(self.ops, work, seeds, first.arrays)
        except RuntimeError as error:  # torch's: something that cannot be recorded
            self.failure = f"{type(error).__name__}: {error}"
            logging.getLogger(__name__).info("stacks are not recorded: %s", self.failure)
            return first


class Rehearsal:
    """A stack that is called as it is: what it draws into, or takes from the host, is kept."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []

    def array(self, make: Callable[[], Array]) -> Array:
        """A new one."""
        self.arrays.append(make())
        return self.arrays[-1]


class Recording:
    """One stack: arrays for its random numbers, a graph of what follows, and what that leaves."""

    def __init__(self, ops: Any, work: Work, seeds: Seeds, arrays: list[Array]) -> None:
        self.draws: list[Callable[[Seeds], None]] = []
        self.ticks = 0
        self._arrays, self._waiting = arrays, iter(arrays)
        kept = _spent.setdefault(ops.place, deque())
        with _capturing:  # torch counts the graphs that there are without a lock of its own
            before = kept.pop() if kept else None
            self.graph = ops.graph()
            self.graph.capture_begin(
                **({} if before is None else {"pool": before.pool()}),
                capture_error_mode="thread_local",
            )
            try:
                with _now(self):
                    found = work(seeds, self._count)
                self.flat = ops.torch.cat([x.reshape(-1) for x in found.values()])
            except BaseException:
                with suppress(RuntimeError):
                    self.graph.capture_end()
                raise
            self.graph.capture_end()
            del before
        self.shapes = {name: tuple(x.shape) for name, x in found.items()}
        self._kept = kept

    def array(self, make: Callable[[], Array]) -> Array:
        """The next of the rehearsal."""
        found = next(self._waiting, None)
        if found is None:
            raise RuntimeError("a stack needs more arrays than the first one did")
        return found

    def __call__(self, seeds: Seeds, tick: Callable[[], None]) -> dict[str, Floats]:
        for draw in self.draws:
            draw(seeds)
        self.graph.replay()
        found = _split(to_numpy(self.flat), self.shapes)
        for _ in range(self.ticks):
            tick()
        return found

    def __del__(self) -> None:
        if hasattr(self, "_kept"):
            self._kept.append(self.graph)

    def _count(self) -> None:
        self.ticks += 1


def fetched(found: dict[str, Array]) -> dict[str, Floats]:
    """Torch tensors of one type in host memory, by one copy."""
    flat = namespace(next(iter(found.values()))).cat([x.reshape(-1) for x in found.values()])
    return _split(to_numpy(flat), {name: tuple(x.shape) for name, x in found.items()})


def _split(flat: Floats, shapes: dict[str, tuple[int, ...]]) -> dict[str, Floats]:
    parts, start = {}, 0
    for name, shape in shapes.items():
        stop = start + math.prod(shape)
        parts[name] = flat[start:stop].reshape(shape)
        start = stop
    return parts
