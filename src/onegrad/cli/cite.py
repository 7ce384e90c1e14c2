"""onegrad cite: BibTeX of the results used."""

import argparse
import re
from importlib import resources
from typing import Any

from onegrad import __version__
from onegrad.cli.options import add_command
from onegrad.cli.output import print_json


def add_parser(subparsers: Any) -> None:
    """Add `onegrad cite`."""
    description = "Print BibTeX for the software and the papers whose results it implements."
    example = "onegrad cite > onegrad.bib"
    add_command(subparsers, "cite", "BibTeX of the results used", description, example)


def run(args: argparse.Namespace) -> None:
    """Print the references."""
    bibtex = resources.files("onegrad.cli").joinpath("references.bib").read_text(encoding="utf-8")
    bibtex = bibtex.replace("VERSION", __version__)
    if args.json:
        entries = re.findall(r"% (\w+): (.*)\n(@(?:.|\n)*?\n\})", bibtex)
        fields = ("key", "used_for", "bibtex")
        print_json({"entries": [dict(zip(fields, e, strict=True)) for e in entries]})
    else:
        print(bibtex, end="")
