"""onegrad compare: theory beside real networks."""

import argparse
import textwrap
from typing import Any

from onegrad.cli.options import add_plot, add_problem_command, read_problem_options
from onegrad.cli.output import check_plot, print_json, print_table, print_title, save_figure
from onegrad.cli.simulate import count_networks, read_seeds

_EXAMPLES = (
    "onegrad compare                     # the default setting: that of the docs' first page",
    "onegrad compare --n 1000 --d 500 --N 667 --activation relu --plot compare.svg",
)


def add_parser(subparsers: Any) -> None:
    """Add `onegrad compare`."""
    description = (
        "Compare theory with real networks: errors at six steps, from none to the --alpha given "
        "(or at those listed), the bound for kernels and the spikes, and whether they agree."
    )
    summary = "theory compared with real networks"
    parser = add_problem_command(subparsers, "compare", summary, description, *_EXAMPLES)
    parser.add_argument("--seeds", default="10", metavar="K", help="networks (default 10)")
    parser.add_argument("--device", default="cpu", help="cpu (NumPy), torch, cuda or cuda:k")
    add_plot(parser, "the comparison")


def run(args: argparse.Namespace) -> None:
    """Print the comparison."""
    from onegrad.comparison import compare

    options = read_problem_options(args)
    check_plot(args)
    seeds = read_seeds(args.seeds)
    progress = count_networks(seeds, quiet=args.json)
    comparison = compare(
        options.problem, seeds, device=args.device, progress=progress, **options.axes
    )
    save_figure(args.plot, comparison.plot)
    if args.json:
        print_json(comparison.to_dict() | {"setting": options.setting})
        return
    print_title(options.title)
    rows = comparison.table()
    print_table(rows, list(rows[0]))
    print(textwrap.fill(comparison.sentence, width=90, break_on_hyphens=False))
