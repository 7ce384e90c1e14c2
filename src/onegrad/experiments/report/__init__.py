"""One self-contained HTML page: figures, captions, parameters, verification, what was run."""

from __future__ import annotations

from pathlib import Path

from onegrad.experiments.report.page import Page, render
from onegrad.io.files import replacing

__all__ = ["Page", "render", "write_report"]


def write_report(page: Page, out: Path) -> Path:
    """Write the page as out/report.html; it refers to no other file."""
    target = out / "report.html"
    with replacing(target) as file:
        file.write(render(page).encode())
    return target
