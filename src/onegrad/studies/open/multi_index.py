"""Two-index teachers: what one giant step learns as the rows grow from d to d squared."""

from __future__ import annotations

from typing import Any

import numpy as np

from onegrad.experiments.checks import Check, compare
from onegrad.experiments.results import Curve, Point, Points, Results
from onegrad.studies.drawing import Drawing, style

LABELS = {"plain": "labels as they are", "residual-linear": "linear part taken off"}
SIZES = ("d", "small", "middle", "large")
PUBLISHED = {3326: (0.336, 0.006), 29532: (0.207, 0.006), 262144: (0.077, 0.002)}


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.9, height=4.2)
    ax = axes[0, 0]
    every = Points([p for name in SIZES for p in results[name]])
    for i, (labels, words) in enumerate(LABELS.items()):
        curve = every.where(labels=labels).curve("n", "test")
        style.markers(ax, curve, i, words, linestyle="-", linewidth=0.8)
    checks: list[Check] = []
    if every[0].problem.d == 512:
        n, values = np.array(list(PUBLISHED)), np.array(list(PUBLISHED.values()))
        style.markers(ax, Curve(n, *values.T), 3, "Dandi et al. 2023", marker="x")
        checks = [against_print(p) for p in every.where(labels="residual-linear")
                  if p.problem.n in PUBLISHED]  # fmt: skip
    p = every[0].problem
    ax.set(xscale="log", xlabel=f"rows n (d = {p.d}, N = {p.N})", ylabel="test error")
    for power, text in ((1, "d"), (1.5, "d^1.5"), (2, "d²")):
        ax.axvline(p.d**power, color="#888888", linewidth=0.8, linestyle=":", zorder=0)
        ax.annotate(text, (p.d**power, 0.02), xycoords=("data", "axes fraction"), fontsize=7)
    style.legend(ax, 2)
    printed = against(checks, every)
    checks += proportional(axes[0, 1], results)
    return Drawing(figure, checks, (), finding(every) + printed)


def proportional(ax: Any, results: Results) -> list[Check]:
    """The same teacher with rows, inputs and neurons of one order, where the theory holds."""
    networks, theory = results["proportional"], results["uniform"]
    style.markers(ax, networks.curve("alpha", "test"), 0, "networks, fresh rows")
    style.line(ax, theory.curve("alpha", "test"), 0, "theory of two indices")
    p = networks[0].problem
    ax.set(xlabel="step exponent α", ylabel="test error")
    style.heading(ax, f"n = {p.n}, d = {p.d}, N = {p.N}")
    style.legend(ax, 2)
    return compare(networks, theory, ("train", "test"))


def against_print(point: Point) -> Check:
    """Our mean against the published one, with the standard errors of both."""
    mean, se = PUBLISHED[point.problem.n]
    both = float(np.hypot(se, point.se("test")))
    where = f"n={point.problem.n} d={point.problem.d} N={point.problem.N}"
    plain = 10**6  # a plain ratio to the combined error: the networks of the print are not known
    return Check("test", where, "published", mean, point.mean("test"), both, plain, 0.0)


def against(checks: list[Check], every: Points) -> str:
    """How far the published numbers are, in combined standard errors."""
    told = []
    for c in checks:
        n = int(c.where.split()[0].removeprefix("n="))
        networks = every.where(n=n, labels="residual-linear")[0].seeds
        told.append(
            f"{c.simulated:.3f} for the printed {c.theory:.3f} at n = {n} ({c.z:+.1f} combined "
            f"standard errors, {networks} networks)"
        )
    apart = "" if all(c.holds for c in checks) else (
        " Where these are more than three apart, the setting is the printed one as far as it is "
        "described (d, N, teacher, step, penalty, labels), and the reason is not known."
    )  # fmt: skip
    return f" Against Dandi et al. 2023: {'; '.join(told)}.{apart}" if told else ""


def finding(every: Points) -> str:
    words, better = [], []
    for n in every.levels("n"):
        plain, residual = (every.where(n=n, labels=labels)[0] for labels in LABELS)
        told = [f"{p.mean('test'):.3f} ± {p.se('test'):.3f}" for p in (plain, residual)]
        words.append(f"{told[1]} instead of {told[0]} at n = {n}")
        apart = plain.mean("test") - residual.mean("test")
        if apart > 3 * np.hypot(plain.se("test"), residual.se("test")):
            better.append(f"{n}")
    where = f"at n = {', '.join(better)}" if better else "at none of the sizes"
    return (
        "Taking the linear part off the labels before the giant step lowers the test error by more "
        f"than three standard errors {where}: {'; '.join(words)}."
    )
