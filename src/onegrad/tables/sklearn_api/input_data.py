"""Everything that may be passed as X: a matrix, a frame with names, a source of any size."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_sample_weight,
    _num_samples,
    check_consistent_length,
    validate_data,
)

from onegrad.arrays import Floats
from onegrad.exceptions import AssumptionWarning, InvalidInput, warn
from onegrad.tables.rows.encoding import Encoding, encode, input_names
from onegrad.tables.rows.sources import Source, source
from onegrad.tables.rows.table import as_table, is_columns, is_frame, is_table, matrix_table

# gaps and infinities are handled here, and sparse rows become dense a block at a time
MATRIX_CHECKS: dict[str, Any] = {
    "dtype": np.float64,
    "ensure_all_finite": False,
    "accept_sparse": "csr",
}

MIN_LARGEST_WEIGHT = 1e-150  # the square of a smaller one has fewer digits, or none


class UnknownValueWarning(AssumptionWarning):
    """A column holds values that the model has not seen."""


def is_source(X: Any) -> bool:
    """Return whether X is read block by block, and not validated as a matrix."""
    return isinstance(X, Source | str | Path) or type(X).__module__.startswith("dask")


def check_plain(**arrays: Any) -> None:
    """Refuse arrays that lose information when they become numbers: units, masks, field names."""
    for name, array in arrays.items():
        if np.ma.is_masked(array):
            problem = "it is masked; fill in the masked values, or drop those rows"
            raise InvalidInput(name, problem=problem)
    dtype = getattr(arrays["X"], "dtype", None)
    kind = getattr(dtype, "kind", "")
    if kind == "c":
        raise InvalidInput("X", problem=f"Complex data not supported; it holds {dtype}")
    if kind in ("m", "M", "V"):
        raise InvalidInput("X", problem=f"it holds {dtype}, not numbers; give a table for dates")


# -- rows to learn from --------------------------------------------------------------------------


def first_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    """Return the rows of a fit; the names of their columns become the estimator's."""
    # of an earlier fit, whose columns may have had names where these have none
    for name in ("feature_names_in_", "_fitted_on_frame_"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    check_plain(X=X, y=y, sample_weight=sample_weight)
    categorical = estimator.categorical_features
    if is_source(X):
        names = () if categorical is None else categorical
        if any(not isinstance(name, str) for name in names):
            allowed = "names of columns where X is a source"
            raise InvalidInput("categorical_features", categorical, allowed)
        return source(X, y, sample_weight).aligned(names)
    if is_frame(X):
        table = as_table(X)
        estimator.feature_names_in_ = np.array(table.column_names, dtype=object)
        estimator.n_features_in_ = table.num_columns
        estimator._fitted_on_frame_ = True
    else:
        X = _matrix(estimator, X, reset=True)
        if issparse(X) or (categorical is None and X.dtype != object and np.isfinite(X).all()):
            return _with_targets(estimator, X, y, sample_weight)
        table = matrix_table(X, input_names(None, X.shape[1]))
    names = column_names(categorical, table.column_names)
    return _with_targets(estimator, table, y, sample_weight).aligned(names)


def split_rows(learn_from: Any, *arrays: Any) -> tuple[list[Any], list[Any] | None]:
    """Return the rows of (X, y, weights) to learn from and the others, None where there are none.

    They are separated before they are read: how one is read does not depend on the other.
    """
    X, *_ = arrays
    if is_source(X):
        problem = "X is a source, whose rows have no numbers; give a matrix or a table"
        raise InvalidInput("learn_from", problem=problem)
    rows = next(iter(X.values()), ()) if is_columns(X) else X
    n = _num_samples(rows)
    mask = np.zeros(n, bool)
    with suppress(IndexError):  # a mask of another length, numbers that are none
        mask[np.asarray(learn_from)] = True
    if not mask.any():
        allowed = f"a mask of {n} rows or numbers of rows below {n}, at least one"
        raise InvalidInput("learn_from", allowed=allowed)
    check_consistent_length(rows, *arrays[1:])
    parts = [[_take(each, np.flatnonzero(side)) for each in arrays] for side in (mask, ~mask)]
    return parts[0], None if mask.all() else parts[1]


def _take(rows: Any, numbers: Any) -> Any:
    """Return the rows with these numbers, of anything that may be passed as X, y or weights."""
    if rows is None:
        return None
    if is_columns(rows):
        return {name: _take(column, numbers) for name, column in rows.items()}
    if is_table(rows):
        return rows.take(numbers)
    return _safe_indexing(rows.tocsr() if issparse(rows) else rows, numbers)


def more_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    """Return further rows for a fitted estimator."""
    check_plain(X=X, y=y, sample_weight=sample_weight)
    sample_weight = in_units(sample_weight, estimator.fitted_.weight_unit)
    encoding: Encoding | None = estimator.fitted_.encoding
    rows = _as_fitted(estimator, X, encoding)
    if is_source(X):
        return with_learned_types(source(rows, y, sample_weight), encoding)
    if encoding is not None:
        warn(*UnknownValues().count(encoding, rows).warnings)
    return with_learned_types(_with_targets(estimator, rows, y, sample_weight), encoding)


def _matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a matrix as scikit-learn checks it; one that holds text as objects."""
    if not holds_text(X):
        return validate_data(estimator, X, reset=reset, **MATRIX_CHECKS)
    X = np.asarray(X, dtype=object)
    _check_n_features(estimator, X, reset=reset)
    return X


def _with_targets(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    """Return a matrix or a table with targets and weights beside it, as a source."""
    if not all(X.shape):
        problem = f"its shape is {X.shape}; it needs at least one row and one column"
        raise InvalidInput("X", problem=problem)
    y = estimator._validated_targets(y)
    check_consistent_length(X, y)
    if sample_weight is not None:
        checks = {"dtype": np.float64, "ensure_non_negative": True}
        sample_weight = _check_sample_weight(sample_weight, np.empty((X.shape[0], 1)), **checks)
    return source(X, y, sample_weight)


def weight_unit(sample_weight: Any) -> float:
    """Return the largest weight where its square would underflow, otherwise one."""
    weights = np.asarray(sample_weight)
    largest = float(weights.max(initial=0.0)) if weights.dtype.kind == "f" else 0.0
    return largest if 0 < largest < MIN_LARGEST_WEIGHT else 1.0


def in_units(sample_weight: Any, unit: float) -> Any:
    """Return weights in a unit."""
    plain = unit == 1.0 or sample_weight is None
    return sample_weight if plain else np.asarray(sample_weight) / unit


def column_names(columns: Any, names: Sequence[str]) -> list[str]:
    """Return columns, which may be given by name, by number or by a mask, as names."""
    if columns is None:
        return []
    columns = list(columns) if np.ndim(columns) else [columns]
    if columns and all(isinstance(c, bool | np.bool_) for c in columns):
        if len(columns) != len(names):
            problem = f"the mask has {len(columns)} entries for {len(names)} columns"
            raise InvalidInput("categorical_features", problem=problem)
        return [name for name, c in zip(names, columns, strict=True) if c]
    categorical = []
    for c in columns:
        number = isinstance(c, int | np.integer) and -len(names) <= c < len(names)
        name = names[int(c)] if number else str(c)
        if name not in names:
            problem = f"no such column; there are {', '.join(names):.200}"
            raise InvalidInput("categorical_features", c, problem=problem)
        categorical.append(name)
    return categorical


# -- rows to predict -----------------------------------------------------------------------------


def numeric_blocks(estimator: Any, X: Any) -> Iterator[Floats]:
    """Yield blocks of numeric inputs of a fitted estimator; warn of values it does not know."""
    check_plain(X=X)
    encoding: Encoding | None = estimator.fitted_.encoding
    data = source(_as_fitted(estimator, X, encoding))
    width, unknown, rows = len(estimator.input_names_), UnknownValues(), 0
    for block in with_learned_types(data, encoding).blocks():
        x = encode(block.X, encoding)
        if x.ndim != 2 or x.shape[1] != width:
            raise InvalidInput("X", problem=f"its shape is {x.shape}; the model has {width} inputs")
        if not np.isfinite(x).all():
            raise InvalidInput("X", problem="inputs must be finite; found NaN or infinity")
        if encoding is not None:
            unknown.count(encoding, block.X)
        rows += len(x)
        yield x
    if not rows:
        raise InvalidInput("X", problem="it has no rows to predict")
    warn(*unknown.warnings)


def _without_gaps(estimator: Any, X: Any) -> Any:
    """Return a matrix with the centre of the fit in place of gaps and infinities; warn of them."""
    values = X.data if issparse(X) else X
    if np.isfinite(values).all():
        return X
    if issparse(X):
        raise InvalidInput("X", problem="a sparse matrix must be finite; found NaN or infinity")
    gaps = ~np.isfinite(X)
    names = estimator.column_names_
    columns = np.flatnonzero(gaps.any(0))
    warn(*(_gap_warning(names[j], int(gaps[:, j].sum())) for j in columns))
    centre = estimator.fitted_.layers[0].scaling.centre[: X.shape[1]]
    return np.where(gaps, centre, X)


def holds_text(X: Any) -> bool:
    """Return whether a matrix, or a list of rows, holds text that is no number."""
    if isinstance(X, list | tuple):
        rows = [row for row in X if isinstance(row, list | tuple)]
        if not any(isinstance(value, str) for row in rows for value in row):
            return False
        X = np.array(X, dtype=object)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OUS":
        return False
    if X.dtype.kind == "O" and not any(isinstance(value, str) for value in X.flat):
        return False
    try:
        X.astype(np.float64)
    except (ValueError, TypeError):
        return True
    return False


def with_learned_types(data: Source, encoding: Encoding | None) -> Source:
    """Return the data with the columns of an encoding, read as they were when it was learned."""
    return data if encoding is None else data.with_types(encoding.column_types, only=True)


def _as_fitted(estimator: Any, X: Any, encoding: Encoding | None) -> Any:
    """Return a frame or a matrix as what the model was fitted on; a source as it is."""
    if is_source(X):
        return X
    if encoding is None:
        if is_columns(X):
            problem = "it is a dict of columns, and the model was fitted on a matrix; pass a matrix"
            raise InvalidInput("X", problem=problem)
        return _without_gaps(estimator, validate_data(estimator, X, reset=False, **MATRIX_CHECKS))
    if not is_frame(X):
        X = _matrix(estimator, X, reset=False)
        return matrix_table(X.toarray() if issparse(X) else X, encoding.names)
    table = as_table(X)
    if hasattr(estimator, "_fitted_on_frame_") and tuple(table.column_names) != encoding.names:
        _check_feature_names(estimator, X, reset=False)  # says which, as scikit-learn does
        problem = "The feature names should match those that were passed during fit: "
        raise InvalidInput("X", problem=problem + f"{', '.join(encoding.names):.200}")
    return table


class UnknownValues:
    """Counts, by column, of values that an encoding does not know and gaps that it has not seen."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.gaps: Counter[str] = Counter()

    def count(self, encoding: Encoding, table: Any) -> UnknownValues:
        """Count the values of one more table."""
        for column, values in encoding.pairs(table):
            self.counts[column.name].update(column.unseen_values(values))
            self.gaps[column.name] += column.count_gaps(values)
        return self

    @property
    def warnings(self) -> list[UnknownValueWarning]:
        """One warning per column."""
        unknown = [_unknown_value_warning(name, v) for name, v in self.counts.items() if v]
        return [*unknown, *(_gap_warning(name, n) for name, n in self.gaps.items() if n)]


def _gap_warning(column: str, count: int) -> UnknownValueWarning:
    text = (
        f"column {column!r}: {count} rows hold gaps or infinities, and the rows of the fit held "
        "none; they are replaced by the centre of the column"
    )
    return UnknownValueWarning("encoding", column, text)


def _unknown_value_warning(column: str, values: Counter[str]) -> UnknownValueWarning:
    examples = ", ".join(repr(value)[:30] for value in list(values)[:3])
    more = ", …" if len(values) > 3 else ""
    text = (
        f"column {column!r}: {values.total()} rows hold {len(values)} values that the model does "
        f"not know ({examples}{more}); they are treated as none of the known values"
    )
    return UnknownValueWarning("encoding", column, text)
