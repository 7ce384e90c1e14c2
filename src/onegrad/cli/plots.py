"""Pictures of what a command prints, written to files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onegrad.cli.options import check_new_file
from onegrad.exceptions import InvalidInput, printable
from onegrad.io.files import atomic_write

DPI = 160
PLOT_SUFFIXES = (".svg", ".png", ".pdf")


def save_plot(path: str | None, *results: Any) -> None:
    """Draw each result with its `plot` method on the same axes and write the picture."""

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for result in results:
            result.plot(ax)

    save_figure(path, draw, width=6.4, height=4.2)


def save_figure(
    path: str | None, draw: Callable[[Any], object], width: float = 12.0, height: float = 4.4
) -> None:
    """Draw on a new figure, write the picture if --plot asks for one, and say so."""
    if path is None:
        return
    import matplotlib
    from matplotlib.figure import Figure

    from onegrad.pictures import style

    with matplotlib.rc_context(style.RC):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        with atomic_write(Path(path)) as file:
            figure.savefig(file, dpi=DPI, format=Path(path).suffix[1:].lower())
    print(f"wrote {printable(path)}", file=sys.stderr)


def check_plot(args: argparse.Namespace) -> None:
    """Raise InvalidInput before anything is computed if the picture could not be written."""
    if args.plot is None:
        return
    path = Path(args.plot)
    check_new_file("--plot", path, args.force)
    if path.suffix.lower() not in PLOT_SUFFIXES:
        raise InvalidInput("--plot", args.plot, f"a file that ends in {', '.join(PLOT_SUFFIXES)}")
    if not path.parent.is_dir():
        raise InvalidInput("--plot", path, "in a folder that exists")
