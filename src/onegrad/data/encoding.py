"""From a table with names, text and missing values to a matrix of numbers, and back to names.

A column of numbers, truth values or dates becomes its numbers, missing ones replaced by the median,
and where any were missing a second column that says so. A column of text becomes one indicator for
each of its frequent values; where there are more values than that, also the statistics of their
targets (:mod:`onegrad.data.target_means`). Other values, and values never seen before, have no
indicator on. The kind that a column had when the encoding was learned decides how it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.data.kinds import KINDS, MISSING, ColumnType, converted, kind_of
from onegrad.data.sample import row_keys
from onegrad.data.table import Tabular, canonical, column_values, is_table
from onegrad.data.target_means import MAX_VALUES_WITH_MEANS, Codes, TargetMeans, folds_of
from onegrad.exceptions import InvalidInput, warn

MAX_INDICATORS = 64  # a value below the 64 most frequent shares "none of them"
FEW_WORDS = 0.05  # share of the values of a column of numbers that may be mistakes
OPEN = 0.05  # share of rows with a value of their own, above which new values are no news


@dataclass(frozen=True)
class SampleTargets:
    """What is known of the rows of a sample: coded targets, weights, the seed of their folds."""

    t: Floats
    w: Floats
    seed: int


@dataclass(frozen=True)
class Column:
    """One input column: its name, its kind, and its fill value or its categories.

    `categories` is None but for text; `fill` replaces missing numbers; `flag` says that the column
    had missing numbers and carries an indicator of them. `open` says that many rows had values of
    their own, such as names of people, so that values never seen are what one expects.
    """

    name: str
    categories: tuple[str, ...] | None = None
    fill: float = 0.0
    flag: bool = False
    kind: str = ""
    statistics: TargetMeans | None = None
    open: bool = False

    @property
    def column_type(self) -> ColumnType:
        """How the column is read in any table."""
        return ColumnType(
            self.kind or ("number" if self.categories is None else "text"), self.known
        )

    @property
    def known(self) -> tuple[str, ...]:
        """All values that mean something."""
        own = () if self.statistics is None else self.statistics.values
        return (*(self.categories or ()), *own)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the numbers that this column becomes."""
        if self.categories is None:
            return (self.name, f"{self.name} missing") if self.flag else (self.name,)
        indicators = tuple(f"{self.name}={value}" for value in self.categories)
        if self.statistics is None:
            return indicators
        K = self.statistics.outputs
        means = [f"{self.name} mean" if K == 1 else f"{self.name} mean {k}" for k in range(K)]
        return (*indicators, *means)

    def encoded(self, column: Any, folds: Codes | None) -> Floats:
        """(len(inputs), n) numbers of a column of the right kind."""
        if self.categories is not None:
            codes = codes_of(column, self.categories)
            indicators = np.asarray(codes == np.arange(len(self.categories))[:, None], np.float64)
            if self.statistics is None:
                return indicators
            means = self.statistics(codes_of(column, self.statistics.values), folds)
            return np.concatenate([indicators, means])
        values = column_values(column)
        missing = ~np.isfinite(values)
        filled = np.where(missing, self.fill, values)
        return np.stack([filled, missing] if self.flag else [filled])

    def unseen_values(self, column: Any) -> list[str]:
        """Values, one a row, that the encoding does not know; none where that is no news."""
        if self.categories is None or self.open:
            return []
        lost = codes_of(column, tuple(dict.fromkeys(self.known))) < 0
        return [str(value) for value in column_values(column)[lost]]


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

    def sum_by_column(self, values: Floats) -> Floats:
        """(columns,) sums of values (inputs,) over the inputs that each column becomes."""
        ends = np.cumsum([len(c.inputs) for c in self.columns])
        return np.array([part.sum() for part in np.split(values, ends[:-1])])

    @property
    def column_types(self) -> dict[str, ColumnType]:
        """How each column is read, for those who read the files."""
        return {c.name: c.column_type for c in self.columns}

    @classmethod
    def learn(cls, table: Tabular, known: SampleTargets | None = None) -> Encoding:
        """Learn fill values, categories and, where targets are known, statistics."""
        table = canonical(table)
        folds = None if known is None else folds_of(row_keys(table, None, known.seed))
        return cls(tuple(_column(name, table[name], known, folds) for name in table.column_names))

    def select(self, table: Tabular) -> Tabular:
        """These columns, in order, of a table that has them in any order and among others."""
        import pyarrow as pa

        missing = [name for name in self.names if name not in table.column_names]
        if missing:
            present = ", ".join(table.column_names)
            raise InvalidInput(f"column {missing[0]!r} is missing; the data have {present:.200}")
        columns = [converted(table[c.name], c.column_type, c.name) for c in self.columns]
        return pa.table(columns, names=list(self.names))

    def __call__(self, table: Tabular, folds: Codes | None = None) -> Floats:
        """(n, d) numbers; of rows whose target is known, with their folds."""
        table = self.select(table)
        pairs = zip(self.columns, table.columns, strict=True)
        return np.concatenate([c.encoded(column, folds) for c, column in pairs]).T

    def encode_training_rows(self, table: Tabular) -> Floats:
        """(n, d) numbers of rows that the readout learns from: no target is in its own inputs."""
        seeds = [c.statistics.seed for c in self.columns if c.statistics is not None]
        if not seeds:
            return self(table)
        table = self.select(table)
        return self(table, folds_of(row_keys(table, None, seeds[0])))

    def unseen_values(self, table: Tabular) -> dict[str, list[str]]:
        """By column, the values of rows that the encoding does not know."""
        table = self.select(table)
        pairs = zip(self.columns, table.columns, strict=True)
        found = {c.name: c.unseen_values(column) for c, column in pairs}
        return {name: values for name, values in found.items() if values}

    def to_list(self) -> list[dict[str, Any]]:
        """The columns as JSON values."""
        return [
            {
                "name": c.name,
                "kind": c.kind,
                "categories": c.categories,
                "fill": c.fill,
                "flag": c.flag,
                "open": c.open,
                "statistics": None if c.statistics is None else c.statistics.to_dict(),
            }
            for c in self.columns
        ]

    @classmethod
    def from_list(cls, columns: Sequence[Mapping[str, Any]]) -> Encoding:
        """The columns again; those of earlier versions had numbers and text alone."""
        return cls(tuple(map(_restored, columns)))


def _restored(c: Mapping[str, Any]) -> Column:
    given, statistics = c["categories"], c.get("statistics")
    kind = str(c.get("kind", "number" if given is None else "text"))
    if kind not in KINDS or (kind == "text") != (given is not None):
        raise InvalidInput(f"column {c['name']!r:.40} is of no known kind")
    return Column(
        str(c["name"]),
        None if given is None else tuple(map(str, given)),
        float(c["fill"]),
        bool(c["flag"]),
        kind,
        None if statistics is None else TargetMeans.from_dict(statistics),
        bool(c.get("open", False)),
    )


def codes_of(column: Any, values: Sequence[str]) -> Codes:
    """(n,) number of each text among the values, -1 where it is none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(pc.fill_null(column, MISSING), value_set=pa.array(values, pa.string()))
    return np.asarray(pc.fill_null(found, -1)).astype(np.intp)


def _column(name: str, column: Any, known: SampleTargets | None, folds: Codes | None) -> Column:
    kind = kind_of(column.type, name)
    if kind != "text":
        values = column_values(column)
        finite = values[np.isfinite(values)]
        fill = float(np.median(finite)) if len(finite) else 0.0
        return Column(name, None, fill, bool(len(finite) < len(values)), kind)
    counts = _counts(column)
    ranked = sorted(counts, key=lambda v: (-counts[v], v))
    categories = tuple(sorted(ranked[:MAX_INDICATORS]))
    if len(ranked) <= MAX_INDICATORS or known is None or folds is None:
        return Column(name, categories, kind=kind)
    _say_numbers(name, ranked)
    own = sum(count == 1 for count in counts.values())
    lasting = sorted(ranked[:MAX_VALUES_WITH_MEANS])
    codes = codes_of(column, lasting)
    statistics = TargetMeans.of(lasting, codes, known.t, known.w, folds, known.seed)
    many = own > OPEN * sum(counts.values())
    return Column(name, categories, kind=kind, statistics=statistics, open=many)


def _say_numbers(name: str, values: Sequence[str]) -> None:
    """Many different numbers and a few words are rarely codes: more often one entry is damaged."""
    words = [value for value in values if not is_number(value) and value != MISSING]
    if 0 < len(words) <= FEW_WORDS * len(values):
        warn(
            f"column {name!r} holds numbers and {words[0]!r:.40}: it is read as text of "
            f"{len(values)} values; if it is a number, mend it or leave that entry empty"
        )


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _counts(column: Any) -> dict[str, int]:
    import pyarrow.compute as pc

    pairs = pc.value_counts(pc.fill_null(column, MISSING)).to_pylist()
    return {pair["values"]: pair["counts"] for pair in pairs}


def encode(X: Tabular, encoding: Encoding | None, training: bool = False) -> Floats:
    """Rows as a float64 matrix: a table through its encoding, a matrix as it is.

    `known` are rows whose targets are among those learned from (see Encoding.encode_training_rows).
    """
    if encoding is None:
        if is_table(X):
            raise InvalidInput("the model was fitted on a matrix; give a matrix, not a table")
        return np.asarray(X, dtype=np.float64)
    if not is_table(X):
        raise InvalidInput("the model was fitted on named columns; give a table with their names")
    return encoding.encode_training_rows(X) if training else encoding(X)
