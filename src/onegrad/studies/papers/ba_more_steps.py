"""Ba et al., beyond Theorem 3: Gaussian equivalence after one step, and not after several."""

from __future__ import annotations

import numpy as np

from onegrad.arrays import standard_error
from onegrad.experiments.checks import compare
from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style


def draw(results: Results) -> Drawing:
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.7)
    trained, gaussian, uniform = (results[k] for k in ("trained", "gaussian", "uniform"))
    *_, largest = trained.levels("d")
    for i, (points, label) in enumerate(((trained, "F: trained"), (gaussian, "Gaussian equiv."))):
        curve = points.where(d=largest).curve("steps", "risk")
        style.markers(left, curve, i, f"{label}, d = {largest}", linestyle=":")
    one = uniform.where(d=largest)[0]
    left.plot(1, one.mean("risk"), "x", color=style.BLACK, markersize=9, zorder=5,
              label="uniform theory, one step")  # fmt: skip
    kernel = one.mean("kernel_bound") - one.problem.noise**2
    style.level(left, kernel, "kernel lower bound")
    style.log_axis(left, "y", (0.01, 0.02, 0.05, 0.1, 0.2))
    left.set(xlabel="gradient steps", ylabel="prediction risk")
    notes = []
    for i, d in enumerate(trained.levels("d")):
        curve = gap(trained.where(d=d), gaussian.where(d=d))
        style.markers(right, curve, i, f"networks, d = {d}", linestyle=":")
        ends = f"{curve.y[0]:+.1%} ± {curve.se[0]:.1%} after one step, {curve.y[-1]:+.0%}"
        notes.append(f"d = {d}: {ends} ± {curve.se[-1]:.0%} after {curve.x[-1]:.0f}")
    right.axhline(0, color="black", linewidth=0.8, label="Theorem 3: no gap, n → ∞")
    right.set(xlabel="gradient steps", ylabel="risk of the equivalent / risk of F, minus 1")
    style.legend(left, 2)
    style.legend(right, 2)
    single = Points([p for p in trained if p.problem.steps == 1])
    checks = compare(single, uniform, ("train", "test"))
    return Drawing(figure, checks, [f"Gap of the Gaussian equivalent: {'; '.join(notes)}."])


def gap(trained: Points, other: Points) -> Curve:
    """Relative difference of mean risks on the same seeds, against the number of steps."""
    a, b = (np.array([p.values["risk"] for p in points.ordered("steps")])
            for points in (trained, other))  # fmt: skip
    ratio = b.mean(1) / a.mean(1)
    linear = (b - ratio[:, None] * a) / a.mean(1)[:, None]  # its deviation seed by seed
    x = np.array([p.problem.steps for p in trained.ordered("steps")], dtype=float)
    return Curve(x, ratio - 1, standard_error(linear, axis=1))
