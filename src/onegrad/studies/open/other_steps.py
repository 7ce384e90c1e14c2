"""Learning with other steps, each at its best length and penalty."""

from typing import Any

from onegrad.experiments import Results
from onegrad.pictures import style
from onegrad.studies.drawing import best_penalty, curve_through, joined, with_legends
from onegrad.studies.findings import Estimate, Facts, lowest_point, paired_change
from onegrad.studies.measures.steps import KINDS_OF_STEP

_NAMES = {"rank-one": "rank one, Xᵀy", "least-squares": "rank one, least squares"}


def draw(results: Results) -> Any:
    """Draw the test error against the exponent, and the lowest error of each step."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.8)
    points, all_rows = results["networks"], rows(results)
    laws = points.distinct("inputs")
    for i, step in enumerate(KINDS_OF_STEP):
        curve = best_penalty(points.where(inputs=laws[0]), f"test_{step}")
        joined(left, curve, i, _NAMES.get(step, step))
    left.set(xlabel="step exponent α", ylabel="test error, best penalty")
    for i, law in enumerate(laws):
        changes = [row["change"] for row in all_rows if row["law"] == law]
        curve = curve_through(range(len(KINDS_OF_STEP)), [(1 + c.mean, c.se) for c in changes])
        style.markers(right, curve, i, f"{law} inputs", linestyle="none")
    names = [_NAMES.get(step, step).replace(", ", ",\n") for step in KINDS_OF_STEP]
    right.set_xticks(range(len(KINDS_OF_STEP)), names, rotation=20, fontsize=7)
    right.set(xlabel="step", ylabel="lowest test error / that of the gradient", ylim=(0, None))
    return with_legends(figure, 2)


def rows(results: Results) -> list[dict[str, Any]]:
    """Return the lowest error of each step, its change from the gradient and its direction."""
    points, table = results["networks"], []
    for law in points.distinct("inputs"):
        of_law = points.where(inputs=law)
        best = {s: lowest_point(of_law, f"test_{s}", ["alpha", "ridge"]) for s in KINDS_OF_STEP}
        for step in KINDS_OF_STEP:
            row = {"law": law, "name": _NAMES.get(step, step), "best": best[step]}
            row["change"] = paired_change(best[step].values, best["gradient"].values)
            row["cosine"] = Estimate.of(of_law[0].values[f"cosine_{step}"])
            table.append(row)
    return table


def facts(results: Results) -> Facts:
    """Return the lowest test error of each step, its change, and the learned directions."""
    table, problem = rows(results), results["networks"][0].problem
    isotropic = table[: len(KINDS_OF_STEP)]
    best = {step: row["best"].values for step, row in zip(KINDS_OF_STEP, isotropic, strict=True)}
    c = float(problem.sigma_star.c[1])
    noise = (problem.sigma_star.second_moment + problem.noise**2) / c**2 - 1
    phi = problem.phi_step
    return {
        "isotropic": isotropic,
        "against_preconditioned": paired_change(best["least-squares"], best["preconditioned"]),
        "rows": table,
        "gradient_cosine": isotropic[0]["cosine"].mean,
        "cosine": isotropic[-1]["cosine"].mean,
        "formula": 1 / (1 + noise * phi / (1 - phi)),
    }
