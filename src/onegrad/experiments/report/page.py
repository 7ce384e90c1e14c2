"""The report's content as values and words; page.html is its form."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from onegrad.experiments.checks import LIMIT, SHARE, Check, Verdict
from onegrad.io.files import atomic_write

TITLE = "One gradient step, then ridge: theory and simulation"


class Picture(NamedTuple):
    """A figure inside the page: its bytes as an address, and the widest it is shown in pixels."""

    source: str
    width: int | None


@dataclass(frozen=True)
class Section:
    """One figure of the report."""

    name: str
    about: Mapping[str, Any]
    svg: Path | None
    checks: Sequence[Check]
    notes: Sequence[str]
    parameters: Sequence[str]
    finding: str = ""

    @property
    def title(self) -> str:
        return str(self.about.get("title", self.name))

    @property
    def verdict(self) -> Verdict:
        return Verdict.of(self.checks)

    @property
    def numbers(self) -> list[str]:
        """Of the summary: points, how many hold, the worst score, the largest difference."""
        verdict = self.verdict
        if not verdict.points:
            return ["–"] * 5
        worst = max(abs(c.z_beyond) for c in self.checks)
        off = max((abs(c.difference / c.theory) for c in self.checks if c.theory), default=math.nan)
        counts = (verdict.points, verdict.exact, verdict.holding)
        return [*map(str, counts), f"{worst:.1f}", f"{off:.1%}"]

    @property
    def word(self) -> str:
        if self.svg is None:
            return "not drawn"
        if not self.checks:
            return "shown, not verified"
        return "holds" if self.verdict.passed else "missed"

    @property
    def kind(self) -> str:
        """The style of the word."""
        return {"holds": "pass", "shown, not verified": "plain"}.get(self.word, "miss")

    def picture(self) -> Picture:
        assert self.svg is not None
        svg = _compact(self.svg.read_text("utf-8"))
        width = re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)
        source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
        return Picture(source, round(1.4 * float(width[1])) if width else None)


@dataclass(frozen=True)
class Page:
    """The report: its figures and what was run."""

    sections: tuple[Section, ...]
    about: Mapping[str, str]

    @property
    def verdict(self) -> Verdict:
        return Verdict.of(c for s in self.sections for c in s.checks)

    @property
    def quick(self) -> bool:
        return self.about.get("sizes") == "quick"


def write_report(page: Page, out: Path) -> Path:
    """Write the page as out/report.html; it refers to no other file."""
    target = out / "report.html"
    with atomic_write(target) as file:
        file.write(render(page).encode())
    return target


def render(page: Page) -> str:
    """The page as one HTML document without scripts or outside references."""
    from jinja2 import Environment, FileSystemLoader

    loader = FileSystemLoader(Path(__file__).parent)
    forms = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    values = {"title": TITLE, "limit": f"{LIMIT:g}", "share": f"{SHARE:.0%}", "words": words}
    return forms.get_template("page.html").render(page=page, **values)


def words(check: Check) -> list[str]:
    """One row of a table of checks, without its verdict."""
    c = check
    return [
        c.quantity,
        c.where,
        f"{c.theory:.5g} ({c.claim})",
        f"±{c.accuracy:.1%}" if c.accuracy else "0",
        f"{c.simulated:.5g} ± {c.se:.2g}",
        str(c.seeds),
        f"{c.difference / c.theory:+.2%}" if c.theory else f"{c.difference:+.2g}",
        f"{c.z:+.1f}",
        f"{c.z_beyond:+.1f}",
    ]


def _compact(svg: str) -> str:
    """The picture without comments, metadata, indentation; paths to 1/100 point."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
