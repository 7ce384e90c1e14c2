"""Where the theory ends: what it refuses, and one line for each reason to distrust a prediction.

The thresholds are where simulations started to leave the 2 % that the theory keeps elsewhere; the
table in docs/uniform.md has the numbers.
"""

from __future__ import annotations

from functools import lru_cache

from onegrad.errors import OutOfScope
from onegrad.functions.function import Function
from onegrad.functions.hermite import expect
from onegrad.problem import Problem
from onegrad.theory.uniform.losses import Losses
from onegrad.theory.uniform.step import Step

LARGEST = 1e12  # of a mean square or a step: beyond it rounding takes over
SMALLEST = 50  # of n, d, N: corrections beyond the leading 1/d are not in the theory
HEAVY_SLOPE = 5.0  # kurtosis of sigma': 1.6 for tanh, 2 for ReLU, 8 and more for cubics
STRONG_HEAVY, STRONG_EVEN, STRONG = 0.5, 1.2, 4.0  # spike strength t per unit readout
SCATTER = 4.0  # n gap^2: below it single runs scatter by 20 % and more


def require_covered(p: Problem) -> None:
    """Raise OutOfScope, in one line, for what the theory does not describe."""
    covered = {
        "one step": f"steps={p.steps}" if p.steps != 1 else "",
        "the gradient itself": f"update={p.update!r}" if p.update != "gradient" else "",
        "plain labels": f"labels={p.labels!r}" if p.labels != "plain" else "",
        "'gaussian'": f"inputs={p.inputs!r}" if p.inputs != "gaussian" else "",
        "ridge on fresh rows": "ridge_rows='same'" if p.ridge_rows != "fresh" else "",
        "ridge without an intercept": "intercept=True" if p.intercept else "",
        "clean labels": f"corrupted={p.corrupted:g}" if p.corrupted != 0 else "",
    }
    for what, instead in covered.items():
        if instead:
            raise OutOfScope(f"{instead}: the uniform theory covers {what}")
    if p.residual == "full" and abs(float(p.sigma.c[0])) > 1e-9:
        raise OutOfScope(
            "residual='full' with an activation of nonzero mean: centre the activation"
        )
    sigma_star = p.sigma_star  # raises OutOfScope for teachers of several indices
    largest = max(p.sigma.second_moment, sigma_star.second_moment, p.noise**2)
    if sigma_star.second_moment + p.noise**2 == 0.0:
        raise OutOfScope("teacher: labels that are all zero have no learned direction")
    if largest > LARGEST or p.step > LARGEST:
        raise OutOfScope(f"activation, teacher, noise and eta: sizes up to {LARGEST:g} are covered")


def concerns(problem: Problem, step: Step, values: Losses) -> tuple[str, ...]:
    """Reasons to distrust a prediction, each one line; empty where the theory was checked."""
    t = abs(step.gamma * step.c1 * step.b)
    found = []
    if min(problem.n, problem.d, problem.N, problem.rows_of_step) < SMALLEST:
        found.append(f"uniform theory: checked for sizes of {SMALLEST} and more, not below")
    if problem.noise_law != "gaussian":
        found.append("uniform theory: label noise enters by its variance, as if it were Gaussian")
    heavy = slope_kurtosis(problem.sigma) > HEAVY_SLOPE
    if heavy and t > STRONG_HEAVY:
        found.append(
            f"uniform theory: heavy-tailed activation {problem.sigma.name!r:.40} with spike "
            f"strength {t:.2g} > {STRONG_HEAVY:g}: errors of several percent"
        )
    elif step.c2 != 0 and t > STRONG_EVEN:
        found.append(
            f"uniform theory: spike strength {t:.2g} > {STRONG_EVEN:g} and c_2 != 0: "
            "errors of up to 4 %"
        )
    elif t > STRONG:
        found.append(f"uniform theory: spike strength {t:.2g} > {STRONG:g} was not checked")
    if problem.n * values.gap**2 < SCATTER:
        found.append(
            "uniform theory: ridge near zero at the interpolation threshold; single runs scatter "
            "by 20 % and more about the prediction"
        )
    return tuple(found)


@lru_cache(maxsize=256)
def slope_kurtosis(sigma: Function) -> float:
    r""":math:`E\sigma'^4/(E\sigma'^2)^2`."""
    second = sigma.slope_second_moment
    fourth = expect(lambda z: sigma.derivative(z) ** 4, sigma.kinks)
    return fourth / second**2 if second else 1.0
