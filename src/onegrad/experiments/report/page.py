"""The content of the report as values; page.html and study.md are its form."""

import base64
import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onegrad.experiments.checks import MAX_SCORE, MIN_HOLDING, Check, Headline, Verdict
from onegrad.io.files import atomic_write

REPORT = "report.html"
PIXELS_PER_POINT = 1.4  # at which a picture is shown


@dataclass(frozen=True)
class Sizes:
    """The sizes of a run: quick or full, and about how many seeds a point has at most."""

    quick: bool = False
    seeds: int | None = None

    def __str__(self) -> str:
        limit = f", at most about {self.seeds} seeds per point" if self.seeds else ""
        return ("quick" if self.quick else "full") + limit

    @property
    def options(self) -> str:
        """Options of `onegrad reproduce` that give these sizes."""
        return " --quick" * self.quick + (f" --seeds {self.seeds}" if self.seeds else "")


@dataclass(frozen=True)
class Section:
    """One study of the report.

    text : its texts, filled: title, paper, question, finding, caption, explained, parameters.
    svg : the picture; None if it was not drawn.
    headlines : its sentences, each with the quantity that decides it.
    notes : further remarks.
    grids : the parameters of each grid in one line.
    networks : number of networks behind the study.
    computed : version, duration and day of its cells.
    heads, rows : the table of its main numbers; empty if it has none.
    """

    name: str
    text: Mapping[str, str]
    svg: Path | None
    headlines: Sequence[Headline]
    checks: Sequence[Check]
    notes: Sequence[str]
    grids: Sequence[str]
    networks: int
    sizes: Sizes
    computed: str
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    @property
    def title(self) -> str:
        return self.text.get("title", self.name)

    @property
    def verdict(self) -> Verdict:
        return Verdict.of(self.checks)

    @property
    def summary(self) -> list[str]:
        """Cells of the summary: points, how many hold, worst score, largest difference."""
        verdict = self.verdict
        if not verdict.points:
            return ["–"] * 5
        worst = max(abs(c.z_beyond) for c in self.checks)
        differences = (abs(c.difference / c.theory) for c in self.checks if c.theory)
        largest = max(differences, default=math.nan)
        counts = (verdict.points, verdict.exact, verdict.holding)
        return [*map(str, counts), f"{worst:.1f}", f"{largest:.1%}"]

    @property
    def outcome(self) -> str:
        if self.svg is None:
            return "not drawn"
        return outcome(self.headlines, self.sizes)

    @property
    def decisions(self) -> list[list[str]]:
        """Cells of the table of sentences: each with its quantity, and whether it holds."""
        return [
            [h.sentence, h.quantity, h.shown, h.condition, outcome([h], self.sizes)]
            for h in self.headlines
        ]

    @property
    def theory_outcome(self) -> str:
        if not self.checks:
            return "–"
        return "holds" if self.verdict.passed else "missed"

    def picture(self) -> dict[str, Any]:
        """Return the picture as the page embeds it: an address, and its largest width in pixels."""
        assert self.svg is not None
        svg = _compact(self.svg.read_text("utf-8"))
        width = re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)
        return {
            "source": f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}",
            "width": round(PIXELS_PER_POINT * float(width[1])) if width else None,
        }


@dataclass(frozen=True)
class Page:
    """The report: its studies and what was run."""

    sections: tuple[Section, ...]
    sizes: Sizes
    about: Mapping[str, str]

    @property
    def verdict(self) -> Verdict:
        return Verdict.of(c for s in self.sections for c in s.checks)

    @property
    def headlines(self) -> tuple[Headline, ...]:
        return tuple(h for s in self.sections for h in s.headlines)

    @property
    def holding(self) -> int:
        return sum(h.holds for h in self.headlines)

    @property
    def wrong(self) -> tuple[Headline, ...]:
        """Sentences that do not hold at full sizes; those of smaller runs need not hold."""
        smaller = self.sizes.quick or self.sizes.seeds
        return () if smaller else tuple(h for h in self.headlines if not h.holds)


def outcome(headlines: Sequence[Headline], sizes: Sizes) -> str:
    """Return whether sentences hold; at quick sizes they need not."""
    if all(h.holds for h in headlines):
        return "holds" if headlines else "not decided"
    return "not at these sizes" if sizes.quick or sizes.seeds else "does not hold"


def write_report(page: Page, out: Path) -> Path:
    """Write the page as out/report.html; it refers to no other file."""
    target = out / REPORT
    html = _template("page.html").render(page=page, table_row=table_row)
    with atomic_write(target) as file:
        file.write(html.encode())
    return target


def study_page(section: Section) -> str:
    """Return the page of one study in Markdown, next to NAME.svg and NAME.csv."""
    return str(_template("study.md").render(section=section))


def table_row(check: Check) -> list[str]:
    """Return the cells of one row of a table of checks, without its verdict."""
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


def typeset(text: str) -> Any:
    """Return a text as HTML, with x^2, x^(1/2) as powers and F_l, P_{>1} as indices.

    Words with underscores, such as n_test, stay as they are.
    """
    from markupsafe import Markup, escape

    html = str(escape(text))
    html = re.sub(r"\^\(([^()]*(?:\([^()]*\)[^()]*)*)\)", r"<sup>\1</sup>", html)
    html = re.sub(r"\^([−+-]?[\w.½¼]+)", r"<sup>\1</sup>", html)
    html = re.sub(r"(?<=\w)_(?:\{([^}]*)\}|(\w)(?![A-Za-z0-9_]))", r"<sub>\1\2</sub>", html)
    return Markup(html)


@functools.cache
def _template(name: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(("html",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {"max_score": f"{MAX_SCORE:g}", "min_holding": f"{MIN_HOLDING:.0%}"}
    # teachers such as H1@1*H1@2 are not emphasis
    environment.filters["typeset"] = typeset
    environment.filters["markdown"] = lambda text: str(text).replace("*", r"\*")
    return environment.get_template(name)


def _compact(svg: str) -> str:
    """Return the picture without comments, metadata and indentation, its paths to 1/100 point."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)
