r"""Encoding of a table with names, text and missing values as a matrix of numbers.

A column of numbers, truth values or dates becomes its numbers, missing ones replaced by the median,
and where any were missing a second column that flags them. A column of text becomes one indicator
per frequent value; where there are more values than that, also the mean targets of its values:
target encoding, one number per output. Other values, and values never seen before, have no
indicator set. The kind that a column had when the encoding was learned decides how it is read.

.. math:: s(v) = \frac{\sum_{i: v_i = v} w_i t_i + m\,\bar t}{\sum_{i: v_i = v} w_i + m}

for each frequent value v; other values have the mean of all targets. Rows fall into folds by a hash
of their inputs. A row that is learned from gets the mean over the *other* folds, so that no target
explains itself (scikit-learn's TargetEncoder calls it cross fitting); a row to be predicted gets
that over all folds. The fold does not depend on the target: else rows that differ in nothing else
would show theirs by their fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput
from onegrad.tables.rows.kinds import KINDS, NONE, ColumnType, kind_of
from onegrad.tables.rows.likely_mistakes import (
    warn_of_infinities,
    warn_of_words_among_numbers,
    warn_of_written_numbers,
)
from onegrad.tables.rows.sample import row_keys
from onegrad.tables.rows.table import Tabular, column_values, convert_columns, is_table

# Per column: a less frequent value has no indicator of its own. Mean targets beside or instead of
# the indicators of fewer values cost 1 to 2 % of log-loss on six tables (docs/real_data.md).
MAX_INDICATORS = 64
FOLDS = 5  # as many as scikit-learn's TargetEncoder has
MAX_VALUES_WITH_MEANS = 4096  # bounds the tables of sums in a model's file; not tuned
TINY = 1e-300  # against division by zero

Codes = np.ndarray[Any, np.dtype[np.intp]]
Category = str | None  # None: a missing value


@dataclass(frozen=True)
class TargetMeans:
    """Sums over the rows of a sample, by fold and value."""

    values: tuple[Category, ...]  # that have a mean of their own, in order
    weights: Floats  # (folds, values) sums of weights
    sums: Floats  # (folds, values, K) sums of weighted targets
    mean: Floats  # (K,) mean of the targets of all rows
    strength: float  # m, how many rows the mean of all targets counts for

    @property
    def outputs(self) -> int:
        return len(self.mean)

    @cached_property
    def table(self) -> Floats:
        """(folds + 1, values + 1, K) means without each fold, then over all; other values last."""
        weights = self.weights.sum(0) - np.concatenate([self.weights, 0 * self.weights[:1]])
        sums = self.sums.sum(0) - np.concatenate([self.sums, 0 * self.sums[:1]])
        means = (sums + self.strength * self.mean) / (weights + self.strength)[:, :, None]
        other_values = np.broadcast_to(self.mean, (len(means), 1, self.outputs))
        return np.concatenate([means, other_values], 1)

    def __call__(self, codes: Codes, folds: Codes | None) -> Floats:
        """(K, n) means of values by their number in `values`, -1 for others."""
        return self.table[FOLDS if folds is None else folds, codes].T  # -1 is the last

    @classmethod
    def of(
        cls, values: Sequence[Category], codes: Codes, t: Floats, w: Floats, folds: Codes
    ) -> TargetMeans:
        """Sum over rows with these values (by number, -1 for others), targets, weights, folds."""
        frequent = codes >= 0
        V, K = len(values), t.shape[1]
        cell = (folds * V + codes)[frequent]
        weights = np.bincount(cell, w[frequent], FOLDS * V).reshape(FOLDS, V).astype(float)
        per_output = [np.bincount(cell, (w * t[:, k])[frequent], FOLDS * V) for k in range(K)]
        sums = np.stack(per_output, 1).reshape(FOLDS, V, K).astype(float)
        mean = w @ t / w.sum()
        squares = w[frequent] @ (t[frequent] - mean) ** 2
        strength = _strength(weights.sum(0), sums.sum(0), mean, squares)
        return cls(tuple(values), weights, sums, mean, strength)

    @classmethod
    def from_dict(cls, json_values: Mapping[str, Any]) -> TargetMeans:
        """Return the sums of JSON values, in the shapes that they must have."""
        arrays = (np.array(json_values[name], np.float64) for name in ("weights", "sums", "mean"))
        weights, sums, mean = arrays
        values = _categories(json_values["values"])
        return cls(
            values,
            weights.reshape(FOLDS, len(values)),
            sums.reshape(FOLDS, len(values), len(mean)),
            mean,
            float(json_values["strength"]),
        )


def folds_of(keys: np.ndarray[Any, np.dtype[np.uint64]]) -> Codes:
    """(n,) the fold of each row, by its key."""
    return (keys % np.uint64(FOLDS)).astype(np.intp)


def _strength(weights: Floats, sums: Floats, mean: Floats, squares: Floats) -> float:
    """Return the variance within values over that between them, of all outputs together.

    With the true ratio a shrunk mean is the best linear prediction of its value's own. Estimated
    from few rows the ratio can be anything: it is held within 1 to 1000 rows.
    """
    between = ((sums - weights[:, None] * mean) ** 2 / np.maximum(weights, TINY)[:, None]).sum()
    total = weights.sum()
    freedom = max(total - len(weights), 1.0)
    within = max(squares.sum() - between, 0.0) / freedom
    spread = (between - len(weights) * within) / max(total, TINY)
    return float(np.clip(within / spread if spread > 0 else np.inf, 1.0, 1000.0))


@dataclass(frozen=True)
class ColumnEncoding:
    """One input column: its name, its kind, and its fill value or its categories."""

    name: str
    kind: str
    # the values with an indicator, None for missing ones; None if it is not text
    categories: tuple[Category, ...] | None = None
    fill: float = 0.0  # replaces missing numbers
    flag: bool = False  # whether an indicator of missing numbers follows
    target_means: TargetMeans | None = None  # of text with more values than indicators
    # whether many rows had values of their own, such as names: new values are no surprise
    open: bool = False

    @property
    def values(self) -> tuple[Category, ...]:
        """All values that the encoding tells apart from others."""
        with_means = () if self.target_means is None else self.target_means.values
        return (*(self.categories or ()), *with_means)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the numbers that this column becomes."""
        if self.categories is None:
            return (self.name, f"{self.name} missing") if self.flag else (self.name,)
        indicators = tuple(
            f"{self.name} missing" if value is None else f"{self.name}={value}"
            for value in self.categories
        )
        K = 0 if self.target_means is None else self.target_means.outputs
        means = [f"{self.name} mean" if K == 1 else f"{self.name} mean {k}" for k in range(K)]
        return (*indicators, *means)

    def encode(self, column: Any, folds: Codes | None) -> Floats:
        """(len(inputs), n) numbers of a column in the type of its kind."""
        if self.categories is not None:
            codes = codes_of(column, self.categories)
            indicators = (codes == np.arange(len(self.categories))[:, None]).astype(np.float64)
            if self.target_means is None:
                return indicators
            means = self.target_means(codes_of(column, self.target_means.values), folds)
            return np.concatenate([indicators, means])
        values = column_values(column)
        missing = ~np.isfinite(values)
        filled = np.where(missing, self.fill, values)
        return np.stack([filled, missing] if self.flag else [filled])

    def count_gaps(self, column: Any) -> int:
        """Return the number of infinities, and of gaps where the rows of the fit had none."""
        if self.categories is not None:
            return 0
        values = column_values(column)
        return int(np.isinf(values).sum() if self.flag else (~np.isfinite(values)).sum())

    def unseen_values(self, column: Any) -> list[str]:
        """Return the values, one per row, that are new; none where new values are expected."""
        if self.categories is None or self.open:
            return []
        unseen = codes_of(column, tuple(dict.fromkeys(self.values))) < 0
        return [str(value) for value in column_values(column)[unseen]]


@dataclass(frozen=True)
class Encoding:
    """The columns of a table, by name and in order."""

    columns: tuple[ColumnEncoding, ...]

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
        """The type that each column is read as."""
        return {
            c.name: ColumnType(c.kind, tuple(v for v in c.values if v is not None))
            for c in self.columns
        }

    @classmethod
    def learn(
        cls, table: Tabular, t: Floats | None = None, w: Any = None, seed: int = 0
    ) -> Encoding:
        """Learn fill values, categories and, with targets t of weights w, mean targets of values.

        `seed` is that of the keys that make the folds.
        """
        table, means = convert_columns(table), None
        if t is not None:
            folds = folds_of(row_keys(table, None, seed))
            means = partial(TargetMeans.of, t=t, w=w, folds=folds)
        return cls(tuple(_learn_column(name, table[name], means) for name in table.column_names))

    def select(self, table: Tabular) -> Tabular:
        """Return these columns, in order, of a table that has them in any order among others."""
        return convert_columns(table, self.column_types, only=True)

    def __call__(self, table: Tabular, seed: int | None = None) -> Floats:
        """(n, d) numbers; of rows to learn from, no row's target is among its own inputs.

        These rows come with the seed that `learn` had.
        """
        table, folds = self.select(table), None
        if seed is not None and any(c.target_means is not None for c in self.columns):
            folds = folds_of(row_keys(table, None, seed))
        return np.concatenate([c.encode(values, folds) for c, values in self.pairs(table)]).T

    def pairs(self, table: Tabular) -> Iterator[tuple[ColumnEncoding, Any]]:
        """Return the encodings with their columns of a table, in the type of their kind."""
        return zip(self.columns, self.select(table).columns, strict=True)

    @classmethod
    def from_list(cls, columns: Sequence[Mapping[str, Any]]) -> Encoding:
        """Return the encoding of JSON values."""
        return cls(tuple(map(_column_from_json, columns)))


def _column_from_json(values: Mapping[str, Any]) -> ColumnEncoding:
    name, kind = str(values["name"]), str(values["kind"])
    categories, means = values["categories"], values["target_means"]
    if kind not in KINDS or (kind == "text") != (categories is not None):
        raise InvalidInput("column", name, problem="has a kind that does not exist")
    return ColumnEncoding(
        name,
        kind,
        None if categories is None else _categories(categories),
        float(values["fill"]),
        bool(values["flag"]),
        None if means is None else TargetMeans.from_dict(means),
        bool(values["open"]),
    )


def _categories(values: Sequence[Any]) -> tuple[Category, ...]:
    return tuple(None if value is None else str(value) for value in values)


def in_order(value: Category) -> tuple[str, bool]:
    """Return the sort key of a category: a missing value stands beside the text "None"."""
    return (NONE, False) if value is None else (value, True)


def codes_of(column: Any, values: Sequence[Category]) -> Codes:
    """(n,) number of each text among the values, -1 where it is none of them."""
    codes = pc.index_in(column, value_set=pa.array(values, pa.string()))
    return np.asarray(pc.fill_null(codes, -1)).astype(np.intp)


def _learn_column(
    name: str, column: Any, means_of: Callable[..., TargetMeans] | None
) -> ColumnEncoding:
    kind = kind_of(column.type, name)
    if kind != "text":
        values = column_values(column)
        finite = values[np.isfinite(values)]
        warn_of_infinities(name, values)
        fill = float(np.median(finite)) if len(finite) else 0.0
        return ColumnEncoding(name, kind, fill=fill, flag=len(finite) < len(values))
    pairs = pc.value_counts(column).to_pylist()
    counts = {pair["values"]: pair["counts"] for pair in pairs}
    # equally frequent values by name: the order of the rows must not matter
    ranked = sorted(counts, key=lambda value: (-counts[value], in_order(value)))
    texts = [value for value in ranked if value is not None]
    warn_of_written_numbers(name, texts)
    categories = tuple(sorted(ranked[:MAX_INDICATORS], key=in_order))
    if len(ranked) <= MAX_INDICATORS or means_of is None:
        return ColumnEncoding(name, kind, categories)
    warn_of_words_among_numbers(name, texts)
    frequent = sorted(ranked[:MAX_VALUES_WITH_MEANS], key=in_order)
    means = means_of(frequent, codes_of(column, frequent))
    # decides warnings alone: where a twentieth of the rows have values of their own, so will others
    is_open = sum(count == 1 for count in counts.values()) > 0.05 * len(column)
    return ColumnEncoding(name, kind, categories, target_means=means, open=is_open)


def encode(X: Tabular, encoding: Encoding | None, seed: int | None = None) -> Floats:
    """Return rows as a float64 matrix: a table through its encoding, a matrix as it is.

    `seed` is that of the encoding, for rows whose targets are learned from.
    """
    if encoding is None:
        if is_table(X):
            raise InvalidInput("X", problem="the model was fitted on a matrix; pass a matrix")
        return np.asarray(X, dtype=np.float64)
    if not is_table(X):
        problem = "the model was fitted on named columns; pass a table with these names"
        raise InvalidInput("X", problem=problem)
    return encoding(X, seed)


def input_names(encoding: Encoding | None, inputs: int) -> list[str]:
    """Return the names of encoded inputs; x0, x1, … of a matrix."""
    return [f"x{j}" for j in range(inputs)] if encoding is None else list(encoding.inputs)
