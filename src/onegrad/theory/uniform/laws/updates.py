r"""The update: how a step uses the gradient.

One gradient step moves neuron i by :math:`\gamma g_iX^\top[r\odot\sigma'(Xw_i)]/n_0` with
:math:`\gamma = \eta/\sqrt N` and :math:`g = \sqrt Na`; r is the label less a part of the initial
output.
"""

from dataclasses import dataclass

from onegrad.problem import PRECONDITIONER_SHIFT, Problem
from onegrad.theory.direction import output_constants


@dataclass(frozen=True)
class GradientStep:
    """One step along the gradient."""

    eta: float
    scale: float  # part of the initial output in the residual
    constant: float  # c_0 sum_i a_i, the constant of that output
    rest: float  # 1 - weight_decay, the part of the weights that the step leaves
    shift: float | None  # of the covariance that divides the gradient; None: no such
    second: float | None  # size of a second step
    again: bool  # whether that is on the rows of the first one


def update_cases(problem: Problem, c0: float) -> tuple[GradientStep, ...]:
    """Return the step at equally likely constants of the initial output: neurons have mean c0."""
    scale = problem.output_scale
    constants = output_constants(problem, c0) if scale else (0.0,)
    rest = 1 - problem.weight_decay
    shift = PRECONDITIONER_SHIFT if problem.update == "preconditioned" else None
    second = problem.later_sizes[0] if problem.steps > 1 else None
    return tuple(
        GradientStep(
            problem.step,
            scale,
            constant,
            rest,
            shift,
            second,
            problem.batches == "same",
        )
        for constant in constants
    )
