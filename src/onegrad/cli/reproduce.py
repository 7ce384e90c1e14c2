"""onegrad reproduce: the papers' figures and open questions, with one report on them."""

import argparse
from pathlib import Path
from typing import Any

from onegrad.cli.options import add_command
from onegrad.cli.output import print_json
from onegrad.cli.sweep import add_run_options, run_options, surviving_hangup
from onegrad.io.progress import TerminalProgress
from onegrad.studies import gallery
from onegrad.studies.measures.data_sets import use_image_folder
from onegrad.studies.reproduce import Reproduction, reproduce, reproduction_json

_EXAMPLES = (
    "onegrad reproduce --quick                       # the papers' figures, small, in a minute",
    "onegrad reproduce open --quick                  # the questions that the papers leave open",
    "onegrad reproduce ba-figure3a --workers 8       # one figure at full size",
    "onegrad reproduce --cells-only --shard 3/20     # one of twenty batch jobs; draw afterwards",
)


def add_parser(subparsers: Any) -> None:
    """Add `onegrad reproduce`."""
    summary = "the papers' figures with theory and simulation, as one HTML report"
    description = "Compute missing results, draw the figures and write DIR/report.html."
    parser = add_command(subparsers, "reproduce", summary, description, *_EXAMPLES)
    add = parser.add_argument
    figures = "figures or groups, papers or open (default papers); see --list"
    add("figures", nargs="*", metavar="FIGURE", help=figures)
    add("--list", action="store_true", help="list the figures and exit")
    add("--quick", action="store_true", help="small sizes, few seeds")
    add("--seeds", type=int, metavar="K", help="K seeds per point, rounded up to whole cells")
    add("--out", type=Path, metavar="DIR", help="default out/reproduce[-quick]")
    images = "images for full-training: mnist.npz, fashion.npz, CIFAR-10's data_batch_*.bin"
    add("--data", type=Path, metavar="DIR", help=images)
    add("--cells-only", action="store_true", help="compute without drawing")
    add("--shard", metavar="i/k", help="only part i of k; with --cells-only")
    add_run_options(parser)


def run(args: argparse.Namespace) -> int:
    """Reproduce figures and write the report."""
    if args.list:
        return _list(args)
    if args.data is not None:
        use_image_folder(args.data)
    out = args.out or Path("out") / ("reproduce-quick" if args.quick else "reproduce")
    with surviving_hangup():
        reproduction = reproduce(
            args.figures,
            out,
            run_options(args),
            quick=args.quick,
            seeds=args.seeds,
            draw=not args.cells_only and args.shard is None,
            progress=TerminalProgress("reproduce"),
        )
    if args.json:
        print_json(reproduction_json(reproduction))
    else:
        _print_outcome(reproduction, out)
    wrong = reproduction.summary.failed or reproduction.missing or reproduction.page.wrong
    return 1 if wrong else 0


def _print_outcome(reproduction: Reproduction, out: Path) -> None:
    summary, page = reproduction.summary, reproduction.page
    if reproduction.report is None:
        counts = f"{summary.computed} computed, {summary.failed} failed of {summary.cells} cells"
        print(f"{counts} in {out}")
        return
    print(f"report: {reproduction.report.resolve()}")
    sentences = len(page.headlines)
    sizes = "" if page.holding == sentences else " at these sizes"
    print(f"sentences: {page.holding} of {sentences} hold{sizes}")
    exact = f"; {page.verdict.exact} without any allowance" if page.verdict.points else ""
    print(f"verification: {page.verdict}{exact}")
    for h in page.wrong:
        print(f"does not hold: {h.sentence}: {h.quantity} is {h.shown}, not {h.condition}")


def _list(args: argparse.Namespace) -> int:
    groups = gallery.groups()
    studies = gallery.select(groups).values()
    if args.json:
        titles = {study.name: study.title for study in studies}
        print_json({"figures": titles, "groups": {study.name: study.group for study in studies}})
        return 0
    for group in groups:
        print(f"{group}:")
        for study in studies:
            if study.group == group:
                print(f"  {study.name:22} {study.title}")
    return 0
