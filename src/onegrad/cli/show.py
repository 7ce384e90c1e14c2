"""onegrad show: what a saved model is."""

import argparse
from pathlib import Path
from typing import Any

from onegrad.cli.options import add_command
from onegrad.cli.output import print_json
from onegrad.exceptions import printable


def add_parser(subparsers: Any) -> None:
    """Add `onegrad show`."""
    summary = "summary of a saved model"
    description = "Print the estimator, rows, columns, scores and importances of a saved model."
    parser = add_command(subparsers, "show", summary, description, "onegrad show price.model")
    parser.add_argument("model_file", metavar="MODEL", help="a file written by onegrad fit")


def run(args: argparse.Namespace) -> None:
    """Print what a model is."""
    from onegrad.tables import load

    model, size = load(args.model_file), Path(args.model_file).stat().st_size
    classes = ", ".join(map(str, getattr(model, "classes_", [])))
    predicts = f"classes {classes:.200}" if classes else "numbers"
    if args.json:
        about = {"model": args.model_file, "bytes": size, "predicts": predicts}
        print_json(about | model_facts(model))
        return
    print(f"{args.model_file}: {size / 1e6:.2g} MB, predicts {printable(predicts)}")
    print(printable(f"columns: {', '.join(model.column_names_):.400}"))
    print(model.report())


def model_facts(estimator: Any) -> dict[str, Any]:
    """Return what a fitted estimator is, for JSON."""
    names, importances = estimator.column_names_, estimator.feature_importances_
    return {
        "estimator": type(estimator).__name__,
        "rows": estimator.n_rows_,
        "inputs": estimator.input_names_,
        "choice": estimator.choice_,
        "ridge": [member.ridge for member in estimator.fitted_.members],
        "importance": dict(zip(names, importances, strict=True)),
    }
