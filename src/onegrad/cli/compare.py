"""onegrad compare: theory beside real networks."""

from __future__ import annotations

import argparse
from typing import Any

from onegrad.cli.options import add_command, add_problem_options, read_problem_options
from onegrad.cli.output import print_json, print_table, print_title
from onegrad.cli.plots import check_plot_path, save_figure
from onegrad.cli.simulate import read_seeds
from onegrad.io.progress import TerminalProgress

_EXAMPLES = (
    "onegrad compare                                       # the setting of the docs' first page",
    "onegrad compare --n 1000 --d 500 --N 667 --alpha 0.4 --seeds 10 --plot compare.svg",
)
_DEFAULT_ALPHA = "0.4"


def add_parser(subparsers: Any) -> None:
    """Add `onegrad compare`."""
    description = (
        "Errors along the step from theory and from real networks, the bound for kernels and the "
        "spikes, with a sentence that says whether they agree."
    )
    summary = "theory beside real networks"
    parser = add_command(subparsers, "compare", summary, description, *_EXAMPLES)
    add_problem_options(parser)
    parser.add_argument("--seeds", default="10", metavar="K", help="networks (default 10)")
    parser.add_argument("--device", default="cpu", help="cpu (NumPy), torch, cuda or cuda:k")
    parser.add_argument("--plot", metavar="FILE", help="draw it (.svg, .png or .pdf)")


def run(args: argparse.Namespace) -> int:
    """Print the comparison."""
    from onegrad.comparison import compare

    options = read_problem_options(args, alpha=_DEFAULT_ALPHA)
    if args.plot:
        check_plot_path(args.plot)
    progress = TerminalProgress("networks", quiet=args.json)
    comparison = compare(
        options.problem,
        read_seeds(args.seeds),
        device=args.device,
        progress=progress,
        **options.axes,
    )
    if args.plot:
        save_figure(args.plot, comparison.plot)
    if args.json:
        print_json(comparison.to_dict() | {"setting": options.setting})
        return 0
    print_title(options.title)
    rows = comparison.table()
    print_table(rows, list(rows[0]))
    print(comparison.sentence)
    return 0
