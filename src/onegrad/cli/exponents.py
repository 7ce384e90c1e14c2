"""onegrad exponents: how hard a teacher is."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from onegrad.cli.options import add_command
from onegrad.cli.output import print_json, print_table
from onegrad.functions import exponents, resolve
from onegrad.functions.hermite_text import hermite_text

DESCRIPTION = (
    "The first degree of a teacher's labels (information), the first that some function of a label "
    "has (generative), the first that one gradient step sees, and those that a network of the "
    "activation without biases cannot represent."
)
_EXAMPLE = 'onegrad exponents "H3 + 0.1*H2" --activation tanh'


def add_parser(subparsers: Any) -> None:
    """Add `onegrad exponents`."""
    summary = "information and generative exponent of a teacher"
    parser = add_command(subparsers, "exponents", summary, DESCRIPTION, _EXAMPLE)
    parser.add_argument("teacher", nargs="+", metavar="TEACHER", help="as for --teacher elsewhere")
    parser.add_argument(
        "--activation", metavar="A", help="whose degrees the step can use (default: all)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the exponents of each teacher."""
    rows: list[dict[str, Any]] = [
        {
            "teacher": t,
            "hermite": hermite_text(resolve(t, "teacher")),
            **asdict(exponents(t, args.activation)),
        }
        for t in args.teacher
    ]
    if args.json:
        print_json({"results": rows, "activation": args.activation})
    else:
        columns = ["teacher", "hermite", "information", "generative", "one_step"]
        columns += ["out_of_reach"] if args.activation else []
        for row in rows:
            row["out_of_reach"] = ", ".join(map(str, row["out_of_reach"])) or "none"
        print_table(rows, columns)
    return 0
