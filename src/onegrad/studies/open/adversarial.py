"""Errors under adversarial perturbations of the inputs, with and without the step."""

import math
from typing import Any

import numpy as np

from onegrad.arrays import Floats, standard_error
from onegrad.experiments import Check, Point, Points, Results, check
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import curve_through, seed_curve
from onegrad.studies.findings import Estimate, Facts
from onegrad.studies.measures.adversarial_inputs import LENGTHS

DRAWN_LENGTHS = (0.0, 0.2, 0.4, 0.8)
SHORT_LENGTH, TABLE_LENGTH = 0.2, 0.4
_ACCURACY = 0.03  # of E|grad f|^2: see gradient_energy


def draw(results: Results) -> Any:
    """Draw errors against the length, gradients and relative errors against the exponent."""
    figure, ((left, middle, right),) = style.panels(3, width=4.0, height=4.0)
    sizes = networks_by_size(results)
    untrained, trained = sizes[-1]
    lengths = np.linspace(0, max(LENGTHS), 41)
    for i, p in enumerate([untrained, *trained[2:]]):
        label = "untrained" if p.problem.step == 0 else rf"$\alpha$ = {p.problem.alpha:g}"
        left.plot(lengths, [first_order_error(p, e).mean() for e in lengths], color=style.SERIES[i])
        attacked = [Estimate.of(values) for values in p.values["attacked"].T]
        style.markers(left, curve_through(LENGTHS, attacked), i, label)
    style.legend_entry(left, r"$E(|r|+\epsilon|\nabla f|)^2$")
    left.set(xlabel=r"length $\epsilon$ of the perturbation", ylabel="error under attack")
    for i, (_, points) in enumerate(sizes):
        curve = style.dodged(points.curve("alpha", "gradient"), 0.012 * (i - 1))
        style.markers(middle, curve, i, f"$n$ = {points[0].problem.n}")
    words = f"uniform theory, $n$ = {trained[0].problem.n}"
    style.line(middle, results["theory"].curve("alpha", "gradient"), 2, words)
    style.level(middle, untrained.problem.sigma_star.slope_second_moment, "the teacher's own")
    middle.set(xlabel=r"step exponent $\alpha$", ylabel=r"mean of $|\nabla f|^2$", ylim=(0, None))
    for i, length in enumerate(DRAWN_LENGTHS):
        curve = relative_error(untrained, trained, length)
        style.markers(right, curve, i, rf"$\epsilon$ = {length:g}", linestyle="-")
    right.axhline(1, color="black", linewidth=0.8)
    right.set(xlabel=r"step exponent $\alpha$", ylabel="error / that of the untrained network")
    for ax in (left, middle, right):
        style.legend(ax, 2)
    return figure


def networks_by_size(results: Results) -> list[tuple[Point, Points]]:
    """Return the untrained network and the trained ones at each size, the largest last."""
    return [(results[f"untrained-{k}"][0], results[f"trained-{k}"].ordered("alpha")) for k in "123"]


def attacked_error(point: Point, length: float) -> Floats:
    """Return the error with inputs moved by 0 or by one of LENGTHS, one value per network."""
    if length == 0:
        return point.values["risk"]
    return point.values["attacked"][:, LENGTHS.index(length)]


def first_order_error(point: Point, length: float) -> Floats:
    """Return E(|r| + eps |grad f|)^2, one value per network."""
    risk, slope, gradient = (point.values[q] for q in ("risk", "slope", "gradient"))
    return risk + 2 * length * slope + length**2 * gradient


def relative_error(untrained: Point, trained: Points, length: float) -> Curve:
    """Return the error under attack over that of the same untrained network, against alpha."""
    before = attacked_error(untrained, length)
    return seed_curve(trained, "alpha", lambda p: attacked_error(p, length) / before)


def crossing_length(untrained: Point, trained: Point) -> Estimate:
    """Return the length at which networks with and without the step have the same mean error.

    The inputs are really moved; between the lengths that were tried the difference is a line.
    """
    before, after = (
        np.column_stack([p.values["risk"], p.values["attacked"]]) for p in (untrained, trained)
    )
    difference = (after - before).mean(0)  # paired by seed, at length 0 and at LENGTHS
    lengths = np.array([0.0, *LENGTHS])
    above = np.flatnonzero(difference > 0)
    if not len(above):
        return Estimate(math.inf, math.nan)
    i = int(above[0])
    rate = (difference[i] - difference[i - 1]) / (lengths[i] - lengths[i - 1])
    error = float(standard_error((after - before)[:, i]))
    return Estimate(float(lengths[i] - difference[i] / rate), error / float(rate))


def checks(results: Results) -> list[Check]:
    """Compare the mean squares of gradients with theory."""
    rows = []
    _, trained = networks_by_size(results)[-1]
    for p in trained[:-1]:  # not the maximal step
        for near in results["theory"].where(alpha=p.problem.alpha):
            expected, values = near.mean("gradient"), p.values["gradient"]
            rows.append(check("E|∇f|²", p.problem, values, expected, "uniform", _ACCURACY))
    return rows


def facts(results: Results) -> Facts:
    """Return gains, crossings and gradients at the largest step."""
    pairs = [(untrained, trained[-1]) for untrained, trained in networks_by_size(results)]
    untrained, trained = pairs[-1]
    p = trained.problem
    gain, gain_short = (
        1 - float(np.mean(attacked_error(trained, e) / attacked_error(untrained, e)))
        for e in (0.0, SHORT_LENGTH)
    )
    crossings = [{"n": b.problem.n, "crossing": crossing_length(a, b)} for a, b in pairs]
    attacks = [
        {
            "step": "untrained" if q.problem.step == 0 else f"α = {q.problem.alpha:g}",
            "attacked": float(attacked_error(q, LENGTHS[-1]).mean()),
            "formula": float(first_order_error(q, LENGTHS[-1]).mean()),
        }
        for q in (untrained, trained)
    ]
    gradients = [
        {
            "alpha": q.problem.alpha,
            "measured": Estimate.of(q.values["gradient"]),
            "predicted": r.mean("gradient"),
            "error": Estimate.of(q.values["risk"]),
            "attacked": Estimate.of(attacked_error(q, TABLE_LENGTH)),
        }
        for q in networks_by_size(results)[-1][1]
        for r in results["theory"].where(alpha=q.problem.alpha)
    ]
    return {
        "gain": gain,
        "gain_short": gain_short,
        "n": p.n,
        "alpha": p.alpha,
        "short": SHORT_LENGTH,
        "length": math.sqrt(p.d),
        "crossing": crossings[-1]["crossing"],
        "crossings": crossings[:-1],
        "untrained": Estimate.of(untrained.values["gradient"]),
        "trained": Estimate.of(trained.values["gradient"]),
        "teacher": p.sigma_star.slope_second_moment,
        "largest_length": LENGTHS[-1],
        "attacks": attacks,
        "gradients": gradients,
    }
