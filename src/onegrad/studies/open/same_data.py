"""Cost and gain of using every row twice."""

from typing import Any

from onegrad.experiments import Points, Results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import best_penalty, curve_through
from onegrad.studies.findings import Facts, lowest_point, paired_change

_WAYS = ("same", "fresh")


def draw(results: Results) -> Any:
    """Draw the test error against the exponent with the same and with fresh rows."""
    totals = results["same"].levels("n")
    figure, axes = style.panels(len(totals), width=3.6, height=3.8)
    for ax, total in zip(axes[0], totals, strict=True):
        for i, name in enumerate(_WAYS):
            networks = with_total(results, name, total)
            style.markers(ax, best_penalty(networks), i, f"{name} rows")
            style.line(ax, at_best_penalty(networks, results[f"{name}-theory"]), i)
        style.legend_entry(ax, "uniform theory")
        ax.set(xlabel="step exponent α", ylabel="test error, best penalty")
        style.legend(ax, 3, f"{total / results['same'][0].problem.d:g} rows per input")
    return figure


def with_total(results: Results, name: str, total: int) -> Points:
    """Return the networks that use this many rows: all of them twice, or half of them for each."""
    return results[name].where(n=total if name == "same" else total // 2)


def at_best_penalty(networks: Points, theory: Points) -> Curve:
    """Return the predicted test error at the networks' best penalty, where there is one."""
    alphas, values = [], []
    for alpha in networks.levels("alpha"):
        best = min(networks.where(alpha=alpha), key=lambda p: p.mean("test")).problem
        for point in theory.where(n=best.n, alpha=alpha, ridge=best.ridge):
            alphas.append(alpha)
            values.append((point.mean("test"), 0.0))
    return curve_through(alphas, values)


checks = comparison_of({name: f"{name}-theory" for name in _WAYS}, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the lowest test errors by number of rows, and what the same rows gain."""
    d, totals = results["same"][0].problem.d, []
    for total in results["same"].levels("n"):
        row: dict[str, Any] = {"rows": total / d}
        for name in _WAYS:
            points = with_total(results, name, total)
            best = lowest_point(points, "test", ["alpha", "ridge"])
            theory = results[f"{name}-theory"].where(n=points[0].problem.n, **best.at)
            predicted = theory[0].mean("test") if len(theory) else float("nan")
            row |= {name: best, f"{name}_theory": predicted}
        totals.append(row | {"gain": paired_change(row["same"].values, row["fresh"].values)})
    return {"totals": totals, "penalties": len(results["same"].levels("ridge"))}
