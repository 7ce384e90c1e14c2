"""The teacher's subspace in the metric after some rounds, and in one look at the moments."""

from typing import Any

from onegrad.experiments import Point, Results
from onegrad.pictures import style
from onegrad.studies.findings import Estimate, Facts, paired_difference, trend

_QUANTITIES = {"overlap": "five rounds", "spectral": "one look"}


def draw(results: Results) -> Any:
    """Draw both overlaps against n/d, one panel per teacher."""
    points = results.joined(*results)
    teachers = points.distinct("teacher")
    figure, axes = style.panels(len(teachers), width=4.6, height=4.0)
    for ax, teacher in zip(axes[0], teachers, strict=True):
        for i, d in enumerate(points.levels("d")):
            chosen = points.where(teacher=teacher, d=d)
            for dashes, (quantity, label) in zip(("-", "--"), _QUANTITIES.items(), strict=True):
                curve = chosen.curve("n/d", quantity)
                words = f"{label}, d = {d}"
                style.markers(ax, curve, i, words, linestyle=dashes, linewidth=0.9)
        ax.set(xlabel="rows n/d", ylabel="overlap of the subspaces", ylim=(0, 1.12))
        style.log_axis(ax, "x", sorted({p.problem.n / p.problem.d for p in points}))
        style.heading(ax, teacher, side="left")
    style.legend(axes[0, 0], 2)
    return figure


def facts(results: Results) -> Facts:
    """Return both overlaps, their paired difference by teacher and size, and its trend in d."""
    points = results.joined(*results)
    ratio = sorted({p.problem.n / p.problem.d for p in points})[-2]
    teachers = points.distinct("teacher")
    table = [_row(p) for teacher in teachers for p in points.where(teacher=teacher)]
    summary, slopes = [], []
    for teacher in teachers:
        rows = [row for row in table if row["teacher"] == teacher]
        scores = [row["difference"] for row in rows]
        better, worse = (sum(s * e.mean > 2 * e.se for e in scores) for s in (1, -1))
        counts = {"better": f"{better} of {len(scores)}", "worse": f"{worse} of {len(scores)}"}
        summary.append({"teacher": teacher, **counts})
        quoted = [row for row in rows if row["n"] == ratio * row["d"]]
        line = trend("d", [row["d"] for row in quoted], [row["difference"] for row in quoted])
        slopes.append({"teacher": teacher, "line": line})
    product = [row for row in table if row["teacher"] == teachers[-1]]
    quoted = [row for row in product if row["n"] == ratio * row["d"]]
    return {
        "product": teachers[-1],
        "smallest": quoted[0],
        "largest": quoted[-1],
        "summary": summary,
        "ratio": f"{ratio:g}",
        "slopes": slopes,
        "table": table,
    }


def _row(point: Point) -> dict[str, Any]:
    values = point.values
    return {
        "teacher": point.problem.teacher,
        "d": point.problem.d,
        "n": point.problem.n,
        "rounds": Estimate.of(values["overlap"]),
        "spectral": Estimate.of(values["spectral"]),
        "risk": Estimate.of(values["risk"]),
        "difference": paired_difference(values["overlap"], values["spectral"]),
    }
