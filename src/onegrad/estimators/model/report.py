"""What a fitted network learned, for people."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

MOST_INPUTS = 10


@dataclass(frozen=True)
class Report:
    """Lines (name, value) and the inputs that matter most; prints as text and as HTML."""

    title: str
    lines: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, float], ...]
    about: str = "importance of inputs"

    @classmethod
    def of(cls, estimator: Any) -> Report:
        """The report of a fitted estimator."""
        fitted, choice = estimator.fitted_, estimator.choice_
        several = len(fitted.members) > 1
        relative = listed("{:.3g}", choice["relative_ridge"])
        ridge = listed("{:.3g}", [member.second.ridge for member in fitted.members])
        neurons = listed("{}", [len(layer.W) for layer in fitted.layers], " + ")
        lines = [
            ("rows", f"{fitted.moments.rows:,}"),
            ("features", f"{fitted.width} ({neurons} neurons)"),
        ]
        if several:
            lines.insert(1, ("members", f"{len(fitted.members)}, whose mean is predicted"))
        lines += estimator._describe(choice)
        spikes = fitted.spectrum.spikes
        largest = fitted.spectrum.untrained.max(initial=0.0)
        lines += [
            ("ridge", f"{ridge} ({relative} of the mean variance)"),
            ("held out", _scores(choice)),
            (
                "spectrum",
                f"{len(spikes)} eigenvalues above the untrained features' largest, {largest:.3g}",
            ),
        ]
        about = "importance of inputs"
        if fitted.changes:
            rows = f"the {fitted.at_fit.rows:,} rows of the fit"
            lines.append(("since the fit", f"{fitted.changes}; held out: of {rows}"))
            about += f" ({rows})"
        importances = fitted.importances
        if fitted.encoding is not None:
            importances = fitted.encoding.sum_by_column(importances)
        weights = sorted(
            zip(estimator.column_names_, importances.tolist(), strict=True),
            key=lambda pair: -pair[1],
        )
        return cls(type(estimator).__name__, tuple(lines), tuple(weights[:MOST_INPUTS]), about)

    def __str__(self) -> str:
        width = max(len(name) for name, _ in (*self.lines, *self.inputs))
        rows = [f"  {name.ljust(width)}  {value}" for name, value in self.lines]
        bars = [
            f"  {name.ljust(width)}  {share:6.1%} {'#' * round(40 * share)}"
            for name, share in self.inputs
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
    """How good the model is on rows it has not seen, each score by name and direction."""
    if not choice["held_out_rows"]:
        return "nothing: no choice was made on data"
    rows, found = f"{choice['held_out_rows']} rows", choice.get("measures")
    if not found:
        return f"{rows}, mean loss {choice['held_out_score']:.4g} (lower is better)"
    better = {"R2": "higher", "accuracy": "higher"}
    scores = [f"{name} {value:.4g} ({better.get(name, 'lower')} is better)"
              for name, value in found.items()]  # fmt: skip
    return f"{rows}, {', '.join(scores)}"


def listed(form: str, values: Any, between: str = ", ") -> str:
    """One value, or those of all members; equal ones once where they are only listed."""
    values = [form.format(x) for x in (values if isinstance(values, list) else [values])]
    return values[0] if between == ", " and len(set(values)) == 1 else between.join(values)


def _row(name: str, cell: str) -> str:
    left = "style='text-align:left'"
    return f"<tr><th {left}>{html.escape(name)}</th><td {left}>{cell}</td></tr>"
