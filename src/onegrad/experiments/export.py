"""A store as one tidy table: a row per seed and point, a column per field and quantity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.exceptions import check_choice
from onegrad.experiments.results import points_of
from onegrad.experiments.store import Record, Store, StoreError
from onegrad.io.files import atomic_write

FORMATS = ("csv", "parquet")


def rows(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """One row per seed and point; a quantity with further axes gives its mean over them."""
    for record in records:
        cell, by = record.cell, record.provenance
        for point in points_of(cell, record.values):
            start: dict[str, Any] = {"key": cell.key, "measure": cell.measure, **dict(cell.options)}
            start |= point.problem.to_dict()
            end: dict[str, Any] = {"version": by.version, "commit": by.commit, "dtype": by.dtype}
            end |= {"device": by.device, "seconds": by.seconds}
            for i in range(cell.seeds) if point.seeded else (None,):
                seed = None if i is None else cell.first_seed + i
                found = point.values.items()
                values = {name: float(np.mean(v if i is None else v[i])) for name, v in found}
                yield start | {"seed": seed} | values | end


def export(store: Store, target: Path, form: str) -> int:
    """Write the table; the number of its rows."""
    check_choice("format", form, FORMATS)
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    data = list(rows(store.records()))
    columns = list(dict.fromkeys(name for row in data for name in row))
    table = pyarrow.table({name: [row.get(name) for row in data] for name in columns})
    write = pyarrow.csv.write_csv if form == "csv" else pyarrow.parquet.write_table
    try:
        with atomic_write(target) as file:
            write(table, file)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written: {error}") from None
    return len(data)
