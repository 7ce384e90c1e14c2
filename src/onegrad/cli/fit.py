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

from onegrad.cli.options import add_json_option, not_an_input
from onegrad.cli.output import note, print_json
from onegrad.exceptions import InvalidInput
from onegrad.io.progress import Progress
from onegrad.parallel.cluster import cluster_client

EXAMPLE = """examples:
  onegrad fit sales.parquet --target price --out price.model
  onegrad fit 'logs/*.csv' --target clicked --task classification --out click.model
  onegrad fit data.npz --target y --estimator one-step --width 500 --out y.model"""

CODES = 20  # numbers by which classes may be called, beside others
MOST_SEEDS = 2**32
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")


class FamilyNames:
    """Names of the families of estimators; scikit-learn is imported once somebody needs them."""

    def __iter__(self) -> Iterator[str]:
        from onegrad.estimators import FAMILIES

        return iter(FAMILIES)

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "fit",
        help="train on Parquet, CSV, npz or npy files of any size",
        description="Learn the first layer on a sample of rows and the readout on all of them.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", metavar="DATA", help="a file, a directory or a quoted pattern")
    parser.add_argument("--target", required=True, metavar="COL", help="what to predict")
    parser.add_argument("--out", required=True, type=Path, metavar="MODEL", help="the model file")
    parser.add_argument(
        "--estimator", type=str.lower, metavar="FAMILY", default="alternating",
        choices=FamilyNames(),
        help="one of %(choices)s; %(default)s (default) is the one for real data",
    )  # fmt: skip
    parser.add_argument(
        "--task", type=str.lower, choices=("auto", "regression", "classification"), default="auto",
        help="auto (default): text, and 0 and 1, are classes, else numbers",
    )  # fmt: skip
    parser.add_argument("--columns", metavar="A,B,…", help="inputs (default: all other columns)")
    parser.add_argument("--categorical", metavar="A,B,…",
                        help="columns whose numbers are codes (text always is)")  # fmt: skip
    parser.add_argument("--weight", metavar="COL", help="weights of the rows")
    parser.add_argument("--width", type=int, metavar="N", help="neurons (default: by rows)")
    parser.add_argument("--members", type=int, metavar="M", help="networks that are averaged")
    parser.add_argument("--budget", type=str.lower, choices=("fast", "default", "best"),
                        help="what is spent where nothing is said")  # fmt: skip
    parser.add_argument("--sample-rows", type=int, metavar="M",
                        help="rows that the first layer is learned on (20,000)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, metavar="K", help="of all random numbers")
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, metavar="K", help="processes on this machine")
    where.add_argument("--cluster", metavar="tcp://…", help="an existing Dask scheduler")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from onegrad.data import source

    _check(args)
    columns = None if args.columns is None else args.columns.split(",")
    start = time.monotonic()
    with _naming_columns(args):
        data = source(args.data, target=args.target, weight=args.weight, columns=columns)
        not_an_input("--out", args.out, data)
        estimator = _estimator(args, _classifies(args, data))
        with nullcontext() if args.cluster is None else cluster_client(args.cluster) as client:
            estimator.fit(data, client=client, progress=Progress("fit", quiet=args.json))
    estimator.save(args.out)
    if args.task == "auto" and (classes := getattr(estimator, "classes_", None)) is not None:
        what = "0 and 1" if classes.dtype.kind in "fiub" else "text"
        note("onegrad fit", f"--target {args.target!r} holds {what}: taken as classes (see --task)")
    if args.json:
        print_json(_summary(estimator, args, time.monotonic() - start))
    else:
        print(estimator.report())
        print(f"saved to {args.out}")
    return 130 if "interrupted" in estimator.choice_ else 0


def _check(args: argparse.Namespace) -> None:
    """Complain before anything is read of what would fail after it."""
    from onegrad.arrays import get_ops

    if not args.out.parent.is_dir():
        raise InvalidInput(f"--out {str(args.out)!r}: no such directory")
    if args.workers is not None and args.workers < 1:
        raise InvalidInput(f"--workers must be a whole number >= 1; got {args.workers}")
    if not 0 <= args.seed < MOST_SEEDS:
        raise InvalidInput(f"--seed must be a whole number from 0 to 2**32 - 1; got {args.seed}")
    if args.cluster is None:  # the devices of a cluster are not those of this machine
        get_ops(args.device)


@contextmanager
def _naming_columns(args: argparse.Namespace) -> Iterator[None]:
    """A column that the data do not have is said with the option that asked for it."""
    try:
        yield
    except InvalidInput as error:
        for option in ("target", "weight", "columns", "categorical"):
            names = (getattr(args, option) or "").split(",")
            if any(str(error).startswith((f"no column {n!r}", f"column {n!r} is")) for n in names):
                raise InvalidInput(f"--{option}: {error}") from None
        raise


def _classifies(args: argparse.Namespace, data: Any) -> bool:
    """Whether the target's values are classes: as --task says, else text, and 0 and 1."""
    first = next(data.blocks(), None)
    if first is None:
        raise InvalidInput("the data have no rows")
    text = first.y.dtype.kind not in "fiub"
    if args.task == "regression" and text:
        raise InvalidInput(f"--task regression: column {args.target!r} holds text")
    if args.task != "auto":
        return bool(args.task == "classification")
    if text:
        _classes_or_a_mistake(args.target, first.y)
    elif not (_zeros_and_ones([first.y]) and _zeros_and_ones(_targets(args, first.X), both=True)):
        return False
    return True


def _targets(args: argparse.Namespace, X: Any) -> Iterator[Any]:
    """The target, block by block; of a file's other columns only one is read."""
    from onegrad.data import source
    from onegrad.data.table import is_table

    columns = X.column_names[:1] if is_table(X) else None
    data = source(args.data, target=args.target, columns=columns)
    return (block.y for block in data.blocks())


def _zeros_and_ones(targets: Iterable[Any], both: bool = False) -> bool:
    """Whether all values are 0 or 1, and whether there are some of each."""
    found: set[float] = set()
    for y in targets:
        found |= set(np.unique(y).tolist())
        if y.ndim > 1 or not found <= {0, 1}:
            return False
    return not both or len(found) == 2


def _estimator(args: argparse.Namespace, classes: bool) -> Any:
    from onegrad.estimators import FAMILIES

    family = FAMILIES[args.estimator]
    kind = family.classifier if classes else family.regressor
    wished = ("width", "sample_rows", "members", "budget")
    settings = {name: getattr(args, name) for name in wished if getattr(args, name) is not None}
    if args.categorical is not None:
        settings["categorical_features"] = args.categorical.split(",")
    for name in settings:
        owners = [other for other, row in FAMILIES.items() if name in row.options]
        if owners and args.estimator not in owners:
            raise InvalidInput(f"--{name}", problem=f"it is for --estimator {', '.join(owners)}")
    return kind(device=args.device, n_jobs=args.workers, random_state=args.seed, **settings)


def _classes_or_a_mistake(target: str, y: Any) -> None:
    """Dates are no classes; many different numbers and a few other words are a damaged column."""
    from onegrad.data.encoding import is_number

    values = list(dict.fromkeys(map(str, y)))
    if all(DATE.fullmatch(value) for value in values):
        raise InvalidInput(
            f"--target {target!r} holds dates, such as {values[0]!r:.40}; say that these are "
            "classes with --task classification, or learn the time since some day as a number"
        )
    words = [value for value in values if not is_number(value)]
    if words and len(values) - len(words) > max(CODES, len(words)):
        raise InvalidInput(
            f"column {target!r} holds numbers and {words[0]!r:.40}; mend it, or say that these "
            f"are classes with --task classification"
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
