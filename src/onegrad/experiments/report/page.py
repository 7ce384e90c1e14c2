"""The report's content as values, and its HTML."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from onegrad.experiments.checks import LIMIT, SHARE, Check, Verdict

TITLE = "One gradient step, then ridge: theory and simulation"


@dataclass(frozen=True)
class Section:
    """One figure of the report."""

    name: str
    about: Mapping[str, Any]
    svg: Path | None
    checks: Sequence[Check]
    notes: Sequence[str]
    parameters: Sequence[str]

    @property
    def title(self) -> str:
        return str(self.about.get("title", self.name))


@dataclass(frozen=True)
class Page:
    """The report: its figures and what was run."""

    sections: tuple[Section, ...]
    about: Mapping[str, str]


def render(page: Page) -> str:
    """The page as one HTML document without scripts or outside references."""
    style = files("onegrad.experiments.report").joinpath("style.css").read_text("utf-8")
    body = "\n".join(
        [
            f"<h1>{TITLE}</h1>",
            _introduction(page),
            _summary(page),
            *(_section(section) for section in page.sections),
            _what_was_run(page),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n"
        "</main>\n</body>\n</html>\n"
    )


def _introduction(page: Page) -> str:
    verdict = Verdict.of(c for s in page.sections for c in s.checks)
    kind = "pass" if verdict.passed else "miss"
    allowed = f"{verdict.exact} of them have it with nothing allowed for." if verdict.points else ""
    small = (
        "<p>This is the quick version: smaller sizes and fewer seeds than a figure's text gives; "
        "the values used are listed under each figure.</p>"
        if page.about.get("sizes") == "quick"
        else ""
    )
    return (
        f"{small}<p>Markers are simulations of real networks with bars of two standard errors; "
        "lines are theory, computed without them. Each figure comes with the table of its "
        "differences. Points of one curve mostly share seeds, so they deviate together.</p>"
        f'<p class="verdict {kind}">{escape(str(verdict))}. {allowed}</p>'
        "<p><b>How to read the tables.</b> <i>z</i> is the difference between simulation and "
        "theory in standard errors over seeds, as the normal score of Student's t, so that few "
        "seeds count for less. <i>Stated accuracy</i> is what the theory claims of itself at "
        "these sizes (uniform theory: 1 % for odd activations, 2 % otherwise; limits: the order "
        "of what they leave out); <i>z beyond</i> is "
        f"the score of what exceeds it, and a point holds when |z beyond| ≤ {LIMIT:g}. A figure "
        f"holds when {SHARE:.0%} of its points do. Asymptotic curves (staircase, small step) are "
        "drawn everywhere and verified only where they claim to hold at these sizes.</p>"
    )


def _summary(page: Page) -> str:
    rows = []
    for s in page.sections:
        verdict = Verdict.of(s.checks)
        worst = max((abs(c.z_beyond) for c in s.checks), default=math.nan)
        off = max((abs(c.difference / c.theory) for c in s.checks if c.theory), default=math.nan)
        word, kind = _word(verdict, s)
        cells = [
            f'<a href="#{s.name}">{escape(s.title)}</a>',
            *(
                ["–"] * 5
                if not verdict.points
                else [
                    str(verdict.points),
                    f"{verdict.exact}",
                    f"{verdict.holding}",
                    f"{worst:.1f}",
                    f"{off:.1%}",
                ]
            ),
            f'<span class="{kind}">{word}</span>',
        ]
        rows.append(cells)
    heads = ["figure", "points", "|z| ≤ 3", "|z beyond| ≤ 3", "worst |z beyond|",
             "largest difference", "verdict"]  # fmt: skip
    return "<h2>Verification at a glance</h2>" + _table(heads, rows)


def _word(verdict: Verdict, section: Section) -> tuple[str, str]:
    if section.svg is None:
        return "not drawn", "miss"
    if not verdict.points:
        return "shown, not verified", "plain"
    return ("holds", "pass") if verdict.passed else ("missed", "miss")


def _section(section: Section) -> str:
    parts = [f'<section id="{section.name}">', f"<h2>{escape(section.title)}</h2>"]
    if "paper" in section.about:
        parts.append(f'<p class="paper">{escape(str(section.about["paper"]))}</p>')
    if section.svg is not None:
        svg = _compact(section.svg.read_text("utf-8"))
        source = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
        width = re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)
        limit = f' style="max-width:{1.4 * float(width[1]):.0f}px"' if width else ""
        parts.append(f'<figure><img alt="{escape(section.title)}"{limit} src="{source}">')
        parts.append(f"<figcaption>{escape(str(section.about.get('caption', '')))}</figcaption>")
        parts.append("</figure>")
    parts += [f"<p>{escape(note)}</p>" for note in section.notes]
    if section.checks:
        parts.append(_checks(section.checks))
    items = "".join(f"<li>{escape(line)}</li>" for line in section.parameters)
    why = section.about.get("parameters", "")
    parts.append(f"<details><summary>Parameters</summary><p>{escape(why)}</p><ul>{items}</ul>")
    parts.append("</details></section>")
    return "\n".join(parts)


def _compact(svg: str) -> str:
    """The picture without comments, metadata, indentation; paths to 1/100 point."""
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), svg)


def _checks(checks: Sequence[Check]) -> str:
    heads = ["quantity", "where", "theory says", "stated accuracy", "simulation ± s.e.", "seeds",
             "difference", "z", "z beyond", "verdict"]  # fmt: skip
    rows = [
        [
            escape(c.quantity),
            escape(c.where),
            f"{c.theory:.5g} ({escape(c.claim)})",
            f"{c.accuracy:.2g}" if not c.accuracy else f"±{c.accuracy:.1%}",
            f"{c.simulated:.5g} ± {c.se:.2g}",
            str(c.seeds),
            f"{c.difference / c.theory:+.2%}" if c.theory else f"{c.difference:+.2g}",
            f"{c.z:+.1f}",
            f"{c.z_beyond:+.1f}",
            '<span class="pass">holds</span>' if c.holds else '<span class="miss">misses</span>',
        ]
        for c in checks
    ]
    title = f"Verification: {escape(str(Verdict.of(checks)))}"
    return f"<details><summary>{title}</summary>{_table(heads, rows)}</details>"


def _what_was_run(page: Page) -> str:
    rows = [[escape(k), escape(v)] for k, v in page.about.items()]
    return "<h2>What was run</h2>" + _table(["", ""], rows)


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'
