"""onegrad apply: predictions of a saved model, block by block."""

from __future__ import annotations

import argparse
import io
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from onegrad.cli.options import add_json_option, not_an_input
from onegrad.cli.output import print_json
from onegrad.exceptions import InvalidInput, warn
from onegrad.io.files import atomic_write

EXAMPLE = """examples:
  onegrad apply price.model new.parquet --out predicted.parquet
  onegrad apply price.model new.csv --out predicted.csv --std --interval 0.9
  onegrad apply click.model new.csv --out predicted.csv --proba
  onegrad apply price.model new.csv --out - | head"""
KINDS = (".csv", ".parquet", ".npz")
STANDARD_OUTPUT = "-"


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "apply",
        help="predict with a saved model",
        description="Predict every row of the data; columns are found by name.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a file written by onegrad fit")
    parser.add_argument("data", metavar="DATA", help="a file, a directory or a quoted pattern")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE",
                        help=f"{', '.join(KINDS)}, or - for CSV on standard output")  # fmt: skip
    parser.add_argument("--std", action="store_true", help="add the standard deviation")
    parser.add_argument("--interval", type=float, metavar="P", help="add an interval of coverage P")
    parser.add_argument("--proba", action="store_true", help="add the classes' probabilities")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from onegrad.data import source
    from onegrad.estimators import load
    from onegrad.estimators.sklearn_api.inputs import (
        UnknownValues,
        UnknownValueWarning,
        with_learned_types,
    )

    shown = _checked(args.out, args.json)
    model = load(args.model)
    _offered(model, args)
    data, unknown = with_learned_types(source(args.data), model.fitted_.encoding), UnknownValues()
    if not shown:
        not_an_input("--out", args.out, data, args.model)
    with warnings.catch_warnings():
        # said once for all blocks, below
        warnings.simplefilter("ignore", UnknownValueWarning)
        blocks = (_columns(model, X, args) for X in _inputs(model, data, unknown))
        rows = _print(blocks) if shown else _write(args.out, blocks)
    warn(*unknown.warnings)
    if args.json:
        counts = {name: sum(values.values()) for name, values in unknown.counts.items()}
        kind = type(model).__name__
        print_json({"out": str(args.out), "rows": rows, "estimator": kind, "unknown": counts})
    elif not shown:
        print(f"{rows:,} predictions written to {args.out}")
    return 0


def _checked(out: Path, as_json: bool) -> bool:
    """Whether predictions go to standard output; complains of a file that cannot be written."""
    if str(out) == STANDARD_OUTPUT:
        if as_json:
            raise InvalidInput("--json and --out - both need standard output; leave one of them")
        return True
    if out.suffix not in KINDS:
        raise InvalidInput(
            f"--out must end in {', '.join(KINDS)}, or be - for standard output; got {str(out)!r}"
        )
    if not out.parent.is_dir():
        raise InvalidInput(f"--out {str(out)!r}: no such directory")
    return False


def _offered(model: Any, args: argparse.Namespace) -> None:
    """Complain of columns that this model does not have."""
    classifies = hasattr(model, "classes_")
    if args.proba and not classifies:
        raise InvalidInput("--proba is for classifiers; this model predicts numbers")
    if classifies and (args.std or args.interval is not None):
        raise InvalidInput("--std and --interval are for regression; this model predicts classes")


def _inputs(model: Any, data: Any, unknown: Any) -> Iterator[Any]:
    """Inputs of all blocks, as sources; values that the model does not know are counted."""
    from onegrad.data import source
    from onegrad.data.table import is_table

    for block in data.blocks():
        if model.fitted_.encoding is not None and is_table(block.X):
            unknown.count(model.fitted_.encoding, block.X)
        if len(block):
            yield source(block.X)  # what does not fit the model is one line, not scikit-learn's


def _columns(model: Any, X: Any, args: argparse.Namespace) -> dict[str, np.ndarray[Any, Any]]:
    """Named columns of predictions for one block."""
    if args.std:
        mean, deviation = model.predict(X, return_std=True)
        columns = _named("prediction", mean) | _named("std", deviation)
    else:
        columns = _named("prediction", model.predict(X))
    if args.interval is not None:
        low, high = model.predict_interval(X, coverage=args.interval)
        columns |= _named("low", low) | _named("high", high)
    if args.proba:
        for label, p in zip(model.classes_, model.predict_proba(X).T, strict=True):
            name = f"{label:g}" if isinstance(label, float) else label
            columns[f"p({name})"] = p
    return columns


def _named(name: str, values: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}


def _table(columns: dict[str, np.ndarray[Any, Any]]) -> Any:
    """As a table; in NumPy's arrays pyarrow takes a NUL for the end of a text."""
    import pyarrow as pa

    return pa.table({k: v.tolist() if v.dtype.kind == "U" else v for k, v in columns.items()})


def _print(blocks: Iterator[dict[str, np.ndarray[Any, Any]]]) -> int:
    """Write the columns of all blocks as CSV to standard output; number of rows."""
    from pyarrow import csv

    rows = 0
    for columns in blocks:
        text = io.BytesIO()
        table = _table(columns)
        csv.write_csv(table, text, csv.WriteOptions(include_header=not rows))
        sys.stdout.write(text.getvalue().decode())
        sys.stdout.flush()  # a reader that went away is noticed here
        rows += table.num_rows
    if not rows:
        raise InvalidInput("the data have no rows")
    return rows


def _write(path: Path, blocks: Iterator[dict[str, np.ndarray[Any, Any]]]) -> int:
    """Write the columns of all blocks, beside the file and then in its place; number of rows."""
    with atomic_write(path) as file:
        if path.suffix == ".npz":
            rows = _write_arrays(file, blocks)
        else:
            rows = _write_table(file, blocks, path.suffix == ".parquet")
        if not rows:
            raise InvalidInput("the data have no rows")
    return rows


def _write_arrays(file: IO[bytes], blocks: Iterator[dict[str, np.ndarray[Any, Any]]]) -> int:
    pieces = list(blocks)
    if not pieces:
        return 0
    joined = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
    write: Any = np.savez
    write(file, **joined)
    return len(next(iter(joined.values())))


def _write_table(
    file: IO[bytes], blocks: Iterator[dict[str, np.ndarray[Any, Any]]], parquet: bool
) -> int:
    import pyarrow.parquet as pq
    from pyarrow import csv

    writer, rows = None, 0
    try:
        for columns in blocks:
            table = _table(columns)
            if writer is None:
                make = pq.ParquetWriter if parquet else csv.CSVWriter
                writer = make(file, table.schema)
            writer.write_table(table)
            rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return rows
