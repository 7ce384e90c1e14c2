"""Rows of inputs, as a matrix of numbers or as an Arrow table with names and types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Tabular = Any  # a numpy matrix (n, d) or a pyarrow.Table
Values = np.ndarray[Any, Any]


def is_table(X: Tabular) -> bool:
    """Whether X is an Arrow table; pyarrow is never imported for the question."""
    return not isinstance(X, np.ndarray) and hasattr(X, "column_names")


def take(X: Tabular, rows: Values) -> Tabular:
    """The rows with these numbers."""
    return X.take(rows) if is_table(X) else X[rows]


def concatenate(parts: Sequence[Tabular]) -> Tabular:
    """Rows of several blocks, one below the other."""
    if not is_table(parts[0]):
        return np.concatenate(parts)
    import pyarrow as pa

    return pa.concat_tables(parts, promote_options="permissive")


def columns(X: Tabular) -> Iterator[Values]:
    """Each column as a NumPy array: float64 with NaN for missing, or objects with None."""
    if is_table(X):
        for column in X.columns:
            yield column_values(column)
    else:
        yield from (X[:, j] for j in range(X.shape[1]))


def is_numeric(column: Any) -> bool:
    """Whether an Arrow column holds numbers, truth values or points in time."""
    import pyarrow.types as t

    kind = column.type
    return bool(
        t.is_integer(kind)
        or t.is_floating(kind)
        or t.is_decimal(kind)
        or t.is_boolean(kind)
        or t.is_null(kind)
        or t.is_temporal(kind)
    )


def column_values(column: Any) -> Values:
    """An Arrow column as float64 (missing: NaN) where it is numeric, else text (missing: None)."""
    import pyarrow as pa
    import pyarrow.types as t

    if not is_numeric(column):
        if t.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        values = np.array(column.to_pylist(), dtype=object)
        return np.array([None if v is None else str(v) for v in values], dtype=object)
    if t.is_temporal(column.type):  # dates and times as whole numbers of their unit
        narrow = t.is_date32(column.type) or t.is_time32(column.type)
        column = column.cast(pa.int32() if narrow else pa.int64())
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
