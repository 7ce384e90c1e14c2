"""The teacher's subspace in the metric after some rounds, and in one look at the moments."""

from typing import Any

from onegrad.experiments import Point, Results
from onegrad.pictures import style
from onegrad.studies.drawing import joined
from onegrad.studies.findings import Estimate, Facts, paired_difference, trend

_QUANTITIES = {
    "overlap": "five rounds",
    "spectral": "one look at y",
    "tanh": "one look at tanh(y)",
}


def draw(results: Results) -> Any:
    """Draw the overlaps against d, one panel per teacher."""
    points = results["rounds"]
    teachers = points.distinct("teacher")
    figure, axes = style.panels(len(teachers), width=4.4, height=3.8)
    for ax, teacher in zip(axes[0], teachers, strict=True):
        for i, (quantity, label) in enumerate(_QUANTITIES.items()):
            joined(ax, points.where(teacher=teacher).curve("d", quantity), i, label)
        ax.set(xlabel="d, with n = 16 d", ylabel="overlap of the subspaces", ylim=(0, 1.05))
        style.log_axis(ax, "x", points.levels("d"))
        style.heading(ax, teacher, side="left")
    style.legend(axes[0, 0], 3)
    return figure


def facts(results: Results) -> Facts:
    """Return the overlaps, their paired differences by teacher and size, and the trend in d."""
    points = results["rounds"]
    table, slopes = [], []
    for teacher in points.distinct("teacher"):
        rows = [_row(p) for p in points.where(teacher=teacher).ordered("d")]
        line = trend([row["d"] for row in rows], [row["difference"] for row in rows])
        slopes.append({"teacher": teacher, "line": line})
        table += rows
    product = [row for row in table if row["teacher"] == table[-1]["teacher"]]
    return {"first": product[0], "last": product[-1], "slopes": slopes, "table": table}


def _row(point: Point) -> dict[str, Any]:
    values = point.values
    return {
        "teacher": point.problem.teacher,
        "d": point.problem.d,
        "n": point.problem.n,
        "rounds": Estimate.of(values["overlap"]),
        **{name: Estimate.of(values[name]) for name in ("spectral", "tanh", "risk")},
        "difference": paired_difference(values["overlap"], values["tanh"]),
        "gain": paired_difference(values["tanh"], values["spectral"]),
    }
