"""Ba et al., Figure 2: where neurons go in the mean-field and in the NTK scaling."""

from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.experiments import Check, Points, Results, check
from onegrad.pictures import style
from onegrad.studies.findings import Estimate, Facts

TITLES = {"mean-field": "mean-field scaling", "ntk": "NTK scaling"}
RATIO_EXPONENT = -0.5  # of N in the ratio of the distances, by linearisation
_ACCURACY = 0.15  # of that exponent: the mean-field network is far from its linearisation


def draw(results: Results) -> Any:
    """Draw the paths of one network's neurons for both scalings, and the distances against N."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Rectangle

    figure, axes = style.panels(3, width=3.9, height=4.0)
    for ax, (name, title) in zip(axes[0], TITLES.items(), strict=False):
        paths = results[name][0].values["paths"][0]  # (times, neurons, 2)
        reach = 1.05 * float(np.abs(paths).max())
        segments = np.stack([paths[:-1], paths[1:]], axis=2).reshape(-1, 2, 2)
        times = np.repeat(np.linspace(0, 1, len(paths) - 1), paths.shape[1])
        lines = LineCollection(list(segments), array=times, cmap=colormaps["viridis"])
        lines.set(linewidth=0.8, rasterized=True)  # thousands of segments
        ax.add_collection(lines)
        ax.scatter(*paths[0].T, s=3, color="black", zorder=3)
        ax.set(title=title, xlabel=r"$w\cdot\beta_1$", xlim=(-reach, reach), ylim=(-reach, reach))
        ax.axhline(0, color="black", linestyle="--", linewidth=0.8)
        ax.axvline(0, color="black", linestyle="--", linewidth=0.8)
        ax.set_box_aspect(1)
    axes[0, 0].set_ylabel(r"$w\cdot\beta_2$")
    corner = axes[0, 1].get_xlim()[0]
    frame: Any = {"fill": False, "color": style.RED, "label": "frame of the middle panel"}
    axes[0, 0].add_patch(Rectangle((corner, corner), -2 * corner, -2 * corner, **frame))
    axes[0, 0].legend(loc="lower left")
    right = axes[0, 2]
    curves = [by_width(results, name).curve("N", "distance") for name in TITLES]
    for i, (curve, title) in enumerate(zip(curves, TITLES.values(), strict=True)):
        style.markers(right, curve, i, title)
    scaled = curves[0].y * curve.x**RATIO_EXPONENT
    rate = scaled * curve.y[-1] / scaled[-1]
    label = r"theory: mean-field times $N^{-1/2}$"
    right.plot(curve.x, rate, ":", color=style.SERIES[1], label=label)
    style.log_axis(right, "x", curve.x.tolist())
    style.log_axis(right, "y", (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2))
    right.set(xlabel=r"width $N$", ylabel="mean distance travelled")
    right.set_box_aspect(1)
    right.legend(loc="center left")
    return figure


def by_width(results: Results, name: str) -> Points:
    """Return the networks of a scaling at all widths."""
    return results.joined(f"growing-{name}", name).ordered("N")


def ratio_exponents(results: Results) -> Floats:
    """Return the exponent of N in the ratio of NTK and mean-field distance, one per seed."""
    ntk, mean_field = (
        np.array([p.values["distance"] for p in by_width(results, name)])  # (widths, seeds)
        for name in ("ntk", "mean-field")
    )
    # the ratio is paired: both scalings start from the same networks, so a seed's luck cancels
    log_N = np.log([p.problem.N for p in by_width(results, "ntk")])
    return np.polyfit(log_N, np.log(ntk / mean_field), 1)[0]


def checks(results: Results) -> list[Check]:
    """Compare the exponent of the ratio of the distances with -1/2."""
    fitted, problem = ratio_exponents(results), results["ntk"][0].problem
    return [check("exponent of N", problem, fitted, RATIO_EXPONENT, "linearised", _ACCURACY)]


def facts(results: Results) -> Facts:
    """Return steps, final loss and distance travelled for each scaling."""
    scalings = []
    for name, title in TITLES.items():
        points = by_width(results, name)
        largest = points[-1]
        scalings.append(
            {
                "title": title,
                "d": largest.problem.d,
                "steps": largest.mean("steps"),
                "loss": largest.mean("loss"),
                "distance": largest.mean("distance"),
                "spread": float(np.std(largest.values["paths"][:, 0])),
            }
        )
    widths = by_width(results, "ntk").levels("N")
    return {
        "scalings": scalings,
        "exponent": Estimate.of(ratio_exponents(results)),
        "smallest": widths[0],
        "largest": widths[-1],
    }
