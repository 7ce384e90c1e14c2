"""All attacks, cut into chunks that are functions of (attack, seed, number)."""

import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from zlib import crc32

import numpy as np

from soak import inputs, kills, meanings, outputs, pages, stores, terminals, theories, weights
from soak.ledger import AttackCounts


@dataclass(frozen=True)
class Attack:
    """A function (rng, count, where) -> counts, called for one chunk of attacks at a time."""

    function: Callable[[np.random.Generator, int, str], AttackCounts]
    chunk_size: int
    option: str  # that says how many attacks there are: kills, problems, inputs
    share: float  # of the option's number

    def chunk_count(self, total: int) -> int:
        return -(-round(total * self.share) // self.chunk_size)


ATTACKS = {
    "kill runner": Attack(kills.kill_runner, 20, "kills", 0.5),
    "kill creation": Attack(kills.kill_creation, 20, "kills", 0.24),
    "kill group": Attack(kills.kill_group, 20, "kills", 0.15),
    "kill worker": Attack(kills.kill_worker, 20, "kills", 0.06),
    "copy": Attack(stores.copy_running_stores, 16, "kills", 0.035),
    "interrupt": Attack(terminals.interrupt, 5, "kills", 0.01),
    "streams": Attack(terminals.close_streams, 5, "kills", 0.005),
    "problems": Attack(theories.predict_problems, 50, "problems", 1.0),
    "spectra": Attack(theories.predict_spectra, 20, "problems", 0.005),
    "neighbours": Attack(theories.find_jumps, 20, "problems", 0.02),
    "symmetries": Attack(theories.check_symmetries, 5, "problems", 0.001),
    "csv": Attack(partial(inputs.use_files, ".csv"), 100, "inputs", 0.1),
    "parquet": Attack(partial(inputs.use_files, ".parquet"), 100, "inputs", 0.1),
    "npz": Attack(partial(inputs.use_files, ".npz"), 100, "inputs", 0.1),
    "npy": Attack(partial(inputs.use_files, ".npy"), 100, "inputs", 0.05),
    "model": Attack(partial(inputs.use_files, ".model"), 100, "inputs", 0.15),
    "stale": Attack(inputs.use_stale_models, 100, "inputs", 0.02),
    "spec": Attack(inputs.read_specs, 200, "inputs", 0.18),
    "request": Attack(pages.send_requests, 200, "inputs", 0.22),
    "store": Attack(stores.damage_stores, 50, "inputs", 0.045),
    "export": Attack(stores.export_edited_specs, 50, "inputs", 0.01),
    "output": Attack(outputs.name_special_paths, 50, "inputs", 0.015),
    "weights": Attack(weights.repeat_rows, 10, "inputs", 0.005),
    "meaning": Attack(meanings.keep_meanings, 10, "inputs", 0.005),
}


def run_chunk(task: tuple[str, int, int]) -> tuple[str, int, AttackCounts]:
    """Run one chunk: (attack, seed, number) and nothing else decides what happens in it.

    An error of the attack itself counts as a crash, and the others go on.
    """
    name, seed, number = task
    rng = np.random.default_rng((seed, crc32(name.encode()), number))
    start = _processor_seconds()
    attack = ATTACKS[name]
    try:
        counts = attack.function(rng, attack.chunk_size, f"{name} {seed}.{number}")
    except Exception as error:
        return crashed_chunk(task, repr(error))
    counts.seconds = _processor_seconds() - start
    return name, number, counts


def _processor_seconds() -> float:
    """Return what this process and those that it waited for have used so far."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(w)[:2]) for w in who)


def crashed_chunk(task: tuple[str, int, int], message: str) -> tuple[str, int, AttackCounts]:
    """Return the counts of a chunk that took its process with it."""
    counts = AttackCounts(attacks=1)
    counts.fault("crashed", f"{task[0]} {task[1]}.{task[2]}", message)
    return task[0], task[2], counts
