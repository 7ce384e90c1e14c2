"""Stacks of replicates through the machine: threads, progress, interruption."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from onegrad.arrays import Backend, Stopped, abreast, blas_threads, one_line_memory_errors
from onegrad.networks.cost import Arrangement, arrange
from onegrad.networks.fits import NEURONS
from onegrad.networks.options import KERNELS, Limits, Options
from onegrad.networks.replicate import Group, Replicate, replicates


class Meter:
    """Counts stretches of rows over all threads; stops them when asked to."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.done, self.total, self.progress = 0, total, progress
        self.stop = threading.Event()
        self._lock = threading.Lock()

    def tick(self) -> None:
        if self.stop.is_set():
            raise Stopped
        if self.progress:
            with self._lock:
                if self.stop.is_set():
                    raise Stopped
                self.done = min(self.done + 1, self.total - 1)  # the estimate may be short
                try:
                    self.progress(self.done, self.total)
                except BaseException:
                    self.stop.set()  # before another thread is let in
                    raise

    def finish(self) -> None:
        if self.progress:
            self.progress(self.total, self.total)


def run(
    groups: Sequence[Group],
    seeds: tuple[int, ...],
    options: Options,
    on: Backend,
    limits: Limits,
    progress: Callable[[int, int], None] | None,
) -> Iterator[tuple[Group, Replicate]]:
    """Every replicate of every group.

    Replicates side by side on one core each keep all cores busy, random numbers and elementwise
    functions included; with fewer replicates than cores, one replicate uses all cores.
    """
    chosen = [arrange(group, len(seeds), options, on, limits) for group in groups]
    total = sum(
        ticks(group, how, options) * -(-len(seeds) // how.batch)
        for group, how in zip(groups, chosen, strict=True)
    )
    meter = Meter(total, progress)
    _, alone = on.side_by_side()
    with one_line_memory_errors():
        for group, how in zip(groups, chosen, strict=True):
            engine = alone if how.workers > 1 else on
            stack = partial(
                replicates, group, options=options, on=engine, at_once=how.at_once, tick=meter.tick
            )
            parts = [seeds[i : i + how.batch] for i in range(0, len(seeds), how.batch)]
            with blas_threads(engine.threads):
                for found in abreast(stack, parts, how.workers, stop=meter.stop):
                    yield from ((group, replicate) for replicate in found)
    meter.finish()


def ticks(group: Group, how: Arrangement, options: Options) -> int:
    """Stretches of rows and tiles of neurons that one stack of replicates passes, about."""
    p, block = group.problem, 1024
    networks = len(group.etas) if options.trained else 1
    rounds = -(-networks // how.at_once)
    steps = (1 + (p.steps - 1) * networks) * -(-p.rows_of_step // block)
    ridge = -(-p.n // block)
    if p.n < p.N and options.model not in KERNELS:
        ridge += 2 * -(-p.N // NEURONS)
    test = -(-options.tests(p.n) // block)
    return (steps if options.trained else 0) + rounds * (ridge + test)
