"""The kinds of attacks, cut into chunks that are functions of (seed, kind, number)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from soak import inputs, kills, pages, theories
from soak.ledger import Tally


@dataclass(frozen=True)
class Kind:
    """A function (rng, count, where) -> Tally; attacks in a chunk; the share of what is asked."""

    attack: Callable[[np.random.Generator, int, str], Tally]
    size: int
    asked: str  # the option: kills, problems, inputs
    share: float

    def chunks(self, asked: int) -> int:
        return -(-round(asked * self.share) // self.size)


KINDS = {
    "kill runner": Kind(kills.runner, 20, "kills", 0.64),
    "kill creation": Kind(kills.creation, 20, "kills", 0.3),
    "kill group": Kind(kills.group, 10, "kills", 0.04),
    "kill worker": Kind(kills.worker, 10, "kills", 0.02),
    "problems": Kind(theories.problems, 50, "problems", 1.0),
    "spectra": Kind(theories.spectra, 20, "problems", 0.005),
    "neighbours": Kind(theories.jumps, 20, "problems", 0.02),
    "csv": Kind(inputs.files(".csv"), 100, "inputs", 0.1),
    "parquet": Kind(inputs.files(".parquet"), 100, "inputs", 0.1),
    "npz": Kind(inputs.files(".npz"), 100, "inputs", 0.1),
    "npy": Kind(inputs.files(".npy"), 100, "inputs", 0.05),
    "model": Kind(inputs.files(".model"), 100, "inputs", 0.15),
    "spec": Kind(inputs.specs, 200, "inputs", 0.2),
    "request": Kind(pages.requests, 200, "inputs", 0.3),
}


def work(task: tuple[str, int, int]) -> tuple[str, int, Tally]:
    """One chunk: (kind, seed, number) and nothing else decides what happens in it."""
    kind, seed, number = task
    rng = np.random.default_rng((seed, crc32(kind.encode()), number))
    start = time.perf_counter()
    tally = KINDS[kind].attack(rng, KINDS[kind].size, f"{kind} {seed}.{number}")
    tally.seconds = time.perf_counter() - start
    return kind, number, tally


def crashed(task: tuple[str, int, int], message: str) -> tuple[str, int, Tally]:
    """The outcome of a chunk that took its process with it."""
    tally = Tally(attacks=1)
    tally.fault("crashed", f"{task[0]} {task[1]}.{task[2]}", message)
    return task[0], task[2], tally
