"""Stacks of replicates through the machine: threads, progress, interruption."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from onegrad.arrays.backend import backend, one_line_memory_errors
from onegrad.arrays.threads import blas_threads, cores
from onegrad.networks.arrangement import Plan, plan
from onegrad.networks.fits import NEURONS
from onegrad.networks.replicate import TRAINED, Cell, cells, default_test
from onegrad.problem import Problem


@dataclass(frozen=True)
class Job:
    """One problem at several step sizes and penalties."""

    problem: Problem
    etas: tuple[float, ...]
    ridges: tuple[float, ...]


class Stopped(Exception):
    """Another replicate failed or the user interrupted."""


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
                self.done = min(self.done + 1, self.total - 1)  # the estimate may be short
                self.progress(self.done, self.total)

    def finish(self) -> None:
        if self.progress:
            self.progress(self.total, self.total)


def run(
    jobs: Sequence[Job],
    seeds: tuple[int, ...],
    store: Callable[[int, Cell], None],
    *,
    progress: Callable[[int, int], None] | None,
    device: str,
    dtype: str,
    batch: int | None,
    threads: int | None,
    memory_limit: float | None,
    model: str,
    n_test: int | None,
    leave_one_out: bool,
    **options: Any,
) -> None:
    """Compute every (job, seed) and hand it to `store`, on this thread.

    Replicates side by side on one core each keep all cores busy, random numbers and elementwise
    functions included; with fewer replicates than cores, one replicate uses all cores.
    """
    count = threads or cores()
    on = backend(device, dtype, count)
    abreast, each = on.side_by_side()
    plans = [
        plan(
            job.problem,
            model,
            len(job.etas) if model in TRAINED else 1,
            len(seeds),
            abreast,
            on,
            batch,
            memory_limit,
            leave_one_out,
        )
        for job in jobs
    ]
    total = sum(
        stretches(job, p, model, n_test) * -(-len(seeds) // p.batch)
        for job, p in zip(jobs, plans, strict=True)
    )
    meter = Meter(total, progress)
    with one_line_memory_errors():
        for j, (job, chosen) in enumerate(zip(jobs, plans, strict=True)):
            engine = each if chosen.workers > 1 else on

            def stack(
                part: tuple[int, ...], job: Job = job, chosen: Plan = chosen, engine: Any = engine
            ) -> list[Cell]:
                return cells(
                    job.problem,
                    part,
                    job.etas,
                    job.ridges,
                    model=model,
                    n_test=n_test,
                    leave_one_out=leave_one_out,
                    at_once=chosen.at_once,
                    on=engine,
                    tick=meter.tick,
                    **options,
                )

            parts = [seeds[i : i + chosen.batch] for i in range(0, len(seeds), chosen.batch)]
            with blas_threads(engine.threads):
                for found in _map(stack, parts, chosen.workers, meter):
                    for cell in found:
                        store(j, cell)
    meter.finish()


def _map(f: Callable[[Any], list[Cell]], parts: Sequence[Any], workers: int, meter: Meter) -> Any:
    """f over the parts, side by side; the first failure or an interrupt stops the others."""
    if workers == 1:
        yield from map(f, parts)
        return
    with ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(f, part) for part in parts}
        try:
            while waiting:
                ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield future.result()
        finally:  # after an error or an interrupt: nothing queued starts, what runs stops soon
            if waiting:
                meter.stop.set()
                pool.shutdown(wait=True, cancel_futures=True)


def stretches(job: Job, chosen: Plan, model: str, n_test: int | None) -> int:
    """Ticks that one stack of replicates makes, about."""
    p = job.problem
    block = 1024
    networks = len(job.etas) if model in TRAINED else 1
    rounds = -(-networks // chosen.at_once)
    steps = (1 + (p.steps - 1) * networks) * -(-p.rows_of_step // block)
    ridge = 2 * -(-p.N // NEURONS) if p.n < p.N else -(-p.n // block)
    test = -(-(n_test or default_test(p.n)) // block)
    return (steps if model in TRAINED else 0) + rounds * (ridge + test)
