"""Ba et al., beyond Theorem 3: Gaussian equivalence after one step, and not after several."""

from typing import Any

from onegrad.experiments import Results, comparison_of
from onegrad.functions.function import Function
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import kernel_bound, relative_difference, with_legends
from onegrad.studies.findings import Estimate, Facts, power_law


def draw(results: Results) -> Any:
    """Draw the risks of F and of its equivalent against the steps, their gap, and a pair."""
    figure, ((left, right, pair),) = style.panels(3, width=4.2, height=3.7)
    trained, gaussian, uniform = (results[k] for k in ("trained", "gaussian", "uniform"))
    *_, largest = trained.levels("d")
    for i, (points, label) in enumerate(((trained, "$F$: trained"), (gaussian, "Gaussian equiv."))):
        curve = points.where(d=largest).curve("steps", "risk")
        style.markers(left, curve, i, f"{label}, $d$ = {largest}", linestyle=":")
    one = uniform.where(d=largest)[0]
    cross = {"color": style.BLACK, "markersize": 9, "zorder": 5}
    left.plot(1, one.mean("risk"), "x", label="uniform theory, one step", **cross)
    style.level(left, kernel_bound(uniform.where(d=largest)), "kernel lower bound")
    style.log_axis(left, "y")
    left.set(xlabel="gradient steps", ylabel="prediction risk")
    for i, (d, curve) in enumerate(_gaps(results).items()):
        style.markers(right, curve, i, f"networks, $d$ = {d}", linestyle=":")
    right.axhline(0, color="black", linewidth=0.8, label=r"Theorem 3: no gap, $n\to\infty$")
    right.set(xlabel="gradient steps", ylabel="risk of the equivalent / risk of $F$, minus 1")
    style.markers(pair, results["pair"].curve("steps", "risk"), 0, "ReLU, teacher H₂/√2")
    style.level(pair, float(_quadratic(results).second_moment), "kernel lower bound")
    pair.set(xlabel="maximal gradient steps", ylabel="prediction risk", ylim=(0, None))
    return with_legends(figure, 2)


def _gaps(results: Results) -> dict[int, Curve]:
    """Return the relative gap in risk against the number of steps, by d."""
    trained, gaussian = results["trained"], results["gaussian"]
    return {
        d: relative_difference(trained.where(d=d), gaussian.where(d=d), "steps", "risk")
        for d in trained.levels("d")
    }


def _quadratic(results: Results) -> Function:
    """Return the teacher of the pair, without a linear part: kernels learn nothing of it."""
    return results["pair"][0].problem.sigma_star


checks = comparison_of({"trained": "uniform"}, ("train", "test"))  # which is of one step


def facts(results: Results) -> Facts:
    """Return the gap after one step and after the last, by d, and how the last falls with d."""
    rows: list[dict[str, Any]] = []
    for d, curve in _gaps(results).items():
        first, *_, last = Estimate.along(curve)
        rows.append({"d": d, "first": first, "last": last, "steps": int(curve.x[-1])})
    fall = power_law([row["d"] for row in rows], [row["last"] for row in rows])
    energy, by_steps = float(_quadratic(results).second_moment), results["pair"].ordered("steps")
    one, many = (Estimate.of(by_steps[i].values["risk"] - energy) for i in (0, -1))
    problem = by_steps[-1].problem
    pair = {"d": problem.d, "steps": problem.steps, "one": one, "last": many}
    return {"gaps": rows, "exponent": fall, "pair": pair}
