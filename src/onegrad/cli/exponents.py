"""onegrad exponents: how hard a teacher is."""

import argparse
from dataclasses import asdict
from typing import Any

from onegrad.cli.options import add_command
from onegrad.cli.output import print_json, print_table
from onegrad.functions import exponents

DESCRIPTION = (
    "Print the first Hermite degree of a teacher (information exponent), the lowest first degree "
    "over functions of its labels (generative exponent), the first degree that one gradient step "
    "sees, and the degrees that a network without biases cannot represent."
)
_EXAMPLE = 'onegrad exponents "x^3 - 3*x" "tanh(2*x)" --activation tanh'


def add_parser(subparsers: Any) -> None:
    """Add `onegrad exponents`."""
    summary = "information and generative exponent of a teacher"
    parser = add_command(subparsers, "exponents", summary, DESCRIPTION, _EXAMPLE)
    parser.add_argument("teacher", nargs="+", metavar="TEACHER", help="a name or a formula")
    activation = "the step uses only its degrees (default: all degrees)"
    parser.add_argument("--activation", metavar="A", help=activation)


def run(args: argparse.Namespace) -> None:
    """Print the exponents of each teacher."""
    rows: list[dict[str, Any]] = [
        {"teacher": t, **asdict(exponents(t, args.activation))} for t in args.teacher
    ]
    if args.json:
        print_json({"results": rows, "activation": args.activation})
    else:
        columns = ["teacher", "information", "generative", "one_step"]
        columns += ["out_of_reach"] if args.activation else []
        for row in rows:
            if row["teacher"].replace(" ", "") != row["hermite"].replace(" ", ""):
                row["teacher"] += f" = {row['hermite']}"
            row["out_of_reach"] = ", ".join(map(str, row["out_of_reach"])) or "none"
        print_table(rows, columns)
