"""onegrad optimum: the step, penalty or split of the rows with the least test error by theory."""

import argparse
from typing import Any

from onegrad.cli.options import add_plot, add_problem_command, read_problem_options
from onegrad.cli.output import check_plot, print_json, print_table, print_title, save_plot
from onegrad.pictures.result_tables import row_with_margins
from onegrad.theory import optimum

_EXAMPLES = (
    "onegrad optimum                     # the best step and penalty of the default setting",
    "onegrad optimum --n 1000 --d 500 --N 250,500,1000,2000 --plot width.svg",
    "onegrad optimum --d 500 --N 667 --n 1000 --over n_step,alpha,ridge --total 2000",
)


def add_parser(subparsers: Any) -> None:
    """Add `onegrad optimum`."""
    summary = "the best step and penalty by theory"
    description = (
        "Find the step, the penalty, or the split of rows between step and ridge that has the "
        "lowest test error by the uniform theory."
    )
    parser = add_problem_command(subparsers, "optimum", summary, description, *_EXAMPLES)
    over = "what to optimise: alpha, ridge, n_step (default %(default)s)"
    parser.add_argument("--over", default="alpha,ridge", metavar="NAMES", help=over)
    total = "total rows of step and ridge, with n_step"
    parser.add_argument("--total", type=int, metavar="ROWS", help=total)
    add_plot(parser, "the curve")


def run(args: argparse.Namespace) -> None:
    """Print the optimum."""
    options = read_problem_options(args)
    check_plot(args)
    over = tuple(name.strip() for name in args.over.split(","))
    best = optimum(options.problem, over, total=args.total, **options.axes)
    save_plot(args.plot, best)
    if args.json:
        print_json(best.to_dict() | {"setting": options.setting})
        return
    rows = [row_with_margins(row) for row in best.results()]
    print_title(f"best {' and '.join(over)}, uniform theory: {options.title}")
    print_table(rows, [*best.axes, *over, "train", "test"])
