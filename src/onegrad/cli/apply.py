"""onegrad apply: predictions of a saved model, block by block."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onegrad.cli.options import add_command, add_escape, add_force
from onegrad.cli.output import check_table, print_json, write_tables
from onegrad.exceptions import InvalidInput, warn
from onegrad.io.files import STANDARD_OUTPUT, atomic_write, output_file

if TYPE_CHECKING:  # the list of commands needs no tables
    from onegrad.tables import Source

_EXAMPLES = (
    "onegrad apply price.model new.parquet --out predicted.parquet",
    "onegrad apply price.model new.csv --out predicted.csv --std --interval 0.9",
    "onegrad apply click.model new.csv --out clicks.csv --proba",
    "onegrad apply price.model new.csv --out - --keep id | head",
)
TABLE_SUFFIXES = (".csv", ".parquet", ".npz")

Columns = dict[str, Any]  # arrays of one block, of NumPy or Arrow, by name


def add_parser(subparsers: Any) -> None:
    """Add `onegrad apply`."""
    description = "Predict every row of the data; columns are matched by name."
    parser = add_command(subparsers, "apply", "predict with a saved model", description, *_EXAMPLES)
    add = parser.add_argument
    add("model_file", metavar="MODEL", help="a file written by onegrad fit")
    add("data", metavar="DATA", help="a file, a directory or a quoted pattern")
    out = f"{', '.join(TABLE_SUFFIXES)}, or - for CSV on standard output"
    add("--out", required=True, type=Path, metavar="FILE", help=out)
    keep = "columns of the data to write next to the predictions, such as an id"
    add("--keep", metavar="A,B,…", help=keep)
    add_force(parser)
    add_escape(parser)
    add("--std", action="store_true", help="add the standard deviation")
    add("--interval", type=float, metavar="P", help="add intervals of coverage P")
    add("--proba", action="store_true", help="add the class probabilities")


def run(args: argparse.Namespace) -> None:
    """Write the predictions of a model."""
    from onegrad.tables import load, source
    from onegrad.tables.sklearn_api.input_data import (
        UnknownValues,
        UnknownValueWarning,
        with_learned_types,
    )

    to_standard_output = _check_out(args)
    model = load(args.model_file)
    _check_columns(model, args)
    data, unknown = with_learned_types(source(args.data), model.fitted_.encoding), UnknownValues()
    if not to_standard_output:
        output_file(args.out, "--out", replace=args.force, others=[*data.paths, args.model_file])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownValueWarning)  # once for all blocks, below
        inputs = _inputs(model, data, unknown)
        blocks: Iterator[Columns] = (_columns(model, X, args) for X in inputs)
        if args.keep:
            blocks = _beside_columns(data, [*dict.fromkeys(args.keep.split(","))], blocks)
        rows = _write(args, blocks)
    warn(*unknown.warnings)
    if args.json:
        counts = {name: sum(values.values()) for name, values in unknown.counts.items()}
        kind = type(model).__name__
        print_json({"out": str(args.out), "rows": rows, "estimator": kind, "unknown": counts})
    elif not to_standard_output:
        print(f"{rows:,} predictions written to {args.out}")


def _check_out(args: argparse.Namespace) -> bool:
    """Return whether predictions go to standard output; raise InvalidInput for a wrong suffix."""
    out = args.out
    if args.keep and out.suffix == ".npz":
        raise InvalidInput("--keep", args.keep, problem="needs a table: --out FILE.csv or .parquet")
    if str(out) != STANDARD_OUTPUT and out.suffix not in TABLE_SUFFIXES:
        allowed = f"a file that ends in {', '.join(TABLE_SUFFIXES)}, or - for standard output"
        raise InvalidInput("--out", out, allowed)
    return check_table(args, out.suffix)


def _check_columns(model: Any, args: argparse.Namespace) -> None:
    """Raise InvalidInput if this model does not have the columns that were asked for."""
    classifies = hasattr(model, "classes_")
    if args.proba and not classifies:
        raise InvalidInput("--proba", problem="only for classifiers; this model predicts numbers")
    if classifies and (args.std or args.interval is not None):
        option = "--std" if args.std else "--interval"
        raise InvalidInput(option, problem="only for regression; this model predicts classes")


def _inputs(model: Any, data: Any, unknown: Any) -> Iterator[Any]:
    """Yield the inputs of each block as a source, counting values that the model does not know."""
    from onegrad.tables import source
    from onegrad.tables.rows.table import is_table

    empty = True
    for block in data.blocks():
        if model.fitted_.encoding is not None and is_table(block.X):
            unknown.count(model.fitted_.encoding, block.X)
        if len(block):
            empty = False
            yield source(block.X)  # errors are then our one line, not scikit-learn's several
    if empty:
        raise InvalidInput("DATA", problem="the table is empty")


def _columns(model: Any, X: Any, args: argparse.Namespace) -> Columns:
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


def _beside_columns(
    data: Source, names: Sequence[str], blocks: Iterator[Columns]
) -> Iterator[Columns]:
    """Yield the blocks of predictions after columns of the data, as they are in the files."""
    import pyarrow as pa

    from onegrad.tables.rows.file_partitions import FilePartition

    files = [part for part in data.partitions if isinstance(part, FilePartition)]
    if len(files) < len(data.partitions):
        problem = "only columns of CSV and Parquet files have names"
        raise InvalidInput("--keep", ",".join(names), problem=problem)
    tables = (table for file in files for table in file.plain_columns(names))
    try:
        rows: Any = next(tables, None)
    except InvalidInput as error:
        raise error.renamed("--keep") if error.argument == "column" else error from None
    for predictions in blocks:
        if both := set(names) & predictions.keys():
            problem = "a column of the predictions already has this name"
            raise InvalidInput("--keep", min(both), problem=problem)
        count = len(next(iter(predictions.values())))
        while len(rows) < count:
            if (table := next(tables, None)) is None:
                raise InvalidInput("--keep", problem="the files changed while they were read")
            rows = pa.concat_tables([rows, table])
        yield {name: rows[name].slice(0, count) for name in names} | predictions
        rows = rows.slice(count)


def _named(name: str, values: np.ndarray[Any, Any]) -> Columns:
    """Return the columns of a prediction, numbered if there are several outputs."""
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}


def _table(columns: Columns) -> Any:
    import pyarrow as pa

    # lists, because pyarrow takes a NUL in NumPy's text for its end
    is_text = {k for k, v in columns.items() if isinstance(v, np.ndarray) and v.dtype.kind == "U"}
    return pa.table({k: v.tolist() if k in is_text else v for k, v in columns.items()})


def _write(args: argparse.Namespace, blocks: Iterator[Columns]) -> int:
    """Write the columns of all blocks and return the number of rows."""
    if args.out.suffix != ".npz":
        return write_tables(args.out, args.out.suffix, map(_table, blocks), args.escape)
    pieces = list(blocks)
    joined: Columns = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
    with atomic_write(args.out) as file:
        np.savez(file, **joined)
    return len(next(iter(joined.values())))
