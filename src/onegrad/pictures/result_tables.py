"""Results as tables: a DataFrame, or HTML for a notebook."""

import math
import numbers
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

from onegrad.pictures.style import load_library
from onegrad.problem import Problem

MAX_HTML_ROWS = 12
MIN_SHOWN = 1e-15  # of a number of order one: what is smaller is shown as 0
_CELL_STYLE = "text-align: right; font-variant-numeric: tabular-nums"


def dataframe(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a pandas DataFrame with one row per dictionary."""
    return load_library("pandas", "to_dataframe").DataFrame([dict(row) for row in rows])


def html_table(
    title: str, problem: Problem, rows: Sequence[Mapping[str, Any]], axes: Collection[str] = ()
) -> str:
    """Return title, settings and first rows of a grid over `axes` as HTML, all text escaped.

    The settings are the fields that differ from their defaults and are the same all over the grid.
    """
    step_fields = {"alpha", "eta"}  # each follows from the other
    varied = set(axes) | (step_fields if step_fields & set(axes) else set())
    settings = {name: value for name, value in problem.changed().items() if name not in varied}
    words = ", ".join(f"{name} = {_text(value)}" for name, value in settings.items())
    parts = [f"<p><b>{escape(title)}</b><br>{escape(words)}</p>"]
    if rows:
        columns = [c for c in rows[0] if c != "risk" or problem.noise or "noise" in axes]
        head = "".join(f'<th style="{_CELL_STYLE}">{escape(name)}</th>' for name in columns)
        body = "".join(
            "<tr>" + "".join(_cell(row[column]) for column in columns) + "</tr>"
            for row in rows[:MAX_HTML_ROWS]
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if len(rows) > MAX_HTML_ROWS:
        more = len(rows) - MAX_HTML_ROWS
        parts.append(f"<p>… and {more} more rows: to_dataframe() has them all.</p>")
    return "".join(parts)


def _cell(value: Any) -> str:
    return f'<td style="{_CELL_STYLE}">{escape("–" if value is None else _text(value))}</td>'


def _text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{0.0 if abs(value) < MIN_SHOWN else value:.5g}"


def field_text(value: Any) -> str:
    """Return the value of a field as a reader sees it: numbers short, functions by name."""
    if is_number(value):
        return f"{float(value):.6g}"
    if isinstance(value, tuple) and value and callable(value[0]):
        value = value[0]  # a function with its derivative
    return str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number of Python or NumPy."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def row_with_errors(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in which each mean with a standard error, `name` and `name_se`, is one text."""
    means = {name.removesuffix("_se") for name in row if name.endswith("_se")}
    return {
        name: with_error(value, row[f"{name}_se"]) if name in means else value
        for name, value in row.items()
        if not name.endswith("_se")
    }


def row_with_margins(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in which each error is one text with its accuracy, where that is stated."""
    shown = {k: v for k, v in row.items() if not k.endswith(("_accuracy", "_spread"))}
    for name in ("train", "test"):
        if (accuracy := row.get(f"{name}_accuracy")) is not None:
            shown[name] = with_error(row[name], accuracy * row[name])
    return shown


def network_count(count: int) -> str:
    """Return `one network`, or `5 networks`."""
    return "one network" if count == 1 else f"{count} networks"


def with_error(value: float, error: float) -> str:
    """Return a value with its error, both to the second digit of the error.

    >>> with_error(1.60441, 0.0123)
    '1.604 ± 0.012'
    """
    if not (math.isfinite(error) and error > 0):
        return f"{value:.5g}"
    decimals = min(max(1 - math.floor(math.log10(error)), 0), 12)  # float64 has no more to show
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"
