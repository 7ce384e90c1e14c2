"""Pictures of what a command prints, written to files."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onegrad.cli.options import check_new_file
from onegrad.exceptions import InvalidInput, printable
from onegrad.io.files import atomic_write

DPI = 160
PLOT_SUFFIXES = (".svg", ".png", ".pdf")


def save_plot(path: str, *results: Any) -> None:
    """Draw each result with its `plot` method on the same axes and write the picture."""

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for result in results:
            result.plot(ax)

    save_figure(path, draw, width=6.4, height=4.2)


def save_figure(
    path: str, draw: Callable[[Any], object], width: float = 12.0, height: float = 4.4
) -> None:
    """Draw on a new figure, write the picture, and say so on standard error."""
    from onegrad.pictures import load_library, style

    matplotlib = load_library("matplotlib", "--plot")
    figures = load_library("matplotlib.figure", "--plot")
    with matplotlib.rc_context(style.RC):
        figure = figures.Figure(figsize=(width, height), layout="constrained")
        draw(figure)
        with atomic_write(Path(path)) as file:
            figure.savefig(file, dpi=DPI, format=Path(path).suffix[1:].lower())
    print(f"wrote {printable(path)}", file=sys.stderr)


def check_plot_path(path: str, force: bool) -> None:
    """Raise InvalidInput before anything is computed if the picture could not be written."""
    check_new_file("--plot", Path(path), force)
    if Path(path).suffix.lower() not in PLOT_SUFFIXES:
        raise InvalidInput("--plot", path, f"a file that ends in {', '.join(PLOT_SUFFIXES)}")
    if not Path(path).parent.is_dir():
        raise InvalidInput("--plot", Path(path), "in a folder that exists")
