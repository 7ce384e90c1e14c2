"""Random numbers: every block of rows has its own stream.

A stream is named by (seed, key, block), so the numbers of a replicate do not depend on how many
replicates, rows or threads are handled at a time, nor on the device that uses them. Blocks are
filled row by row: a smaller n sees the first rows of a larger one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from onegrad.arrays import Array, Floats, Ops
from onegrad.exceptions import InvalidInput
from onegrad.problem.laws import Law


class Role(IntEnum):
    """What a stream is for; stored results depend on these numbers, so they never change."""

    TEACHER = 0
    WEIGHTS = 1
    READOUT = 2
    STEP = 3
    RIDGE = 4
    TEST = 5
    DIRECTION = 6  # of a spiked covariance or of a mixture's centres
    ORDER = 7  # in which a user's rows are taken
    SIGN = 16  # with a role: on which side of a mixture its rows lie
    NOISE = 17  # with a role: the label noise of its rows
    CORRUPT = 18  # with a role: which of its labels are replaced
    REPLACE = 19  # with a role: by the labels of which inputs
    NORMALS = 20  # with a role: the independent part of the Gaussian equivalent


GAUSSIAN = Law("gaussian")
ENTRIES = ("gaussian", "rademacher", "uniform", "student-t")  # laws of independent entries

DEVICE_ENTRIES = ("gaussian", "rademacher", "uniform", "unit")  # those that a device draws
DEVICE_LAWS = (*DEVICE_ENTRIES, "power-law", "spiked", "mixture")  # and those made of them


def block_rows(width: int) -> int:
    """Rows that share a stream: 1,024, fewer for very long rows."""
    return max(16, min(1024, 2**23 >> max(width - 1, 1).bit_length()))


def stream(seed: int, *key: int) -> np.random.Generator:
    """The generator that (seed, key) names."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=key)))


def fill(rng: np.random.Generator, law: Law, out: Floats) -> None:
    """Independent entries of mean 0 and variance 1 by law (`unit`: uniform over [0, 1))."""
    if law.name == "gaussian":
        rng.standard_normal(out=out)
    elif law.name == "rademacher":
        out[...] = rng.integers(0, 2, out.shape, dtype=np.int8)
        out *= 2.0
        out -= 1.0
    elif law.name == "uniform":
        rng.random(out=out)
        out -= 0.5
        out *= math.sqrt(12)
    elif law.name == "unit":
        rng.random(out=out)
    else:
        assert law.name == "student-t" and law.parameter is not None
        out[...] = rng.standard_t(law.parameter, out.shape)
        out *= math.sqrt(1 - 2 / law.parameter)


def draw_on_device(
    ops: Ops,
    seeds: Sequence[int],
    law: Law,
    key: Sequence[int],
    start: int,
    rows: int,
    width: int,
) -> Array:
    """Return the entries that `fill` would make, from the device's own generator."""
    if law.name not in DEVICE_ENTRIES:
        raise InvalidInput("random", "device", problem=f"cannot draw {law.name}; use random='host'")
    drawn = ops.executor.draw(seeds, law.name == "gaussian", key, start, rows, width)
    if law.name == "rademacher":
        return (drawn < 0.5).to(drawn.dtype) * 2 - 1
    return (drawn - 0.5) * 12**0.5 if law.name == "uniform" else drawn
