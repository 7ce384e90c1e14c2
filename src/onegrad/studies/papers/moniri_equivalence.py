"""Moniri et al., Ba et al.: features that give the same errors as the trained ones."""

from dataclasses import replace
from typing import Any

from onegrad.experiments import Results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import relative_difference, with_legends
from onegrad.studies.findings import Estimate, Facts, largest_deviation, trend

SHORT = {"spiked": "F_ℓ", "gaussian": "Gaussian equivalent"}
_LABELS = {"spiked": r"$F_\ell$: untrained + $\ell$ spikes", "gaussian": "Gaussian equivalent"}
_TYPESET = {"spiked": r"$F_\ell$", "gaussian": "Gaussian equivalent"}
_DODGE = 0.006  # of the step exponent, between series


def draw(results: Results) -> Any:
    """Draw the test errors against the exponent, and the gaps to the trained features against n."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.9)
    style.line(left, results["uniform"].curve("alpha", "test"), 0, "uniform theory")
    style.markers(left, results["trained"].curve("alpha", "test"), 0, "$F$: trained")
    for i, (name, label) in enumerate(_LABELS.items(), start=1):
        curve = style.dodged(results[name].curve("alpha", "test"), _DODGE * (2 * i - 3))
        style.markers(left, curve, i, label)
        for j, (alpha, curve) in enumerate(_gaps(results, name).items()):
            look = {"markerfacecolor": style.SERIES[i]} if j else {}
            words = rf"{_TYPESET[name]}, $\alpha$ = {alpha:.2f}"
            style.markers(right, curve, i, words, linestyle=("-", "--")[j], **look)
    style.mark_thresholds(left, high=0.46)
    left.set(xlabel=style.STEP_EXPONENT, ylabel="test error")
    right.axhline(0, color="black", linewidth=0.8, label=r"Theorem 4.1: $F_\ell$, $n\to\infty$")
    style.log_axis(right, "x", results["growing-trained"].levels("n"))
    right.set(xlabel="$n$", ylabel="test error above that of $F$, %")
    return with_legends(figure, 2)


def _gaps(results: Results, name: str) -> dict[float, Curve]:
    """Return the gap to the trained features in per cent against n, by exponent."""
    trained, other = results["growing-trained"], results[f"growing-{name}"]
    curves = {}
    for alpha in trained.levels("alpha"):
        pair = trained.where(alpha=alpha), other.where(alpha=alpha)
        curve = relative_difference(*pair, "n", "test")
        curves[alpha] = replace(curve, y=100 * curve.y, se=100 * curve.se)
    return curves


checks = comparison_of({"trained": "uniform"}, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the gaps at the smallest and at the largest n, and how they change."""
    sizes = results["growing-trained"].levels("n")
    rows: list[dict[str, Any]] = []
    for name, features in SHORT.items():
        for alpha, curve in _gaps(results, name).items():
            gaps = Estimate.along(curve)
            ends = {"first": gaps[0], "last": gaps[-1], "trend": trend(sizes, gaps)}
            rows.append({"features": features, "alpha": alpha, **ends})
    spiked = [row["last"] for row in rows if row["features"] == SHORT["spiked"]]
    below, above = (row for row in rows if row["features"] == SHORT["gaussian"])
    return {
        "smallest": sizes[0],
        "largest": sizes[-1],
        "gaps": rows,
        "spiked": largest_deviation(spiked),
        "below": below,
        "above": above,
    }
