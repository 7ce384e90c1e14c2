"""What each theory assumes, and what is said when a problem is outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onegrad.exceptions import OutOfScope
from onegrad.problem import Problem

Rule = tuple[Callable[[Problem], bool], str]

EVERY: tuple[Rule, ...] = (
    (lambda p: p.inputs != "gaussian", "inputs: isotropic Gaussian inputs are assumed"),
    (lambda p: p.corrupted > 0, "corrupted: clean labels are assumed"),
)
TRAINED: tuple[Rule, ...] = (
    (lambda p: p.steps > 1, "steps: a single gradient step is assumed"),
    (lambda p: p.labels != "plain", "labels: a step on the labels as they are is assumed"),
    (lambda p: p.update != "gradient", "update: a step along the gradient is assumed"),
    (lambda p: p.ridge_rows == "same", "ridge_rows: ridge on fresh rows is assumed"),
    (lambda p: p.readout != "gaussian", "readout: a Gaussian readout is assumed"),
    (
        lambda p: p.residual == "full" and uncentred(p),
        "residual: a centred activation is assumed with the full residual",
    ),
    (
        lambda p: p.sigma_star.c[1] == 0.0,
        "teacher: a linear part c_star_1 != 0 is assumed; without it nothing is learned",
    ),
)


def uncentred(p: Problem) -> bool:
    """Whether the activation has a constant part."""
    return bool(abs(p.sigma.c[0]) > 1e-12 * p.sigma.second_moment**0.5)


def broken(problems: Sequence[Problem], theory: str, *, trained: bool = True) -> tuple[str, ...]:
    """One line for each assumption that some problem breaks."""
    found = [message for rule, message in EVERY if any(map(rule, problems))]
    if trained:
        moved = [p for p in problems if p.step > 0]
        found += [message for rule, message in TRAINED if any(map(rule, moved))]
    return tuple(f"{theory} theory, {message}" for message in found)


def need_linear_part(problems: Sequence[Problem], theory: str) -> None:
    """Spikes grow like powers of c_1: without it there are none of the theorem's kind."""
    for p in problems:
        c1 = float(p.sigma.c[1])
        if p.step > 0 and abs(c1) <= 1e-8 * p.sigma.second_moment**0.5:
            raise OutOfScope(
                f"activation: the {theory} theory needs c_1 != 0; {p.sigma.name!r:.60} has "
                f"c_1 = {c1:.1e}"
            )
