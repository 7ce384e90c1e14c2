"""Which degrees are learned when, outliers of the weights after two steps, reused batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments.checks import Check
from onegrad.experiments.results import Point, Points, Results
from onegrad.pictures import Curve, style
from onegrad.studies.text import Estimate, Facts

BATCHES = ("fresh", "same")
_PUBLISHED = {  # Dandi et al. 2024, after 0, 1, ..., 6 steps
    "error": (0.4917, 0.4202, 0.3859, 0.3683, 0.3587, 0.3534, 0.3504),
    "overlap": (0.0, 0.063, 0.102, 0.128, 0.146, 0.161, 0.173),
}
PUBLISHED_SE = 0.0006
_PUBLISHED_D = 5000
MAX_DIFFERENCE = 0.15  # between an exponent and the prediction that it confirms
VALUES = 4  # singular values whose growth is followed


@dataclass(frozen=True)
class Growth:
    """Exponents by which the leading squared singular values grow with n after two steps.

    first, second : exponents of the two steps.
    slopes : measured exponents, (networks, VALUES).
    """

    first: float
    second: float
    slopes: Floats

    @property
    def measured(self) -> Floats:
        return np.asarray(self.slopes.mean(0))

    @property
    def predicted(self) -> Floats:
        """The k-th outlier of the second step has the size n^(alpha_2 - k (1/2 - alpha_1)).

        The one with k = 0 lies where the first step's own is.
        """
        _exponents = 2 * (self.second - np.arange(VALUES) * (0.5 - self.first))
        _exponents[0] = 2 * max(self.first, self.second)
        return np.asarray(_exponents)

    @property
    def added(self) -> int:
        """Number of outliers that the second step adds by the published count."""
        return math.floor(self.second / (0.5 - self.first) + 1e-9)


def draw(results: Results) -> Any:
    """Draw the learned shares, the exponents of growth, and the errors with a reused batch."""
    figure, axes = style.panels(3, width=4.1, height=4.0)
    _draw_degrees(axes[0, 0], results["degrees"])
    _draw_growth(axes[0, 1], growths(results["outliers"]))
    _draw_reuse(axes[0, 2], Points([*results["reused"], *results["not-reused"]]))
    for ax in axes[0]:
        style.legend(ax, 2)
    return figure


def _draw_degrees(ax: Any, points: Points) -> None:
    for batches, dashes in zip(BATCHES, ("-", "--"), strict=True):
        chosen = points.where(batches=batches).ordered("steps")
        x = np.array([p.problem.steps for p in chosen], dtype=float)
        shares = np.array([p.values["share"] for p in chosen])  # (steps, seeds, degrees)
        for k in range(3):
            y, se = shares[..., k].mean(1), standard_error(shares[..., k], axis=1)
            label = f"degree {k + 1}, {batches}"
            style.markers(ax, Curve(x, y, se), k, label, linestyle=dashes, linewidth=0.9)
    ax.set(xlabel="steps", ylabel="share of the degree that is learned")


def _draw_growth(ax: Any, pairs: list[Growth]) -> None:
    for k in range(VALUES):
        x, y = ([getattr(g, name)[k] for g in pairs] for name in ("predicted", "measured"))
        ax.plot(x, y, style.MARKERS[k], color=style.SERIES[k], label=f"value {k + 1}")
    predicted = np.array([g.predicted for g in pairs])
    low, high = predicted.min(), predicted.max()
    ax.plot([low, 0, high], [0, 0, high], color="#555555", linewidth=1, label="predicted")
    ax.set(xlabel="predicted exponent (below zero: no outlier)", ylabel="measured exponent of n")


def _draw_reuse(ax: Any, points: Points) -> None:
    for i, batches in enumerate(reversed(BATCHES)):
        values = points.where(batches=batches)[0].values["error"]
        x = np.arange(values.shape[1], dtype=float)
        curve = Curve(x, values.mean(0), np.asarray(standard_error(values)))
        style.markers(ax, curve, i, f"{batches} batch", linestyle="-", linewidth=0.8)
    published = _PUBLISHED["error"]
    ax.plot(range(len(published)), published, "x", color=style.BLACK, label="Dandi et al. 2024")
    ax.set(xlabel="steps", ylabel="half mean square error")


def growths(points: Points) -> list[Growth]:
    """Return the measured growth for each pair of step exponents."""
    pairs = []
    for first, second in sorted({_exponents(p) for p in points}):
        chosen = [p for p in points if _exponents(p) == (first, second)]
        sizes = np.log([p.problem.n for p in chosen])
        values = [np.log(p.values["after"] / p.values["before"][:, None]) for p in chosen]
        ratio = np.array(values)[..., :VALUES]  # (sizes, networks, VALUES)
        slopes = np.polyfit(sizes, ratio.reshape(len(sizes), -1), 1)[0]
        pairs.append(Growth(first, second, slopes.reshape(ratio.shape[1:])))
    return pairs


def _exponents(point: Point) -> tuple[float, float]:
    """Return the exponents of the first and of the second step."""
    p = point.problem
    return round(math.log(p.step) / math.log(p.n), 6), float(p.later_alpha)


def checks(results: Results) -> list[Check]:
    """Compare errors and overlaps of a reused batch with the published ones, at their size."""
    point = results["reused"][0]
    if point.problem.d != _PUBLISHED_D:
        return []
    rows = []
    for name, published in _PUBLISHED.items():
        for step, value in enumerate(published):
            measured = point.values[name][:, step]
            se = float(np.hypot(standard_error(measured), PUBLISHED_SE))
            where = f"d={point.problem.d} n={point.problem.n} step {step}"
            mean, seeds = float(measured.mean()), len(measured)
            rows.append(Check(name, where, "published", value, mean, se, seeds, 0.0))
    return rows


def facts(results: Results) -> Facts:
    """Return measured and predicted exponents, the learned shares, and how publications compare."""
    pairs, points = growths(results["outliers"]), results["outliers"]
    k = np.tile(np.arange(VALUES), len(pairs))
    predicted = np.concatenate([g.predicted for g in pairs])
    off = np.concatenate([g.measured for g in pairs]) - np.maximum(predicted, 0)
    first, further = off[(k == 1) & (predicted > 0.3)], off[(k >= 2) & (predicted > 0.05)]
    still = float(off[(k >= 1) & (predicted < 0)].max())
    return {
        "sizes": points.levels("n"),
        "phi": points[0].problem.phi,
        "activation": points[0].problem.activation,
        "teacher": points[0].problem.teacher,
        "networks": points[0].seeds,
        "first_grows": bool(np.abs(first).max() < MAX_DIFFERENCE),
        "first_mean": first.mean(),
        "first_largest": np.abs(first).max(),
        "none_grows": still < MAX_DIFFERENCE,
        "still_largest": still,
        "further_visible": bool(further.mean() > -MAX_DIFFERENCE),
        "further_mean": further.mean(),
        "exponent_se": float(np.mean([standard_error(g.slopes) for g in pairs])),
        **_last_shares("quadratic", results["information-two"], 1),
        **_last_shares("cubic", results["information-three"], 2),
        "published": _published(results),
        "pairs": [
            {
                "first": g.first,
                "second": g.second,
                "measured": [{"exponent": x} for x in g.measured],
                "predicted": [{"exponent": x} for x in g.predicted],
                "added": g.added,
            }
            for g in pairs
        ],
    }


def _last_shares(name: str, points: Points, k: int) -> Facts:
    """Return the share of degree k + 1 that is learned after the last step, by batches."""
    last = {b: points.where(batches=b).ordered("steps")[-1].values["share"] for b in BATCHES}
    return {f"{name}_{batches}": Estimate.of(shares[:, k]) for batches, shares in last.items()}


def _published(results: Results) -> list[dict[str, Any]]:
    """Return how far the published numbers are, as one row; no row at other sizes."""
    rows = checks(results)
    if not rows:
        return []
    i = max(range(len(rows)), key=lambda i: abs(rows[i].z))
    furthest = rows[i]
    return [
        {
            "count": len(rows),
            "holding": sum(c.holds for c in rows),
            "seeds": furthest.seeds,
            "quantity": furthest.quantity,
            "step": i % len(_PUBLISHED["error"]),
            "simulated": furthest.simulated,
            "theory": furthest.theory,
            "z": furthest.z,
        }
    ]
