"""Moniri et al., Theorem 3.3 itself: the distance of F from F_l, and the sizes of the spikes."""

import math
from typing import Any

import numpy as np

from onegrad.experiments import Check, Points, Results, check
from onegrad.functions.hermite import gauss_hermite
from onegrad.networks.models import smoothed_power
from onegrad.pictures import Curve, style
from onegrad.problem import Problem
from onegrad.studies.drawing import seed_curve, with_legends
from onegrad.studies.findings import Estimate, Facts, power_law
from onegrad.theory.asymptotic.scalars import Scalars

VERSIONS = {"distance": "corrected", "printed": "as printed"}
CHECKED_SPIKES = 2  # squares of the others have too heavy tails for a standard error
_ACCURACY = 3.0  # in units of 1/sqrt(n), the order of what the limits of b and nu leave out
_NODES = 40  # exact: q_k is a polynomial of low degree


def draw(results: Results) -> Any:
    """Draw the distances, and the norms of the spikes, against n."""
    figure, ((left, right),) = style.panels(2, width=4.8, height=4.0)
    networks = results["networks"]
    for i, name in enumerate(networks.distinct("activation")):
        for j, (quantity, words) in enumerate(VERSIONS.items()):
            curve = networks.where(activation=name).curve("n", quantity)
            look = {"linestyle": "-" if j == 0 else "--", "color": style.SERIES[j]}
            style.markers(left, curve, i + 2 * j, f"{name}, {words}", **look)
    corrected = networks.where(activation="elu").curve("n", "distance")
    alpha = float(networks[0].field("alpha"))
    rate = corrected.y[-1] * (corrected.x / corrected.x[-1]) ** (3 * alpha - 1)
    words = r"rate of spike 3 by theory, $n^{3\alpha-1}$"
    left.plot(corrected.x, rate, ":", color=style.BLACK, label=words)
    style.log_axis(left, "y", (0.2, 0.5, 1, 2, 5))
    left.set(xlabel="n", ylabel=r"$\|F - F_\ell\|_{\mathrm{op}}/\sqrt{n}$")
    elu = networks.where(activation="elu").ordered("n")
    for k in range(1, elu[0].values["spikes"].shape[1] + 1):
        style.markers(right, norms(elu, k), k - 1, f"spike {k}")
        theory = [math.sqrt(squared_norm(p.problem, k)) for p in elu]
        right.plot([p.problem.n for p in elu], theory, color=style.SERIES[k - 1])
    style.legend_entry(right, r"theory, $\propto n^{(\alpha-1/2)k+1/2}$")
    style.log_axis(right, "y", (0.1, 0.2, 0.5, 1, 2, 5, 10))
    right.set(xlabel="n", ylabel=r"operator norm of spike $k$, over $\sqrt{n}$")
    for ax in (left, right):
        style.log_axis(ax, "x", networks.levels("n"))
    return with_legends(figure, 2)


def norms(points: Points, k: int) -> Curve:
    """Return the norm of spike k against n."""
    return seed_curve(points, "n", lambda p: p.values["spikes"][:, k - 1])


def squared_norm(problem: Problem, k: int) -> float:
    r"""Return the mean square of the operator norm of spike k over sqrt(n).

    .. math:: c_k^2(c_1\eta b)^{2k}\,E[q_k(u)^2]\,(2k-1)!!\,N^{1-k},\qquad
        q_k(u) = E_z(u+\nu z)^k
    """
    s = Scalars.of([problem])
    u, weights = gauss_hermite(_NODES)
    q = smoothed_power(u, np.sqrt(s.nu_squared), k)
    strength = (s.c1 * s.eta) ** 2 * s.direction.b_squared
    moment = math.prod(range(2 * k - 1, 0, -2))  # of the readout, N^k E a^2k
    size = s.c[:, k] ** 2 * strength**k * (weights @ q**2) * moment * problem.N ** (1.0 - k)
    return float(size[0])


def checks(results: Results) -> list[Check]:
    """Compare the mean squares of the spikes' norms with theory."""
    rows = []
    for p in results["networks"].where(activation="elu").ordered("n"):
        for k in range(1, CHECKED_SPIKES + 1):
            squares, expected = p.values["spikes"][:, k - 1] ** 2, squared_norm(p.problem, k)
            accuracy = _ACCURACY / math.sqrt(p.problem.n)
            rows.append(check(f"|spike {k}|²/n", p.problem, squares, expected, "limit", accuracy))
    return rows


def facts(results: Results) -> Facts:
    """Return the distances at both ends, and the exponents of distances and of spikes' norms."""
    networks = results["networks"]
    distances = {
        name: {
            version: _growth(networks.where(activation=name).curve("n", version))
            for version in VERSIONS
        }
        for name in networks.distinct("activation")
    }
    elu = networks.where(activation="elu").ordered("n")
    alpha = float(elu[0].field("alpha"))
    exponents = []
    for k in range(1, elu[0].values["spikes"].shape[1] + 1):
        fitted = _growth(norms(elu, k))["exponent"]
        exponents.append({"k": k, "fitted": fitted, "predicted": (alpha - 0.5) * k + 0.5})
    sizes = networks.levels("n")
    return {
        "smallest": sizes[0],
        "largest": sizes[-1],
        "distances": distances,
        "exponents": exponents,
    }


def _growth(curve: Curve) -> dict[str, Any]:
    """Return the ends of a curve against n, and the exponent of n through it."""
    values = Estimate.along(curve)
    exponent = power_law(curve.x.tolist(), values)
    return {"first": values[0], "last": values[-1], "exponent": exponent}
