"""Numbers as tables: a store, the points behind a figure, its checks."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.cell import Cell
from onegrad.experiments.checks import Check, Headline, location
from onegrad.experiments.results import Results, points_of
from onegrad.experiments.store import Record, Store
from onegrad.io.files import atomic_write

MAX_ENTRIES = 1000  # of an array in a figure's table; larger ones, such as paths, stay in the store


def export(store: Store, grids: Mapping[str, Iterable[Cell]], whole_store: bool = False) -> Any:
    """Return the finished cells of grids as an Arrow table: one row per point and seed.

    A seed that several cells hold is counted once. The column `grid` names the grids that hold it,
    and is empty for cells of other grids, which are in the table with `whole_store` alone.
    """
    import pyarrow

    names: dict[str, list[str]] = {}
    for name, cells in grids.items():
        for cell in cells:
            names.setdefault(cell.key, []).append(name)
    rows: dict[Any, dict[str, Any]] = {}
    holders: dict[Any, set[str]] = {}  # the grids of each row
    for record in store.records(lambda key: whole_store or key in names):
        for point_and_seed, row in _export_rows(record):
            rows.setdefault(point_and_seed, row)
            holders.setdefault(point_and_seed, set()).update(names.get(record.cell.key, ()))
    data = [
        {"grid": ", ".join(name for name in grids if name in holders[key])} | row
        for key, row in rows.items()
    ]
    columns = dict.fromkeys(name for row in data for name in row)
    return pyarrow.table({name: [row.get(name) for row in data] for name in columns})


def _export_rows(record: Record) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield what tells each point and seed of a cell from others, and its row.

    A quantity with further axes gives its mean over them.
    """
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
            point_and_seed = (cell.measure, cell.options, cell.dtype, location(point.problem), seed)
            row = start | point.problem.to_dict() | {"seed": seed} | values | end
            yield point_and_seed, row


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


def headline_record(headline: Headline) -> dict[str, Any]:
    """Return a sentence with what decided it, as JSON values."""
    low, high = headline.interval
    text = {"sentence": headline.sentence, "quantity": headline.quantity, "value": headline.shown}
    return (
        text
        | {"low": low, "high": high, "holds_where": headline.condition}
        | {"holds": headline.holds}
    )


def write_csv(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows that share their columns; an empty table is not written."""
    table = list(rows)
    if table:
        with atomic_write(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
            writer = csv.DictWriter(text, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
