"""onegrad spectrum: bulk, spikes and alignments, from theory and from networks."""

import argparse
import math
from typing import Any

from onegrad.cli.options import add_plot, add_problem_command, read_problem_options
from onegrad.cli.output import check_plot, print_json, print_table, print_title, save_plot
from onegrad.exceptions import InvalidInput
from onegrad.io.progress import TerminalProgress
from onegrad.problem import FIELDS

_EXAMPLE = "onegrad spectrum --alpha 0.45 --simulate --plot spectrum.svg"
SHOWN_DEGREES = (1, 2, 3, 4)  # alignments that the table shows


def add_parser(subparsers: Any) -> None:
    """Add `onegrad spectrum`."""
    summary = "bulk, spikes and alignments of the features"
    description = "Eigenvalues of F F^T/n: bulk density, edges, spikes and their alignments."
    parser = add_problem_command(subparsers, "spectrum", summary, description, _EXAMPLE)
    parser.add_argument("--simulate", action="store_true", help="also measure networks")
    parser.add_argument("--seeds", type=int, default=5, metavar="K", help="networks (default 5)")
    add_plot(parser, "the spectrum")


def run(args: argparse.Namespace) -> None:
    """Print the bulk and the spikes."""
    from onegrad.theory import spectrum

    options = read_problem_options(args)
    problem = options.problem
    if options.axes:
        name = next(iter(options.axes))
        allowed = "one number: a spectrum is that of one problem"
        raise InvalidInput(FIELDS[name].option, getattr(args, name), allowed)
    check_plot(args)
    theory = spectrum(problem)
    measured = []
    if args.simulate:
        from onegrad.networks import spectrum as measure

        progress = TerminalProgress("networks", quiet=args.json)
        measured.append(measure(problem, args.seeds, edge=theory.edge, progress=progress))
    save_plot(args.plot, theory, *measured)
    if args.json:
        simulated = [("simulated", networks.to_dict()) for networks in measured]
        about = {"problem": problem.to_dict(), "setting": options.setting}
        print_json(theory.to_dict() | dict(simulated) | about)
        return
    print_title(options.title)
    _print_spikes(theory, measured)


def _print_spikes(theory: Any, measured: list[Any]) -> None:
    """Print singular values s of F over sqrt(n), the scale of the explorer and of the plot."""
    root = math.sqrt(theory.problem.n)
    print(
        f"bulk of s/sqrt(n) ends at {math.sqrt(theory.edge):.5g}, by {theory.method} theory; "
        f"share at zero {theory.atom:.4g}"
    )
    sources = [("theory", theory), *(("measured", networks) for networks in measured)]
    rows = [_row(of, spike, root) for of, one in sources for spike in one.to_dict()["spikes"]]
    if not rows:
        print("no spikes")
        return
    alignments = [f"He_{k}" for k in SHOWN_DEGREES]
    errors = ["se"] if measured else []
    print_table(rows, ["of", "s/sqrt(n)", *errors, "eigenvalue", *alignments])
    print("s: singular values of F; eigenvalue: of F F^T/n, the square of s/sqrt(n)")
    print("He_k: squared cosine of the left singular vector with He_k of the learned index")


def _row(source: str, spike: dict[str, Any], root: float) -> dict[str, Any]:
    alignment = {f"He_{k}": round(spike["alignment"].get(str(k), 0.0), 4) for k in SHOWN_DEGREES}
    row = {"of": source, "s/sqrt(n)": spike["singular_value"] / root}
    if "singular_value_se" in spike:
        row["se"] = spike["singular_value_se"] / root
    return row | spike | alignment
