"""A store as one tidy table: one row per seed and point, one column per field and quantity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.exceptions import check_choice
from onegrad.experiments.results import points_of
from onegrad.experiments.store import Record, Store
from onegrad.experiments.store_file import StoreError
from onegrad.io.files import atomic_write

FORMATS = ("csv", "parquet")


def export_rows(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield one row per seed and point; a quantity with further axes gives its mean over them."""
    for record in records:
        cell, by = record.cell, record.provenance
        for point in points_of(cell, record.values):
            first: dict[str, Any] = {"key": cell.key, "measure": cell.measure, **dict(cell.options)}
            first |= point.problem.to_dict()
            last: dict[str, Any] = {"version": by.version, "commit": by.commit, "dtype": by.dtype}
            last |= {"device": by.device, "seconds": by.seconds}
            for i in range(cell.seeds) if point.seeded else (None,):
                seed = None if i is None else cell.first_seed + i
                values = {
                    name: float(np.mean(array if i is None else array[i]))
                    for name, array in point.values.items()
                }
                yield first | {"seed": seed} | values | last


def export(store: Store, target: Path, file_format: str) -> int:
    """Write the table and return the number of its rows."""
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
