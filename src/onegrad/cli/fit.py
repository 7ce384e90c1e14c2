"""onegrad fit: two-pass training on files of any size."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.cli.options import add_command, check_not_an_input
from onegrad.cli.output import print_json, print_note
from onegrad.exceptions import InvalidInput
from onegrad.io.progress import TerminalProgress
from onegrad.parallel.cluster import cluster_client

_EXAMPLES = (
    "onegrad fit sales.parquet --target price --out price.model",
    "onegrad fit 'logs/*.csv' --target clicked --task classification --out click.model",
    "onegrad fit data.npz --target y --estimator one-step --width 500 --out y.model",
)

MAX_CLASS_CODES = 20  # numbers among text that may be names of classes
MAX_SEED = 2**32 - 1
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")


class FamilyNames:
    """Names of the families of estimators; scikit-learn is imported only when they are needed."""

    def __iter__(self) -> Iterator[str]:
        from onegrad.estimators import FAMILIES

        return iter(FAMILIES)

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def add_parser(subparsers: Any) -> None:
    """Add `onegrad fit`."""
    summary = "train on Parquet, CSV, npz or npy files of any size"
    description = "Learn the first layer on a sample of rows and the readout on all of them."
    parser = add_command(subparsers, "fit", summary, description, *_EXAMPLES)
    parser.add_argument("data", metavar="DATA", help="a file, a directory or a quoted pattern")
    parser.add_argument("--target", required=True, metavar="COL", help="what to predict")
    parser.add_argument("--out", required=True, type=Path, metavar="MODEL", help="the model file")
    add = parser.add_argument
    add(
        "--estimator",
        type=str.lower,
        metavar="FAMILY",
        choices=FamilyNames(),
        default="alternating",
        help="one of %(choices)s; %(default)s (default) is the one for real data",
    )
    add(
        "--task",
        type=str.lower,
        choices=("auto", "regression", "classification"),
        default="auto",
        help="auto (default): classification if the target holds text, or 0 and 1 only",
    )
    add("--columns", metavar="A,B,…", help="inputs (default: all other columns)")
    add("--categorical", metavar="A,B,…", help="columns whose numbers are codes, as text always is")
    add("--weight", metavar="COL", help="weights of the rows")
    add("--width", type=int, metavar="N", help="neurons (default: chosen by the number of rows)")
    add("--members", type=int, metavar="M", help="networks that are averaged")
    budgets = ("fast", "default", "best")
    add("--budget", type=str.lower, choices=budgets, help="how much time and memory to spend")
    add("--sample-rows", type=int, metavar="M", help="rows that teach the first layer (20,000)")
    add("--seed", type=int, default=0, metavar="K", help="seed of all random numbers")
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="K", help="processes on this machine")
    where.add_argument("--cluster", metavar="tcp://…", help="an existing Dask scheduler")


def run(args: argparse.Namespace) -> int:
    """Train on the data and save the model."""
    from onegrad.data import source

    _check_arguments(args)
    columns = None if args.columns is None else args.columns.split(",")
    start = time.monotonic()
    with _columns_named_by_option(args):
        data = source(args.data, target=args.target, weight=args.weight, columns=columns)
        check_not_an_input("--out", args.out, data.paths)
        estimator = _estimator(args, _is_classification(args, data))
        with nullcontext() if args.cluster is None else cluster_client(args.cluster) as client:
            estimator.fit(data, client=client, progress=TerminalProgress("fit", quiet=args.json))
    estimator.save(args.out)
    if args.task == "auto" and (classes := getattr(estimator, "classes_", None)) is not None:
        values = "0 and 1" if classes.dtype.kind in "fiub" else "text"
        note = f"--target {args.target!r} holds {values}: taken as classes (see --task)"
        print_note("onegrad fit", note)
    if args.json:
        print_json(_summary(estimator, args, time.monotonic() - start))
    else:
        print(estimator.report())
        print(f"saved to {args.out}")
    return 130 if "interrupted" in estimator.choice_ else 0


def _check_arguments(args: argparse.Namespace) -> None:
    """Raise InvalidInput for what would fail after the data have been read."""
    from onegrad.arrays import get_ops

    if not args.out.parent.is_dir():
        raise InvalidInput("--out", args.out, problem="no such directory")
    if args.workers is not None and args.workers < 1:
        raise InvalidInput("--workers", args.workers, "a whole number >= 1")
    if not 0 <= args.seed <= MAX_SEED:
        raise InvalidInput("--seed", args.seed, "a whole number from 0 to 2**32 - 1")
    if args.cluster is None:  # the devices of a cluster are not those of this machine
        get_ops(args.device)


@contextmanager
def _columns_named_by_option(args: argparse.Namespace) -> Iterator[None]:
    """Name the option that asked for a column which the data do not have."""
    try:
        yield
    except InvalidInput as error:
        if error.argument != "column" or error.value not in (args.categorical or "").split(","):
            raise
        raise InvalidInput("--categorical", error.value, problem=error.problem) from None


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
    return _binary([first.y]) and _binary(_targets(args, first.X), both=True)


def _targets(args: argparse.Namespace, X: Any) -> Iterator[Any]:
    """Yield the target block by block, reading only one of the file's other columns."""
    from onegrad.data import source
    from onegrad.data.table import is_table

    columns = X.column_names[:1] if is_table(X) else None
    data = source(args.data, target=args.target, columns=columns)
    return (block.y for block in data.blocks())


def _binary(targets: Iterable[Any], both: bool = False) -> bool:
    """Return whether every value is 0 or 1 and, if `both`, whether each of them occurs."""
    values: set[float] = set()
    for y in targets:
        values |= set(np.unique(y).tolist())
        if y.ndim > 1 or not values <= {0, 1}:
            return False
    return not both or len(values) == 2


def _estimator(args: argparse.Namespace, classes: bool) -> Any:
    from onegrad.estimators import FAMILIES

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
    from onegrad.data.likely_mistakes import is_number

    values = list(dict.fromkeys(map(str, y)))
    if all(DATE.fullmatch(value) for value in values):
        raise InvalidInput(
            "--target",
            target,
            problem=f"the column holds dates, such as {values[0]!r:.40}; if these are classes, add "
            "--task classification; otherwise predict the time since some day as a number",
        )
    words = [value for value in values if not is_number(value)]
    if words and len(values) - len(words) > max(MAX_CLASS_CODES, len(words)):
        raise InvalidInput(
            "--target",
            target,
            problem=f"the column holds numbers and {words[0]!r:.40}; fix it, or add "
            "--task classification if these are classes",
        )


def _summary(estimator: Any, args: argparse.Namespace, seconds: float) -> dict[str, Any]:
    importance = zip(estimator.column_names_, estimator.feature_importances_, strict=True)
    return {
        "model": str(args.out),
        "estimator": type(estimator).__name__,
        "rows": estimator.n_rows_,
        "inputs": estimator.input_names_,
        "choice": estimator.choice_,
        "ridge": [member.ridge for member in estimator.fitted_.members],
        "importance": dict(importance),
        "seconds": seconds,
    }
