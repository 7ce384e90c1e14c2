"""Assumptions of the asymptotic theories, and the warnings of a problem that violates them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onegrad.exceptions import AssumptionWarning, OutOfScope
from onegrad.problem import Problem


@dataclass(frozen=True)
class Assumption:
    """An assumption about one field of a problem."""

    field: str
    statement: str  # the assumption in words
    violated: Callable[[Problem], bool]  # whether a problem is outside
    consequence: str = ""  # what is lost without it

    def warning(self, theory: str) -> AssumptionWarning:
        """Return the warning that a theory was used outside this assumption."""
        lost = f"; {self.consequence}" if self.consequence else ""
        text = f"{theory} theory, {self.field}: {self.statement}{lost}"
        return AssumptionWarning(theory, self.field, text)


def is_uncentred(p: Problem) -> bool:
    """Return whether the activation has a constant part."""
    return bool(abs(p.sigma.c[0]) > 1e-12 * p.sigma.second_moment**0.5)


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


def violated_assumptions(
    problems: Sequence[Problem], *, trained: bool = True
) -> tuple[Assumption, ...]:
    """Return the assumptions that some of the problems violate.

    trained : also those of the gradient step, for the problems that take one.
    """
    violated = [a for a in OF_EVERY_NETWORK if any(map(a.violated, problems))]
    if trained:
        stepped = [p for p in problems if p.step > 0]
        violated += [a for a in OF_TRAINED_NETWORKS if any(map(a.violated, stepped))]
    return tuple(violated)


def assumption_warnings(
    theory: str, problems: Sequence[Problem], *, trained: bool = True
) -> tuple[AssumptionWarning, ...]:
    """Return one warning for each assumption that some of the problems violate."""
    return tuple(a.warning(theory) for a in violated_assumptions(problems, trained=trained))


def require_linear_part(theory: str, problems: Sequence[Problem]) -> None:
    """Raise OutOfScope without c_1: spikes grow like its powers, and there are none without it."""
    for p in problems:
        c1 = float(p.sigma.c[1])
        if p.step > 0 and abs(c1) <= 1e-8 * p.sigma.second_moment**0.5:
            covered = f"activations with a linear part, c_1 != 0 (here c_1 = {c1:.1e})"
            raise OutOfScope(theory, "activation", p.sigma.name, covered)
