"""Where the theory ends: one line for each reason to distrust a prediction."""

from __future__ import annotations

from onegrad.problem import Problem
from onegrad.theory.uniform.losses import Losses


def concerns(problem: Problem, values: Losses) -> tuple[str, ...]:
    """Reasons to distrust a prediction, each one line; empty where the theory was checked."""
    return ()
