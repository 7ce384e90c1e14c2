"""Degrees of the labels that a network without biases cannot have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from onegrad.exceptions import AssumptionWarning
from onegrad.functions.function import Function, MultiIndex
from onegrad.functions.teacher_exponents import unreachable_degrees
from onegrad.problem.definition import Problem

_MIN_SHARE = 1e-4  # of the labels' variance that is worth a warning


def representation_warnings(problems: Sequence[Problem]) -> tuple[AssumptionWarning, ...]:
    """Return a warning for each pair of teacher and activation of which a part is out of reach."""
    pairs = {(p.teacher_function, p.sigma): None for p in problems}
    return tuple(warning for pair in pairs for warning in _warnings(*pair))


@lru_cache(maxsize=256)
def _warnings(teacher: Function | MultiIndex, sigma: Function) -> tuple[AssumptionWarning, ...]:
    if not teacher.variance > 0 or not sigma.variance > 0:
        return ()
    shares = {k: s for k, s in unreachable_degrees(teacher, sigma).items() if s > _MIN_SHARE}
    if not shares:
        return ()
    degrees = f"degree{'s' * (len(shares) > 1)} {', '.join(map(str, shares))}"
    text = (
        f"a network of {sigma.name} without biases cannot represent {degrees} "
        f"of the teacher {teacher.name}, {100 * sum(shares.values()):.2g} % of the labels' variance"
    )
    return (AssumptionWarning("network", "teacher", text),)
