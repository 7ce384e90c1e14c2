"""A free constant in the second layer, and by how much it raises the quadratic gain."""

from typing import Any

from onegrad.arrays import Floats
from onegrad.experiments import Points, Results, comparison_of
from onegrad.pictures import style
from onegrad.studies.drawing import curve_through, with_legends
from onegrad.studies.findings import Facts, paired_ratio, trend
from onegrad.theory.asymptotic.staircase import constant_gain

_GRIDS = {"networks": "uniform", "networks-16": "uniform-16"}  # two and sixteen rows per input
START, END = 0.2, 0.32  # exponents at which the linear spike alone is out, and the second one too
_LABELS = {False: "no constant", True: "free constant"}


def draw(results: Results) -> Any:
    """Draw the test error against the exponent at one n, and the factor of the gain against n."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.8)
    n = results["networks"].levels("n")[-1]
    for i, (free, label) in enumerate(_LABELS.items()):
        networks, theory = (results[k].where(n=n, intercept=free) for k in ("networks", "uniform"))
        style.markers(left, networks.curve("alpha", "test"), i, label)
        style.line(left, theory.curve("alpha", "test"), i)
    style.legend_entry(left, "uniform theory")
    left.set(xlabel="step exponent α", ylabel="test error")
    style.heading(left, f"n = {n}")
    for i, (name, uniform) in enumerate(_GRIDS.items()):
        networks = results[name]
        sizes, p = networks.levels("n"), networks[0].problem
        ratios = [paired_ratio(*gains(networks.where(n=n))) for n in sizes]
        label = f"{1 / p.phi:g} rows per input"
        style.markers(right, curve_through(sizes, ratios), i, label)
        theory = results.joined(uniform, "limit").where(phi=p.phi)
        means = [(gain_ratio(theory.where(n=n)), 0.0) for n in theory.levels("n")]
        style.line(right, curve_through(theory.levels("n"), means), i)
        right.axhline(constant_gain(p), color=style.SERIES[i], linewidth=0.9, linestyle=":")
    right.set(xscale="log", xlabel="n (N = d)", ylabel="gain with a constant / without")
    return with_legends(figure, 2)


def gains(points: Points) -> list[Floats]:
    """Return the falls of the test error from START to END, with and without a constant."""
    return [
        points.where(intercept=free, alpha=START)[0].values["test"]
        - points.where(intercept=free, alpha=END)[0].values["test"]
        for free in (True, False)
    ]


def gain_ratio(points: Points) -> float:
    """Return the predicted gain with a free constant over that without."""
    free, without = gains(points)
    return float(free / without)


checks = comparison_of(_GRIDS, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the factors of networks and of theory at each n, and their limits."""
    rows = []
    for name, uniform in _GRIDS.items():
        for n in results[name].levels("n"):
            networks, theory = results[name].where(n=n), results[uniform].where(n=n)
            problem = networks[0].problem
            row = {"n": n, "rows_per_input": 1 / problem.phi, "closed": constant_gain(problem)}
            row |= {"ratio": paired_ratio(*gains(networks)), "theory": gain_ratio(theory)}
            rows.append(row)
    ratio = rows[2]["ratio"]
    return {
        "rows": rows,
        "raised": ratio.shifted(-1),
        "off": ratio.shifted(-rows[2]["theory"]),
        "line": trend([r["n"] for r in rows[:3]], [r["ratio"] for r in rows[:3]]),
    }
