"""Rows of inputs, as a matrix of numbers or as an Arrow table with names and kinds."""

from __future__ import annotations

import datetime
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onegrad.data.kinds import KINDS, MISSING, ColumnType, converted, kind_of
from onegrad.exceptions import InvalidInput

Tabular = Any  # a numpy matrix (n, d) or a pyarrow.Table
Values = np.ndarray[Any, Any]
MICRO = 1_000_000  # microseconds in a second


def is_table(X: Tabular) -> bool:
    """Whether X is an Arrow table; pyarrow is never imported for the question."""
    return not isinstance(X, np.ndarray) and hasattr(X, "column_names")


def is_frame(X: Any) -> bool:
    """Whether X has named columns: pandas, polars, pyarrow, or whatever speaks Arrow; a dict."""
    if isinstance(X, np.ndarray | list | tuple) or type(X).__module__.startswith("dask"):
        return False
    if type(X) is dict or type(X).__module__.startswith("polars"):
        return hasattr(X, "items") or hasattr(X, "lazy")
    return is_table(X) or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def as_table(X: Any) -> Any:
    """A frame as an Arrow table; the index of a pandas frame is no column."""
    import pyarrow as pa

    try:
        if isinstance(X, pa.Table | pa.RecordBatch):
            table = pa.table(X)
        elif isinstance(X, dict):
            table = pa.table({str(name): values for name, values in X.items()})
        elif type(X).__module__.startswith("pandas") or hasattr(X, "iloc"):
            columns = [_pandas_column(X.iloc[:, j]) for j in range(X.shape[1])]
            table = pa.table(columns, names=[str(name) for name in X.columns])
        else:
            frame = X.collect() if hasattr(X, "collect") else X  # a lazy one of polars
            table = frame.to_arrow() if hasattr(frame, "to_arrow") else pa.table(frame)
    except InvalidInput:
        raise
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInput(f"not a table: {' '.join(str(error).split()):.150}") from None
    check_unique_names(table.column_names)
    return table


def _pandas_column(column: Any) -> Any:
    """An Arrow array; where values of several types are mixed they are text."""
    import pyarrow as pa

    if column.dtype.kind == "c":
        raise InvalidInput(f"column {column.name!r} holds complex numbers")
    if hasattr(column, "sparse"):
        column = column.sparse.to_dense()
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        given = [None if gap else v for gap, v in zip(column.isna(), column, strict=True)]
        if all(isinstance(v, numbers.Real | None) for v in given):
            return pa.array([None if v is None else float(v) for v in given])
        return pa.array([None if v is None else _text(v, column.name) for v in given])


def _text(value: Any, name: Any) -> str:
    """A value among others of other types, as text."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, str | numbers.Number | np.generic | datetime.date):
        return str(value)
    raise InvalidInput(f"column {name!r} holds {type(value).__name__} objects among others")


def check_unique_names(names: Sequence[str], where: str = "") -> None:
    """Names that come once each; else the complaint."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInput(f"{where}column {twice[0]!r} comes twice; names must differ")


def canonical(table: Any, column_types: Mapping[str, ColumnType] | None = None) -> Any:
    """The table with the one type of each column's kind, or of the kind that is asked for."""
    import pyarrow as pa

    column_types = column_types or {}
    names = table.column_names
    missing = [name for name in column_types if name not in names]
    if missing:
        raise InvalidInput(
            f"column {missing[0]!r} is missing; the data have {', '.join(names):.200}"
        )
    columns = [converted(table[name], column_types.get(name), name) for name in names]
    return pa.table(columns, names=names)


def kinds(schema: Any) -> dict[str, str]:
    """The kind of each column of an Arrow schema; the empty kind of columns without any value."""
    import pyarrow.types as t

    return {f.name: "" if t.is_null(f.type) else kind_of(f.type, f.name) for f in schema}


def take_rows(X: Tabular, rows: Values) -> Tabular:
    """The rows with these numbers."""
    return X.take(rows) if is_table(X) else X[rows]


def concatenate(parts: Sequence[Tabular]) -> Tabular:
    """Rows of several blocks, one below the other."""
    if not is_table(parts[0]):
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise InvalidInput(
                f"blocks of inputs have {', '.join(map(str, sorted(widths)))} columns"
            )
        return np.concatenate(parts)
    import pyarrow as pa

    first = parts[0]
    return pa.concat_tables([first, *(_like(first, part) for part in parts[1:])])


def _like(first: Any, other: Any) -> Any:
    """Another table in the order of the first; nothing missing, nothing more, the same kinds."""
    differs = set(first.column_names) ^ set(other.column_names)
    if differs:
        raise InvalidInput(f"column {min(differs)!r} is in some blocks of the data, not in all")
    other = other.select(first.column_names)
    for a, b in zip(first.schema, other.schema, strict=True):
        if a.type != b.type:
            both = " and ".join(KINDS[kind_of(f.type, f.name)] for f in (a, b))
            raise InvalidInput(f"column {a.name!r} holds {both} in different blocks of the data")
    return other


def is_text(column: Any) -> bool:
    """Whether an Arrow column of one of the types of KINDS is text."""
    import pyarrow.types as t

    return bool(t.is_string(column.type))


def distinct_texts(column: Any) -> tuple[list[str], Values]:
    """The distinct values of a column of text, and the number of each row's among them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.fill_null(column, MISSING)
    encoded = pa.chunked_array(filled).combine_chunks().dictionary_encode()
    try:
        return encoded.dictionary.to_pylist(), np.asarray(encoded.indices)
    except UnicodeDecodeError:
        raise InvalidInput("a column of text is not UTF-8") from None


def column_values(column: Any) -> Values:
    """A column of one of the types of KINDS as float64 (missing: NaN), or as text."""
    import pyarrow as pa
    import pyarrow.types as t

    if is_text(column):
        values, codes = distinct_texts(column)
        return np.array(values, dtype=object)[codes]
    if t.is_temporal(column.type):
        return _seconds(column)
    return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)


def _seconds(column: Any) -> Values:
    """Whole seconds and the rest apart: the same number from every unit that holds the instant."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gaps = np.asarray(pc.is_null(column))
    count = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    whole, rest = np.divmod(count, MICRO)
    return np.where(gaps, np.nan, whole + rest / MICRO)
