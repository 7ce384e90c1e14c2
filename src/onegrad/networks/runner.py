"""Stacks of replicates through the machine: threads, progress, interruption."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

from onegrad.arrays import (
    Ops,
    Repeat,
    one_line_memory_errors,
    run_directly,
)  # fmt: skip
from onegrad.networks.arrangement import Arrangement, arrange
from onegrad.networks.fits import NEURONS
from onegrad.networks.options import KERNELS, Options
from onegrad.networks.plan import Plan
from onegrad.networks.replicate import Group, Replicate, replicates
from onegrad.parallel import WorkCancelled, thread_map, thread_pool

LESS_MEMORY = "lower n, N or batch, list fewer etas, or use dtype float32"


class Meter:
    """Counts stretches of rows over all threads; stops them when asked to."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.done, self.total, self.progress = 0, total, progress
        self.stop = threading.Event()
        self._lock = threading.Lock()

    def tick(self) -> None:
        if self.stop.is_set():
            raise WorkCancelled
        if self.progress:
            with self._lock:
                if self.stop.is_set():
                    raise WorkCancelled
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
    plan: Plan, progress: Callable[[int, int], None] | None
) -> Iterator[tuple[Group, Replicate]]:
    """Every replicate of every group.

    Replicates side by side on one core each keep all cores busy; those that are left when the cores
    no longer come out even have all cores in turn.
    """
    groups, seeds, options, ops = plan.groups, plan.seeds, plan.options, plan.ops
    chosen = [arrange(group, len(seeds), options, ops, plan.limits) for group in groups]
    total = sum(
        ticks(group, how, options) * -(-len(seeds) // how.batch)
        for group, how in zip(groups, chosen, strict=True)
    )
    meter = Meter(total, progress)
    _, alone = ops.side_by_side()
    with one_line_memory_errors(LESS_MEMORY):
        for group, how in zip(groups, chosen, strict=True):
            parts = [seeds[i : i + how.batch] for i in range(0, len(seeds), how.batch)]
            work = partial(
                replicates, group, options=options, at_once=how.at_once, tick=meter.tick,
                repeat=_repeater(group, how, options, ops, len(parts)),
            )  # fmt: skip
            call = partial(_stack, work, stop=meter.stop)
            even = len(parts) // how.workers * how.workers if how.workers > 1 else 0
            together = thread_map(
                partial(call, ops=alone), parts[:even], how.workers, stop=meter.stop
            )
            for found in chain(together, map(partial(call, ops=ops), parts[even:])):
                yield from ((group, replicate) for replicate in found)
    meter.finish()


def _repeater(group: Group, how: Arrangement, options: Options, ops: Ops, stacks: int) -> Repeat:
    """How so many stacks of replicates are called."""
    p, networks = group.problem, len(group.etas) if options.trained else 1
    if not options.repeatable(p):
        return run_directly
    return ops.repeater(stacks, how.batch * networks * max(p.n, p.rows_of_step) * p.N)


def _stack(
    work: Callable[..., list[Replicate]], seeds: Sequence[int], ops: Ops, stop: threading.Event
) -> list[Replicate]:
    """One stack, by a team of all threads that its backend has."""
    with ops.lane(), thread_pool(ops.threads, ops.blas_threads, stop):
        return work(seeds=seeds, ops=ops)


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
