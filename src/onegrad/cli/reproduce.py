"""onegrad reproduce: the papers' figures and open questions, with one report on them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from onegrad.cli.options import add_command
from onegrad.cli.output import print_json
from onegrad.cli.sweep import add_run_options, run_options, surviving_hangup
from onegrad.io.progress import TerminalProgress
from onegrad.studies import gallery
from onegrad.studies.reproduce import Reproduction, reproduce, reproduction_json

_EXAMPLES = (
    "onegrad reproduce --quick                       # the papers' figures, small, in a minute",
    "onegrad reproduce open --quick                  # the questions that the papers leave open",
    "onegrad reproduce ba-figure3a --workers 8       # one figure at full size",
    "onegrad reproduce --cells-only --shard 3/20     # one of twenty batch jobs; draw afterwards",
)


def add_parser(subparsers: Any) -> None:
    """Add `onegrad reproduce`."""
    summary = "the papers' figures, theory against simulation, one HTML report"
    description = "Compute what is missing, draw the figures, write DIR/report.html."
    parser = add_command(subparsers, "reproduce", summary, description, *_EXAMPLES)
    parser.add_argument(
        "figures",
        nargs="*",
        metavar="FIGURE",
        help="or a group, papers or open (default papers); see --list",
    )
    parser.add_argument("--list", action="store_true", help="name the figures and stop")
    parser.add_argument("--quick", action="store_true", help="small sizes, few seeds")
    parser.add_argument(
        "--seeds", type=int, metavar="K", help="at most K seeds per point, up to whole cells"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="default out/reproduce[-quick]")
    parser.add_argument("--cells-only", action="store_true", help="compute, do not draw")
    parser.add_argument("--shard", metavar="i/k", help="only part i of k; with --cells-only")
    add_run_options(parser)


def run(args: argparse.Namespace) -> int:
    """Reproduce figures and write the report."""
    if args.list:
        return _list(args)
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
    return 1 if reproduction.summary.failed or reproduction.missing else 0


def _print_outcome(reproduction: Reproduction, out: Path) -> None:
    summary, verdict = reproduction.summary, reproduction.verdict
    if reproduction.report is None:
        counts = f"{summary.computed} computed, {summary.failed} failed of {summary.cells} cells"
        print(f"{counts} in {out}")
        return
    print(f"report: {reproduction.report.resolve()}")
    exact = f"; {verdict.exact} without any allowance" if verdict.points else ""
    print(f"verification: {verdict}{exact}")


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
