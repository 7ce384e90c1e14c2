"""Numbers as tables: a store, the points behind a figure, its checks."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.arrays import standard_error
from onegrad.exceptions import check_choice
from onegrad.experiments.checks import Check
from onegrad.experiments.results import Results, points_of
from onegrad.experiments.store import Record, Store
from onegrad.experiments.store_file import StoreError
from onegrad.io.files import atomic_write

FORMATS = ("csv", "parquet")
MAX_ENTRIES = 1000  # of an array in a figure's table; larger ones, such as paths, stay in the store


def export_rows(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield one row per seed and point; a quantity with further axes gives its mean over them."""
    for record in records:
        cell, by = record.cell, record.provenance
        start = {"key": cell.key, "measure": cell.measure, **dict(cell.options)}
        end: dict[str, Any] = {"version": by.version, "commit": by.commit, "dtype": by.dtype}
        end |= {"device": by.device, "seconds": by.seconds}
        for point in points_of(cell, record.values):
            for i in range(cell.seeds) if point.seeded else (None,):
                seed = None if i is None else cell.first_seed + i
                values = {
                    name: float(np.mean(array if i is None else array[i]))
                    for name, array in point.values.items()
                }
                yield start | point.problem.to_dict() | {"seed": seed} | values | end


def export(store: Store, target: Path, file_format: str) -> int:
    """Write a store as one table and return the number of its rows."""
    check_choice("format", file_format, FORMATS)
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    data = list(export_rows(store.records()))
    columns = list(dict.fromkeys(name for row in data for name in row))
    table = pyarrow.table({name: [row.get(name) for row in data] for name in columns})
    write = pyarrow.csv.write_csv if file_format == "csv" else pyarrow.parquet.write_table
    try:
        with atomic_write(target) as file:
            write(table, file)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error}") from None
    return len(data)


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
