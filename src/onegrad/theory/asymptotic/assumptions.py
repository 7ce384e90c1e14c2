"""Assumptions of the asymptotic theories, and the warnings of a problem that violates them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from onegrad.exceptions import AssumptionWarning, OutOfScope
from onegrad.functions import Function
from onegrad.problem import Problem

_NEAR, _FAR, _GROWTH = 10.0, 1e3, 2.0  # a slope that grows by more from near to far is unbounded


@dataclass(frozen=True)
class Assumption:
    """An assumption about one field of a problem."""

    field: str
    statement: str  # the assumption in words
    violated: Callable[[Problem], bool]  # whether a problem is outside
    consequence: str = ""  # what is lost without it
    recorded_only: bool = False  # a condition of the proof: see AssumptionWarning

    def warning(self, theory: str) -> AssumptionWarning:
        lost = f"; {self.consequence}" if self.consequence else ""
        text = f"{theory} theory, {self.field}: {self.statement}{lost}"
        return AssumptionWarning(theory, self.field, text, self.recorded_only)


def is_uncentred(p: Problem) -> bool:
    """Return whether the activation has a constant part."""
    return bool(abs(p.sigma.c[0]) > 1e-12 * p.sigma.second_moment**0.5)


@lru_cache(maxsize=256)
def is_lipschitz(f: Function) -> bool:
    """Return whether a function is continuous with a bounded slope, by its slope far out."""
    if not f.continuous:
        return False
    with np.errstate(all="ignore"):
        near = abs(f.derivative(np.linspace(-_NEAR, _NEAR, 401))).max()
        far = abs(f.derivative(np.array([-_FAR, _FAR]))).max()
    return bool(far <= _GROWTH * near)  # False for NaN


OF_EVERY_NETWORK = (
    Assumption("inputs", "isotropic Gaussian inputs are assumed", lambda p: p.inputs != "gaussian"),
    Assumption("corrupted", "clean labels are assumed", lambda p: p.corrupted > 0),
)
OF_TRAINED_NETWORKS = (
    Assumption("steps", "a single gradient step is assumed", lambda p: p.steps > 1),
    Assumption(
        "labels", "a step on the labels as they are is assumed", lambda p: p.labels != "plain"
    ),
    Assumption("update", "a step along the gradient is assumed", lambda p: p.update != "gradient"),
    Assumption("ridge_rows", "ridge on fresh rows is assumed", lambda p: p.ridge_rows == "same"),
    Assumption("readout", "a Gaussian readout is assumed", lambda p: p.readout != "gaussian"),
    Assumption(
        "residual",
        "a centred activation is assumed with the full residual",
        lambda p: p.residual != "labels" and is_uncentred(p),
    ),
    Assumption(
        "teacher",
        "a linear part c_star_1 != 0 is assumed",
        lambda p: p.sigma_star.c[1] == 0.0,
        "without it nothing is learned",
    ),
)
OF_THEOREMS = (  # of the papers, beyond whose conditions networks follow the formulas too
    Assumption(
        "activation",
        "the theorem assumes an activation with three bounded derivatives",
        lambda p: bool(p.sigma.kinks) or not is_lipschitz(p.sigma),
        recorded_only=True,
    ),
    Assumption(
        "teacher",
        "the theorem assumes a Lipschitz teacher",
        lambda p: not is_lipschitz(p.sigma_star),
        recorded_only=True,
    ),
)


def violated_assumptions(
    problems: Sequence[Problem], *, trained: bool = True, theorem: bool = False
) -> tuple[Assumption, ...]:
    """Return the assumptions that some of the problems violate.

    trained : also those of the gradient step, for the problems that take one.
    theorem : also the smoothness that the papers' theorems assume.
    """
    violated = [a for a in OF_EVERY_NETWORK if any(map(a.violated, problems))]
    if trained:
        stepped = [p for p in problems if p.step > 0]
        assumptions = OF_TRAINED_NETWORKS + theorem * OF_THEOREMS
        violated += [a for a in assumptions if any(map(a.violated, stepped))]
    return tuple(violated)


def assumption_warnings(
    theory: str, problems: Sequence[Problem], *, trained: bool = True, theorem: bool = False
) -> tuple[AssumptionWarning, ...]:
    """Return one warning for each assumption that some of the problems violate."""
    violated = violated_assumptions(problems, trained=trained, theorem=theorem)
    return tuple(a.warning(theory) for a in violated)


def require_linear_part(theory: str, problems: Sequence[Problem]) -> None:
    """Raise OutOfScope without c_1: spikes grow like its powers, and there are none without it."""
    for p in problems:
        c1 = float(p.sigma.c[1])
        if p.step > 0 and abs(c1) <= 1e-8 * p.sigma.second_moment**0.5:
            covered = f"activations with a linear part, c_1 != 0 (here c_1 = {c1:.2g})"
            raise OutOfScope(theory, "activation", p.sigma.name, covered)
