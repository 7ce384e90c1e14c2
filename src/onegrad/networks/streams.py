"""Random numbers: every block of rows has its own stream.

A stream is named by (seed, key, block), so the numbers of a replicate do not depend on how many
replicates, rows or threads are handled at a time, nor on the device that uses them. Blocks are
filled row by row: a smaller n sees the first rows of a larger one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from onegrad.arrays import Array, Floats, Ops
from onegrad.exceptions import InvalidInput
from onegrad.parallel.threads import pool_submit
from onegrad.problem import Law


class Purpose(IntEnum):
    """The use of a stream. Stored results depend on these numbers, so they never change."""

    TEACHER = 0
    WEIGHTS = 1
    READOUT = 2
    STEP = 3
    RIDGE = 4
    TEST = 5
    DIRECTION = 6  # of a spiked covariance or of a mixture's centres
    ORDER = 7  # in which a user's rows are taken
    SIGN = 16  # with a purpose: on which side of a mixture its rows lie
    NOISE = 17  # with a purpose: the label noise of its rows
    CORRUPT = 18  # with a purpose: which of its labels are replaced
    REPLACE = 19  # with a purpose: by the labels of which other rows
    NORMALS = 20  # with a purpose: the independent part of the Gaussian equivalent


GAUSSIAN = Law("gaussian")
RANDOM_SIGNS = Law("rademacher")
UNIT_INTERVAL = Law("unit")  # uniform over [0, 1)
DEVICE_ENTRIES = ("gaussian", "rademacher", "uniform", "unit")  # laws that a device draws
DEVICE_LAWS = (*DEVICE_ENTRIES, "power-law", "spiked", "mixture")  # and those made of them


@dataclass(frozen=True)
class Streams:
    """The random streams of a stack of replicates, one replicate per seed.

    device_random : True if the device's own generator draws, and not NumPy on the host.
    """

    seeds: tuple[int, ...]
    ops: Ops
    device_random: bool = False

    def entries(self, law: Law, key: tuple[int, ...], start: int, rows: int, width: int) -> Array:
        """Draw rows start..start+rows of the matrix that (law, key) names, (B, rows, width).

        `start` lies at the beginning of a stream.
        """
        return self.begin_entries(law, key, start, rows, width)()

    def begin_entries(
        self, law: Law, key: tuple[int, ...], start: int, rows: int, width: int
    ) -> Callable[[], Array]:
        """Let the thread pool begin to draw; calling the result waits for the entries."""
        if self.device_random:
            return lambda: self._draw_on_device(law, key, start, rows, width)
        size, buffer = stream_rows(width), self.ops.host_buffer(len(self.seeds), rows, width)

        def fill_part(part: tuple[int, int]) -> None:
            i, r = part
            rng = generator(self.seeds[i], *key, (start + r) // size)
            fill_entries(rng, law, buffer[i, r : r + size])

        parts = [(i, r) for i in range(len(self.seeds)) for r in range(0, rows, size)]
        wait = pool_submit(fill_part, parts)

        def finish() -> Array:
            wait()
            return self.ops.from_buffer(buffer)

        return finish

    def _draw_on_device(
        self, law: Law, key: tuple[int, ...], start: int, rows: int, width: int
    ) -> Array:
        """Draw the law of `fill_entries` with the device's own generator."""
        if law.name not in DEVICE_ENTRIES:
            problem = f"cannot draw {law.name}; use random='host'"
            raise InvalidInput("random", "device", problem=problem)
        normal = law.name == "gaussian"
        drawn = self.ops.draw(self.seeds, key, start, rows, width, normal)
        if law.name == "rademacher":
            return (drawn < 0.5).to(drawn.dtype) * 2 - 1
        return (drawn - 0.5) * 12**0.5 if law.name == "uniform" else drawn


def stream_rows(width: int) -> int:
    """Return the number of rows that share a stream: 1,024, fewer where rows are very long."""
    # every number drawn depends on it, as on Purpose: it never changes
    return max(16, min(1024, 2**23 >> max(width - 1, 1).bit_length()))


def generator(seed: int, *key: int) -> np.random.Generator:
    """Return the generator that (seed, key) names."""
    # a bit generator by name, because NumPy may change the default of default_rng
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def fill_entries(rng: np.random.Generator, law: Law, out: Floats) -> None:
    """Fill an array with independent entries of mean 0 and variance 1 (`unit`: over [0, 1))."""
    ENTRY_LAWS[law.name](rng, law, out)


def _fill_rademacher(rng: np.random.Generator, _: Law, out: Floats) -> None:
    out[...] = rng.integers(0, 2, out.shape, dtype=np.int8)
    out *= 2.0
    out -= 1.0


def _fill_uniform(rng: np.random.Generator, _: Law, out: Floats) -> None:
    rng.random(out=out)
    out -= 0.5
    out *= math.sqrt(12)


def _fill_student_t(rng: np.random.Generator, law: Law, out: Floats) -> None:
    assert law.parameter is not None
    out[...] = rng.standard_t(law.parameter, out.shape)
    out *= math.sqrt(1 - 2 / law.parameter)


# laws of independent entries; the others are made of Gaussian ones in sampling.py
ENTRY_LAWS: dict[str, Callable[[np.random.Generator, Law, Floats], object]] = {
    "gaussian": lambda rng, _, out: rng.standard_normal(out=out),
    "rademacher": _fill_rademacher,
    "uniform": _fill_uniform,
    "student-t": _fill_student_t,
    "unit": lambda rng, _, out: rng.random(out=out),
}
