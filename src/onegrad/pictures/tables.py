"""Results as tables: a DataFrame, or HTML for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from onegrad.pictures import needed

ROWS = 12  # of an HTML table
CELL = "text-align: right; font-variant-numeric: tabular-nums"


def dataframe(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A row per dictionary."""
    return needed("pandas", "to_dataframe").DataFrame([dict(row) for row in rows])


def html(title: str, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """A title, what it is about, and the first rows; every text is escaped."""
    words = ", ".join(f"{name} = {_text(value)}" for name, value in about.items())
    parts = [f"<p><b>{escape(title)}</b><br>{escape(words)}</p>"]
    if rows:
        columns = list(rows[0])
        head = "".join(f'<th style="{CELL}">{escape(name)}</th>' for name in columns)
        body = "".join(
            "<tr>" + "".join(f'<td style="{CELL}">{_cell(row[c])}</td>' for c in columns) + "</tr>"
            for row in rows[:ROWS]
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if len(rows) > ROWS:
        parts.append(f"<p>… and {len(rows) - ROWS} rows more: to_dataframe() has them all.</p>")
    return "".join(parts)


def _cell(value: Any) -> str:
    return escape("–" if value is None else _text(value))


def _text(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
