"""Errors for Gaussian inputs with a covariance, by networks and by theory."""

from typing import Any

from onegrad.experiments import Results, comparison_of
from onegrad.pictures import Curve, style
from onegrad.studies.drawing import errors_against, relative_difference, with_legends
from onegrad.studies.findings import Estimate, Facts, largest_deviation, trend


def by_size(results: Results, law: str) -> tuple[Curve, Curve]:
    """Return the change of the error from isotropic inputs by d, of networks and of theory."""
    alpha = results["networks"].levels("alpha")[-1]
    curves = []
    for points in (results["networks"], results.joined("uniform", "growing")):
        isotropic, other = (points.where(inputs=x, alpha=alpha) for x in ("gaussian", law))
        curves.append(relative_difference(isotropic, other, "d", "test"))
    return curves[0], curves[1]


def draw(results: Results) -> Any:
    """Draw the test errors against the exponent, and their change by covariance against d."""
    figure, ((left, right),) = style.panels(2, width=4.6, height=3.8)
    grids = networks, _ = results["networks"], results["uniform"]
    sizes = networks.levels("d")
    for i, law in enumerate(networks.distinct("inputs")):
        errors_against(left, "alpha", "test", grids, i, law, inputs=law, d=sizes[-1])
        if law != "gaussian":
            measured, predicted = by_size(results, law)
            style.markers(right, measured, i, law)
            style.line(right, predicted, i)
    right.axhline(0.0, color="#888888", linewidth=0.8, zorder=0)
    left.set(xlabel=style.STEP_EXPONENT, ylabel="test error")
    right.set(xlabel="d", ylabel="test error / isotropic inputs − 1")
    style.log_axis(right, "x", results.joined("networks", "growing").levels("d"))
    return with_legends(figure, 2, "uniform theory")


checks = comparison_of({"networks": "uniform"}, ("train", "test"))


def facts(results: Results) -> Facts:
    """Return the errors and their changes by covariance, with what the theory says."""
    networks, theory = results["networks"], results["uniform"]
    alpha, sizes = networks.levels("alpha")[-1], networks.levels("d")
    rows, slopes, off = [], [], []
    for law in networks.distinct("inputs")[1:]:
        measured, predicted = by_size(results, law)
        changes = Estimate.along(measured)
        slopes.append({"law": law, "line": trend(sizes, changes)})
        for i, point in enumerate(networks.where(inputs=law, alpha=alpha).ordered("d")):
            test, d = Estimate.of(point.values["test"]), point.problem.d
            exact = theory.where(inputs=law, alpha=alpha, d=d)[0].mean("test")
            off.append(changes[i].shifted(-float(predicted.y[i])))
            row: dict[str, Any] = {"law": law, "d": d, "test": test, "theory": exact}
            rows.append(row | {"change": changes[i], "predicted": float(predicted.y[i])})
    return {
        "alpha": alpha,
        "grown": float(predicted.y[-1]),
        "growth": float(predicted.y[-1] - predicted.y[0]),
        "grown_d": int(predicted.x[-1]),
        "off": largest_deviation(off),
        "rows": rows,
        "slopes": slopes,
    }
