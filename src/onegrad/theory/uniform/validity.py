"""Where the theory ends: what it refuses, and one line for each reason to distrust a prediction.

The reasons follow from the accuracy and the spread that come with every prediction.
"""

from __future__ import annotations

from onegrad.exceptions import OutOfScope
from onegrad.problem import Problem
from onegrad.theory.results import Bars

LARGEST = 1e12  # of a mean square or a step: beyond it rounding takes over
INACCURATE = 0.08  # relative error that is worth a word
SCATTER = 0.2  # spread of single networks that is worth a word


def require_covered(p: Problem) -> None:
    """Raise OutOfScope, in one line, for what the theory does not describe."""
    covered = {
        "one step": f"steps={p.steps}" if p.steps != 1 else "",
        "the gradient itself": f"update={p.update!r}" if p.update != "gradient" else "",
        "plain labels": f"labels={p.labels!r}" if p.labels != "plain" else "",
        "'gaussian'": f"inputs={p.inputs!r}" if p.inputs != "gaussian" else "",
        "ridge on fresh rows": "ridge_rows='same'" if p.ridge_rows != "fresh" else "",
    }
    for what, instead in covered.items():
        if instead:
            raise OutOfScope(f"{instead}: the uniform theory covers {what}")
    labels = p.teacher_function.second_moment
    largest = max(p.sigma.second_moment, labels, p.noise * p.noise)
    if labels + p.noise * p.noise == 0.0:
        raise OutOfScope("teacher: labels that are all zero have no learned direction")
    if largest > LARGEST or p.step > LARGEST:
        raise OutOfScope(f"activation, teacher, noise and eta: sizes up to {LARGEST:g} are covered")


def concerns(problem: Problem, bars: Bars, reason: str, scatter: float) -> tuple[str, ...]:
    """Reasons to distrust a prediction, each one line; empty where the theory is accurate.

    scatter : standard deviation of single networks, of the prediction.
    """
    found = []
    worst = max(bars.train, bars.test)
    if not worst <= INACCURATE:
        found.append(
            f"uniform theory: may be off by more than {INACCURATE:.0%} (see accuracy), "
            f"because of {reason}"
        )
    if not scatter <= SCATTER:
        found.append(
            f"uniform theory: single networks scatter by more than {SCATTER:.0%} (see spread)"
        )
    freedom = problem.noise_distribution.parameter
    if freedom is not None and freedom <= 4 and problem.noise:
        found.append(
            f"uniform theory: noise_law {problem.noise_law} has no fourth moment; single draws "
            "rule the mean over networks"
        )
    return tuple(found)
