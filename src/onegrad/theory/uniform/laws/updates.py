r"""The update: how a step uses the gradient.

One gradient step moves neuron i by :math:`\gamma g_iX^\top[r\odot\sigma'(Xw_i)]/n_0` with
:math:`\gamma = \eta/\sqrt N` and :math:`g = \sqrt Na`; r is the label less a part of the initial
output.
"""

from dataclasses import dataclass

import numpy as np

from onegrad.problem import PRECONDITIONER_SHIFT, Problem
from onegrad.theory.direction import MAX_CENTRED_MEAN


@dataclass(frozen=True)
class GradientStep:
    """One step along the gradient."""

    eta: float
    scale: float  # part of the initial output in the residual
    constant: float  # c_0 sum_i a_i, the constant of that output
    rest: float  # 1 - weight_decay, the part of the weights that the step leaves
    shift: float | None  # of the covariance that divides the gradient; None: no such
    orthogonal: bool  # whether it is along the orthogonal factor of the gradient
    second: float | None  # size of a second step
    again: bool  # whether that is on the rows of the first one


def update_cases(problem: Problem, c0: float) -> tuple[GradientStep, ...]:
    r"""Return the step at equally likely constants :math:`c_0\sum_ia_i` of the initial output.

    It is :math:`c_0\sqrt N` for equal readouts, else :math:`c_0` times a standard normal, which
    two nodes replace.
    """
    scale = problem.output_scale
    constants: tuple[float, ...] = (0.0,)
    if scale and abs(c0) >= MAX_CENTRED_MEAN:
        equal = problem.readout == "constant"
        constants = (c0 * float(np.sqrt(problem.N)),) if equal else (c0, -c0)
    rest = 1 - problem.weight_decay
    shift = PRECONDITIONER_SHIFT if problem.update == "preconditioned" else None
    orthogonal = problem.update == "spectral"
    second = problem.later_steps[0] if problem.steps > 1 else None
    return tuple(
        GradientStep(
            problem.step,
            scale,
            constant,
            rest,
            shift,
            orthogonal,
            second,
            problem.batches == "same",
        )
        for constant in constants
    )
