"""onegrad fit: two-pass training on files of any size."""

import argparse
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.cli.card import write_card
from onegrad.cli.options import add_command, add_force
from onegrad.cli.output import print_json, print_note
from onegrad.cli.show import model_facts
from onegrad.exceptions import InvalidInput, check_choice
from onegrad.io.files import output_file
from onegrad.io.progress import TerminalProgress
from onegrad.parallel.cluster import cluster_client

_EXAMPLES = (
    "onegrad fit sales.parquet --target price --out price.model",
    "onegrad fit 'logs/*.csv' --target clicked --task classification --out click.model",
    "onegrad fit data.npz --target y --estimator one-step --width 500 --out y.model",
)

# Numbers among a few words that may be codes of classes; more are a column of numbers with a typing
# error, which would make a class of each number. Not tuned.
MAX_CLASS_CODES = 20
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")


def add_parser(subparsers: Any) -> None:
    """Add `onegrad fit`."""
    summary = "train a model on Parquet, CSV, npz or npy files of any size"
    description = "Learn the first layer on a sample of rows and the readout on all of them."
    parser = add_command(subparsers, "fit", summary, description, *_EXAMPLES)
    parser.usage = "%(prog)s DATA --target COL --out MODEL [--OPTION VALUE ...]"
    add = parser.add_argument
    add("data", metavar="DATA", help="a file, a directory or a quoted pattern")
    add("--target", required=True, metavar="COL", help="the column to predict")
    add("--out", required=True, type=Path, metavar="MODEL", help="file to write")
    tasks = ("auto", "regression", "classification")
    task = "auto (default): classification if the target is text or only 0 and 1"
    add("--task", type=str.lower, choices=tasks, default="auto", help=task)
    budget = "how much time and memory to spend"
    add("--budget", type=str.lower, choices=("fast", "default", "best"), help=budget)
    add("--frozen", action="store_true", help="write a small model that learns no further rows")
    add("--drop-missing", action="store_true", help="leave out rows whose target is missing")
    card = parser.add_mutually_exclusive_group()
    page = "one-page summary (default MODEL.html)"
    card.add_argument("--card", type=Path, metavar="FILE", help=page)
    card.add_argument("--no-card", action="store_true", help="write no summary")
    add_force(parser)
    add = parser.add_argument_group("more").add_argument
    family = "one-step, or %(default)s (default), which is recommended for real data"
    add("--estimator", type=str.lower, metavar="FAMILY", default="alternating", help=family)
    add("--columns", metavar="A,B,…", help="input columns (default: all other columns)")
    add("--categorical", metavar="A,B,…", help="numeric columns to treat as categories")
    add("--weight", metavar="COL", help="column of row weights")
    width = "neurons (default: by rows and budget; one-step 1000)"
    add("--width", type=int, metavar="N", help=width)
    add("--members", type=int, metavar="M", help="networks to average (default: by budget)")
    sample_rows = "rows on which the first layer is learned (default: by budget; one-step 20,000)"
    add("--sample-rows", type=int, metavar="M", help=sample_rows)
    add("--seed", type=int, default=0, metavar="K", help="seed of all random numbers")
    add("--device", default="cpu", help="cpu (default) or cuda")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="K", help="processes on this machine")
    where.add_argument("--cluster", metavar="tcp://…", help="an existing Dask scheduler")


def run(args: argparse.Namespace) -> int:
    """Train on the data and save the model."""
    from onegrad.tables import source

    _check_arguments(args)
    columns = None if args.columns is None else args.columns.split(",")
    start = time.monotonic()
    with _complaints_by_option(args):
        names = {"target": args.target, "weight": args.weight, "columns": columns}
        data = source(args.data, **names, drop_missing=args.drop_missing)
        output_file(args.out, "--out", replace=args.force, others=data.paths)
        card = None if args.no_card else args.card or args.out.with_name(f"{args.out.name}.html")
        if card is not None:
            output_file(card, "--card", replace=args.force, others=[*data.paths, args.out])
        estimator = _estimator(args, _is_classification(args, data))
        progress = TerminalProgress("fit", quiet=args.json)
        with nullcontext() if args.cluster is None else cluster_client(args.cluster) as client:
            estimator.fit(data, client=client, progress=progress)
            estimator.save(args.out, "frozen" if args.frozen else "sums")
            if card is not None:
                from onegrad.tables.assessment import assess  # loads trees

                progress.relabel("card")
                assessment = assess(estimator, data, client=client, progress=progress)
                write_card(card, estimator, assessment, f"{args.target} in {args.data}")
    if args.drop_missing and (missing := _count_missing_targets(args)):
        rows = "row" if missing == 1 else "rows"
        note = f"{missing:,} {rows} without --target {args.target!r} left out"
        print_note("onegrad fit", note)
    if args.task == "auto" and (classes := getattr(estimator, "classes_", None)) is not None:
        values = "0 and 1" if classes.dtype.kind in "fiub" else "text"
        note = f"--target {args.target!r} holds {values}: taken as classes (see --task)"
        print_note("onegrad fit", note)
    if args.json:
        about = {"model": str(args.out), "card": None if card is None else str(card)}
        print_json(about | model_facts(estimator) | {"seconds": time.monotonic() - start})
    else:
        print(estimator.report())
        print(f"saved to {args.out}" + (f"; summary in {card}" if card is not None else ""))
    return 130 if "interrupted" in estimator.choice_ else 0


def _check_arguments(args: argparse.Namespace) -> None:
    """Raise InvalidInput for what would fail after the data have been read."""
    from onegrad.arrays import get_ops
    from onegrad.tables import FAMILIES

    check_choice("--estimator", args.estimator, FAMILIES)
    if args.drop_missing and Path(args.data).suffix in (".npy", ".npz"):
        raise InvalidInput("--drop-missing", problem="only for CSV and Parquet files")
    if args.workers is not None and args.workers < 1:
        raise InvalidInput("--workers", args.workers, "a whole number >= 1")
    if not 0 <= args.seed < 2**32:
        raise InvalidInput("--seed", args.seed, "a whole number from 0 to 2**32 - 1")
    if args.cluster is None:  # the devices of a cluster are not those of this machine
        get_ops(args.device)


@contextmanager
def _complaints_by_option(args: argparse.Namespace) -> Iterator[None]:
    """Say how many rows have no target, and which option asked for a column that is not there."""
    from onegrad.tables.rows.partitions import MissingTargets

    try:
        yield
    except MissingTargets as error:
        count = _count_missing_targets(args)
        rows = "row has" if count == 1 else "rows have"
        problem = f"{count:,} {rows} no value; add --drop-missing to leave them out"
        raise InvalidInput("--target", error.value, problem=problem) from None
    except InvalidInput as error:
        if error.argument != "column" or error.value not in (args.categorical or "").split(","):
            raise
        raise InvalidInput("--categorical", error.value, problem=error.problem) from None


def _count_missing_targets(args: argparse.Namespace) -> int:
    from onegrad.tables import source
    from onegrad.tables.rows.partitions import missing_targets

    blocks = source(args.data, columns=[args.target]).blocks()
    return sum(int(missing_targets(b.X[args.target], args.target).sum()) for b in blocks)


def _is_classification(args: argparse.Namespace, data: Any) -> bool:
    """Return what --task says; for auto, whether the target holds text, or 0 and 1 only."""
    first = next(data.blocks(), None)
    if first is None:
        raise InvalidInput("DATA", Path(args.data), problem="the table is empty")
    text = first.y.dtype.kind not in "fiub"
    if args.task == "regression" and text:
        raise InvalidInput("--task", "regression", problem=f"column {args.target!r} holds text")
    if args.task != "auto":
        return bool(args.task == "classification")
    if text:
        _check_class_names(args.target, first.y)
        return True
    return _binary(_targets(args, first.X))


def _targets(args: argparse.Namespace, X: Any) -> Iterator[Any]:
    """Yield the target block by block, reading only one of the file's other columns."""
    from onegrad.tables import source
    from onegrad.tables.rows.table import is_table

    columns = X.column_names[:1] if is_table(X) else None
    data = source(args.data, target=args.target, columns=columns, drop_missing=args.drop_missing)
    return (block.y for block in data.blocks())


def _binary(targets: Iterable[Any]) -> bool:
    """Return whether every value is 0 or 1, and each of them occurs."""
    values: set[float] = set()
    for y in targets:
        values |= set(np.unique(y).tolist())
        if y.ndim > 1 or not values <= {0, 1}:
            return False
    return len(values) == 2


def _estimator(args: argparse.Namespace, classes: bool) -> Any:
    from onegrad.tables import FAMILIES

    family = FAMILIES[args.estimator]
    kind = family.classifier if classes else family.regressor
    names = ("width", "sample_rows", "members", "budget")
    settings = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.categorical is not None:
        settings["categorical_features"] = args.categorical.split(",")
    for name in settings:
        owners = [other for other, row in FAMILIES.items() if name in row.options]
        if owners and args.estimator not in owners:
            raise InvalidInput(f"--{name}", problem=f"it is for --estimator {', '.join(owners)}")
    return kind(device=args.device, n_jobs=args.workers, random_state=args.seed, **settings)


def _check_class_names(target: str, y: Any) -> None:
    """Raise InvalidInput for dates, and for many numbers among a few words: a damaged column."""
    from onegrad.tables.rows.likely_mistakes import is_number

    values = list(dict.fromkeys(map(str, y)))
    words = [value for value in values if not is_number(value)]
    if all(DATE.fullmatch(value) for value in values):
        problem = (
            f"the column holds dates, such as {values[0]!r:.40}; if these are classes, add "
            "--task classification; otherwise convert them to numbers, such as days since 2000"
        )
    elif words and len(values) - len(words) > max(MAX_CLASS_CODES, len(words)):
        problem = (
            f"the column holds numbers and {words[0]!r:.40}; fix it, or add "
            "--task classification if these are classes"
        )
    else:
        return
    raise InvalidInput("--target", target, problem=problem)
