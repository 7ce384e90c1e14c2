"""From a table with names, text and missing values to a matrix of numbers, and back to names.

A numeric column becomes its numbers, missing ones replaced by the median, and where any were
missing a second column that says so. Any other column becomes one indicator for each of its
frequent values; other values, and values never seen before, have no indicator on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.table import Tabular, column_values, is_numeric, is_table
from onegrad.errors import InvalidInput

MOST_CATEGORIES = 64  # a value below the 64 most frequent shares "none of them"


@dataclass(frozen=True)
class Column:
    """One input column: its name, and its fill value or its categories.

    `categories` is None for a numeric column; `fill` replaces missing numbers; `flag` says that
    the column had missing numbers and carries an indicator of them.
    """

    name: str
    categories: tuple[str, ...] | None = None
    fill: float = 0.0
    flag: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the numbers that this column becomes."""
        if self.categories is not None:
            return tuple(f"{self.name}={value}" for value in self.categories)
        return (self.name, f"{self.name} missing") if self.flag else (self.name,)

    def encoded(self, column: Any) -> Floats:
        """(len(inputs), n) numbers."""
        values = column_values(column)
        if self.categories is not None:
            known = np.array(self.categories)[:, None]
            return np.asarray(values.astype(str) == known, dtype=np.float64)
        if not is_numeric(column):
            raise InvalidInput(f"column {self.name!r} was numeric when fitted and is now text")
        missing = ~np.isfinite(values)
        filled = np.where(missing, self.fill, values)
        return np.stack([filled, missing] if self.flag else [filled])


@dataclass(frozen=True)
class Encoding:
    """The columns of a table, by name and in order."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the table's columns."""
        return tuple(c.name for c in self.columns)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the matrix's columns."""
        return tuple(name for c in self.columns for name in c.inputs)

    @classmethod
    def of(cls, table: Tabular) -> Encoding:
        """Learn fill values and categories from the rows of a table."""
        return cls(tuple(_column(name, table[name]) for name in table.column_names))

    def __call__(self, table: Tabular) -> Floats:
        """(n, d) numbers of a table that has these columns, in any order and among others."""
        missing = [name for name in self.names if name not in table.column_names]
        if missing:
            present = ", ".join(table.column_names)
            raise InvalidInput(f"column {missing[0]!r} is missing; the data have {present:.200}")
        return np.concatenate([c.encoded(table[c.name]) for c in self.columns]).T

    def to_list(self) -> list[dict[str, Any]]:
        """The columns as JSON values."""
        return [asdict(c) for c in self.columns]

    @classmethod
    def from_list(cls, columns: Sequence[Mapping[str, Any]]) -> Encoding:
        return cls(
            tuple(
                Column(
                    str(c["name"]),
                    None if c["categories"] is None else tuple(map(str, c["categories"])),
                    float(c["fill"]),
                    bool(c["flag"]),
                )
                for c in columns
            )
        )


def _column(name: str, column: Any) -> Column:
    values = column_values(column)
    if is_numeric(column):
        finite = values[np.isfinite(values)]
        fill = float(np.median(finite)) if len(finite) else 0.0
        return Column(name, fill=fill, flag=bool(len(finite) < len(values)))
    counts = Counter(values.astype(str).tolist())
    frequent = sorted(counts, key=lambda v: (-counts[v], v))[:MOST_CATEGORIES]
    return Column(name, categories=tuple(sorted(frequent)))


def encoded(X: Tabular, encoding: Encoding | None) -> Floats:
    """Rows as a float64 matrix: a table through its encoding, a matrix as it is."""
    if encoding is None:
        if is_table(X):
            raise InvalidInput("the model was fitted on a matrix; give a matrix, not a table")
        return np.asarray(X, dtype=np.float64)
    if not is_table(X):
        raise InvalidInput("the model was fitted on named columns; give a table with their names")
    return encoding(X)
