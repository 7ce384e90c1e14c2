"""Pictures of what a command prints, as files: those that results draw of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onegrad.exceptions import InvalidInput
from onegrad.io.files import atomic_write

DPI = 160
FORMATS = (".svg", ".png", ".pdf")


def save_plot(path: str, *results: Any) -> None:
    """Draw each result with its `plot` on the same axes and write the picture; None is left out."""
    from onegrad.pictures import load_library, style

    matplotlib = load_library("matplotlib", "--plot")
    with matplotlib.rc_context(style.RC):
        figure, ((ax,),) = style.panels(1, width=6.4, height=4.2)
        for result in results:
            if result is not None:
                result.plot(ax)
        with atomic_write(Path(path)) as file:
            figure.savefig(file, dpi=DPI, format=Path(path).suffix[1:].lower())


def check_plot_path(path: str) -> None:
    """Complain before anything is computed when the picture could not be written."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InvalidInput(f"--plot must end in {', '.join(FORMATS)}; got {path!r:.60}")
    if not Path(path).parent.is_dir():
        raise InvalidInput(f"--plot must be in a folder that exists; got {path!r:.200}")
