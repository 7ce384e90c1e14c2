"""A report on a fitted model, for people."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onegrad.exceptions import printable
from onegrad.tables.model.fitted import Fitted


@dataclass(frozen=True)
class Report:
    """Lines (name, value) and the columns that matter most; prints as text and as HTML."""

    title: str
    lines: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, float], ...]
    about: str = "importance of inputs"

    @classmethod
    def of(
        cls,
        title: str,
        fitted: Fitted,
        column_names: Sequence[str],
        first_layer: Sequence[tuple[str, str]],
    ) -> Report:
        """Return the report of a fitted model; its family describes the first layer."""
        statistics = fitted.statistics
        relative = listed("{:.3g}", statistics.choice["relative_ridge"])
        ridge = listed("{:.3g}", [member.ridge for member in fitted.members])
        neurons = listed("{}", [len(layer.W) for layer in fitted.layers], " + ")
        lines, learned = [("rows", f"{fitted.rows:,}")], fitted.learned_from
        if learned is not None and learned.chosen:
            source = f"{len(learned.keys):,} distinct rows; others leave no trace when removed"
            lines.append(("learned from", source))
        if len(fitted.members) > 1:
            lines.append(("members", f"{len(fitted.members)}, whose mean is predicted"))
        lines += [
            ("features", f"{fitted.width} ({neurons} neurons)"),
            *first_layer,
            ("ridge", f"{ridge} ({relative} of the mean variance)"),
            ("held out", _scores(statistics.choice)),
        ]
        if not fitted.is_frozen:
            spectrum = fitted.spectrum
            largest = spectrum.untrained.max(initial=0.0)
            count = len(spectrum.spikes)
            directions = f"{count} direction{'s' * (count != 1)} that random features do not have"
            lines.append(("spectrum", f"{directions} (eigenvalues above {largest:.3g})"))
        about = "importance of inputs"
        if fitted.changes:
            rows = f"the {statistics.rows:,} rows of the fit"
            lines.append(("since the fit", f"{fitted.changes}; held out: of {rows}"))
            about += f" ({rows})"
        importances = zip(column_names, fitted.column_importances.tolist(), strict=True)
        ranked = sorted(importances, key=lambda pair: -pair[1])
        return cls(title, tuple(lines), tuple(ranked[:10]), about)

    def __str__(self) -> str:
        inputs = [(printable(name), share) for name, share in self.inputs]
        width = max(len(name) for name, _ in (*self.lines, *inputs))
        rows = [f"  {name.ljust(width)}  {value}" for name, value in self.lines]
        bars = [
            f"  {name.ljust(width)}  {share:6.1%} {'#' * round(40 * share)}"
            for name, share in inputs
        ]
        return "\n".join([self.title, *rows, self.about, *bars])

    def _repr_html_(self) -> str:
        bar = "<span style='display:inline-block;height:.8em;background:#4477aa;width:{:.2f}em'>"
        rows = [_row(name, html.escape(value)) for name, value in self.lines]
        bars = [_row(name, f"{bar.format(10 * x)}</span> {x:.1%}") for name, x in self.inputs]
        return (
            f"<table><caption>{html.escape(self.title)}</caption>{''.join(rows)}"
            f"<tr><th colspan='2' style='text-align:left'>{html.escape(self.about)}</th></tr>"
            f"{''.join(bars)}</table>"
        )


def _scores(choice: dict[str, Any]) -> str:
    """Return the scores on rows that the model has not seen, each by name and direction."""
    if not choice["held_out_rows"]:
        return "nothing: no choice was made on data"
    rows, measures = f"{choice['held_out_rows']} rows", choice.get("measures")
    if not measures:
        return f"{rows}, mean loss {choice['held_out_loss']:.4g} (lower is better)"
    better = {"R2": "higher", "accuracy": "higher"}
    scores = [
        f"{name} {value:.4g} ({better.get(name, 'lower')} is better)"
        for name, value in measures.items()
    ]
    return f"{rows}, {', '.join(scores)}"


def listed(form: str, values: Any, between: str = ", ") -> str:
    """Return one value, or those of all members; equal ones once unless they are added up."""
    values = [form.format(x) for x in (values if isinstance(values, list) else [values])]
    return values[0] if between == ", " and len(set(values)) == 1 else between.join(values)


def _row(name: str, cell: str) -> str:
    style = "style='text-align:left'"
    return f"<tr><th {style}>{html.escape(name)}</th><td {style}>{cell}</td></tr>"
