"""Where the Gaussian theory holds for inputs that are not Gaussian."""

from __future__ import annotations

import numpy as np

from onegrad.experiments.results import Curve, Points, Results
from onegrad.studies.drawing import Drawing, style

WILD = 0.05  # relative standard error beyond which single networks decide a mean
REAL = {"same-sizes": "Gaussian", "digits-whitened": "digits, whitened", "digits": "digits"}


def draw(results: Results) -> Drawing:
    figure, axes = style.panels(2, width=4.8, height=4.0)
    laws = list(dict.fromkeys(p.problem.inputs for p in results["laws"]))
    off = {}
    for i, law in enumerate(laws):
        curve = relative(results["laws"].where(inputs=law), results["theory"])
        style.markers(axes[0, 0], curve, i, law, linestyle="-", linewidth=0.8)
        off[law] = worst(curve)
    for i, (name, label) in enumerate(REAL.items()):
        curve = relative(results[name], results["theory-same-sizes"])
        style.markers(axes[0, 1], curve, i, label, linestyle="-", linewidth=0.8)
        off[label] = worst(curve)
    axes[0, 0].set_ylim(-0.12, 0.12)
    for ax in axes[0]:
        ax.axhspan(-0.02, 0.02, color="#dddddd", zorder=0)
        ax.set(xlabel="step exponent α", ylabel="test error / Gaussian theory − 1")
        style.legend(ax, 3)
    notes = [spikes(results, law) for law in laws]
    return Drawing(figure, (), notes, finding(off, results))


def relative(points: Points, theory: Points) -> Curve:
    """Test error over the theory's, minus one."""
    found, exact = points.curve("alpha", "test"), theory.curve("alpha", "test").y
    return Curve(found.x, found.y / exact - 1, found.se / exact)


def worst(curve: Curve) -> tuple[float, float]:
    """The largest deviation and its standard error."""
    i = int(np.argmax(np.abs(curve.y)))
    return float(curve.y[i]), float(curve.se[i])


def finding(off: dict[str, tuple[float, float]], results: Results) -> str:
    def said(names: list[str]) -> str:
        return ", ".join(f"{n} {off[n][0]:+.1%} ± {off[n][1]:.1%}" for n in names)

    seeds = results["laws"][0].seeds
    others = {n: v for n, v in off.items() if n not in ("Gaussian", "gaussian")}
    wild = [n for n, (_, se) in others.items() if se > WILD]
    near = [n for n, (d, se) in others.items() if abs(d) <= 0.02 + 2 * se and n not in wild]
    far = [n for n in others if n not in near and n not in wild]
    tails = f" For {', '.join(wild)} single networks decide the mean." if wild else ""
    return (
        f"With {seeds} networks a point, no deviation of the test error from the Gaussian theory "
        f"beyond 2 % is seen at two standard errors for {said(near)}; one is seen for {said(far)} "
        f"(largest deviation over the steps).{tails}"
    )


def spikes(results: Results, law: str) -> str:
    """How many eigenvalues lie beyond the theory's edge."""
    parts = []
    for point in results["spikes"].where(inputs=law).ordered("alpha"):
        edge = results["edge"].where(alpha=point.problem.alpha)[0].mean("edge")
        counts = (point.values["F"] > 1.1 * edge).sum(-1)
        parts.append(f"{counts.mean():.1f} at α = {point.problem.alpha:g}")
    return f"{law}: eigenvalues beyond 1.1 times the Gaussian edge: {', '.join(parts)}."
