"""onegrad predict: train and test error from theory."""

import argparse
import math
from typing import Any

import numpy as np

from onegrad.cli.options import add_plot, add_problem_command, load_rows, read_problem_options
from onegrad.cli.output import check_plot, print_json, print_table, print_title, save_plot
from onegrad.exceptions import InvalidInput
from onegrad.pictures.result_tables import row_with_margins
from onegrad.theory import THEORIES, predict

_EXAMPLES = (
    "onegrad predict                     # the default setting: that of the docs' first page",
    'onegrad predict --n 1000 --d 500 --N 667 --activation tanh --teacher "x^3 - 3*x"',
    "onegrad predict --alpha 0:0.5:11 --plot curve.svg",
    "onegrad predict --n 1000 --phi 0.5 --psi 0.75 --alpha -0.2:0.5:8",
)


def add_parser(subparsers: Any) -> None:
    """Add `onegrad predict`."""
    description = "Predict train and test error after one gradient step and ridge, from theory."
    summary = "errors from theory"
    parser = add_problem_command(subparsers, "predict", summary, description, *_EXAMPLES)
    add = parser.add_argument
    add("--theory", default="uniform", metavar="T", help=f"one of {', '.join(THEORIES)}")
    add("--rows", metavar="FILE", help=".npy file whose rows are the inputs")
    add_plot(parser, "the curve")


def run(args: argparse.Namespace) -> None:
    """Print the errors that theory predicts."""
    options = read_problem_options(args)
    problem, axes = options.problem, options.axes
    check_plot(args)
    if args.plot is not None and not axes:
        raise InvalidInput("--plot", problem="needs a curve: list values, such as --alpha 0:0.5:11")
    prediction = predict(problem, theory=args.theory, rows=load_rows(args.rows), **axes)
    save_plot(args.plot, prediction)
    results = prediction.results()
    if args.json:
        answer = {"results": results, "problem": problem.to_dict(), "theory": prediction.theory}
        print_json(answer | {"kernel_bound": prediction.kernel_bound, "setting": options.setting})
        return
    print_title(f"{prediction.theory} theory: {options.title}")
    noisy = "noise" in axes or problem.noise > 0  # else the risk is the test error
    rows = [row_with_margins(row) for row in results]
    print_table(rows, [*options.columns, "train", "test", *["risk"] * noisy])
    bounds = set(np.ravel(prediction.kernel_bound).tolist())
    if len(bounds) == 1 and math.isfinite(bound := bounds.pop()):
        print(f"no rotation-invariant kernel has a test error below {bound:.4g}")
