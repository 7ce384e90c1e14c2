"""The numbers behind a figure, and its checks, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.checks import Check
from onegrad.experiments.results import Results
from onegrad.io.files import atomic_write

MAX_ENTRIES = 1000  # of an array; larger ones, such as paths, stay in the store


def point_rows(results: Results) -> Iterator[dict[str, Any]]:
    """Yield one row per point and quantity, or per entry `quantity[i,j]` of an array."""
    for grid in results:
        for point in results[grid]:
            start = {"grid": grid} | point.problem.to_dict()
            for quantity, values in point.values.items():
                entries = values.shape[1:] if point.seeded else values.shape
                if np.prod(entries, dtype=int) > MAX_ENTRIES:
                    continue
                for index in np.ndindex(entries):
                    x = values[(slice(None), *index)] if point.seeded else values[index]
                    name = f"{quantity}[{','.join(map(str, index))}]" if index else quantity
                    se = standard_error(x) if point.seeded else None
                    row = {"quantity": name, "mean": float(np.mean(x)), "se": se}
                    yield start | row | {"seeds": point.seeds}


def check_rows(checks: Iterable[Check]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the verification table."""
    for check in checks:
        scores = {"z": check.z, "z_beyond_accuracy": check.z_beyond, "holds": check.holds}
        yield check.__dict__ | scores


def write_csv(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows that share their columns; an empty table is not written."""
    table = list(rows)
    if table:
        with atomic_write(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
            writer = csv.DictWriter(text, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
