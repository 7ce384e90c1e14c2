"""Inputs as a matrix of numbers, or as an Arrow table whose columns have names and kinds."""

import datetime
import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as t
import scipy.sparse

from onegrad.exceptions import InvalidInput, closest
from onegrad.tables.rows.kinds import KINDS, ColumnType, convert, kind_of

Tabular = Any  # a numpy matrix (n, d) or a pyarrow.Table
Values = np.ndarray[Any, Any]


def is_table(X: Tabular) -> bool:
    """Return whether X is an Arrow table."""
    return not isinstance(X, np.ndarray) and hasattr(X, "column_names")


def is_columns(X: Any) -> bool:
    """Return whether X is a dict of columns; sparse matrices of keys are dicts, too."""
    return isinstance(X, dict) and not scipy.sparse.issparse(X)


def is_frame(X: Any) -> bool:
    """Return whether X has named columns: pandas, polars, pyarrow, anything of Arrow, a dict."""
    if isinstance(X, np.ndarray | list | tuple) or type(X).__module__.startswith("dask"):
        return False
    if is_columns(X) or type(X).__module__.startswith("polars"):
        return hasattr(X, "items") or hasattr(X, "lazy")
    return is_table(X) or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def as_table(X: Any) -> Any:
    """Return a frame as an Arrow table; the index of a pandas frame is not a column."""
    try:
        if isinstance(X, pa.Table | pa.RecordBatch):
            table = pa.table(X)
        elif is_columns(X):
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
        reason = " ".join(str(error).split())
        raise InvalidInput("X", problem=f"is not a table: {reason:.150}") from None
    check_unique_names(table.column_names)
    return table


def _pandas_column(column: Any) -> Any:
    """Return a pandas column as an Arrow array; values of mixed types become text."""
    if column.dtype.kind == "c":
        raise InvalidInput("column", column.name, problem="holds complex numbers")
    # Arrow has no sparse columns
    if hasattr(column, "sparse"):
        column = column.sparse.to_dense()
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        values = [None if gap else v for gap, v in zip(column.isna(), column, strict=True)]
        return mixed_column(values, column.name)


def mixed_column(values: Sequence[Any], name: Any) -> Any:
    """Return Python values, None where they are missing, as an Arrow array of numbers or text."""
    if all(isinstance(v, numbers.Real | None) for v in values):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array([None if v is None else _to_text(v, name) for v in values], pa.string())


def matrix_table(X: Values, names: Sequence[str]) -> Any:
    """Return a matrix as a table; entries of a matrix of objects or text keep what they are."""
    if X.dtype.kind in "fiub":
        return pa.table([np.ascontiguousarray(column) for column in X.T], names=list(names))
    columns = [_object_column(column, name) for column, name in zip(X.T, names, strict=True)]
    return pa.table(columns, names=list(names))


def _object_column(column: Values, name: str) -> Any:
    if column.dtype.kind in "US":  # a matrix that holds a text holds nothing else
        try:
            column = column.astype(np.float64)
        except ValueError:
            column = column.astype(str)
    # NaN, NaT and pandas.NA are not equal to themselves, or do not know
    values = [None if v is None or (v == v) is not True else v for v in column.tolist()]
    return mixed_column(values, name)


def _to_text(value: Any, name: Any) -> str:
    """Return a value from a column of mixed types as text."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, str | numbers.Number | np.generic | datetime.date):
        return str(value)
    problem = f"holds values of several types, among them {type(value).__name__} objects"
    raise InvalidInput("column", name, problem=problem)


def check_unique_names(names: Sequence[str], path: str = "") -> None:
    """Raise InvalidInput if a name occurs twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        where = f"{path}: column" if path else "column"
        raise InvalidInput(where, repeated[0], problem="occurs twice; names must be unique")


def missing_column(name: str, names: Sequence[str]) -> InvalidInput:
    """Return the exception for a column that a model or an encoding needs and the data lack."""
    problem = f"missing; the columns are {', '.join(names):.200}"
    return InvalidInput("column", name, problem=problem)


def not_a_column(argument: str, name: str, names: Sequence[str]) -> InvalidInput:
    """Return the exception for an argument that names a column which the data lack."""
    near = closest(name, names)
    return InvalidInput(argument, name, f"one of {', '.join(names):.200}", suggestion=near)


def convert_columns(
    table: Any, column_types: Mapping[str, ColumnType] | None = None, only: bool = False
) -> Any:
    """Return the table with each column in the type of its kind, or of the kind asked for.

    With `only`, the columns that are asked for, in their order.
    """
    column_types = column_types or {}
    for name in column_types:
        if name not in table.column_names:
            raise missing_column(name, table.column_names)
    names = list(column_types) if only else table.column_names
    columns = [convert(table[name], name, column_types.get(name)) for name in names]
    return pa.table(columns, names=names)


def slice_rows(X: Tabular | None, start: int, count: int) -> Tabular:
    """Return `count` rows from `start` on, without a copy; None of None."""
    if X is None:
        return None
    return X.slice(start, count) if is_table(X) else X[start : start + count]


def take_rows(X: Tabular | None, rows: Values) -> Tabular:
    """Return the rows with these numbers; None of None."""
    if X is None:
        return None
    return X.take(rows) if is_table(X) else X[rows]


def concatenate_rows(blocks: Sequence[Tabular]) -> Tabular:
    """Return the rows of several blocks, one below the other; None where one of them is."""
    first, *others = blocks
    if any(block is None for block in blocks):
        return None
    if not is_table(first):
        shapes = sorted({block.shape[1:] for block in blocks})
        if len(shapes) > 1:
            counts = " and ".join(str(*shape) for shape in shapes)
            raise InvalidInput("inputs", problem=f"some blocks of rows have {counts} columns")
        return np.concatenate(blocks)
    return pa.concat_tables([first, *(_in_order_of(first, other) for other in others)])


def _in_order_of(first: Any, other: Any) -> Any:
    """Return the other table in the column order of the first; names and kinds must agree."""
    names = set(first.column_names) ^ set(other.column_names)
    if names:
        raise InvalidInput("column", min(names), problem="is in some blocks of rows, not in all")
    other = other.select(first.column_names)
    for a, b in zip(first.schema, other.schema, strict=True):
        if a.type != b.type:
            kinds = " and ".join(KINDS[kind_of(f.type, f.name)].plural for f in (a, b))
            raise InvalidInput("column", a.name, problem=f"holds {kinds} in different blocks")
    return other


def is_text(column: Any) -> bool:
    """Return whether an Arrow column in the type of its kind is text."""
    return t.is_string(column.type)


def factorize(column: Any) -> tuple[list[str | None], Values]:
    """Return the distinct values of a column of text, and the number of each row's value.

    A missing value is None, which no text is.
    """
    encoded = pa.chunked_array(column).combine_chunks().dictionary_encode("encode")
    try:
        return encoded.dictionary.to_pylist(), np.asarray(encoded.indices)
    except UnicodeDecodeError:
        raise InvalidInput("inputs", problem="a column of text is not UTF-8") from None


def column_values(column: Any) -> Values:
    """Return a column in the type of its kind as float64 (missing: NaN) or text (missing: None)."""
    if is_text(column):
        values, codes = factorize(column)
        return np.array(values, dtype=object)[codes]
    if t.is_temporal(column.type):
        return _seconds(column)
    return column.cast(pa.float64()).to_numpy()


def _seconds(column: Any) -> Values:
    """Return seconds: one number from every unit that can hold the instant.

    Whole seconds and the rest are added: microseconds as one float would be rounded first.
    """
    missing = np.asarray(pc.is_null(column))
    count = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
    seconds, microseconds = np.divmod(count, 1_000_000)
    return np.where(missing, np.nan, seconds + microseconds / 1_000_000)
