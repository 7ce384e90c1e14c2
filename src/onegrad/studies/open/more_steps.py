"""Which degrees are learned when, outliers of the weights after two steps, reused batches."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments import Check, Point, Points, Results
from onegrad.pictures import style
from onegrad.studies.drawing import DISPLAY_NAMES, curve_through, seed_curve
from onegrad.studies.findings import Estimate, Facts, trend

BATCHES = ("fresh", "same")
_PUBLISHED = {  # Dandi et al. 2024, after 0, 1, ..., 6 steps
    "error": (0.4917, 0.4202, 0.3859, 0.3683, 0.3587, 0.3534, 0.3504),
    "overlap": (0.0, 0.063, 0.102, 0.128, 0.146, 0.161, 0.173),
}
PUBLISHED_SE = 0.0006
_PUBLISHED_D = 5000
MAX_DIFFERENCE = 0.15  # by which visible outliers fall short of the predicted exponent at most
_ZERO = 1e-9  # exponents up to this are not positive
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
        exponents = 2 * (self.second - np.arange(VALUES) * (0.5 - self.first))
        exponents[0] = 2 * max(self.first, self.second)
        return np.asarray(exponents)

    @property
    def added(self) -> int:
        """Number of outliers that the second step adds by the published count."""
        return math.floor(self.second / (0.5 - self.first) + 1e-9)


def draw(results: Results) -> Any:
    """Draw the exponents of growth, the learned shares, and the errors with a reused batch."""
    figure, axes = style.panels(3, width=4.1, height=4.0)
    _draw_growth(axes[0, 0], growths(results["outliers"]))
    _draw_shares(axes[0, 1], results)
    _draw_reuse(axes[0, 2], results.joined("reused", "not-reused"))
    for ax in axes[0]:
        style.legend(ax, 2)
    return figure


def _draw_growth(ax: Any, pairs: list[Growth]) -> None:
    for k in range(1, VALUES):
        x, y = ([getattr(g, name)[k] for g in pairs] for name in ("predicted", "measured"))
        fill = {} if k == 1 else {"markerfacecolor": "none"}
        label = "first added, k = 1" if k == 1 else f"k = {k}"
        ax.plot(x, y, style.MARKERS[k], color=style.SERIES[k], label=label, **fill)
    predicted = np.array([g.predicted for g in pairs])[:, 1:]
    low, high = predicted.min(), predicted.max()
    ax.plot([low, 0, high], [0, 0, high], color="#555555", linewidth=1, label="predicted")
    ax.set(xlabel="predicted exponent (below zero: no outlier)", ylabel="measured exponent of n")


def _draw_shares(ax: Any, results: Results) -> None:
    points = results["cubic-fresh"]
    n = points.levels("n")[-1]
    for i, activation in enumerate(points.distinct("activation")):
        for batches, dashes in zip(BATCHES, ("-", "--"), strict=True):
            chosen = results[f"cubic-{batches}"].where(n=n, activation=activation)
            curve = seed_curve(chosen, "steps", shares)
            label = f"{activation}, {batches}"
            style.markers(ax, curve, i, label, linestyle=dashes, linewidth=0.9)
        equal = shares(equal_rows(results, "cubic").where(n=n, activation=activation)[0])
        end = curve_through([curve.x[-1]], [Estimate.of(equal)])
        style.markers(ax, end, i, f"{activation}, reused, equal rows", marker="x")
    ax.set(xlabel="steps", ylabel="learned share of the cubic")
    style.heading(ax, f"d = {points.levels('d')[-1]}")


def _draw_reuse(ax: Any, points: Points) -> None:
    for i, batches in enumerate(reversed(BATCHES)):
        errors = points.where(batches=batches)[0].values["error"].T  # (steps, seeds)
        curve = curve_through(range(len(errors)), [Estimate.of(values) for values in errors])
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


def shares(point: Point) -> Floats:
    """Return the learned share of the only degree of the teacher, by network."""
    share = point.values["share"]
    return share[:, np.isfinite(share).all(0)][:, 0]


def last_shares(results: Results, teacher: str, activation: str, n: int) -> dict[str, Any]:
    """Return the share that is learned after the last step, by the rows of the steps."""
    where = {"n": n, "activation": activation}
    last = {b: results[f"{teacher}-{b}"].where(**where).ordered("steps")[-1] for b in BATCHES}
    last["equal"] = equal_rows(results, teacher).where(**where)[0]
    return {kind: Estimate.of(shares(point)) for kind, point in last.items()}


def equal_rows(results: Results, teacher: str) -> Points:
    """Return the points with one reused batch of as many rows as all fresh batches together."""
    return results.joined(*(name for name in results if name.startswith(f"{teacher}-equal")))


def facts(results: Results) -> Facts:
    """Return measured and predicted exponents, the learned shares, and how publications compare."""
    pairs, points = growths(results["outliers"]), results["outliers"]
    k = np.tile(np.arange(VALUES), len(pairs))
    predicted = np.concatenate([g.predicted for g in pairs])
    measured = np.concatenate([g.measured for g in pairs])
    off = measured - np.maximum(predicted, 0)
    first = (k == 1) & (predicted > _ZERO)
    further = (k >= 2) & (predicted > _ZERO)
    n, d = (results["cubic-fresh"].levels(name)[-1] for name in ("n", "d"))
    activations = results["cubic-fresh"].distinct("activation")
    return {
        "sizes": points.levels("n"),
        "positive": int(first.sum()),
        "first_mean": off[first].mean(),
        "first_largest": np.abs(off[first]).max(),
        "further_count": int(further.sum()),
        "further_mean": off[further].mean(),
        "further_visible": bool(off[further].mean() > -MAX_DIFFERENCE),
        "exponent_se": float(np.mean([standard_error(g.slopes) for g in pairs])),
        "d": d,
        "cubic": [
            {"activation": DISPLAY_NAMES.get(a, a), **last_shares(results, "cubic", a, n)}
            for a in activations
        ],
        "cubic_errors": _cubic_errors(results["cubic-fresh"]),
        "quadratic": [last_shares(results, "quadratic", "relu", n)],
        "published": _published(results),
        "pairs": [
            {
                "first": g.first,
                "second": g.second,
                "measured": list(g.measured),
                "predicted": list(g.predicted),
                "added": g.added,
            }
            for g in pairs
        ],
        "trends": [
            *(_trend(results, "cubic", activation) for activation in activations),
            _trend(results, "quadratic", "relu"),
        ],
    }


def _cubic_errors(points: Points) -> list[dict[str, Any]]:
    """Return the test error of each activation after the first and the last step, by size."""
    rows = []
    for activation, d in itertools.product(points.distinct("activation"), points.levels("d")):
        first, *_, last = points.where(activation=activation, d=d).ordered("steps")
        before, after = (Estimate.of(p.values["risk"]) for p in (first, last))
        rows.append({"activation": activation, "d": d, "before": before, "after": after})
    return rows


def _trend(results: Results, teacher: str, activation: str) -> dict[str, Any]:
    """Return the share that fresh batches learn by size, and its change per doubling of d."""
    points = results[f"{teacher}-fresh"].where(activation=activation)
    last = points.where(steps=points.levels("steps")[-1]).ordered("d")
    values = [Estimate.of(shares(p)) for p in last]
    sizes = [p.problem.d for p in last]
    return {
        "what": f"{teacher} teacher, {activation}",
        "by_size": [{"d": d, "share": v} for d, v in zip(sizes, values, strict=True)],
        "line": trend("d", sizes, values),
    }


def _published(results: Results) -> list[dict[str, Any]]:
    """Return how far the published numbers are, as one row; no row at other sizes."""
    rows = checks(results)
    if not rows:
        return []
    furthest = max(rows, key=lambda check: abs(check.z))
    return [
        {
            "count": len(rows),
            "holding": sum(c.holds for c in rows),
            "furthest": furthest,
            "step": rows.index(furthest) % len(_PUBLISHED["error"]),
        }
    ]
